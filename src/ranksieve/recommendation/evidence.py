"""What a recommendation rests on: queries that judge, similar features, single ones, and work."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ranksieve.data import DataError
from ranksieve.io.records import convert_record, to_json
from ranksieve.text import quantity


@dataclass(frozen=True, repr=False)
class Judges:
    """The queries that judge, with means over all repeats of the cross-fitting."""

    queries: list[str]  # ids
    with_all: list[float]  # value of each query with all features
    with_chosen: list[float]  # and with the sets of the recommended cost, without smoothing
    weights: list[float] | None  # of the queries

    def __repr__(self) -> str:
        return f"<Judges: {quantity(len(self.queries), 'query', 'queries')}>"


@dataclass(frozen=True, repr=False)
class Likeness:
    """How similarly features order documents: mean over queries of abs(tau_b).

    At most 150 features are compared: the recommended ones and their near-copies take precedence,
    then those that rank best alone.
    """

    features: list[int]
    values: list[list[float]]  # row i has the similarities of features[i] to features[:i]

    def __repr__(self) -> str:
        return f"<Likeness: {quantity(len(self.features), 'feature')}>"

    @property
    def matrix(self) -> np.ndarray:
        """Symmetric matrix of the similarities of all pairs."""
        full = np.eye(len(self.features))
        for i, row in enumerate(self.values):
            full[i, :i] = full[:i, i] = row
        return full


@dataclass(frozen=True, repr=False)
class Alone:
    """How well each feature ranks alone, in the better direction (1, or -1 if small is good)."""

    values: list[float]
    directions: list[int]
    chance: float  # what documents in random order reach, the mean over all orders

    def __repr__(self) -> str:
        return f"<Alone: {quantity(len(self.values), 'feature')}>"


@dataclass(frozen=True)
class Spent:
    """Number of fits of a selector or ranker, and their total time in seconds over all threads."""

    method: str
    fits: int
    seconds: float


@dataclass(frozen=True, kw_only=True, repr=False)
class Evidence:
    """The evidence of a recommendation, for its report; fields are in the order of the file."""

    elapsed: float  # duration of the last run in seconds
    n_resumed: int  # number of fits that the last run took from the ledger
    versions: dict[str, str]  # of Python and of packages
    command: list[str] = field(default_factory=list)  # the command line, if there was one
    alone: Alone  # values of all features, on all queries
    likeness: Likeness
    judges: Judges
    # For each set of the curve: feature -> share of the paths that have it in their set.
    shares: list[dict[int, float]]
    repeats: int  # number of times that each query has judged
    noise: float  # share of the variance of a query's difference that is noise of training
    spent: list[Spent]

    def __repr__(self) -> str:
        repeats = quantity(self.repeats, "repeat")
        return f"<Evidence: {len(self.judges.queries):,} judging queries, {repeats}>"

    def to_record(self) -> dict[str, Any]:
        """Convert to JSON values."""
        return to_json(self)

    @classmethod
    def from_record(cls, record: Any, n_features: int) -> Evidence:
        """Restore what :meth:`to_record` returned; raises DataError if it does not fit the data."""
        evidence = convert_record(record, cls)
        alone, likeness = evidence.alone, evidence.likeness
        for features in (likeness.features, *map(list, evidence.shares)):
            if not set(features) <= set(range(n_features)) or len(set(features)) < len(features):
                raise DataError("it lists features that the data does not have, or a feature twice")
        if not len(alone.values) == len(alone.directions) == n_features:
            raise DataError(f"'alone' should have numbers for {n_features} features")
        if [len(row) for row in likeness.values] != list(range(len(likeness.features))):
            raise DataError("'likeness' should have a row for each feature")
        if not all(0 <= value <= 1 for row in likeness.values for value in row):
            raise DataError("'likeness' should have similarities between 0 and 1")
        judges = evidence.judges
        for values in (judges.with_all, judges.with_chosen, judges.weights):
            if values is not None and len(values) != len(judges.queries):
                raise DataError("'judges' should have a value for each query")
        return evidence
