"""Forward selection by least squares on query-centered labels, until AIC rises."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from ranksieve.choosing import ROUNDING
from ranksieve.engine import Source
from ranksieve.parameters import FeatureCount
from ranksieve.registry import Method
from ranksieve.selectors._search.greedy import Step
from ranksieve.selectors._search.linear import EmbeddedSelector
from ranksieve.sums.grades import varying_features
from ranksieve.sums.gram import centered_gram
from ranksieve.sums.labels import weight_of_rows

_DEPENDENT = 1e-10  # of its variance is left of a feature that others explain but for rounding


@dataclass(eq=False, repr=False)
class StepwiseAIC(EmbeddedSelector):
    r"""Forward stepwise regression of labels on features, stopped by Akaike's criterion.

    Features and labels are centered within queries. Each step adds the feature that lowers the
    residual sum of squares (RSS) of the m documents the most, as long as

    .. math:: AIC = m \ln(RSS / m) + 2 k

    falls, k being the number of features.

    Parameters
    ----------
    n_features_to_select : int, float or None
        Number of features, or a fraction of them if below 1. None stops before AIC rises.
    {verbose}

    Attributes
    ----------
    selected_ : int array
        Features in the order of choice; those that others explain completely come last.
    coef_ : array of shape (features,)
        Least squares weights of the selected features; 0 for the others.
    scores_ : array of shape (features,)
        How much each feature alone lowers RSS, as a fraction of that of the labels.
    path_ : list of (feature, score)
        The score is the fraction of RSS left after the step.
    aic_ : array of shape (selected + 1,)
        AIC before the first step and after each of them.

    Notes
    -----
    The products of m rows of f features take O(m f^2) time, and a step takes O(f k).

    This is a reconstruction, because the paper that used it on rankings is not available. Documents
    count as independent, which those of a query are not, so AIC keeps more features than it should.

    Use it to compare with statistical practice. Greedy RankRLS (``greedy-rankrls``) is the same
    search with a penalty, evaluated on queries that are left out.

    References
    ----------
    H. Akaike. A new look at the statistical model identification. IEEE Transactions on Automatic
    Control 19, 1974.

    Examples
    --------
    >>> from ranksieve import make_ranking
    >>> from ranksieve.selectors import StepwiseAIC
    >>> data, truth = make_ranking(200, n_informative=3, n_redundant=0, noise=0.1)
    >>> selector = StepwiseAIC(n_features_to_select=3).fit(data)
    >>> sorted(selector.selected_.tolist()) == truth.informative.tolist()
    True
    """

    methods = (Method("stepwise-aic", "least squares, a feature at a time, until AIC rises"),)

    _is_nested = True

    n_features_to_select: FeatureCount | None = None
    _: KW_ONLY
    verbose: bool = False

    def _choose(self, source: Source, k: int, **held_out: Any) -> np.ndarray:
        xx, xy, yy = centered_gram(source)
        varies = varying_features(source)
        scale = np.sqrt(np.where(varies, np.diagonal(xx), 1.0))
        alike = xx / np.outer(scale, scale)
        # Of each feature, what those before it leave of its variance and of its share in y.
        left, shares = varies.astype(float), np.where(varies, xy / scale, 0.0) / np.sqrt(yy)
        self.scores_ = shares**2
        n_rows = weight_of_rows(source)
        residual, aic = 1.0, [_aic(n_rows, yy)]
        bases: list[np.ndarray] = []
        self.path_: list[Step] = []
        free = np.ones(len(xy), dtype=bool)
        for _ in range(k):
            useful = free & (left > _DEPENDENT)
            gains = np.where(useful, shares**2 / np.where(useful, left, 1.0), -1.0 + left)
            gains[~free] = -np.inf
            best = int(np.argmax(gains >= gains.max() - ROUNDING))
            after = max(residual - max(gains[best], 0.0), 0.0)
            value = _aic(n_rows, after * yy, len(aic))
            if self.n_features_to_select is None and value >= aic[-1] and self.path_:
                break
            if useful[best]:
                base = alike[:, best] - sum(own * own[best] for own in bases)
                base /= np.sqrt(left[best])
                shares = shares - base * (shares[best] / np.sqrt(left[best]))
                left = left - base**2
                bases.append(base)
            free[best] = False
            residual = after
            aic.append(value)
            self.path_.append(Step(best, residual))
        self.aic_ = np.array(aic)
        chosen = np.array([step.feature for step in self.path_])
        self.coef_ = np.zeros(len(xy))
        within = alike[np.ix_(chosen, chosen)]
        self.coef_[chosen] = np.linalg.lstsq(within, (xy / scale)[chosen])[0] / scale[chosen]
        return chosen


def _aic(n_rows: float, rss: float, n_features: int = 0) -> float:
    return n_rows * float(np.log(max(rss, np.finfo(float).tiny) / n_rows)) + 2 * n_features
