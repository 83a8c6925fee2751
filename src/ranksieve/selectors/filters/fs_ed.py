"""FS-ED: expected divergence of a feature's values in documents of different grades."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ranksieve._kernels.classes import pairwise_divergence
from ranksieve.base import Choices, PerFeature, RankSelector
from ranksieve.data import DataError
from ranksieve.engine import Source
from ranksieve.parameters import FeatureCount, Seed, Share
from ranksieve.registry import Method
from ranksieve.selectors._search.filters import ImportanceChoice, ImportanceFilter, best_first
from ranksieve.selectors._search.held_out import HeldOutSelector, counted_queries, hold_out
from ranksieve.sums.densities import Densities, Part, map_densities
from ranksieve.sums.grades import grades_of
from ranksieve.sums.importance import Importance

_SMALLEST_DENSITY = 1e-12  # relative to the largest one; smaller ones are raised to it


@dataclass(eq=False, repr=False)
class FSED(ImportanceFilter, HeldOutSelector):
    r"""Expected divergence (FS-ED): features whose values distinguish the grades.

    .. math:: \psi(f) = s(f) + d(f), \qquad
              d(f) = \sum_{a < b} (b - a)\, JS(\hat f^a, \hat f^b)

    s is the quality of ranking by the feature alone. JS is the Jensen-Shannon divergence in bits
    of the densities of the feature's values in training documents of grades number a and b,

    .. math:: JS(p, q) = \tfrac12 KL(p \| m) + \tfrac12 KL(q \| m), \qquad m = (p + q) / 2,

    estimated on held-out queries. The features with the largest :math:`\psi` are selected.

    Parameters
    ----------
    n_features_to_select : int or float
        Number of features, or a fraction of them if below 1.
    importance : str, Measure or Importance
        The importance s; see :class:`GAS`. By default large values are good.
    estimator : {"monte_carlo", "pooled", "integral"}
        - ``"monte_carlo"``: KL(p \| m) is the mean of log(p / m) over held-out documents of the
          grade of p. Nearly unbiased before negative values of JS are set to 0. Numerical
          integration replaces it for a grade without held-out documents.
        - ``"pooled"``: both densities are evaluated at all held-out documents and normalized to
          sum 1. Too low if one grade is much rarer than the other.
        - ``"integral"``: numerical integration, without held-out documents.
    bandwidth : {"silverman", "normal"}
        :math:`0.9 \min(s, IQR / 1.34) M^{-1/5}` or :math:`1.06\, s\, M^{-1/5}`, for M values of
        standard deviation s; see :func:`ranksieve.sums.densities.bandwidths_of`, also for zeros.
    evaluation : {"auto", "exact", "binned"}
        Exact kernel sums, or sums on a grid, where a density is off by at most 0.00002 of a
        kernel's peak; ``"auto"`` takes exact sums if there are few rows.
    normalize_divergence : bool
        Whether to divide d by the sum of all b - a, so that d, like s, is at most 1. Otherwise d
        dominates s.
    reading : {"text", "code"}
        - ``"text"``: the score of the paper's text, as above.
        - ``"code"``: that of the authors' program. It has the divergence alone, in other units:
          :math:`\sum_x \sum_{a < b} (b - a) (\tfrac12 p_a \ln \tfrac{p_a}{m} + \tfrac12 p_b \ln
          \tfrac{p_b}{m})` over all held-out documents x, with the densities :math:`p_a(x)` and
          their mean m, and bandwidths :math:`1.06\, s`. A feature that has only one value in some
          grade comes last. ``estimator``, ``bandwidth`` and ``normalize_divergence`` do not matter.
    validation_fraction : float
        Fraction of the queries to hold out if ``fit`` gets no ``eval_set``.
    random_state : int, RandomState or None
        Random seed for the choice of held-out queries.
    include, exclude, groups, count, progress
        As in :class:`RankSelector`.

    Attributes
    ----------
    selected_ : int array
        Features in descending order of their score.
    scores_ : array of shape (features,)
        :math:`\psi`; for the reading ``"code"`` d, and -1 for features that come last.
    importance_, divergence_ : arrays of shape (features,)
        s and d.
    bandwidths_ : array of shape (grades, features)
        Bandwidths of the densities; NaN where there is no density.
    grades_ : array
        The labels, in ascending order.
    path_ : list of (feature, score)

    Notes
    -----
    Takes O(m n) time for m rows and n features, plus grids and the sorting for s.

    The paper gives the score, the divergence and Gaussian kernels with Silverman's bandwidth. These
    choices are ours: a density is divided by the number of documents of its grade, not of all; the
    estimators; logarithms of base 2; the treatment of zero bandwidths; densities below 1e-12 of the
    largest are raised to that; a negative estimate of JS, which ``"monte_carlo"`` may give although
    a divergence is never negative, counts as 0; a grade without training documents is left out; a
    constant feature has d = 0. With a single query nothing is held out, and divergences are
    integrated numerically.

    The reading ``"code"`` follows the program that the authors published in 2014, in which the
    factor :math:`M^{-1/5}` of the bandwidth is lost to an integer division.

    Missing values are refused: fill them in first (:class:`ranksieve.Missing`). Scale features
    whose ranges differ between queries (:class:`ranksieve.preprocessing.QueryMinMaxScaler`).

    References
    ----------
    P. Gupta, P. Rosso. Expected divergence based feature selection for learning to rank. COLING
    2012.

    {example}
    """

    methods = (
        Method("fs-ed", "NDCG@10 plus divergence between the grades' densities", draws=False),
    )

    _is_nested = True
    takes_missing = False  # missing values have no density
    _per_feature = RankSelector._per_feature | {
        "divergence_": PerFeature(),
        "bandwidths_": PerFeature((1,)),
    }

    n_features_to_select: FeatureCount = 10
    _: KW_ONLY
    importance: ImportanceChoice = Importance("ndcg@10", both_directions=False)
    estimator: Literal["monte_carlo", "pooled", "integral"] = "monte_carlo"
    bandwidth: Literal["silverman", "normal"] = "silverman"
    evaluation: Literal["auto", "exact", "binned"] = "auto"
    normalize_divergence: bool = False
    reading: Literal["text", "code"] = "text"
    validation_fraction: Share = 0.25
    random_state: Seed = 0

    def _choose(self, source: Source, choices: Choices, vali: Source | None = None) -> list[int]:
        train, held_out = self._parts(source, vali)
        self.grades_ = grades_of(source, *([] if held_out is None else [held_out.source]))
        is_text = self.reading == "text"
        estimator = self.estimator if is_text else "summed"
        if estimator == "summed" and held_out is None:
            raise DataError("reading='code' needs held-out queries: pass an eval_set")
        divergence, self.bandwidths_ = map_densities(
            partial(expected_divergence, estimator=estimator),
            train,
            held_out,
            self.grades_,
            bandwidth=self.bandwidth if is_text else "spread",
            evaluation=self.evaluation,
            integral=estimator == "integral",
        )
        self.divergence_ = np.nan_to_num(divergence, nan=0.0)
        if is_text and self.normalize_divergence:
            levels = np.arange(len(self.grades_))
            self.divergence_ /= np.triu(levels - levels[:, None]).sum()
        quality = self._quality(source, choices, train.queries)
        self.scores_ = quality.values + self.divergence_
        if not is_text:
            trained = np.isfinite(self.bandwidths_).any(axis=1)  # grades with training documents
            is_last = np.isnan(self.bandwidths_[trained]).any(axis=0)
            self.scores_ = np.where(is_last, -1.0, self.divergence_)
        return self._record_path(best_first(choices, quality.varies, self.scores_))

    def _parts(self, source: Source, vali: Source | None) -> tuple[Part, Part | None]:
        """Training queries, and held-out queries or None."""
        if vali is None and len(counted_queries(source)) == 1:
            return Part(source), None
        return hold_out(source, vali, self.validation_fraction, self.random_state)

    def reasons(self) -> list[str]:
        """For each selected feature, the two terms of its score."""
        check_is_fitted(self)
        terms = zip(self.importance_[self.selected_], self.divergence_[self.selected_], strict=True)
        return [f"alone {alone:.4f}, divergence {apart:.4f}" for alone, apart in terms]


def expected_divergence(densities: Densities, estimator: str = "monte_carlo") -> float:
    """Sum, over pairs of grades, of their difference times their divergence.

    It is in bits, or for the estimator ``"summed"`` the sum of pointwise divergences in nats.
    """
    known = np.isfinite(densities.values[:, 0])
    density, held_out = densities.values[known], densities.held_out[known]
    density = np.maximum(density, _SMALLEST_DENSITY * density.max(initial=0.0))
    without = held_out.sum(axis=1) == 0
    if estimator == "pooled" and densities.held_out.any():
        everywhere = densities.held_out.sum(axis=0)
        density = density / (density @ everywhere)[:, None]
        divergence = pairwise_divergence(density, density * everywhere)
    elif estimator == "summed":  # neither densities nor documents are counted by shares
        everywhere = densities.held_out.sum(axis=0)
        divergence = np.log(2) * pairwise_divergence(density, density * everywhere)
    elif estimator == "integral" or without.all():
        divergence = pairwise_divergence(density, density * densities.quadrature)
    else:
        with np.errstate(invalid="ignore"):
            shares = held_out / held_out.sum(axis=1, keepdims=True)
        divergence = pairwise_divergence(density, np.nan_to_num(shares))
        if without.any():
            instead = pairwise_divergence(density, density * densities.quadrature)
            divergence = np.where(without | without[:, None], instead, divergence)
    levels = np.flatnonzero(known)
    return float(np.sum(np.triu(levels - levels[:, None]) * np.maximum(0.0, divergence)))
