"""Base of the selectors that compare subsets of the features on held-out queries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import NamedTuple, TypeVar

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from ranksieve.base import Choices
from ranksieve.data import DataError
from ranksieve.data.fitted import SCALE_FIRST
from ranksieve.engine import Workers, engine_of
from ranksieve.metrics import Measure, get_convention, parse_measure
from ranksieve.parameters import ConventionChoice, FeatureCount, Seed, Share, Ties
from ranksieve.selectors._search.held_out import HeldOutSelector
from ranksieve.sums.checks import finite
from ranksieve.sums.densities import Part
from ranksieve.sums.gram import GramSums, centered_gram
from ranksieve.sums.held_out import Measured

Statistic = TypeVar("Statistic", bound=Measured)

_LARGE_BLOCKS = 2**22  # bytes; larger blocks suit many quick rounds

# Why selectors of subsets of one size take no groups.
SUBSETS_OF_ONE_SIZE = (
    "it searches subsets of exactly k features, which groups of different sizes may not fill."
)


class FreeFeatures(NamedTuple):
    """Features among which a search for subsets of one size may choose."""

    start: list[int]  # included features that vary; all subsets contain them
    candidates: np.ndarray  # other features that vary
    k: int  # number of candidates to choose
    constant: list[int]  # features that do not vary, selected if there are too few candidates


@dataclass(eq=False, repr=False)
class SubsetSelector(HeldOutSelector):
    """Base of selectors that compare subsets of the features by a measure of held-out queries.

    Parameters
    ----------
    measure : str or Measure
        Measure by which subsets are compared.
    validation_fraction : float
        Fraction of the queries to hold out if ``fit`` gets no ``eval_set``.
    convention : str or Convention
        Convention of the measure; see :mod:`ranksieve.metrics`.
    ties : {"average", "stable"}
        How the measure treats documents of equal score.
    """

    steps_in_python = True

    n_features_to_select: FeatureCount = 10
    _: KW_ONLY
    measure: str | Measure = "ndcg@10"
    validation_fraction: Share = 0.25
    convention: ConventionChoice = "standard"
    ties: Ties = "average"
    random_state: Seed = 0

    def _measuring_workers(self, statistic: type[Statistic], held_out: Part) -> Workers[Statistic]:
        """Start workers that evaluate models on held-out queries."""
        measure, convention = (
            parse_measure(self.measure),
            get_convention(self.convention, self.ties),
        )
        engine = engine_of(held_out.source, smallest=_LARGE_BLOCKS)
        return engine.start(statistic, measure, convention, held_out.queries)


def free_features(choices: Choices, varies: np.ndarray) -> FreeFeatures:
    """Divide features for a search, given which of them vary within queries."""
    start = [feature for feature in choices.include if varies[feature]]
    others = np.setdiff1d(np.arange(len(varies)), choices.include)
    candidates = others[varies[others]]
    k = choices.k - len(choices.include)
    constant = others[~varies[others]][: max(0, k - len(candidates))].tolist()
    return FreeFeatures(start, candidates, k - len(constant), constant)


def training_products(part: Part) -> GramSums:
    """Products of all features on some queries, from which RankRLS fits any subset."""
    gram = centered_gram(part.source, queries=part.queries)
    if not np.isfinite(gram.xx).all():
        raise DataError(f"some features are too large to multiply; {SCALE_FIRST}")
    return gram


def fit_subset(gram: GramSums, features: Sequence[int], lam: float) -> np.ndarray:
    """Weights of some features by regularized least squares."""
    chosen = list(features)
    if not chosen:
        return np.empty(0)
    inner = gram.xx[np.ix_(chosen, chosen)] + lam * np.eye(len(chosen))
    factor = cholesky(finite(inner), lower=True)
    half = solve_triangular(factor, gram.xy[chosen], lower=True)
    return solve_triangular(factor, half, trans="T", lower=True)
