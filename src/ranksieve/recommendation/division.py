"""Divide queries into those that choose features and those that judge the choice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from ranksieve.data import DataError, RankingData
from ranksieve.data.joining import concatenate
from ranksieve.datasets import Collection
from ranksieve.datasets.fold_files import Fold
from ranksieve.datasets.opening import DividedData
from ranksieve.engine.memo import Memo
from ranksieve.splits import query_parts
from ranksieve.study.protocols import check_distinct

_MANY_ROWS = 50_000  # with so many rows, two parts of the queries are enough for choosing
_ROWS_TO_SELECT = 20_000  # sample size for selectors, if there are many rows
_RECENT = 4  # number of trials that are kept, because other cells will use them soon
_TEST, _VALI = "test", "vali"


@dataclass(frozen=True)
class TrainingSet:
    """Queries to train on: all except some parts, or one half or a sample of these."""

    left_out: tuple[str, ...] = ()  # parts that are held out from training and ranked afterwards
    # Number of a random division into halves, and the half (0 or 1) to train on.
    half: tuple[int, int] | None = None
    is_sample: bool = False  # whether to train on a random sample of the queries and rank nothing

    @property
    def name(self) -> str:
        """Name of the training set in the ledger."""
        name = "without " + ", ".join(self.left_out) if self.left_out else "all"
        if self.half is not None:
            name += f"; half {self.half[0]}{'ab'[self.half[1]]}"
        return f"{name}; {_ROWS_TO_SELECT} rows" if self.is_sample else name


@dataclass(frozen=True, eq=False)
class Trial:
    """Training data, and the data held out from it."""

    name: str
    train: RankingData
    held_out: Mapping[str, RankingData]  # queries of each held-out part
    memo: Memo = field(default_factory=Memo)  # statistics of training queries that selectors share
    vali: None = None


class _RecentTrials:
    """The trials of a division that were used last.

    They are freed with their division, and stay behind if it is sent to another process.
    """

    def __init__(self) -> None:
        self._lock, self._trials = Lock(), dict[TrainingSet, Trial]()

    def __reduce__(self) -> tuple[type[_RecentTrials], tuple[()]]:
        return _RecentTrials, ()

    def find(self, training: TrainingSet) -> Trial | None:
        """Return the trial of a training set, if it is one of them."""
        return self._trials.get(training)

    def add(self, training: TrainingSet, trial: Trial) -> None:
        """Keep a trial as the last one used."""
        with self._lock:
            self._trials.pop(training, None)
            self._trials[training] = trial
            for oldest in list(self._trials)[:-_RECENT]:
                del self._trials[oldest]


class Stage(NamedTuple):
    """One run of the procedure: what it chooses features on, and what judges the choice."""

    # Folds: what to train on, and the part whose queries help to choose.
    inner: Sequence[tuple[TrainingSet, str]]
    final: TrainingSet  # what the features are selected on once the choice is made
    judge: str | None  # part of the queries, if any, that has no influence on the choice


@dataclass(frozen=True, eq=False)
class Division:
    """Data whose queries are divided into parts, and the stages of a recommendation.

    The last stage yields the features to recommend; the stages before it show how well the
    procedure does on unseen queries. If the data comes with a split, there is one stage, and the
    test queries judge exactly the features that it recommends.
    """

    whole: RankingData
    # Positions of the queries of each part; queries in no part are always used for training.
    parts: Mapping[str, np.ndarray]
    stages: Sequence[Stage]
    in_words: str  # how queries are divided, for readers
    seed: int = 0  # of halves and samples
    name: str = "recommendation"  # in messages
    _recent: _RecentTrials = field(default_factory=_RecentTrials, init=False, repr=False)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.whole.n_rows

    @property
    def is_split(self) -> bool:
        """Whether the data came with test queries, which judge."""
        return _TEST in self.parts

    @property
    def to_deploy(self) -> TrainingSet:
        """Queries that train the rankers to write: all but the test queries of a split."""
        return self.stages[-1].final

    @property
    def deployed_in_words(self) -> str:
        """The queries of :attr:`to_deploy`, for readers."""
        if not self.is_split:
            return "all queries"
        has_vali = _VALI in self.parts
        return f"the training {'and validation queries' if has_vali else 'queries'}"

    @property
    def is_large(self) -> bool:
        """Whether there are so many rows that much of the work uses only some of them."""
        return self.n_rows >= _MANY_ROWS

    def to_select(self, training: TrainingSet) -> TrainingSet:
        """Return the queries that selectors use: a sample of the training set if data is large."""
        return replace(training, is_sample=self.is_large)

    @property
    def judged(self) -> list[tuple[TrainingSet, str]]:
        """Folds whose held-out parts together are all judging queries, once each."""
        if self.is_split:
            return [(TrainingSet((_TEST,)), _TEST)]
        return [(TrainingSet((part,)), part) for part in self.parts]

    def queries(self, parts: Sequence[str]) -> np.ndarray:
        """Return the positions of the queries of some parts, one part after the other."""
        return np.concatenate([self.parts[part] for part in parts])

    def weights(self, parts: Sequence[str]) -> np.ndarray | None:
        """Return the weights of the queries of some parts; None if queries have no weights."""
        weights = self.whole.query_weights
        return None if weights is None else weights[self.queries(parts)]

    def trial(self, training: TrainingSet) -> Trial:
        """Return the data of a training set; the most recent ones are cached."""
        trial = self._recent.find(training) or self._make_trial(training)
        self._recent.add(training, trial)
        return trial

    def _make_trial(self, training: TrainingSet) -> Trial:
        whole = self.whole
        held_out = {part: whole.take_queries(self.parts[part]) for part in training.left_out}
        queries = self.training_queries(training)
        train = whole if len(queries) == whole.n_queries else whole.take_queries(queries)
        is_ranked = training.half is None and not training.is_sample
        return Trial(training.name, train, held_out if is_ranked else {})

    def training_queries(self, training: TrainingSet) -> np.ndarray:
        """Return the positions of the queries to train on."""
        trains = np.ones(self.whole.n_queries, dtype=bool)
        for part in training.left_out:
            trains[self.parts[part]] = False
        positions = np.flatnonzero(trains)
        if training.half is not None:
            number, side = training.half
            drawn = np.random.default_rng([self.seed, number]).permutation(positions)
            positions = np.sort(np.array_split(drawn, 2)[side])
        return self._sampled(positions) if training.is_sample else positions

    def _sampled(self, positions: np.ndarray) -> np.ndarray:
        """Draw at least one query, and more until the limit of rows is reached."""
        drawn = np.random.default_rng([self.seed, len(positions)]).permutation(positions)
        rows = np.cumsum(self.whole.group_counts[drawn])
        return np.sort(drawn[: max(1, np.searchsorted(rows, _ROWS_TO_SELECT, side="right"))])


def divide(
    source: RankingData | Collection | DividedData, n_folds: int, seed: int, **read_options: Any
) -> Division:
    """Divide queries into those that choose and those that judge.

    If the data has folds or a split, these are used; if it has neither, ``n_folds`` parts are used
    in rotation. The options are those for reading the files of a collection.
    """
    if isinstance(source, RankingData):
        parts = query_parts(source.n_queries, n_folds, random_state=seed)
        words = f"{n_folds} parts of the queries, divided at random (seed {seed})"
        return _in_rotation(source, parts, words, seed)
    readers = source.readers if isinstance(source, DividedData) else None
    folds = [read() for read in readers or source.fold_readers(**read_options)]  # type: ignore[union-attr]
    if len(folds) == 1:
        return _of_split(folds[0], n_folds, seed)
    return _of_folds(folds, seed)


def _in_rotation(
    whole: RankingData, positions: Sequence[np.ndarray], words: str, seed: int
) -> Division:
    """Let each part judge once, while all of the other parts, or two of them, choose."""
    names = [str(number) for number in range(1, len(positions) + 1)]
    if len(names) < 3:
        raise DataError(f"a recommendation needs at least 3 parts of queries, got {len(names)}")
    few = whole.n_rows >= _MANY_ROWS and len(names) > 3  # whether only two parts choose
    stages = []
    for number, judge in enumerate(names):
        others = names[:number] + names[number + 1 :]
        if few:  # take neighbors, so that two stages share the training set without both
            others = [names[number - 1], names[(number + 1) % len(names)]]
        inner = [
            (TrainingSet(tuple(n for n in names if n in (judge, part))), part) for part in others
        ]
        stages.append(Stage(inner, TrainingSet((judge,)), judge))
    last = names[:2] if few else names
    stages.append(Stage([(TrainingSet((part,)), part) for part in last], TrainingSet(), None))
    choosers = "two of the others" if few else "each of the others"
    words += f"; each part judges what was chosen without it, and {choosers} chooses once"
    if few:
        words += f"; selectors look at samples of {_ROWS_TO_SELECT:,} rows"
    return Division(whole, dict(zip(names, positions, strict=True)), stages, words, seed)


def _of_folds(folds: Sequence[Fold], seed: int) -> Division:
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
    positions = [
        np.arange(end - test.n_queries, end) for end, test in zip(ends, tests, strict=True)
    ]
    return _in_rotation(whole, positions, f"the {len(folds)} folds of the data", seed)


def _of_split(fold: Fold, n_folds: int, seed: int) -> Division:
    train, vali, test = fold
    given = {"train on": train, **({"tune by": vali} if vali is not None else {}), "test on": test}
    _check_apart(given)
    whole = concatenate(list(given.values()))
    judge = np.arange(whole.n_queries - test.n_queries, whole.n_queries)
    if vali is not None:
        parts = {_VALI: np.arange(train.n_queries, whole.n_queries - test.n_queries)}
        choosing = "its validation queries choose"
    else:
        drawn = query_parts(train.n_queries, n_folds, random_state=seed)
        parts = {str(number): part for number, part in enumerate(drawn, start=1)}
        choosers = "each" if whole.n_rows < _MANY_ROWS else "two"
        choosing = (
            f"{choosers} of {n_folds} parts of the training queries chooses once (seed {seed})"
        )
    inner = [(TrainingSet((name, _TEST)), name) for name in parts]
    inner = inner if whole.n_rows < _MANY_ROWS else inner[:2]
    stage = Stage(inner, TrainingSet((_TEST,)), _TEST)
    words = f"the split that comes with the data; {choosing}, its test queries judge"
    return Division(whole, parts | {_TEST: judge}, [stage], words, seed)


def _check_apart(parts: Mapping[str, RankingData]) -> None:
    for role, part in parts.items():
        if part.n_queries == 0:
            raise DataError(f"there is no query to {role}")
    check_distinct("the data", dict(parts))
