"""FSMRank as a ranker: tested with its own weights."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ranksieve.progress import listen, track
from ranksieve.reproduction.collections import AtHand
from ranksieve.reproduction.numbers import measured
from ranksieve.selectors.embedded.fsmrank import fsmrank_path
from ranksieve.selectors.registry import SELECTORS
from ranksieve.solvers.linear import linear_scores
from ranksieve.study import StudyFold


def run_fsmrank(
    at_hand: AtHand, measures: Sequence[str]
) -> tuple[dict[str, list[float]], list[int]]:
    """Measure -> mean over test queries on each fold; and features with a weight on each fold."""
    values: dict[str, list[float]] = {measure: [] for measure in measures}
    kept = []
    convention = at_hand.facts.convention
    advance = track("FSMRank", at_hand.n_folds)
    for fold in at_hand.folds():
        with listen(None):  # bars within it would only flicker
            coef = best_weights(fold, convention)
        scores = linear_scores(fold.test.X, coef)
        for measure, value in measured(fold.test, scores, measures, convention).items():
            values[measure].append(value)
        kept.append(int(np.count_nonzero(coef)))
        advance(1)
    return values, kept


def best_weights(fold: StudyFold, convention: str) -> np.ndarray:
    """Weights of the penalties with the largest MAP on validation queries, first of equals."""
    grid = SELECTORS["fsmrank"].grid
    fits = [fit.coef for fit in fsmrank_path(fold.train, grid["lambda1"], grid["lambda2"])]
    reached = [
        measured(fold.vali, linear_scores(fold.vali.X, coef), ["MAP"], convention)["MAP"]
        for coef in fits
    ]
    return fits[max(range(len(fits)), key=reached.__getitem__)]
