"""The procedure of a study: its cells on every trial, and the results assembled from them.

Results follow from the ledger alone: choose on validation queries, then take the test values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ranksieve.base.choices import listed_features
from ranksieve.choosing import first_nearly_best
from ranksieve.data import DataError
from ranksieve.experiments import Ledger, Runner, Select, Selected, Train, Trained, Trial, gather
from ranksieve.study.plan import Plan, PlanSettings, Rule
from ranksieve.study.results import FoldSummary, Outcome, Outcomes, Run
from ranksieve.text import quantity


class Attempt(NamedTuple):
    """A ranker on the ``k`` features that a selector with one point of its grid chooses."""

    selector: str
    ranker: str
    seed: int | None  # None if neither draws random numbers
    parameters: dict[str, Any]
    k: int


class Procedure:
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
        self._nested: dict[str, bool] = {}

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

    async def run(self, runner: Runner, trial: Trial) -> None:
        """Run all cells on a trial."""
        await gather(*(self._attempt(runner, trial, attempt) for attempt in self.attempts()))

    async def _attempt(self, runner: Runner, trial: Trial, attempt: Attempt) -> None:
        """Select features, all but where there is no choice, and train and judge the ranker."""
        features = self._every
        if attempt.k < self.n_features:
            size = self._largest if self._is_nested(attempt) else attempt.k
            selected: Selected = await runner(self._selection(attempt, size), trial)
            features = tuple(selected.features[: attempt.k])
        await runner(self._training(attempt, features), trial)

    def _is_nested(self, attempt: Attempt) -> bool:
        """Whether larger selections start with the smaller ones: then the largest is enough."""
        plan = self.plan
        assert isinstance(plan, Plan)  # only a plan that is run knows
        known = f"{attempt.selector} {attempt.k} {sorted(attempt.parameters.items())!r}"
        if known not in self._nested:
            self._nested[known] = plan.is_nested(attempt.selector, attempt.k, attempt.parameters)
        return self._nested[known]

    def outcome(self, fold: str, attempt: Attempt, ledger: Ledger) -> Outcome:
        """Result of an attempt on a fold, from the results of its cells."""
        features, seconds = self._every, 0.0
        ignored: tuple[str, ...] = ()
        if attempt.k < self.n_features:
            selected: Selected = ledger.find(self._selection(attempt, attempt.k).key(fold))
            if selected is None:  # the first features of a larger selection
                selected = ledger[self._selection(attempt, self._largest).key(fold)]
            features, seconds = tuple(selected.features[: attempt.k]), selected.seconds
            ignored = tuple(selected.ignored)
        trained: Trained = ledger[self._training(attempt, features).key(fold)]
        if trained.validation is None or trained.validation_error is None:
            raise DataError(f"{ledger.path}: {fold}: a result has no validation value")
        return Outcome(
            k=attempt.k,
            features=features,
            selector_parameters=attempt.parameters if attempt.k < self.n_features else {},
            ranker_parameters=trained.parameters,
            validation=trained.validation,
            validation_error=trained.validation_error,
            per_query={name: np.array(own) for name, own in trained.values["test"].items()},
            selection_seconds=seconds,
            ignored=ignored,
            training_seconds=trained.seconds,
        )

    @property
    def _largest(self) -> int:
        """Largest number of features to select, which is not all of them."""
        return max(size for size in self._sizes if size < self.n_features)

    def _selection(self, attempt: Attempt, k: int) -> Select:
        """Selection of ``k`` features by the selector of an attempt."""
        plan, name = self.plan, attempt.selector
        method, settings = plan.method(name), plan.settings(name)
        seed = attempt.seed if method.is_seeded else None
        return Select(method, settings, attempt.parameters, seed, k, plan.inside)

    def _training(self, attempt: Attempt, features: Sequence[int]) -> Train:
        """Training of the ranker of an attempt on features, in any order."""
        plan, method = self.plan, self.plan.method(attempt.ranker)
        return Train(
            method,
            plan.settings(attempt.ranker),
            attempt.seed if method.is_seeded else None,
            tuple(sorted(features)),
            plan.tune,
            plan.measures,
            plan.convention,
            self._grids[attempt.ranker],
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


def assemble(
    procedure: Procedure, folds: Sequence[FoldSummary], ledger: Ledger
) -> dict[tuple[str, str], Run]:
    """Assemble the results of every selector with every ranker."""
    # Fold, selector, ranker, seed and number of features -> choice on validation queries: the best
    # parameters, the first if tied.
    best: dict[tuple[str, str, str, int | None, int], Outcome] = {}
    for fold in folds:
        for attempt in procedure.attempts():
            outcome = procedure.outcome(fold.name, attempt, ledger)
            key = fold.name, attempt.selector, attempt.ranker, attempt.seed, attempt.k
            if key not in best or outcome.validation > best[key].validation:
                best[key] = outcome
    plan, runs = procedure.plan, {}
    for selector in plan.selectors:
        sizes = procedure.sizes_of(selector)
        for ranker in plan.rankers:
            found = [
                [{k: best[fold.name, selector, ranker, seed, k] for k in sizes} for fold in folds]
                for seed in plan.seeds_of(selector, ranker)
            ]
            chosen = [[choose_size(by_k, plan.choose) for by_k in seed] for seed in found]
            by_k = {k: Outcomes([[own[k] for own in seed] for seed in found], folds) for k in sizes}
            runs[selector, ranker] = Run(selector, ranker, Outcomes(chosen, folds), by_k)
    return runs


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
