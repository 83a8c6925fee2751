"""Results of rankers on all features, and how they were trained, as they were published.

T. Qin, T.-Y. Liu. Introducing LETOR 4.0 datasets. arXiv:1306.2597, 2013: the baselines of the
collections' home page. Where it is not named, values are those that the papers about greedy RankRLS
and FS-SCPR print.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ranksieve.reproduction.published_fs_scpr import ALL
from ranksieve.reproduction.published_fs_scpr import MEANS as OF_FS_SCPR
from ranksieve.reproduction.published_greedy_rankrls import FULL, RANKSVM
from ranksieve.reproduction.published_greedy_rankrls import ON_FOLDS as OF_GREEDY_RANKRLS

# RankSVM-Struct, RankBoost, AdaRank-MAP and AdaRank-NDCG of the home page, on folds 1 to 5.
_MQ2008: Mapping[str, Mapping[str, tuple[float, ...]]] = {
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

ON_FOLDS: Mapping[str, Mapping[str, Mapping[str, tuple[float, ...]]]] = {
    "MQ2008": {"rankrls": OF_GREEDY_RANKRLS["MQ2008"][FULL], **_MQ2008},
    "MQ2007": {
        "rankrls": OF_GREEDY_RANKRLS["MQ2007"][FULL],
        "ranksvm-struct": OF_GREEDY_RANKRLS["MQ2007"][RANKSVM],
    },
}
"""Collection -> ranker -> measure -> values on folds 1 to 5."""

_RANKERS = {ALL: "ranksvm", **{name: name for name in ("adarank-map", "listnet", "rankboost")}}


def _means(collection: str) -> dict[str, Mapping[str, float]]:
    printed = OF_FS_SCPR.get(collection, {})
    # What is published as the average is the mean of the rounded values.
    of_folds = {
        name: {measure: round(sum(folds) / len(folds), 4) for measure, folds in measures.items()}
        for name, measures in ON_FOLDS.get(collection, {}).items()
    }
    return {ours: printed[theirs] for theirs, ours in _RANKERS.items() if printed} | of_folds


MEANS: Mapping[str, Mapping[str, Mapping[str, float]]] = {
    collection: _means(collection) for collection in (*ON_FOLDS, *OF_FS_SCPR)
}
"""Collection -> ranker -> measure -> mean of the folds."""

SETTINGS: Mapping[str, Mapping[str, Mapping[str, tuple[Any, ...]]]] = {
    "MQ2008": {
        "ranksvm-struct": {"C": (10.0, 2.0, 1.0, 0.2, 0.5)},
        "rankboost": {"n_rounds": (220, 11, 56, 58, 34)},
    },
    "MQ2007": {
        "ranksvm-struct": {"C": (0.5, 5.0, 0.5, 0.5, 2.0)},
        "rankboost": {"n_rounds": (163, 567, 491, 434, 195)},
    },
}
"""Collection -> ranker -> parameter -> what LETOR's runs had chosen on folds 1 to 5."""
