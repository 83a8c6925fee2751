"""Results of rankers on the test queries of MQ2008, as they were published."""

from __future__ import annotations

from collections.abc import Mapping

from ranksieve.reproduction.greedy_rankrls import FULL
from ranksieve.reproduction.greedy_rankrls import PUBLISHED as OF_GREEDY_RANKRLS

# T. Qin, T.-Y. Liu. Introducing LETOR 4.0 datasets. arXiv:1306.2597, 2013. Of the baselines of the
# collection's home page: RankSVM-Struct, RankBoost, AdaRank-MAP, AdaRank-NDCG on folds 1 to 5.
_OF_LETOR: Mapping[str, Mapping[str, tuple[float, ...]]] = {
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

ON_FOLDS: Mapping[str, Mapping[str, tuple[float, ...]]] = {
    "rankrls": OF_GREEDY_RANKRLS[FULL],
    **_OF_LETOR,
}
"""Ranker -> measure -> values on folds 1 to 5."""

# LETOR's RankSVM-Primal and ListNet, as in J.-Y. Yeh, C.-J. Tsai. A graph-based feature selection
# method for learning to rank using spectral clustering for redundancy minimization and biased
# PageRank for relevance analysis. Computer Science and Information Systems 19, 2022.
_OF_YEH_AND_TSAI: Mapping[str, Mapping[str, float]] = {
    "ranksvm": {
        "MAP": 0.4744,
        "NDCG@1": 0.3725,
        "NDCG@3": 0.4333,
        "NDCG@5": 0.4765,
        "NDCG@10": 0.2309,
    },
    "listnet": {
        "MAP": 0.4775,
        "NDCG@1": 0.3754,
        "NDCG@3": 0.4324,
        "NDCG@5": 0.4747,
        "NDCG@10": 0.2303,
    },
}

MEANS: Mapping[str, Mapping[str, float]] = {
    # What is published as the average is the mean of the rounded values.
    **{
        name: {measure: round(sum(folds) / len(folds), 4) for measure, folds in measures.items()}
        for name, measures in ON_FOLDS.items()
    },
    **_OF_YEH_AND_TSAI,
}
"""Ranker -> measure -> mean of the folds."""

_MEASURES = ("NDCG@1", "NDCG@3", "NDCG@5", "NDCG@10", "MAP")
SELECTED: Mapping[str, Mapping[str, float]] = {
    name: dict(zip(_MEASURES, values, strict=True))
    for name, values in {
        "all": (0.3725, 0.4333, 0.4765, 0.2309, 0.4744),
        "gas-e": (0.3601, 0.4345, 0.4772, 0.2290, 0.4767),
        "fs-scpr": (0.3692, 0.4375, 0.4770, 0.2318, 0.4776),
        "fsmrank": (0.3686, 0.4399, 0.4791, 0.2327, 0.4771),
        "fsmsvm": (0.3652, 0.4278, 0.4701, 0.2251, 0.4744),
    }.items()
}
"""Selector -> measure -> mean of the folds, with RankSVM but for FSMRank; of Yeh and Tsai."""
