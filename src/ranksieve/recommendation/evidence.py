"""The evidence of a recommendation: outcomes by query, similar features, and computing time."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ranksieve.data import DataError
from ranksieve.io.records import check_kinds, get_numbers, get_texts


class Outcome(NamedTuple):
    """The choice of one run of the procedure, and its values on the judging queries.

    Attributes
    ----------
    part : str
        Name of the part of the queries.
    selector : str
    size : int
        Number of features requested from the selector.
    cost : float
    features : list of int
    queries : list of str
        Ids of the judging queries.
    with_all, with_chosen : list of float
        Value of each query with all features, and with the chosen ones.
    weights : list of float or None
        Weights of the queries.
    """

    part: str
    selector: str
    size: int
    cost: float
    features: list[int]
    queries: list[str]
    with_all: list[float]
    with_chosen: list[float]
    weights: list[float] | None


class Likeness(NamedTuple):
    """How similarly features order documents: mean over queries of abs(tau_b).

    Attributes
    ----------
    features : list of int
        At most 150 compared features: the recommended ones and their near-copies take precedence,
        then those that rank best alone.
    values : list of list of float
        Row i has the similarities of ``features[i]`` to ``features[:i]``.
    """

    features: list[int]
    values: list[list[float]]

    @property
    def matrix(self) -> np.ndarray:
        """Symmetric matrix of the similarities of all pairs."""
        full = np.eye(len(self.features))
        for i, row in enumerate(self.values):
            full[i, :i] = full[:i, i] = row
        return full


class Alone(NamedTuple):
    """How well each feature ranks alone, in the better direction (1, or -1 if small is good)."""

    values: list[float]
    directions: list[int]


class Spent(NamedTuple):
    """Number of fits of a selector or ranker, and their total time in seconds over all threads."""

    method: str
    fits: int
    seconds: float


@dataclass(frozen=True)
class Evidence:
    """The evidence of a recommendation, for its report.

    Attributes
    ----------
    outcomes : list of Outcome
        One for each judging part of the queries.
    alone : Alone
        Values of all features, on all queries.
    likeness : Likeness
    spent : list of Spent
    elapsed : float
        Duration of the last run in seconds.
    n_resumed : int
        Number of fits that the last run took from the ledger.
    versions : dict of str to str
        Versions of Python and of packages.
    command : list of str
        The command line, if there was one.
    """

    outcomes: list[Outcome]
    alone: Alone
    likeness: Likeness
    spent: list[Spent]
    elapsed: float
    n_resumed: int
    versions: dict[str, str]
    command: list[str] = field(default_factory=list)

    def to_record(self) -> dict[str, Any]:
        """Convert to JSON values."""
        record = {name: getattr(self, name) for name in _EVIDENCE}
        for name in ("alone", "likeness"):
            record[name] = record[name]._asdict()
        for name in ("outcomes", "spent"):
            record[name] = [item._asdict() for item in record[name]]
        return record

    @classmethod
    def of_record(cls, record: dict[str, Any], n_features: int) -> Evidence:
        """Restore what :meth:`to_record` wrote; raises DataError if it does not fit the data."""
        check_kinds(record, _EVIDENCE)
        check_kinds(record["alone"], _ALONE)
        for name in _ALONE:
            get_numbers(record["alone"], name, n_features)
        _check_likeness(record["likeness"], n_features)
        for spent in record["spent"]:
            check_kinds(spent, _SPENT)
        for outcome in record["outcomes"]:
            _check_outcome(outcome, n_features)
        get_texts(record, "command")
        parts = record | {
            "outcomes": [Outcome(**outcome) for outcome in record["outcomes"]],
            "alone": Alone(**record["alone"]),
            "likeness": Likeness(**record["likeness"]),
            "spent": [Spent(**spent) for spent in record["spent"]],
        }
        return cls(**parts)


_EVIDENCE = dict(
    elapsed=float, n_resumed=int, versions=dict, command=list,
    alone=dict, likeness=dict, outcomes=list, spent=list,
)  # fmt: skip
_ALONE = dict(values=list, directions=list)
_LIKENESS = dict(features=list, values=list)
_SPENT = dict(method=str, fits=int, seconds=float)
_OUTCOME = dict(
    part=str, selector=str, size=int, cost=float, features=list, queries=list,
    with_all=list, with_chosen=list, weights=object,
)  # fmt: skip


def _check_likeness(record: Any, n_features: int) -> None:
    check_kinds(record, _LIKENESS)
    _check_features(record["features"], n_features)
    rows = {str(i): row for i, row in enumerate(record["values"])}
    if len(rows) != len(record["features"]):
        raise DataError("the similarities should have a row for each feature")
    for i in rows:
        get_numbers(rows, i, int(i))


def _check_outcome(record: Any, n_features: int) -> None:
    check_kinds(record, _OUTCOME)
    _check_features(record["features"], n_features)
    get_texts(record, "queries")
    weighted = () if record["weights"] is None else ("weights",)
    for name in ("with_all", "with_chosen", *weighted):
        get_numbers(record, name, len(record["queries"]))


def _check_features(features: list[Any], n_features: int) -> None:
    if not are_features(features, n_features):
        raise DataError("it lists features that the data does not have, or a feature twice")


def are_features(values: list[Any], n_features: int) -> bool:
    """Whether values from a file are distinct indices of features."""
    known = all(type(value) is int and 0 <= value < n_features for value in values)
    return known and len(set(values)) == len(values)
