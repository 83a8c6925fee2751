"""The cells of a plan, for data with a given number of features."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, TypeVar

from ranksieve.base.feature_lists import listed_features
from ranksieve.io.record_log import key_of
from ranksieve.study.cells import Cell, SelectionCell, TrainingCell
from ranksieve.study.plan import Candidate, Plan
from ranksieve.study.records import Record

Results = Callable[[Record], Record]
"""Maps the key of a cell to its result."""

C = TypeVar("C", bound=Cell)


class Attempt(NamedTuple):
    """A ranker on the ``k`` features that a selector with some parameters chooses."""

    selector: str
    ranker: str
    seed: int | None
    candidate: Candidate
    k: int


class Layout:
    """Cells of a plan.

    Parameters
    ----------
    plan : Plan
    names : sequence of str
        Names of the features of the data.

    Attributes
    ----------
    n_features : int
        Number of features that are not excluded.
    include, exclude : list of int
        Features that all selectors start with, and that none selects.
    """

    def __init__(self, plan: Plan, names: Sequence[str]) -> None:
        self.plan = plan
        listed = listed_features(plan.include, plan.exclude, plan.groups, names)
        self.include, self.exclude = listed.include, listed.exclude
        allowed = [feature for feature in range(len(names)) if feature not in self.exclude]
        self._every = tuple(dict.fromkeys([*self.include, *allowed]))
        self.n_features = len(allowed)
        # The included features or the largest group must fit.
        groups = [set(group) - set(self.exclude) for group in listed.groups or []]
        whole = sum(len(group) for group in groups if group & set(self.include))
        self._sizes = plan.sizes(self.n_features, max(1, whole, *map(len, groups)))
        self._selections: dict[str, SelectionCell] = {}
        self._grids = {name: plan.grid(name) for name in plan.rankers}

    def sizes_of(self, selector: str) -> list[int]:
        """Numbers of features to try with a selector, ascending."""
        return self._sizes if self.plan.takes_number(selector) else [self.n_features]

    def attempts(self) -> Iterator[Attempt]:
        """All attempts on a fold, in a fixed order; many share a selection or a training."""
        for ranker in self.plan.rankers:
            for selector in self.plan.selectors:
                for seed in self.plan.seeds_of(selector, ranker):
                    for candidate in self.plan.candidates(selector, seed):
                        for k in self.sizes_of(selector):
                            yield Attempt(selector, ranker, seed, candidate, k)

    def selections(self) -> list[SelectionCell]:
        """All selections on a fold, each once."""
        return _distinct(
            self._selection(attempt.candidate, attempt.k)
            for attempt in self.attempts()
            if attempt.k < self.n_features
        )

    def trainings(self, fold: str, results: Results) -> list[TrainingCell]:
        """All trainings on a fold, each once, given the results of the selections."""
        return _distinct(
            self.training(attempt, self.features(fold, attempt, results)[0])
            for attempt in self.attempts()
        )

    def features(
        self, fold: str, attempt: Attempt, results: Results
    ) -> tuple[tuple[int, ...], float]:
        """Features in the order of selection, and the seconds of the selection."""
        if attempt.k == self.n_features:  # all features: there is no choice
            return self._every, 0.0
        record = results(self._selection(attempt.candidate, attempt.k).key(fold))
        return tuple(record["features"][: attempt.k]), record["seconds"]

    def training(self, attempt: Attempt, features: tuple[int, ...]) -> TrainingCell:
        """Training of an attempt's ranker on features, in any order."""
        ranker, plan = self.plan.method(attempt.ranker), self.plan
        return TrainingCell(
            ranker,
            plan.settings(attempt.ranker),
            self._grids[attempt.ranker],
            attempt.seed if ranker.is_seeded else None,
            tuple(sorted(features)),
            self.plan.tune,
            self.plan.convention,
            tuple(self.plan.measures),
        )

    def _selection(self, candidate: Candidate, k: int) -> SelectionCell:
        """Selection whose first ``k`` features are those of a candidate."""
        known = key_of({"candidate": candidate, "k": k})
        if known not in self._selections:
            name, parameters, seed = candidate
            if self.plan.is_nested(candidate, k):
                k = max(size for size in self._sizes if size < self.n_features)
            settings, inside = self.plan.settings(name), self.plan.inside
            self._selections[known] = SelectionCell(
                self.plan.method(name), settings, parameters, seed, k, inside
            )
        return self._selections[known]


def _distinct(cells: Iterable[C]) -> list[C]:
    return list({key_of(cell.key("")): cell for cell in cells}.values())
