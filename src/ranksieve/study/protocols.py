"""Protocols: which queries of a study are for training, validation and testing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any

import numpy as np

from ranksieve.data import DataError, RankingData
from ranksieve.data.missing import Missing
from ranksieve.datasets import Collection
from ranksieve.datasets.fold_files import Fold
from ranksieve.datasets.opening import DividedData
from ranksieve.engine.memo import Memo
from ranksieve.preprocessing import scaled_within_queries
from ranksieve.splits import query_kfold, query_parts, resample_queries, six_trials

_VALIDATION_PARTS = 5  # one of these parts is for validation if there are no such files


@dataclass(frozen=True, eq=False)
class StudyFold:
    """Training, validation and test queries."""

    name: str
    train: RankingData
    vali: RankingData
    test: RankingData
    memo: Memo = field(default_factory=Memo)  # statistics of the fold that selectors share

    @property
    def n_rows(self) -> int:
        """Number of rows to train on."""
        return self.train.n_rows

    @property
    def parts(self) -> tuple[RankingData, RankingData, RankingData]:
        """Training, validation and test queries."""
        return self.train, self.vali, self.test

    def prepared(self, missing: Missing | None, scale: str) -> StudyFold:
        """Return the fold with missing values treated, and features scaled within each query."""
        parts = list(self.parts)
        if missing is not None:
            parts[0] = _treat_missing(self.train, missing)
            # Indicators are those of the training data, even if it already had them.
            parts[1:] = [_treat_missing(part, parts[0].missing or missing) for part in parts[1:]]
        train, vali, test = (scaled_within_queries(part, scale) for part in parts)
        return StudyFold(self.name, train, vali, test)

    def check(self) -> None:
        """Raise a DataError if this fold cannot be used for training, validation or testing."""
        parts = {"train on": self.train, "tune by": self.vali, "test on": self.test}
        for role, part in parts.items():
            if part.n_queries == 0:
                raise DataError(f"{self.name}: there is no query to {role}")
        check_distinct(self.name, parts)
        for role in ("train on", "tune by"):
            if not _can_rank(parts[role]):
                raise DataError(
                    f"{self.name}: no query to {role} has documents of different relevance; use "
                    "another protocol or seed"
                )
        if not np.any(self.test.y > 0):
            raise DataError(
                f"{self.name}: no query to test on has a relevant document; use another protocol "
                "or seed"
            )


def check_distinct(name: str, parts: dict[str, RankingData]) -> None:
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


def _treat_missing(data: RankingData, missing: Missing) -> RankingData:
    """Data with its missing values treated, unless that was already done."""
    is_done = data.missing is not None and data.missing.name == missing.name
    return data if is_done else data.with_missing(missing)


def _can_rank(data: RankingData) -> bool:
    """Whether a query has documents with different labels."""
    return bool(np.any(np.diff(data.y)[np.diff(data.query_codes) == 0]))


@dataclass(frozen=True)
class FoldSource:
    """A fold that is not in memory yet."""

    name: str
    load: Callable[[], StudyFold]


@dataclass(frozen=True)
class Protocol:
    """A way to divide queries.

    Parameters
    ----------
    name : {"letor", "split", "kfold", "six-trials"}
        The folds of a collection, as its files define them; a division that comes with the data;
        parts of the queries in rotation, of which one tests, one tunes and the others train; or
        all six ways to give three parts these roles, as in the GAS paper.
    n_splits : int
        Number of parts of ``"kfold"``, at least 3.
    seed : int
        Random seed of ``"kfold"`` and ``"six-trials"``, of resamples, and of the choice of
        validation queries where none are given.
    resamples : int
        If there is only one split: how often to select and train on four in five of its training
        queries, drawn at random without replacement; 0 to do so once, on all of them. A bootstrap
        would draw queries twice, and methods that hold out some of them would train on copies of
        held-out queries.

    Examples
    --------
    >>> from ranksieve.study import Protocol
    >>> Protocol.parse("kfold:10").n_splits
    10
    >>> print(Protocol("six-trials"))
    six trials: three parts of the queries train, tune and test in all orders (seed 0)
    """

    name: str
    n_splits: int = 5
    seed: int = 0
    resamples: int = 0

    def __post_init__(self) -> None:
        if self.name not in _PROTOCOLS:
            known = ", ".join(_PROTOCOLS)
            raise ValueError(f"unknown protocol {self.name!r}; choose from {known}")
        if self.n_splits < 3:
            raise ValueError(f"train, validation and test need 3 parts, got {self.n_splits}")
        if self.resamples and self.name not in _GIVEN:
            raise ValueError(
                f"resamples are of the training queries of one split; {self.name} has several folds"
            )
        if self.resamples < 0 or self.resamples == 1:
            raise ValueError(f"resamples must be 0, or 2 and more, got {self.resamples}")

    @classmethod
    def parse(cls, text: str, seed: int = 0, resamples: int = 0) -> Protocol:
        """Make a protocol from its name, or from ``kfold:N`` with a number of parts."""
        name, colon, number = text.partition(":")
        if not colon:
            return cls(name, seed=seed, resamples=resamples)
        if name != "kfold" or not number.isdecimal():
            raise ValueError(f"protocol {text!r}: only kfold takes a number, such as kfold:10")
        return cls(name, int(number), seed, resamples)

    @property
    def text(self) -> str:
        """Name that :meth:`parse` accepts."""
        return f"{self.name}:{self.n_splits}" if self.name == "kfold" else self.name

    def __str__(self) -> str:
        if self.name == "letor":
            return "the folds of the collection"
        if self.name == "split":
            return "the split that comes with the data"
        if self.name == "six-trials":
            return (
                "six trials: three parts of the queries train, tune and test in all orders "
                f"(seed {self.seed})"
            )
        return (
            f"{self.n_splits} folds over queries: one part tests, one tunes, the others train "
            f"(seed {self.seed})"
        )

    def describe(self, data: RankingData | Collection | DividedData) -> str:
        """Describe the protocol, including how validation queries and resamples are drawn."""
        if self.name not in _GIVEN:
            return str(self)
        rule, has_validation = self._rule(data)
        remaining = "" if has_validation else "other "
        if not has_validation:
            rule += f"; one in five training queries tunes (seed {self.seed})"
        if self.resamples:
            rule += (
                f"; {self.resamples} resamples select and train, each on four in five of the "
                f"{remaining}training queries, drawn without replacement (seed {self.seed}), and "
                "all rank the same test queries: the folds of these tables are resamples"
            )
        return rule

    def folds(
        self, data: RankingData | Collection | DividedData, **read_options: Any
    ) -> list[FoldSource]:
        """Divide data into folds, each of which is loaded when it is needed.

        The options are those to read the files of a collection; see :meth:`Collection.read_fold`.
        """
        names, readers = self._readers(data, read_options)
        loads = [
            partial(_load_fold, name, read, self.seed)
            for name, read in zip(names, readers, strict=True)
        ]
        if self.resamples:
            return self._resamples(loads)
        return [FoldSource(name, load) for name, load in zip(names, loads, strict=True)]

    def _readers(
        self, data: RankingData | Collection | DividedData, read_options: dict[str, Any]
    ) -> tuple[Sequence[str], Sequence[Callable[[], Fold]]]:
        """Names of folds, and functions that read them."""
        if self.name in _GIVEN:
            self._rule(data)  # raises an error if the data is not divided
            if isinstance(data, Collection):
                names = [fold.name for fold in data.folds]
                return names, data.fold_readers(**read_options)
            assert isinstance(data, DividedData)
            return data.names, data.readers
        if isinstance(data, DividedData):
            raise DataError(
                f"the data is already divided ({data.rule}): leave out the protocol {self.text}"
            )
        whole = data.read_all(**read_options) if isinstance(data, Collection) else data
        whole = _drop_weightless(whole)
        if self.name == "six-trials":
            word, splits = "Trial", six_trials(whole.n_queries, random_state=self.seed)
        else:
            word = "Fold"
            splits = query_kfold(whole.n_queries, self.n_splits, random_state=self.seed)
        names = [f"{word}{number}" for number in range(1, len(splits) + 1)]
        return names, [partial(split.apply, whole) for split in splits]

    def _rule(self, data: RankingData | Collection | DividedData) -> tuple[str, bool]:
        """Description of the given division, and whether there are validation queries."""
        if self.name == "split":
            if isinstance(data, DividedData):
                return data.rule, data.has_validation
            raise DataError(
                "the protocol split needs data that is divided: training and test data, or a "
                "column to split by"
            )
        if not isinstance(data, Collection):
            raise DataError(
                "the protocol letor needs the directory of a collection with folds; for other data "
                "use kfold or six-trials"
            )
        assert data.whole  # raises unless these are folds of one collection
        one = len(data.folds) == 1
        rule = "one split, by the files of the directory" if one else str(self)
        return rule, all(fold.vali for fold in data.folds)

    def _resamples(self, loads: Sequence[Callable[[], StudyFold]]) -> list[FoldSource]:
        """Folds that train on resamples of the one split, which is read once."""
        if len(loads) > 1:
            raise DataError(
                f"resamples are of the training queries of one split, but this data has "
                f"{len(loads)} folds: leave out the number of resamples"
            )
        load = cache(loads[0])
        names = [f"Resample{number}" for number in range(1, self.resamples + 1)]
        return [
            FoldSource(name, partial(_load_resample, name, load, number, self))
            for number, name in enumerate(names)
        ]


_PROTOCOLS = ("letor", "split", "kfold", "six-trials")
_GIVEN = ("letor", "split")  # the division comes with the data


def _drop_weightless(data: RankingData) -> RankingData:
    """Data without queries of weight 0."""
    weights = data.query_weights
    return data if weights is None or weights.all() else data.take_queries(weights > 0)


def _load_fold(name: str, read: Callable[[], Fold], seed: int) -> StudyFold:
    """Read a fold; without validation queries, some training queries are used instead."""
    train, vali, test = read()
    train, test = _drop_weightless(train), _drop_weightless(test)
    vali = None if vali is None else _drop_weightless(vali)
    if vali is None:
        parts = query_parts(train.n_queries, _VALIDATION_PARTS, random_state=seed)
        kept = np.sort(np.concatenate(parts[1:]))
        train, vali = train.take_queries(kept), train.take_queries(parts[0])
    return StudyFold(name, train, vali, test)


def _load_resample(
    name: str, load: Callable[[], StudyFold], number: int, protocol: Protocol
) -> StudyFold:
    whole = load()
    draws = resample_queries(whole.train.n_queries, protocol.resamples, random_state=protocol.seed)
    return StudyFold(name, whole.train.take_queries(draws[number]), whole.vali, whole.test)
