"""Assemble results from the ledger: choose on validation queries, then take the test values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ranksieve.choosing import first_nearly_best
from ranksieve.study.layout import Attempt, Layout, Results
from ranksieve.study.plan import Rule
from ranksieve.study.results import FoldSummary, Outcome, Outcomes, Run

Best = dict[tuple[str, str, str, int | None, int], Outcome]
"""Fold, selector, ranker, seed and number of features -> choice on validation queries."""


def assemble(
    layout: Layout, folds: Sequence[FoldSummary], results: Results
) -> dict[tuple[str, str], Run]:
    """Assemble the results of every selector with every ranker.

    Parameters
    ----------
    layout : Layout
    folds : sequence of FoldSummary
    results : callable
        Returns the result of any cell.
    """
    best = _best(layout, folds, results)
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


def _best(layout: Layout, folds: Sequence[FoldSummary], results: Results) -> Best:
    """Best parameters by validation value for each number of features; the first if tied."""
    best: Best = {}
    for fold in folds:
        for attempt in layout.attempts():
            outcome = _outcome(layout, fold.name, attempt, results)
            key = fold.name, attempt.selector, attempt.ranker, attempt.seed, attempt.k
            if key not in best or outcome.validation > best[key].validation:
                best[key] = outcome
    return best


def _outcome(layout: Layout, fold: str, attempt: Attempt, results: Results) -> Outcome:
    features, seconds = layout.features(fold, attempt, results)
    record = results(layout.training(attempt, features).key(fold))
    return Outcome(
        k=attempt.k,
        features=features,
        selector_parameters=attempt.candidate.parameters if attempt.k < layout.n_features else {},
        ranker_parameters=record["parameters"],
        validation=record["validation"],
        validation_error=record["validation_error"],
        per_query={name: np.array(values) for name, values in record["test"].items()},
        selection_seconds=seconds,
        training_seconds=record["seconds"],
    )


def choose_size(by_size: Mapping[int, Outcome], rule: Rule) -> Outcome:
    """Choose the number of features on validation queries; the fewest if several are equal.

    Parameters
    ----------
    by_size : mapping of int to Outcome
        Outcome of each number of features, ascending.
    rule : {"best", "one_se"}
        The best validation value, or the fewest features within one standard error of it.
    """
    best = max(by_size.values(), key=lambda outcome: outcome.validation)
    if rule == "best":
        return best
    outcomes = list(by_size.values())
    values = np.array([outcome.validation for outcome in outcomes])
    return outcomes[first_nearly_best(values, best.validation_error)]
