"""Studies of the new features of a method that constructs features, as FS-BFS does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from ranksieve.data import RankingData
from ranksieve.engine.clock import work_seconds
from ranksieve.experiments import Trial, TrialSource
from ranksieve.progress import listen, track
from ranksieve.selectors import FSBFS
from ranksieve.study import FoldSummary, Outcome, Outcomes, Run

BEST_FIRST = "top"
"""Selector of a study of new features: those that rank the training queries best alone."""


@dataclass(frozen=True)
class Construction:
    """New features of a fold, learned on its training queries."""

    trial: Trial  # the fold with its original features
    learned: FSBFS
    seconds: float

    def read(self, n_features: int) -> list[RankingData]:
        """Read the data with ``n_features`` new features; those that it lacks are constant."""
        return [self._construct(part, n_features) for part in self.trial.source.parts]

    def _construct(self, data: RankingData, n_features: int) -> RankingData:
        new = self.learned.construct(data)
        new = np.pad(new, ((0, 0), (0, n_features - new.shape[1])))
        names = np.array([f"new {number}" for number in range(1, n_features + 1)], dtype=object)
        return data._replace(X=new, feature_names=names)

    def restore(self, outcome: Outcome) -> Outcome:
        """Replace new features of an outcome by the original ones in them."""
        subsets = [self.learned.subsets_[new] for new in outcome.features if new < self.n_features]
        members = tuple(feature for subset in subsets for feature in subset.features)
        return replace(outcome, features=members, selection_seconds=self.seconds)

    @property
    def n_features(self) -> int:
        """Number of new features."""
        return len(self.learned.subsets_)


def construct_on_folds(
    trials: Sequence[Trial], construct: Callable[[RankingData], FSBFS]
) -> list[Construction]:
    """Learn the new features of every fold."""
    constructions = []
    advance = track("Constructions", len(trials))
    for trial in trials:
        train = trial.open().train
        start = work_seconds()
        with listen(None):  # nested progress bars would only flicker
            learned = construct(train)
        constructions.append(Construction(trial, learned, work_seconds() - start))
        advance(1)
    return constructions


def constructed_trials(constructions: Sequence[Construction]) -> list[Trial]:
    """Trials of a study of the new features, of which all folds have the same number."""
    most = max(construction.n_features for construction in constructions)
    return [
        Trial(own.trial.name, TrialSource(partial(own.read, most)), own.trial.queries)
        for own in constructions
    ]


def restore_run(
    run: Run, name: str, constructions: Sequence[Construction], folds: Sequence[FoldSummary]
) -> Run:
    """Name the original features in a run of a study of new features.

    Numbers of features, such as those of ``by_k``, are still those of new features.
    """

    def restore(tested: Outcomes) -> Outcomes:
        outcomes = [
            [own.restore(outcome) for own, outcome in zip(constructions, seed, strict=True)]
            for seed in tested.outcomes
        ]
        return Outcomes(outcomes, folds)

    by_k = {k: restore(tested) for k, tested in run.by_k.items()}
    return Run(name, run.ranker, restore(run.chosen), by_k)
