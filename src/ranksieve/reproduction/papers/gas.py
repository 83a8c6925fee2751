"""GAS: MAP and NDCG@1 to 10 by the number of features; only the text of the paper is available.

The queries are divided into three parts, which train, tune and test in all six orders. GAS's
trade-off, RankSVM's C and the iterations of RankNet are tuned by MAP on the validation queries.
RankNet is linear here, because the paper does not give the size of its network. Statements of the
paper about curves are about Ranking SVM; those about features are checked on the training queries
of the first trial.

X. Geng, T.-Y. Liu, T. Qin, H. Li. Feature selection for ranking. SIGIR 2007. The collections of the
paper are .gov (TD2004) with 44 features and OHSUMED with 26. LETOR 2 has OHSUMED with 25 features,
and LETOR 3 with 45; what the paper says of OHSUMED is checked on both.
"""

from __future__ import annotations

from functools import partial

from ranksieve.reproduction.collections import OHSUMED_25
from ranksieve.reproduction.paper import FeatureStatement, Paper, PaperMethod, Statement
from ranksieve.reproduction.statements import (
    below_all,
    best_gains,
    blocks_at_least,
    gains_at,
    gains_of_best,
    no_more_gain,
    reaches,
    two_blocks_hold,
    values_at,
    weak_alone,
)
from ranksieve.study.results import BASE, RANDOM

_GAS = ("gas-e", "gas-l")
_ALL_FOUR = (*_GAS, "ig", "chi")
_WITH_4_FEATURES = {"gas-l": 0.30, "gas-e": 0.30, "ig": 0.28, "chi": 0.25}
_LOSS = Statement(
    "GAS-L is at least as good as GAS-E in most cases, but not significantly better",
    partial(reaches, selector="gas-l", other="gas-e"),
)
STATEMENTS = {
    "TD2004": (
        Statement(
            "with 4 features, GAS-L and GAS-E are above 0.30, IG has 0.28, CHI 0.25",
            partial(values_at, k=4, printed=_WITH_4_FEATURES, at_least=_GAS, near=0.02),
        ),
        Statement(
            "with 6 features, GAS is as good as all features or better",
            partial(gains_at, k=6, selectors=_ALL_FOUR, bounded=_GAS, least=0.0),
        ),
        Statement(
            "with 18 features, GAS is about 15 % above all features",
            partial(gains_at, k=18, selectors=_ALL_FOUR, bounded=_GAS, least=10.0, most=20.0),
        ),
        Statement(
            "more than 18 features bring no further gain: best of these compared with 18",
            partial(no_more_gain, after=18, selectors=_GAS, by=2.0),
        ),
        Statement(
            "selection can gain more than 10 % over all features: best of each method",
            partial(best_gains, selectors=_ALL_FOUR, least=10.0),
        ),
        _LOSS,
        FeatureStatement(
            "more than 10 features alone have a MAP below 0.1",
            partial(weak_alone, below=0.1, more_than=10),
        ),
        FeatureStatement("similar features form many blocks", partial(blocks_at_least, least=5)),
    ),
    "OHSUMED": (
        Statement(
            "with fewer than 15 features, CHI is below all features",
            partial(below_all, selector="chi", fewer_than=15),
        ),
        Statement(
            "with fewer than 5 features, IG and GAS are good: best compared with all features",
            partial(best_gains, selectors=("ig", *_GAS), least=0.0, most_features=4),
        ),
        Statement(
            "GAS is 1 to 2 % above IG and above all features: best of each method",
            partial(gains_of_best, selectors=_GAS, other="ig", least=0.5, most=2.5),
        ),
        _LOSS,
        FeatureStatement(
            "similar features form two large blocks", partial(two_blocks_hold, share=2 / 3)
        ),
    ),
}
"""Statements of the paper.

"About" is taken to mean within a third, "many" at least five, and "large" two thirds of the
features together; single digits are taken to be rounded.
"""
GENERAL = (
    _LOSS,
    Statement(
        "selection gains at least 1 % over all features: best of each method",
        partial(best_gains, selectors=_ALL_FOUR, least=1.0),
    ),
)
"""Statements of the paper about both collections."""

PAPER = Paper(
    "gas",
    "GAS",
    __doc__ or "",
    ("MAP", *(f"NDCG@{k}" for k in range(1, 11))),
    {name: PaperMethod() for name in (*_ALL_FOUR, BASE, RANDOM)},
    study={
        "protocol": "six-trials",
        "rankers": ("ranksvm", "ranknet"),
        "ks": (*range(1, 11), 12, 15, 18, 20, 25, 30, 40, "all"),
        "tune": "MAP",
        "seeds": 5,
        "parameters": {
            "gas-e": {"importance.convention": "standard"},
            "ranknet": {"measure": "map", "convention": "standard"},
        },
    },
    convention="standard",
    # The paper counts only the top grade of OHSUMED as relevant.
    conventions={"OHSUMED": "standard:2", OHSUMED_25: "standard:2"},
    statements=STATEMENTS | {OHSUMED_25: STATEMENTS["OHSUMED"]},
    general_statements=GENERAL,
    notes=("Only the text of the paper is available, not its figures. Percentages are relative.",),
    figures="These figures correspond to Figures 1 to 5 of the paper, whose numbers are not "
    "available: measures by number of features, importance of features, and their similarity.",
    shows_curves=True,
)
