"""Conventions: how programs compute measures where definitions leave a choice.

Each convention is named after the program whose numbers it reproduces, so that a table can say
how its numbers were computed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from ranksieve.data import DataError


@dataclass(frozen=True)
class Convention:
    """How a program computes measures where their definitions leave a choice."""

    name: str
    gain: Literal["exponential", "linear"] = "exponential"  # of label l in NDCG: 2^l - 1, or l
    # Of rank r: 1 / log2(r + 1), or 1 for r <= 2 and then 1 / log2(r).
    discount: Literal["log2", "letor"] = "log2"
    empty: float = 0.0  # NDCG and AP of a query without relevant documents
    # NDCG@k of a list of fewer than k documents: computed over these documents, or 0.
    short_list: Literal["truncate", "zero"] = "truncate"
    # Order of equal scores: as in the input, expectation over all orders, or by descending id.
    ties: Literal["stable", "average", "document"] = "stable"
    longest: int | None = None  # ranks that count in NDCG and AP without a cutoff; None for all
    relevance: float = 1.0  # smallest label that counts as relevant in AP, P and RR
    # AP@k is divided by the number of relevant documents, or by that number but at most k, or is
    # computed over the whole list for any k.
    average_precision: Literal["relevant", "cutoff", "whole"] = "relevant"
    # P@k of n < k documents is divided by k, by n, or is 0.
    precision: Literal["cutoff", "list", "zero"] = "cutoff"
    single_precision: bool = False  # whether scores are compared as 32-bit numbers
    undefined: tuple[str, ...] = ()  # measures that the program does not support

    def gains(self, labels: np.ndarray) -> np.ndarray:
        """Gain of each label."""
        if labels.size and labels.min() < 0:
            raise DataError(f"NDCG needs labels of at least 0, but one is {labels.min():g}")
        if labels.size and self.gain == "exponential" and labels.max() > 1000:
            raise DataError(f"the gain 2^{labels.max():g} - 1 is too large; try convention='trec'")
        return labels if self.gain == "linear" else np.exp2(labels) - 1

    @property
    def averages_ties(self) -> bool:
        """Whether to take the expectation over the orders of equal scores."""
        return self.ties == "average"

    def discounts(self, n_ranks: int) -> np.ndarray:
        """Discount of each rank from 1 to ``n_ranks``."""
        ranks = np.arange(1, n_ranks + 1, dtype=np.float64)
        return 1 / np.log2(ranks + 1 if self.discount == "log2" else np.maximum(ranks, 2))


def _letor(name: str, **choices: Any) -> Convention:
    return Convention(name, discount="letor", short_list="zero", **choices)


CONVENTIONS: dict[str, Convention] = {
    convention.name: convention
    for convention in (
        Convention("standard", ties="average"),
        _letor("letor3", precision="zero"),
        _letor("letor4"),
        _letor("mslr", relevance=2),
        Convention("lightgbm", empty=1, average_precision="cutoff", undefined=("P",)),
        Convention(
            # Version 3.2. Without a cutoff its measures use 32 ranks, which is the default of a
            # parameter of its objectives; setting that parameter does not change them.
            "xgboost",
            empty=1,
            longest=32,
            average_precision="cutoff",
            precision="list",
            single_precision=True,
        ),
        Convention("ranklib", average_precision="whole", precision="list"),
        Convention("trec", gain="linear", ties="document", single_precision=True),
        Convention("sklearn", gain="linear", ties="average", undefined=("MAP", "P")),
    )
}


def known_names() -> str:
    """Names that :func:`get_convention` accepts, for messages."""
    return f"{', '.join(CONVENTIONS)}, and NAME:LABEL with the smallest relevant label"


def get_convention(
    convention: str | Convention, ties: Literal["stable", "average"] | None = None
) -> Convention:
    """Look up a convention by name.

    ``NAME:LABEL`` is the convention with another smallest label that counts as relevant. With
    ``ties``, it is the convention with another order of equal scores.

    Examples
    --------
    >>> from ranksieve.metrics import get_convention
    >>> get_convention("standard:2").relevance
    2.0
    >>> get_convention("letor4", ties="average").averages_ties
    True
    """
    if ties is not None:
        return replace(get_convention(convention), ties=ties)
    if isinstance(convention, Convention):
        return convention
    name, colon, label = str(convention).partition(":")
    if name not in CONVENTIONS:
        raise ValueError(f"unknown convention {convention!r}; choose from {known_names()}")
    if not colon:
        return CONVENTIONS[name]
    try:
        relevance = float(label)
    except ValueError:
        relevance = math.nan
    if not math.isfinite(relevance):
        raise ValueError(
            f"convention {convention!r} has no number after the colon; choose from {known_names()}"
        )
    return replace(CONVENTIONS[name], name=convention, relevance=relevance)
