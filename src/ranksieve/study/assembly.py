"""From the ledger to results: what validation queries choose, and how it tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ranksieve.choosing import first_nearly_best
from ranksieve.study.layout import Layout, Results
from ranksieve.study.plan import Rule
from ranksieve.study.results import FoldSummary, Outcome, Outcomes, Run


def assembled(
    layout: Layout, folds: Sequence[FoldSummary], results: Results
) -> dict[tuple[str, str], Run]:
    """Every selector with every ranker.

    Parameters
    ----------
    layout : Layout
    folds : sequence of FoldSummary
    results : callable
        Gives the results of all cells.
    """
    return {
        (selector, ranker): _run(layout, folds, results, selector, ranker)
        for selector in layout.plan.selectors
        for ranker in layout.plan.rankers
    }


def _run(
    layout: Layout, folds: Sequence[FoldSummary], results: Results, selector: str, ranker: str
) -> Run:
    seeds = layout.plan.seeds_of(selector, ranker)
    found = [
        [_by_size(layout, fold.name, results, selector, ranker, seed) for fold in folds]
        for seed in seeds
    ]
    chosen = [[chosen_size(by_size, layout.plan.choose) for by_size in seed] for seed in found]
    by_k = {
        k: Outcomes([[by_size[k] for by_size in seed] for seed in found], folds)
        for k in layout.sizes_of(selector)
    }
    return Run(selector, ranker, Outcomes(chosen, folds), by_k)


def _by_size(
    layout: Layout, fold: str, results: Results, selector: str, ranker: str, seed: int | None
) -> dict[int, Outcome]:
    """For each number of features, the parameters of the best validation value."""
    candidates = list(layout.candidates_of(selector, seed))
    best = {}
    for k in layout.sizes_of(selector):
        outcomes = []
        for candidate in candidates:
            features, seconds = layout.features(fold, candidate, k, results)
            record = results(layout.training(ranker, seed, features).key(fold))
            outcomes.append(
                Outcome(
                    k=k,
                    features=features,
                    selector_parameters=candidate.parameters if k < layout.n_features else {},
                    ranker_parameters=record["parameters"],
                    validation=record["validation"],
                    validation_error=record["validation_error"],
                    per_query={name: np.array(v) for name, v in record["test"].items()},
                    selection_seconds=seconds,
                    training_seconds=record["seconds"],
                )
            )
        best[k] = max(outcomes, key=lambda outcome: outcome.validation)  # the first of equals
    return best


def chosen_size(by_size: Mapping[int, Outcome], rule: Rule) -> Outcome:
    """The number of features that the validation queries choose: the fewest of equals.

    Parameters
    ----------
    by_size : mapping of int to Outcome
        Ascending.
    rule : {"best", "one_se"}
        The best validation value, or the fewest features within a standard error of it.
    """
    best = max(by_size.values(), key=lambda outcome: outcome.validation)
    if rule == "best":
        return best
    outcomes = list(by_size.values())
    values = np.array([outcome.validation for outcome in outcomes])
    return outcomes[first_nearly_best(values, best.validation_error)]
