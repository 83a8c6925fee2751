"""Trials: which queries train, tune and judge, and the data that they are taken from."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from threading import RLock
from typing import Any, NamedTuple

import numpy as np

from ranksieve.data import DataError, RankingData
from ranksieve.data.joining import concatenate
from ranksieve.data.missing import Missing, count_missing
from ranksieve.data.ranking_data import fingerprint
from ranksieve.engine.memo import Memo
from ranksieve.preprocessing import scaled_within_queries
from ranksieve.splits import Split

_KEPT_TRIALS = 4  # open trials of a source that are kept, because other cells will use them soon,
_KEPT_VALUES = 50_000_000  # unless they have more values than this


class QuerySets(NamedTuple):
    """Positions of the queries of a trial in its source, each in at most one of the sets."""

    train: np.ndarray
    vali: np.ndarray | None = None  # queries that tune; None if nothing is tuned
    judged: Mapping[str, np.ndarray] = {}
    """Queries that judge what was trained, by the name of their set."""

    @classmethod
    def of(cls, split: Split) -> QuerySets:
        """The sets of a split, whose test queries judge."""
        return cls(split.train, split.vali, {"test": split.test})


@dataclass(frozen=True, eq=False)
class Trial:
    """Named sets of the queries of a source: those that train, tune and judge.

    Nothing is read or copied before the trial is opened.

    Parameters
    ----------
    name : str
        Name in the ledger and in messages, such as ``"Fold1"``; different for different trials.
    source : TrialSource
        The data.
    queries : QuerySets, or function
        The sets, or a function that makes them from the number of queries of each part of the
        source, which is not known before its files are read.

    Examples
    --------
    >>> import numpy as np
    >>> from ranksieve import make_ranking
    >>> from ranksieve.experiments import QuerySets, TrialSource, Trial
    >>> data, _ = make_ranking(30, random_state=0)
    >>> sets = QuerySets(np.arange(20), judged={"test": np.arange(20, 30)})
    >>> opened = Trial("Fold1", TrialSource.of(data), sets).open()
    >>> opened.train.n_queries, opened.judged["test"].n_queries
    (20, 10)
    """

    name: str
    source: TrialSource
    queries: QuerySets | Callable[[Sequence[int]], QuerySets]

    @cached_property
    def sets(self) -> QuerySets:
        """Positions of the queries; reads the source."""
        sizes = [part.n_queries for part in self.source.parts]
        sets = self.queries(sizes) if callable(self.queries) else self.queries
        for role, queries in _by_role(sets).items():
            if not len(queries):
                raise DataError(f"{self.name}: there is no query to {role}")
        every = np.concatenate(list(_by_role(sets).values()))
        if not 0 <= every.min() <= every.max() < sum(sizes):
            raise DataError(f"{self.name}: it uses queries that the data does not have")
        if len(np.unique(every)) < len(every):
            raise DataError(f"{self.name}: it uses a query twice")
        return sets

    @cached_property
    def n_rows(self) -> int:
        """Number of rows to train on; reads the source."""
        return int(self.source.group_counts[self.sets.train].sum())

    @property
    def fingerprint(self) -> str:
        """Short text that is the same for the same data, names and sets; reads the source."""
        digest = hashlib.sha256(self.source.fingerprint.encode())
        for role, positions in _by_role(self.sets).items():
            digest.update(f"{role} {len(positions)}".encode())
            digest.update(np.ascontiguousarray(positions, dtype=np.int64).data)
        return digest.hexdigest()[:16]

    def open(self) -> TrialData:
        """Take the queries from the source; recently opened trials are kept."""
        return self.source.open(self.name, self.sets)


@dataclass(frozen=True, eq=False)
class TrialData:
    """The data of an open trial."""

    name: str
    train: RankingData
    vali: RankingData | None = None
    judged: Mapping[str, RankingData] = field(default_factory=dict)
    memo: Memo = field(default_factory=Memo)  # statistics of the trial that selectors share
    _others: dict[frozenset[str], TrialData] = field(default_factory=dict)

    @property
    def test(self) -> RankingData:
        """Data of the one judging set."""
        (test,) = self.judged.values()
        return test

    def without(self, names: Iterable[str]) -> TrialData:
        """The same without ``row_weights`` or ``positions``; always the same object, for its memo.

        What judges keeps them.
        """
        names = frozenset(names)
        if not names:
            return self
        if names not in self._others:
            vali = None if self.vali is None else self.vali.without(names)
            other = TrialData(self.name, self.train.without(names), vali, self.judged, self.memo)
            self._others.setdefault(names, other)
        return self._others[names]

    @property
    def parts(self) -> list[RankingData]:
        """Data to train on, to tune by and to judge."""
        return list(_by_role(self).values())

    def check(self) -> None:
        """Raise a DataError if some queries cannot be used for what they are there for."""
        parts = _by_role(self)
        check_distinct(self.name, parts)
        for role in ("train on", "tune by"):
            if role in parts and not _can_rank(parts[role]):
                raise DataError(
                    f"{self.name}: no query to {role} has documents of different relevance; use "
                    "another protocol or seed"
                )
        for name, part in self.judged.items():
            if not np.any(part.y > 0):
                raise DataError(
                    f"{self.name}: no query to {name} on has a relevant document; use another "
                    "protocol or seed"
                )


def _by_role(sets: Any) -> dict[str, Any]:
    """Values of a QuerySets or TrialData by what their queries are there for."""
    tuning = {} if sets.vali is None else {"tune by": sets.vali}
    return {"train on": sets.train, **tuning} | {
        f"{name} on": own for name, own in sets.judged.items()
    }


def check_distinct(name: str, parts: Mapping[str, RankingData]) -> None:
    """Raise a DataError that names a query in two parts of a split, which would leak."""
    role_of: dict[str, str] = {}
    for role, part in parts.items():
        for query in part.query_ids.tolist():
            other = role_of.setdefault(str(query), role)
            if other != role:
                raise DataError(
                    f"{name}: query {query!r} is among those to {other} and those to {role}, so "
                    "the split leaks: keep it on one side; if these are two queries, give them two "
                    "ids"
                )


def _can_rank(data: RankingData) -> bool:
    """Whether a query has documents with different labels."""
    return bool(np.any(np.diff(data.y)[np.diff(data.query_codes) == 0]))


class TrialSource:
    """Data of which trials take queries; it is read when it is first used.

    Its parts, such as files, have the same features. Their queries are numbered one after the
    other, so that position 0 is the first query of the first part. What is sent to another process
    is the data that was read.
    """

    def __init__(self, read: Callable[[], Iterable[RankingData]]) -> None:
        self._read = read
        self._parts: list[RankingData] | None = None
        self._open: dict[str, TrialData] = {}  # recently used trials, the last one at the end
        self._lock = RLock()

    @classmethod
    def of(cls, *parts: RankingData) -> TrialSource:
        """Make a source of data in memory."""
        return cls(partial(list, parts))

    def __reduce__(self) -> tuple[Callable[..., TrialSource], tuple[RankingData, ...]]:
        return TrialSource.of, tuple(self.parts)

    @property
    def parts(self) -> list[RankingData]:
        """The data; reads it if necessary."""
        with self._lock:
            if self._parts is None:
                self._parts = list(self._read())
            return self._parts

    @property
    def group_counts(self) -> np.ndarray:
        """Number of rows of each query."""
        return np.concatenate([part.group_counts for part in self.parts])

    @cached_property
    def fingerprint(self) -> str:
        """Short text that is the same for the same data, with the same names."""
        digest = hashlib.sha256(fingerprint(*self.parts).encode())
        digest.update(repr(self.parts[0].feature_names.tolist()).encode(errors="replace"))
        for part in self.parts:
            digest.update(repr(part.query_ids.tolist()).encode(errors="replace"))
        return digest.hexdigest()[:16]

    def open(self, name: str, sets: QuerySets) -> TrialData:
        """Take the queries of a trial; recently opened trials are kept."""
        with self._lock:
            found = self._open.pop(name, None)
            if found is None:
                train = self.take(sets.train)
                vali = None if sets.vali is None else self.take(sets.vali)
                judged = {part: self.take(queries) for part, queries in sets.judged.items()}
                found = TrialData(name, train, vali, judged)
            self._open[name] = found
            n_values = 0
            for place, (other, trial) in enumerate(reversed(list(self._open.items()))):
                n_values += sum(part.X.size for part in trial.parts)
                if place and (place >= _KEPT_TRIALS or n_values > _KEPT_VALUES):
                    del self._open[other]
            return found

    def take(self, queries: np.ndarray) -> RankingData:
        """Take queries by position, in this order; all queries of one part are not copied."""
        if not len(queries):
            return self.parts[0].take_queries(queries)
        starts = np.cumsum([0, *(part.n_queries for part in self.parts)])
        part_of = np.searchsorted(starts, queries, side="right") - 1
        cuts = np.flatnonzero(np.diff(part_of)) + 1
        taken = []
        for run, number in zip(np.split(queries, cuts), part_of[[0, *cuts]], strict=True):
            part, own = self.parts[number], run - starts[number]
            is_whole = np.array_equal(own, np.arange(part.n_queries))
            taken.append(part if is_whole else part.take_queries(own))
        return taken[0] if len(taken) == 1 else concatenate(taken)

    def close(self) -> None:
        """Free what was read and opened, until it is used again."""
        with self._lock:
            self._parts = None
            self._open.clear()


def prepare_trials(
    trials: Sequence[Trial], missing: str = "none", scale: str = "none"
) -> list[Trial]:
    """Trials whose missing values are treated, and whose features are scaled within queries.

    Indicators are of the features with missing values anywhere, so that all trials have the same
    features; where the training queries have all values, indicators are constant.
    """
    sources = list(dict.fromkeys(trial.source for trial in trials))
    treatment = None if missing == "none" else _learn_missing(Missing(missing), sources)
    if treatment is None and scale == "none":
        return list(trials)
    treated = {
        source: TrialSource(partial(_prepare, source, treatment, scale)) for source in sources
    }
    return [Trial(trial.name, treated[trial.source], trial.queries) for trial in trials]


def _learn_missing(missing: Missing, sources: Sequence[TrialSource]) -> Missing:
    """Missing with the features that have indicators."""
    if missing.indicators:
        of_data = sources[0].parts[0].missing  # may already have indicators
        if of_data is not None and of_data.name == missing.name:
            return of_data

    def count() -> np.ndarray:
        total = np.zeros(sources[0].parts[0].n_features, dtype=np.int64)
        for source in sources:
            for part in source.parts:
                total += count_missing(part.X)
            if len(sources) > 1:
                source.close()
        return total

    return missing.learned(count)


def _prepare(source: TrialSource, missing: Missing | None, scale: str) -> list[RankingData]:
    parts = list(source.parts)
    source.close()
    if missing is not None:
        parts[0] = _treat_missing(parts[0], missing)
        # Indicators are those of the first part, even if it already had them.
        parts[1:] = [_treat_missing(part, parts[0].missing or missing) for part in parts[1:]]
    return [scaled_within_queries(part, scale) for part in parts]


def _treat_missing(data: RankingData, missing: Missing) -> RankingData:
    """Data with its missing values treated, unless that was already done."""
    is_done = data.missing is not None and data.missing.name == missing.name
    return data if is_done else data.with_missing(missing)
