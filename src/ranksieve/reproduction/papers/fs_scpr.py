"""FS-SCPR and the methods that it is compared with.

Features are selected, and RankSVM (squared hinge loss) is trained, on the training queries. The
parameters of a method, the number of features in steps of five, and C are chosen by MAP on the
validation queries. Random orders are tuned in the same way: a method that does not beat them has
found nothing. The rankers on all features are those of "reproduce rankers".

FS-SCPR can be read in two ways. The literal reading uses the formulas as they are printed. The
closest reading uses Kendall's tau, between -1 and 1, of sorted lists in which equal values keep the
order of the file; of each cluster, the feature with the highest MAP, computed from lists sorted in
the same way; and 10, 20, 30 or 40 features. This reading was found by looking at test results, and
says nothing about what the authors did. On collections other than MQ2008, the literal reading
differs from the paper by up to 0.026 in NDCG@1 to NDCG@5, and the closest one by up to 0.015. That
is more than FS-SCPR gains over all features in the paper on OHSUMED (at most 0.0104) and MQ2008 (at
most 0.0042), so being that close shows nothing there: numbers that would also fit RankSVM on all
features count as undecided. On MQ2008, neither reading beats random orders.

FSMRank is tested with its own weights. FSMSVM selects the requested number of features; those to
which FSMRank gives no weight are ordered by how close they are to getting one. A variant that stops
at the features with a weight has a MAP of 0.4691 on MQ2008, instead of 0.4709.

J.-Y. Yeh, C.-J. Tsai. A graph-based feature selection method for learning to rank using spectral
clustering for redundancy minimization and biased PageRank for relevance analysis. Computer Science
and Information Systems 19, 2022.
"""

from __future__ import annotations

from collections.abc import Mapping

from ranksieve.reproduction.paper import Paper, PaperMethod, read_means
from ranksieve.reproduction.papers import rankers
from ranksieve.reproduction.training import train_fsmrank
from ranksieve.study.results import BASE, RANDOM

MEASURES = ("NDCG@1", "NDCG@3", "NDCG@5", "NDCG@10", "MAP")
MEANS = read_means("fs_scpr")
"""Tables 7 to 10 (selectors) and 12 to 15 (rankers on all features, whose results are LETOR's)."""
UNIFIED_RANKS = {
    "Table 11": {"fsmrank": 17.5, "fs-scpr": 15.5, "gas-e": 9.5, "fsmsvm": 8.0},
    "Table 16": {
        "fs-scpr": 17.6,
        "adarank-map": 13.2,
        BASE: 12.0,
        "listnet": 12.0,
        "rankboost": 5.6,
    },
}
"""Table -> method -> unified rank over the four collections."""

_STEP = 5  # step between numbers of features

SELECTORS: Mapping[str, PaperMethod] = {
    BASE: PaperMethod(
        "no selection",
        label="ranksvm on all",
        tolerance=rankers.CANDIDATES["ranksvm"].tolerance,
    ),
    "gas-e": PaperMethod("c from its grid"),
    "fs-scpr": PaperMethod(
        "formulas as printed; as many clusters as features",
        label="fs-scpr, literal",
        reading="literal",
    ),
    "fs-scpr-closest": PaperMethod(
        "tau of sorted lists, feature with the best MAP of each cluster; 10, 20, 30 or 40 features",
        label="fs-scpr, closest",
        reading="closest",
        stands_for="fs-scpr",
    ),
    "fsmrank": PaperMethod("25 pairs of penalties; its own weights", train_fsmrank),
    "fsmsvm": PaperMethod("25 pairs of penalties; largest weights"),
    RANDOM: PaperMethod("a random order, as a baseline"),
    "random-closest": PaperMethod(
        "a random order, with 10, 20, 30 or 40 features",
        label="random, closest",
        reading="closest",
        stands_for=RANDOM,
    ),
}
"""Selectors, and how they are tuned; all but FSMRank are evaluated with RankSVM."""
ALL_FEATURES = ("adarank-map", "listnet", "rankboost")
"""Rankers on all features, in addition to RankSVM."""


_CLOSEST = {
    "similarity.method": "tau_a",
    "similarity.ties": "stable",
    "representative": "importance",
    "importance.ties": "stable",
    "importance.convention": "standard",  # replaced by the convention of the results
}


def _few_sizes(n_features: int) -> list[int]:
    return [k for k in (10, 20, 30, 40) if k < n_features] or [n_features]


def _sizes(n_features: int) -> list[int | str]:
    return [*(range(_STEP, n_features, _STEP) or range(1, n_features)), "all"]


PAPER = Paper(
    "fs-scpr",
    "FS-SCPR",
    __doc__ or "",
    MEASURES,
    {**SELECTORS, **{name: rankers.CANDIDATES[name] for name in ALL_FEATURES}},
    what="method",
    study={
        "protocol": "letor",
        "rankers": ("ranksvm",),
        "ks": _sizes,
        "tune": "MAP",
        "seeds": 10,
        "baselines": False,
    },
    readings={"literal": {}, "closest": {"ks": _few_sizes, "parameters": {"fs-scpr": _CLOSEST}}},
    base=BASE,
    means=MEANS,
    settings=rankers.SETTINGS,
    unified_ranks=UNIFIED_RANKS,
    mean_measures=MEASURES,
    groups={
        "Selectors with ranksvm on {title}": tuple(SELECTORS),
        "Rankers on all features of {title}": (BASE, *ALL_FEATURES),
    },
    notes=(
        "The numbers of the paper for fs-scpr are counted once: for the literal reading, if it is "
        "run. On MQ2008, the tolerance of rankboost is for MAP alone.",
        "If a feature has equal values, the literal reading, gas-e, fsmrank and fsmsvm count the "
        "pair as not concordant, and average MAP over all orders; the closest reading keeps the "
        "order of the file.",
    ),
    sources={
        "HP2004": "Tables 7 and 12; improvements of FS-SCPR: Table 3",
        "NP2004": "Tables 8 and 13; improvements of FS-SCPR: Table 4",
        "OHSUMED": "Tables 9 and 14; improvements of FS-SCPR: Table 5",
        "MQ2008": "Tables 10 and 15; improvements of FS-SCPR: Table 6",
    },
)
