"""FS-SCPR and what it is compared with.

Features are selected, and RankSVM (squared hinge) trained, on the training queries; parameters of
the method, the number of features in steps of five and C are chosen by the MAP of the validation
queries. Random orders are tuned in the same way: what does not beat them has found nothing. Rankers
on all features are those of "reproduce rankers".

FS-SCPR is read in two ways. The literal one takes its formulas as they are printed; on collections
other than MQ2008 it is off by up to 0.026 of NDCG@1 to 5. The closest one stays within 0.015
everywhere: Kendall's tau between -1 and 1 of lists as they are sorted, equal values in the order of
the files; of each cluster the feature with the highest MAP of lists sorted in the same way; and 10,
20, 30 or 40 features. It was found with test results in view, and says nothing about what the
authors did. On MQ2008, neither beats random orders.

FSMRank is tested with its own weights. FSMSVM takes as many features as it is asked for, those
without a weight in FSMRank by how near they are to one; a variant that stops at the features with a
weight has a MAP of 0.4691 on MQ2008, instead of 0.4709.

J.-Y. Yeh, C.-J. Tsai. A graph-based feature selection method for learning to rank using spectral
clustering for redundancy minimization and biased PageRank for relevance analysis. Computer Science
and Information Systems 19, 2022.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from ranksieve.reproduction.paper import Asked, Paper, PaperMethod
from ranksieve.reproduction.papers import rankers
from ranksieve.reproduction.published import read_means
from ranksieve.reproduction.training import train_fsmrank
from ranksieve.study.results import BASE, RANDOM

MEASURES = ("NDCG@1", "NDCG@3", "NDCG@5", "NDCG@10", "MAP")
MEANS = read_means("fs_scpr")
"""Tables 3 to 6 and 12 to 15; rankers on all features are those of LETOR."""
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

_NEAR = Asked(0.006)
_STEP = 5  # between numbers of features
_selector = partial(PaperMethod, asked=_NEAR)

SELECTORS: Mapping[str, PaperMethod] = {
    BASE: _selector("no selection", label="ranksvm on all"),
    "gas-e": _selector("c of its grid"),
    "fs-scpr": _selector(
        "formulas as printed; as many clusters as features",
        label="fs-scpr, literal",
        reading="literal",
    ),
    "fs-scpr-closest": _selector(
        "tau of sorted lists, best MAP of each cluster; 10, 20, 30 or 40 features",
        label="fs-scpr, closest",
        reading="closest",
        stands_for="fs-scpr",
    ),
    "fsmrank": _selector("25 pairs of penalties; its own weights", train_fsmrank),
    "fsmsvm": _selector("25 pairs of penalties; largest weights"),
    RANDOM: PaperMethod("a random order: the one to beat"),
    "random-closest": PaperMethod(
        "the same, with 10, 20, 30 or 40 features",
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
    {
        **SELECTORS,
        **{name: replace(rankers.CANDIDATES[name], asked=_NEAR) for name in ALL_FEATURES},
    },
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
    asked_elsewhere=Asked(0.015, measures=MEASURES),
    means=MEANS,
    settings=rankers.SETTINGS,
    unified_ranks=UNIFIED_RANKS,
    mean_measures=MEASURES,
    groups={
        "Selectors with ranksvm on {title}": tuple(SELECTORS),
        "Rankers on all features of {title}": (BASE, *ALL_FEATURES),
    },
    notes=(
        "Asked of MQ2008 is MAP within 0.006; of other collections all measures within 0.015, as "
        "one query is 1/15 of a fold of HP2004 and NP2004, and 1/22 of one of OHSUMED.",
        "Equal values of features: the literal reading, gas-e, fsmrank and fsmsvm count their "
        "pairs as not concordant, and average MAP over their orders; the closest reading keeps "
        "them in the order of the files.",
    ),
    sources={
        "HP2004": "Tables 3 and 12; improvements of FS-SCPR: Table 7",
        "NP2004": "Tables 4 and 13; improvements of FS-SCPR: Table 8",
        "OHSUMED": "Tables 5 and 14; improvements of FS-SCPR: Table 9",
        "MQ2008": "Tables 6 and 15; improvements of FS-SCPR: Table 10",
    },
)
