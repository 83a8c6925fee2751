"""Which queries of a recommendation do what: divisions into parts, trials, samples."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ranksieve.data import DataError, RankingData
from ranksieve.data.encoding import encode_categories
from ranksieve.data.joining import concatenate
from ranksieve.data.missing import FILLING
from ranksieve.data.times import Times
from ranksieve.datasets import Collection
from ranksieve.datasets.fold_files import Fold
from ranksieve.datasets.split_rules import DividedData
from ranksieve.experiments import QuerySets, Trial, TrialSource
from ranksieve.experiments.trials import check_distinct
from ranksieve.preprocessing import scaled_within_queries
from ranksieve.splits import query_parts
from ranksieve.sums.agreement import label_agreement
from ranksieve.text import quantity

ROWS_TO_SELECT = 20_000
"""Sample size for selectors, if there are many rows."""
MANY_ROWS = 50_000
"""With so many rows, selectors see a sample, and fewer models are trained."""


@dataclass(frozen=True, eq=False)
class Queries:
    """Data, the queries that choose, those that only test, and how the first are divided."""

    whole: RankingData
    untreated: RankingData  # the same before missing values were treated and features scaled
    choosing: np.ndarray  # positions of the queries that are divided into parts
    test: np.ndarray | None  # positions of the test queries of a split
    given: Sequence[np.ndarray] | None  # parts of the first division, if the data has folds
    in_words: str  # how queries are divided, for readers
    n_parts: int
    seed: int
    times: Times | None = None  # of the rows of the whole

    @cached_property
    def source(self) -> TrialSource:
        """The data of all trials."""
        return TrialSource.of(self.whole)

    @cached_property
    def filled_source(self) -> TrialSource:
        """The data for selectors that take no missing values."""
        if not (self.whole.keeps_missing and self.whole.lacks_numbers):
            return self.source
        return TrialSource.of(self.whole.with_missing(FILLING))

    @cached_property
    def as_numbers(self) -> RankingData:
        """The data with numbers for categories, from labels of other queries."""
        return encode_categories(self.whole)[0]

    @property
    def is_large(self) -> bool:
        """Whether there are so many rows that selectors see only some of them."""
        return self.whole.n_rows >= MANY_ROWS

    @property
    def to_deploy(self) -> Trial:
        """The trial that trains the rankers to write: all queries but the test queries."""
        return Trial("all", self.source, QuerySets(self.choosing))

    @property
    def deployed_in_words(self) -> str:
        """The queries that train :attr:`to_deploy`, for readers."""
        return "all queries" if self.test is None else "the queries that do not test"

    def division(self, number: int) -> Iterator[Trial]:
        """Yield a trial for each part of a division, which judges what the others train."""
        parts = self.given if number == 0 and self.given is not None else None
        if parts is None:
            drawn = query_parts(len(self.choosing), self.n_parts, random_state=[self.seed, number])
            parts = [self.choosing[part] for part in drawn]
        for place, part in enumerate(parts, start=1):
            train = np.setdiff1d(self.choosing, part)
            sets = QuerySets(train, judged={"part": part})
            yield Trial(f"division {number + 1}, without part {place}", self.source, sets)

    def to_select(self, trial: Trial, *, filled: bool = False) -> Trial:
        """Make the trial that selectors use: a sample if data is large, and without gaps."""
        source, name, train = self.source, trial.name, trial.sets.train
        if filled and self.filled_source is not self.source:
            source, name = self.filled_source, f"{name}; filled"
        if self.is_large:
            drawn = np.random.default_rng([self.seed, len(train)]).permutation(train)
            rows = np.cumsum(self.whole.group_counts[drawn])
            most = max(1, np.searchsorted(rows, ROWS_TO_SELECT, side="right"))
            train, name = np.sort(drawn[:most]), f"{name}; {ROWS_TO_SELECT} rows"
        return Trial(f"{name}; to select", source, QuerySets(train))


def divide(
    source: RankingData | Collection | DividedData,
    n_parts: int,
    seed: int,
    missing: str = "none",
    scale: str = "none",
    **read_options: Any,
) -> Queries:
    """Find out which queries choose and which only test.

    All queries choose, except the test queries of a split. The folds of a collection are the first
    division. Missing values are treated and features scaled within queries. The other options are
    those for reading the files of a collection.
    """
    test = given = None
    if isinstance(source, RankingData):
        whole, words = source, f"{n_parts} parts, divided at random (seed {seed})"
    else:
        readers = source.readers if isinstance(source, DividedData) else None
        folds = [read() for read in readers or source.fold_readers(**read_options)]  # type: ignore[union-attr]
        if len(folds) == 1:
            whole, test = _join_split(folds[0])
            words = f"{n_parts} parts of those that do not test, at random (seed {seed})"
        else:
            whole, given = _join_folds(folds)
            words = f"the {len(folds)} folds of the data, then parts at random (seed {seed})"
    untreated = whole
    if missing != "none" and (whole.missing is None or whole.missing.name != missing):
        whole = whole.with_missing(missing)
    choosing = np.arange(whole.n_queries if test is None else test[0])
    n_parts = n_parts if given is None else len(given)
    queries = Queries(
        scaled_within_queries(whole, scale),
        untreated,
        choosing,
        test,
        given,
        words,
        n_parts,
        seed,
    )
    query_parts(len(choosing), n_parts)  # raises an error if there are too few queries
    return queries


def set_apart(queries: Queries, others: RankingData) -> tuple[Queries, list[str]]:
    """Leave the queries of the data to confirm by out of the data; also return notes about it.

    Data whose labels are cheap may have them, too. Raises a DataError unless equal ids stand for
    equal queries, which have a document in common.
    """
    whole, confirming = queries.whole, {str(query) for query in others.query_ids.tolist()}
    shared = np.array([str(query) in confirming for query in whole.query_ids.tolist()])
    if not shared.any():
        return queries, []
    agreement = None
    if whole.doc_ids is not None and others.doc_ids is not None:
        agreement = label_agreement(whole, others)
    if agreement is None or agreement.n_queries < shared.sum():
        check_distinct("the data to confirm by", {"choose by": whole, "confirm by": others})
    assert agreement is not None  # the ids are not distinct
    if shared.all():
        raise DataError("the data to confirm by has all queries of the data: no query may choose")
    number = np.cumsum(~shared) - 1

    def keep(positions: np.ndarray) -> np.ndarray:
        return np.asarray(number[positions[~shared[positions]]])

    left = replace(
        queries,
        whole=whole.take_queries(~shared),
        choosing=keep(queries.choosing),
        test=None if queries.test is None else keep(queries.test),
        given=None if queries.given is None else [keep(part) for part in queries.given],
    )
    parts = [left.choosing, *([] if left.test is None else [left.test]), *(left.given or [])]
    if not all(map(len, parts)):
        raise DataError("the data to confirm by has all queries of a part of the data")
    query_parts(len(left.choosing), queries.n_parts)  # raises an error if there are too few
    n = quantity(int(shared.sum()), "query", "queries")
    return left, [
        f"Left out of the data: {n} that the data to confirm by has. {agreement.sentence}"
    ]


def _join_folds(folds: Sequence[Fold]) -> tuple[RankingData, list[np.ndarray]]:
    """Make a part of each fold's test queries; every query must be in one of them."""
    tests = [test for _, _, test in folds]
    _check_apart({f"test in fold {number}": test for number, test in enumerate(tests, start=1)})
    known = {str(query) for test in tests for query in test.query_ids.tolist()}
    for number, (train, _, _) in enumerate(folds, start=1):
        lacking = [q for q in train.query_ids.tolist() if str(q) not in known]
        if lacking:
            raise DataError(
                f"fold {number} trains on query {lacking[0]!r}, which no fold tests: a "
                "recommendation needs folds in rotation, or one split into train and test"
            )
    whole = concatenate(tests)
    ends = np.cumsum([test.n_queries for test in tests])
    return whole, np.split(np.arange(whole.n_queries), ends[:-1])


def _join_split(fold: Fold) -> tuple[RankingData, np.ndarray]:
    """Join the parts of a split; also return the positions of its test queries, the last ones."""
    train, vali, test = fold
    given = {"train on": train, **({"tune by": vali} if vali is not None else {}), "test on": test}
    _check_apart(given)
    whole = concatenate(list(given.values()))
    return whole, np.arange(whole.n_queries - test.n_queries, whole.n_queries)


def _check_apart(parts: Mapping[str, RankingData]) -> None:
    for role, part in parts.items():
        if part.n_queries == 0:
            raise DataError(f"there is no query to {role}")
    check_distinct("the data", dict(parts))
