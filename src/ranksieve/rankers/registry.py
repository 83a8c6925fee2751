"""Rankers by their published names, as the command line and studies use them.

A ranker is added by one line. Its module is imported when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ranksieve.registry import Method, Registry

if TYPE_CHECKING:
    from ranksieve.base import Ranker


def _ranker(path: str, description: str, *settings: Any, **named: Any) -> Method:
    return Method(f"ranksieve.rankers.{path}", description, *settings, **named)


# Of LETOR's runs of svm_rank, and of the FS-ED paper; when to stop early is our choice.
_STRUCT_C = (*(digit * 10.0**power for power in range(-5, 1) for digit in (1, 2, 5)), 10.0)
_FS_ED_TREES = {
    "n_estimators": 1000,
    "learning_rate": 0.1,
    "num_leaves": 10,
    "early_stopping_rounds": 50,
}

RANKERS = Registry(
    "ranker",
    {
        "rankrls": _ranker(
            "rankrls.RankRLS",
            "pairwise least squares, in closed form",
            grid={"lam": tuple(2.0**power for power in range(-10, 11))},
        ),
        "rankrls-cv": _ranker(
            "rankrls.RankRLSCV", "the same, lambda by validation or leaving queries out"
        ),
        "ranksvm": _ranker(
            "ranksvm.RankSVM",
            "squared hinge on pairs, C by the number of pairs",
            grid={"C": tuple(10.0**power for power in range(-2, 3))},
        ),
        "ranksvm-struct": _ranker(
            "ranksvm.RankSVM",
            "hinge on pairs, C by the number of queries, as svm_rank",
            {"loss": "hinge", "scale": "queries"},
            {"C": _STRUCT_C},
        ),
        "ranknet": _ranker("gradient.RankNet", "logistic loss on pairs"),
        "listnet": _ranker("gradient.ListNet", "cross entropy of top-one probabilities"),
        "listmle": _ranker("gradient.ListMLE", "likelihood of the ideal order"),
        "lambdarank": _ranker("gradient.LambdaRank", "pairs weighted by what they change in NDCG"),
        "adarank-map": _ranker("adarank.AdaRank", "boosted features, MAP", {"measure": "map"}),
        "adarank-ndcg": _ranker(
            "adarank.AdaRank", "boosted features, NDCG@10", {"measure": "ndcg@10"}
        ),
        "rankboost": _ranker("rankboost.RankBoost", "boosted thresholds of features"),
        "coordinate-ascent": _ranker(
            "coordinate_ascent.CoordinateAscent", "one weight at a time, by a measure (MAP)"
        ),
        "lambdamart": _ranker(
            "lambdamart.LambdaMART",
            "boosted trees of LightGBM, as many as FS-ED's",
            _FS_ED_TREES,
            draws=False,
        ),
    },
)


def make_ranker(name: str, **parameters: Any) -> Ranker:
    """Make a ranker by its published name.

    Parameters
    ----------
    name : str
        One of ``RANKERS``.
    **parameters
        Parameters of the class.

    Examples
    --------
    >>> from ranksieve.rankers.registry import make_ranker
    >>> make_ranker("ranksvm", C=0.1)
    RankSVM(C=0.1)
    """
    RANKERS.check_parameters(name, parameters)
    method = RANKERS[name]
    return method.kind(**dict(method.preset) | parameters)
