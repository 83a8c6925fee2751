"""Greedy RankRLS on MQ2007 and MQ2008.

On each fold, regularization from 2^-10 to 2^10 and the number of features from 1 on are those of
the largest MAP on the validation queries; then the test queries are ranked.

T. Pahikkala, A. Airola, P. Naula, T. Salakoski. Greedy RankRLS: a linear time algorithm for
learning sparse ranking models. SIGIR 2010 workshop on feature generation and selection.
"""

from __future__ import annotations

from typing import Any

from ranksieve.reproduction.paper import FOUR_DIGITS, Asked, OnFolds, Paper, PaperMethod
from ranksieve.reproduction.training import train_full_rankrls, train_greedy_rankrls

GREEDY, FULL, RANKSVM = "greedy RankRLS", "RankRLS", "RankSVM"
MEASURES = ("MAP", "P@10", "MeanNDCG", "NDCG@10")
FIGURE_LAMS = (2.0**-7, 2.0**2, 2.0**6, 2.0**8)  # of the paper's figures


def _choice(lam: float, n_features: int, features: tuple[int, ...]) -> dict[str, Any]:
    """Regularization and features, in order and counted from 1; of many the first ten."""
    return {"lam": lam, "n_features": n_features, "features": features}


ON_FOLDS: OnFolds = {
    "MQ2007": {
        GREEDY: {
            "MAP": (0.4859, 0.4571, 0.4655, 0.4423, 0.4709),
            "P@10": (0.3958, 0.3858, 0.3684, 0.3670, 0.3808),
            "MeanNDCG": (0.5228, 0.4840, 0.5056, 0.4757, 0.5033),
            "NDCG@10": (0.4735, 0.4247, 0.4466, 0.4221, 0.4487),
        },
        FULL: {
            "MAP": (0.4912, 0.4573, 0.4655, 0.4425, 0.4687),
            "P@10": (0.3997, 0.3855, 0.3684, 0.3673, 0.3811),
            "MeanNDCG": (0.5281, 0.4841, 0.5056, 0.4754, 0.5003),
            "NDCG@10": (0.4784, 0.4246, 0.4466, 0.4221, 0.4460),
        },
        RANKSVM: {
            "MAP": (0.4894, 0.4573, 0.4676, 0.4401, 0.4680),
            "P@10": (0.4036, 0.3932, 0.3699, 0.3652, 0.3847),
            "MeanNDCG": (0.5278, 0.4810, 0.5042, 0.4699, 0.5003),
            "NDCG@10": (0.4818, 0.4266, 0.4461, 0.4163, 0.4485),
        },
    },
    "MQ2008": {
        GREEDY: {
            "MAP": (0.4311, 0.4239, 0.4582, 0.5283, 0.5183),
            "P@10": (0.2333, 0.2178, 0.2363, 0.2975, 0.2484),
            "MeanNDCG": (0.4454, 0.4186, 0.4787, 0.5403, 0.5369),
            "NDCG@10": (0.1920, 0.1585, 0.2558, 0.2940, 0.2254),
        },
        FULL: {
            "MAP": (0.4524, 0.4300, 0.4542, 0.5225, 0.5006),
            "P@10": (0.2391, 0.2217, 0.2325, 0.2949, 0.2503),
            "MeanNDCG": (0.4633, 0.4269, 0.4741, 0.5407, 0.5138),
            "NDCG@10": (0.2145, 0.1669, 0.2489, 0.2874, 0.2165),
        },
        RANKSVM: {
            "MAP": (0.4502, 0.4213, 0.4529, 0.5284, 0.4950),
            "P@10": (0.2423, 0.2229, 0.2357, 0.2981, 0.2465),
            "MeanNDCG": (0.4577, 0.4296, 0.4686, 0.5442, 0.5159),
            "NDCG@10": (0.2117, 0.1738, 0.2494, 0.2892, 0.2155),
        },
    },
}
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

_EXACT = Asked(None, FOUR_DIGITS, MEASURES)

PAPER = Paper(
    "greedy-rankrls",
    "Greedy RankRLS",
    MEASURES,
    {
        GREEDY: PaperMethod(
            "selected features; lambda of 2^-10 .. 2^10 and their number by validation",
            train_greedy_rankrls,
            asked=_EXACT,
            label="greedy",
        ),
        FULL: PaperMethod(
            "all features; lambda by validation", train_full_rankrls, asked=_EXACT, label="all {n}"
        ),
        RANKSVM: PaperMethod("LETOR's, which reproduce rankers trains as ranksvm-struct"),
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
    asked_on=("MQ2007", "MQ2008"),
    fold_measures=MEASURES,
    sources={"": "Tables 7 to 10; choices: Tables 1 (MQ2007) and 2 (MQ2008)"},
    figure="paths",
)
