"""The cells of a plan, and the results that are assembled from them.

Results follow from the ledger alone: choose on validation queries, then take the test values.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ranksieve.base.choices import listed_features
from ranksieve.choosing import first_nearly_best
from ranksieve.data import DataError
from ranksieve.io.record_log import key_of
from ranksieve.study.cells import Cell, SelectionCell, TrainingCell
from ranksieve.study.files import Ledger
from ranksieve.study.plan import Plan, PlanSettings, Rule
from ranksieve.study.results import FoldSummary, Outcome, Outcomes, Run
from ranksieve.text import quantity

Best = dict[tuple[str, str, str, int | None, int], Outcome]
"""Fold, selector, ranker, seed and number of features -> choice on validation queries."""

C = TypeVar("C", bound=Cell)


class Attempt(NamedTuple):
    """A ranker on the ``k`` features that a selector with one point of its grid chooses."""

    selector: str
    ranker: str
    seed: int | None  # None if neither draws random numbers
    parameters: dict[str, Any]
    k: int


class Layout:
    """Cells of a plan; ``names`` are those of the features of the data."""

    def __init__(self, plan: PlanSettings, names: Sequence[str]) -> None:
        self.plan = plan
        listed = listed_features(plan.include, plan.exclude, plan.groups, names)
        # Features that all selectors start with, and that none selects.
        self.include, self.exclude = listed.include, listed.exclude
        allowed = [feature for feature in range(len(names)) if feature not in self.exclude]
        self._every = tuple(dict.fromkeys([*self.include, *allowed]))
        self.n_features = len(allowed)  # without those that are excluded
        # The included features or the largest group must fit.
        groups = [set(group) - set(self.exclude) for group in listed.groups or []]
        whole = sum(len(group) for group in groups if group & set(self.include))
        self._sizes = _sizes(plan.ks, self.n_features, max(1, whole, *map(len, groups)))
        self._grids = {name: plan.grid(name) for name in (*plan.selectors, *plan.rankers)}

    def sizes_of(self, selector: str) -> list[int]:
        """Numbers of features to try with a selector, ascending."""
        method = self.plan.method(selector)
        takes_number = selector in self.plan.own or "n_features_to_select" in method.defaults
        return self._sizes if takes_number else [self.n_features]

    def attempts(self) -> Iterator[Attempt]:
        """All attempts on a fold, in a fixed order; many share a selection or a training."""
        for ranker in self.plan.rankers:
            for selector in self.plan.selectors:
                for seed in self.plan.seeds_of(selector, ranker):
                    for parameters in self._grids[selector]:
                        for k in self.sizes_of(selector):
                            yield Attempt(selector, ranker, seed, parameters, k)

    def selections(self) -> list[SelectionCell]:
        """All selections on a fold, each once; only a plan that is run knows which are nested."""
        plan = self.plan
        assert isinstance(plan, Plan)
        nested: dict[str, bool] = {}
        cells = []
        for attempt in self.attempts():
            if attempt.k == self.n_features:
                continue
            known = key_of([attempt.selector, attempt.parameters, attempt.k])
            if known not in nested:
                nested[known] = plan.is_nested(attempt.selector, attempt.k, attempt.parameters)
            cells.append(self._selection(attempt, self._largest if nested[known] else attempt.k))
        return _distinct(cells)

    def trainings(self, fold: str, ledger: Ledger) -> list[TrainingCell]:
        """All trainings on a fold, each once, given the results of the selections."""
        return _distinct(
            self.training(attempt, self.features(fold, attempt, ledger)[0])
            for attempt in self.attempts()
        )

    def features(
        self, fold: str, attempt: Attempt, ledger: Ledger
    ) -> tuple[tuple[int, ...], float]:
        """Features in the order of selection, and the seconds of the selection.

        A selector whose selections are nested ran once, for the largest number of features: the
        first of these are what it selects for smaller numbers.
        """
        if attempt.k == self.n_features:  # all features: there is no choice
            return self._every, 0.0
        record = ledger.get(self._selection(attempt, attempt.k).key(fold))
        if record is None:
            record = ledger[self._selection(attempt, self._largest).key(fold)]
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
            plan.tune,
            plan.convention,
            tuple(plan.measures),
        )

    @property
    def _largest(self) -> int:
        """Largest number of features to select, which is not all of them."""
        return max(size for size in self._sizes if size < self.n_features)

    def _selection(self, attempt: Attempt, k: int) -> SelectionCell:
        """Selection of ``k`` features by the selector of an attempt."""
        plan, name = self.plan, attempt.selector
        seed = attempt.seed if plan.method(name).is_seeded else None
        return SelectionCell(
            plan.method(name), plan.settings(name), attempt.parameters, seed, k, plan.inside
        )


def _sizes(ks: Sequence[int | str], n_features: int, least: int) -> list[int]:
    """Numbers of features to try, ascending: at most ``n_features``, and at least ``least``."""
    sizes = {n_features if k == "all" else int(k) for k in ks}
    kept = sorted(k for k in sizes if least <= k <= n_features)
    if not kept and least > 1:
        raise DataError(
            f"set ks to numbers from {least}, because of included features or groups, to "
            f"{n_features}, or all"
        )
    if not kept:
        raise DataError(
            f"the data has only {quantity(n_features, 'feature')}; set ks to smaller numbers or all"
        )
    return kept


def _distinct(cells: Iterable[C]) -> list[C]:
    return list({key_of(cell.key("")): cell for cell in cells}.values())


def assemble(
    layout: Layout, folds: Sequence[FoldSummary], ledger: Ledger
) -> dict[tuple[str, str], Run]:
    """Assemble the results of every selector with every ranker."""
    best = _best(layout, folds, ledger)
    return {
        (selector, ranker): _run(layout, folds, best, selector, ranker)
        for selector in layout.plan.selectors
        for ranker in layout.plan.rankers
    }


def _run(
    layout: Layout, folds: Sequence[FoldSummary], best: Best, selector: str, ranker: str
) -> Run:
    sizes = layout.sizes_of(selector)
    found = [
        [{k: best[fold.name, selector, ranker, seed, k] for k in sizes} for fold in folds]
        for seed in layout.plan.seeds_of(selector, ranker)
    ]
    chosen = [[choose_size(by_size, layout.plan.choose) for by_size in seed] for seed in found]
    by_k = {k: Outcomes([[by_size[k] for by_size in seed] for seed in found], folds) for k in sizes}
    return Run(selector, ranker, Outcomes(chosen, folds), by_k)


def _best(layout: Layout, folds: Sequence[FoldSummary], ledger: Ledger) -> Best:
    """Best parameters by validation value for each number of features; the first if tied."""
    best: Best = {}
    for fold in folds:
        for attempt in layout.attempts():
            outcome = _outcome(layout, fold.name, attempt, ledger)
            key = fold.name, attempt.selector, attempt.ranker, attempt.seed, attempt.k
            if key not in best or outcome.validation > best[key].validation:
                best[key] = outcome
    return best


def _outcome(layout: Layout, fold: str, attempt: Attempt, ledger: Ledger) -> Outcome:
    features, seconds = layout.features(fold, attempt, ledger)
    record = ledger[layout.training(attempt, features).key(fold)]
    return Outcome(
        k=attempt.k,
        features=features,
        selector_parameters=attempt.parameters if attempt.k < layout.n_features else {},
        ranker_parameters=record["parameters"],
        validation=record["validation"],
        validation_error=record["validation_error"],
        per_query={name: np.array(values) for name, values in record["test"].items()},
        selection_seconds=seconds,
        training_seconds=record["seconds"],
    )


def choose_size(by_size: Mapping[int, Outcome], rule: Rule) -> Outcome:
    """Choose the number of features on validation queries; the fewest if several are equal.

    ``by_size`` has the outcome of each number of features, ascending. The rule is to take the best
    validation value, or the fewest features within one standard error of it.
    """
    best = max(by_size.values(), key=lambda outcome: outcome.validation)
    if rule == "best":
        return best
    outcomes = list(by_size.values())
    values = np.array([outcome.validation for outcome in outcomes])
    return outcomes[first_nearly_best(values, best.validation_error)]
