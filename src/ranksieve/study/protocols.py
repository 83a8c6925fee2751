"""Which queries of a study train, tune and test."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from ranksieve.data import DataError, RankingData
from ranksieve.datasets import Collection
from ranksieve.datasets.fold_files import Fold
from ranksieve.engine.memo import Memo
from ranksieve.preprocessing import scaled_within_queries
from ranksieve.splits import query_kfold, query_parts, six_trials

_VALIDATION_PARTS = 5  # one of so many parts validates where a collection has no such files


@dataclass(frozen=True, eq=False)
class StudyFold:
    """Queries to train on, to tune on and to test on.

    Attributes
    ----------
    name : str
    train, vali, test : RankingData
    memo : Memo
        Statistics of the fold that selectors share.
    """

    name: str
    train: RankingData
    vali: RankingData
    test: RankingData
    memo: Memo = field(default_factory=Memo)

    def scaled(self, scale: str) -> StudyFold:
        """Return the fold with features scaled within each query."""
        train, vali, test = (
            scaled_within_queries(part, scale) for part in (self.train, self.vali, self.test)
        )
        return StudyFold(self.name, train, vali, test)

    def check(self) -> None:
        """Raise a DataError if nothing can be learned, tuned or tested on this fold."""
        for role, part in (("train on", self.train), ("tune by", self.vali)):
            if not _can_rank(part):
                raise DataError(
                    f"{self.name}: no query to {role} has documents of different relevance; use "
                    "another protocol or seed"
                )
        if not np.any(self.test.y > 0):
            raise DataError(
                f"{self.name}: no query to test on has a relevant document; use another protocol "
                "or seed"
            )


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
    name : {"letor", "kfold", "six-trials"}
        The folds of a collection, as its files define them; parts of the queries in rotation, of
        which one tests, one tunes and the others train; or all six ways to give three parts
        these roles, as in the GAS paper.
    n_splits : int
        Number of parts of ``"kfold"``, at least 3.
    seed : int
        Random seed of ``"kfold"`` and ``"six-trials"``.

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

    def __post_init__(self) -> None:
        if self.name not in _PROTOCOLS:
            known = ", ".join(_PROTOCOLS)
            raise ValueError(f"unknown protocol {self.name!r}; known are {known}")
        if self.n_splits < 3:
            raise ValueError(f"train, validation and test need 3 parts, got {self.n_splits}")

    @classmethod
    def parse(cls, text: str, seed: int = 0) -> Protocol:
        """Make a protocol from its name, or from ``kfold:N`` with a number of parts."""
        name, colon, number = text.partition(":")
        if not colon:
            return cls(name, seed=seed)
        if name != "kfold" or not number.isdecimal():
            raise ValueError(f"protocol {text!r}: only kfold takes a number, such as kfold:10")
        return cls(name, int(number), seed)

    @property
    def text(self) -> str:
        """Name that :meth:`parse` accepts."""
        return f"{self.name}:{self.n_splits}" if self.name == "kfold" else self.name

    def __str__(self) -> str:
        if self.name == "letor":
            return "the folds of the collection"
        if self.name == "six-trials":
            return (
                "six trials: three parts of the queries train, tune and test in all orders "
                f"(seed {self.seed})"
            )
        return (
            f"{self.n_splits} folds over queries: one part tests, one tunes, the others train "
            f"(seed {self.seed})"
        )

    def describe(self, data: RankingData | Collection) -> str:
        """Describe the protocol, including what is done if there are no validation queries."""
        tunes = self.name != "letor" or all(fold.vali for fold in _collection(data).folds)
        return str(self) + (
            "" if tunes else f"; one in five training queries tunes (seed {self.seed})"
        )

    def folds(self, data: RankingData | Collection, **read_options: Any) -> list[FoldSource]:
        """Divide data into folds, each of which is loaded when it is needed.

        Parameters
        ----------
        data : RankingData or Collection
        **read_options
            Options to read the files of a collection; see :func:`ranksieve.io.letor.read_letor`.
        """
        if self.name == "letor":
            collection = _collection(data)
            names = [fold.name for fold in collection.folds]
            readers = collection.fold_readers(**read_options)
        else:
            whole = data.read_all(**read_options) if isinstance(data, Collection) else data
            whole = _counted(whole)
            if self.name == "six-trials":
                word, splits = "Trial", six_trials(whole.n_queries, random_state=self.seed)
            else:
                word = "Fold"
                splits = query_kfold(whole.n_queries, self.n_splits, random_state=self.seed)
            names = [f"{word}{number}" for number in range(1, len(splits) + 1)]
            readers = [partial(split.apply, whole) for split in splits]
        return [
            FoldSource(name, partial(_load_fold, name, read, self.seed))
            for name, read in zip(names, readers, strict=True)
        ]


_PROTOCOLS = ("letor", "kfold", "six-trials")


def _collection(data: RankingData | Collection) -> Collection:
    if not isinstance(data, Collection):
        raise DataError(
            "the protocol letor needs the directory of a collection with folds; for other data "
            "use kfold or six-trials"
        )
    assert data.whole  # raises unless these are folds of one collection
    return data


def _counted(data: RankingData) -> RankingData:
    """The queries that count: not those of weight 0."""
    weights = data.query_weights
    return data if weights is None or weights.all() else data.take_queries(weights > 0)


def _load_fold(name: str, read: Callable[[], Fold], seed: int) -> StudyFold:
    """Read a fold; without queries to tune by, some of those to train on become such."""
    train, vali, test = read()
    train, test = _counted(train), _counted(test)
    vali = None if vali is None else _counted(vali)
    if vali is None:
        parts = query_parts(train.n_queries, _VALIDATION_PARTS, random_state=seed)
        kept = np.sort(np.concatenate(parts[1:]))
        train, vali = train.take_queries(kept), train.take_queries(parts[0])
    return StudyFold(name, train, vali, test)
