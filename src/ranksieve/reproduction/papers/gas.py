"""GAS: MAP and NDCG@10 against the number of features; figures of which only the words are at hand.

The queries are dealt out to three parts, which train, tune and test in all six orders. The
trade-off of GAS and RankSVM's C are tuned by MAP on the validation queries.

X. Geng, T.-Y. Liu, T. Qin, H. Li. Feature selection for ranking. SIGIR 2007. The collections of the
paper are .gov (TD2004) with 44 features and OHSUMED with 26, of which later releases have 45.
"""

from __future__ import annotations

from ranksieve.reproduction.curves import (
    below_all,
    best_gains,
    gains_at,
    gains_of_best,
    reaches,
    values_at,
)
from ranksieve.reproduction.paper import Paper, PaperMethod, Statement
from ranksieve.study.results import BASE, RANDOM

_GAS = ("gas-e", "gas-l")
_ALL_FOUR = (*_GAS, "ig", "chi")
_LOSS = Statement("GAS-L is at least as good as GAS-E in most cases", reaches("gas-l", "gas-e"))
STATEMENTS = {
    "TD2004": (
        Statement(
            "with 4 features, GAS-L and GAS-E are above 0.30, IG has 0.28, CHI 0.25",
            values_at(4, _ALL_FOUR),
        ),
        Statement(
            "with 6 features, GAS is as good as all features or better", gains_at(6, _ALL_FOUR)
        ),
        Statement(
            "with 18 features, GAS is about 15 % above all features", gains_at(18, _ALL_FOUR)
        ),
        Statement("with more than 18 features there is no further gain", gains_at(40, _ALL_FOUR)),
        _LOSS,
    ),
    "OHSUMED": (
        Statement("CHI is below all features with fewer than 15", below_all("chi", 15)),
        Statement(
            "IG and GAS are good with fewer than 5: best of these against all features",
            best_gains(4, ("ig", *_GAS)),
        ),
        Statement(
            "GAS is above IG and above all features by 1 to 2 %: best of each",
            gains_of_best(_GAS, "ig"),
        ),
        _LOSS,
    ),
}

PAPER = Paper(
    "gas",
    "GAS",
    ("MAP", "NDCG@10"),
    {name: PaperMethod() for name in (*_ALL_FOUR, BASE, RANDOM)},
    study={
        "protocol": "six-trials",
        "rankers": ("ranksvm",),
        "ks": (*range(1, 11), 12, 15, 18, 20, 25, 30, 40, "all"),
        "tune": "MAP",
        "seeds": 5,
        "parameters": {"gas-e": {"importance.convention": "standard"}},
    },
    convention="standard",
    conventions={"OHSUMED": "standard:2"},  # the paper counts only the top grade as relevant
    statements=STATEMENTS,
    notes=("The figures of the paper are not at hand, only its words. Percentages are relative.",),
    figure="curves",
)
