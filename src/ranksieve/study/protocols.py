"""Protocols: which queries of a study are for training, validation and testing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ranksieve.data import DataError, RankingData
from ranksieve.datasets import Collection
from ranksieve.datasets.fold_files import parts_reader
from ranksieve.datasets.split_rules import DividedData
from ranksieve.experiments import QuerySets, Trial, TrialSource
from ranksieve.splits import (
    adjacent_parts,
    query_kfold,
    query_parts,
    resample_queries,
    rotate_parts,
    six_trials,
)

_VALIDATION_PARTS = 5  # one of these parts is for validation if there are no such files


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
                f"resamples are drawn from the training queries of one split; {self.name} has "
                "several folds"
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

    def trials(
        self, data: RankingData | Collection | DividedData, **read_options: Any
    ) -> list[Trial]:
        """Divide data into trials, each of which is read when it is used.

        The options are those to read the files of a collection; see :meth:`Collection.read_fold`.
        Queries of weight 0 are left out.
        """
        if self.name in _GIVEN:
            self._rule(data)  # raises an error if the data is not divided
            assert not isinstance(data, RankingData)
            return self._resamples(_trials_with_data(data, self.seed, read_options))
        if isinstance(data, DividedData):
            raise DataError(
                f"the data is already divided ({data.rule}): leave out the protocol {self.text}"
            )
        whole = data.read_all(**read_options) if isinstance(data, Collection) else data
        source = TrialSource.of(*_drop_weightless([whole]))
        n_queries = source.parts[0].n_queries
        if self.name == "six-trials":
            word, splits = "Trial", six_trials(n_queries, random_state=self.seed)
        else:
            word, splits = "Fold", query_kfold(n_queries, self.n_splits, random_state=self.seed)
        return [
            Trial(f"{word}{number}", source, QuerySets.of(split))
            for number, split in enumerate(splits, start=1)
        ]

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

    def _resamples(self, trials: list[Trial]) -> list[Trial]:
        """Trials on resamples of the training queries of the one trial, or the trials."""
        if not self.resamples:
            return trials
        if len(trials) > 1:
            raise DataError(
                f"resamples are drawn from the training queries of one split, but this data has "
                f"{len(trials)} folds: leave out the number of resamples"
            )
        (whole,) = trials
        return [
            Trial(f"Resample{number + 1}", whole.source, partial(_resample, whole, number, self))
            for number in range(self.resamples)
        ]


_PROTOCOLS = ("letor", "split", "kfold", "six-trials")
_GIVEN = ("letor", "split")  # the division comes with the data


def _trials_with_data(
    data: Collection | DividedData, seed: int, read_options: dict[str, Any]
) -> list[Trial]:
    """Trials that come with the data."""
    if isinstance(data, Collection) and data.layout == "parts":
        paths = [[path] for path in data.folds[0].files]
        shared = TrialSource(_without_weightless(parts_reader(paths, **read_options)))
        return [
            Trial(fold.name, shared, partial(_rotate, number))
            for number, fold in enumerate(data.folds)
        ]
    if isinstance(data, Collection):
        names, readers = [fold.name for fold in data.folds], data.fold_readers(**read_options)
    else:
        names, readers = list(data.names), list(data.readers)
    return [
        Trial(name, TrialSource(_without_weightless(read)), partial(_divide, seed))
        for name, read in zip(names, readers, strict=True)
    ]


def _without_weightless(
    read: Callable[[], Sequence[RankingData | None]],
) -> Callable[[], list[RankingData]]:
    """Function that reads parts without queries of weight 0."""
    return lambda: _drop_weightless([part for part in read() if part is not None])


def _drop_weightless(parts: Sequence[RankingData]) -> list[RankingData]:
    """Parts without queries of weight 0."""
    kept = []
    for part in parts:
        weights = part.query_weights
        if weights is not None and not weights.all():
            part = part.take_queries(weights > 0)
        kept.append(part)
    return kept


def _rotate(turn: int, sizes: Sequence[int]) -> QuerySets:
    """Sets of a fold of files in rotation."""
    return QuerySets.of(rotate_parts(adjacent_parts(sizes))[turn])


def _divide(seed: int, sizes: Sequence[int]) -> QuerySets:
    """Sets of files; without a file of validation queries, some training queries are used."""
    train, *vali, test = adjacent_parts(sizes)
    if vali:
        return QuerySets(train, vali[0], {"test": test})
    tuning, *others = query_parts(len(train), _VALIDATION_PARTS, random_state=seed)
    return QuerySets(np.sort(np.concatenate(others)), tuning, {"test": test})


def _resample(whole: Trial, number: int, protocol: Protocol, sizes: Sequence[int]) -> QuerySets:
    train, n_resamples = whole.sets.train, protocol.resamples
    draws = resample_queries(len(train), n_resamples, random_state=protocol.seed)
    return whole.sets._replace(train=train[draws[number]])
