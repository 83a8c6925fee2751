"""Greedy RankRLS on MQ2007 and MQ2008.

On each fold, the regularization parameter, from 2^-10 to 2^10, and the number of features, from 1
on, are those with the largest MAP on the validation queries. The test queries are ranked with them.
The slides of the paper also have the table of MeanNDCG and the chosen features, with the same
numbers.

T. Pahikkala, A. Airola, P. Naula, T. Salakoski. Greedy RankRLS: a linear time algorithm for
learning sparse ranking models. SIGIR 2010 workshop on feature generation and selection.
"""

from __future__ import annotations

from typing import Any

from ranksieve.reproduction.paper import FOUR_DIGITS, Paper, PaperMethod, Tolerance, read_on_folds
from ranksieve.reproduction.training import train_full_rankrls, train_greedy_rankrls

GREEDY, FULL, RANKSVM = "greedy RankRLS", "RankRLS", "RankSVM"
MEASURES = ("MAP", "P@10", "MeanNDCG", "NDCG@10")
FIGURE_LAMS = (2.0**-7, 2.0**2, 2.0**6, 2.0**8)  # in the figures of the paper


def _choice(lam: float, n_features: int, features: tuple[int, ...]) -> dict[str, Any]:
    """Return a choice with at most its first ten features, in order and 1-based."""
    return {"lam": lam, "n_features": n_features, "features": features}


ON_FOLDS = read_on_folds("greedy_rankrls")
"""Tables 7 to 10: values on folds 1 to 5."""

CHOICES = {
    "MQ2007": (
        _choice(2.0**8, 11, (39, 19, 25, 23, 32, 16, 43, 22, 5, 33)),
        _choice(2.0**6, 40, (39, 32, 19, 26, 23, 16, 5, 33, 18, 3)),
        _choice(2.0**9, 46, (39, 27, 23, 19, 13, 18, 42, 33, 16, 5)),
        _choice(2.0**8, 44, (39, 28, 45, 23, 43, 33, 13, 18, 22, 15)),
        _choice(2.0**7, 12, (39, 25, 19, 43, 23, 29, 22, 18, 5, 16)),
    ),
    "MQ2008": (
        _choice(2.0**0, 1, (39,)),
        _choice(2.0**10, 4, (39, 23, 37, 32)),
        _choice(2.0**3, 7, (39, 29, 25, 23, 46, 37, 19)),
        _choice(2.0**6, 4, (39, 29, 25, 23)),
        _choice(2.0**0, 1, (39,)),
    ),
}
"""Tables 1 and 2: choices on folds 1 to 5."""

_EXACT = Tolerance(None, FOUR_DIGITS, MEASURES)

PAPER = Paper(
    "greedy-rankrls",
    "Greedy RankRLS",
    __doc__ or "",
    MEASURES,
    {
        GREEDY: PaperMethod(
            "selected features; their number, and lambda from 2^-10 to 2^10, chosen by validation",
            train_greedy_rankrls,
            tolerance=_EXACT,
            label="greedy",
        ),
        FULL: PaperMethod(
            "all features; lambda chosen by validation",
            train_full_rankrls,
            tolerance=_EXACT,
            label="all {n}",
        ),
        RANKSVM: PaperMethod("LETOR's baseline; reproduce rankers trains it as ranksvm-struct"),
    },
    on_folds=ON_FOLDS,
    means={
        collection: {
            method: {measure: sum(folds) / len(folds) for measure, folds in measures.items()}
            for method, measures in methods.items()
        }
        for collection, methods in ON_FOLDS.items()
    },
    choices={collection: {GREEDY: choices} for collection, choices in CHOICES.items()},
    fold_measures=MEASURES,
    sources={
        "": "Tables 7 to 10, MeanNDCG also on the slides; choices: Tables 1 (MQ2007) and 2 "
        "(MQ2008), and the slides"
    },
    figures="The first figures correspond to Figures 1 to 4 of the paper (means over the folds, on "
    "validation and on test queries); the others show each fold alone.",
    figure_lams=FIGURE_LAMS,
)
