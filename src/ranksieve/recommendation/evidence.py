"""The evidence of a recommendation: outcomes by query, similar features, and computing time."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ranksieve.data import DataError
from ranksieve.io.typed import check_types, to_json_values


class StageOutcome(NamedTuple):
    """The choice of one run of the procedure, and its values on the judging queries."""

    part: str  # name of the part of the queries
    selector: str
    size: int  # number of features requested from the selector
    cost: float
    features: list[int]
    queries: list[str]  # ids of the judging queries
    with_all: list[float]  # value of each query with all features
    with_chosen: list[float]  # value of each query with the chosen features
    weights: list[float] | None  # of the queries


class Likeness(NamedTuple):
    """How similarly features order documents: mean over queries of abs(tau_b).

    At most 150 features are compared: the recommended ones and their near-copies take precedence,
    then those that rank best alone.
    """

    features: list[int]
    values: list[list[float]]  # row i has the similarities of features[i] to features[:i]

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


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """The evidence of a recommendation, for its report; fields are in the order of the file."""

    elapsed: float  # duration of the last run in seconds
    n_resumed: int  # number of fits that the last run took from the ledger
    versions: dict[str, str]  # of Python and of packages
    command: list[str] = field(default_factory=list)  # the command line, if there was one
    alone: Alone  # values of all features, on all queries
    likeness: Likeness
    outcomes: list[StageOutcome]  # one for each judging part of the queries
    spent: list[Spent]

    def to_record(self) -> dict[str, Any]:
        """Convert to JSON values."""
        record: dict[str, Any] = to_json_values(self)
        return record

    @classmethod
    def of_record(cls, record: dict[str, Any], n_features: int) -> Evidence:
        """Restore what :meth:`to_record` wrote; raises DataError if it does not fit the data."""
        try:
            parts = {
                "outcomes": [StageOutcome(**outcome) for outcome in record["outcomes"]],
                "alone": Alone(**record["alone"]),
                "likeness": Likeness(**record["likeness"]),
                "spent": [Spent(**spent) for spent in record["spent"]],
            }
            evidence = cls(**record | parts)
        except (KeyError, TypeError) as error:
            raise DataError(f"this version cannot read the evidence: {error!r:.80}") from None
        check_types(evidence, Evidence)
        evidence._check(n_features)
        return evidence

    def _check(self, n_features: int) -> None:
        """Raise a DataError unless all features are known and all lists have the right length."""
        for features in (self.likeness.features, *(outcome.features for outcome in self.outcomes)):
            if not are_features(features, n_features):
                raise DataError("it lists features that the data does not have, or a feature twice")
        if any(len(numbers) != n_features for numbers in self.alone):
            raise DataError(f"'alone' should have numbers for {n_features} features")
        if [len(row) for row in self.likeness.values] != list(range(len(self.likeness.features))):
            raise DataError("'likeness' should have a row for each feature")
        if not all(0 <= value <= 1 for row in self.likeness.values for value in row):
            raise DataError("'likeness' should have similarities between 0 and 1")
        for outcome in self.outcomes:
            values = outcome.with_all, outcome.with_chosen, outcome.weights
            if any(v is not None and len(v) != len(outcome.queries) for v in values):
                raise DataError("'outcomes' should have a value for each query")


def are_features(values: list[Any], n_features: int) -> bool:
    """Whether values from a file are distinct indices of features."""
    known = all(type(value) is int and 0 <= value < n_features for value in values)
    return known and len(set(values)) == len(values)
