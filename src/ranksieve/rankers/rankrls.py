"""RankRLS: pairwise least squares in closed form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from ranksieve.choosing import equals_of_best
from ranksieve.data import DataError
from ranksieve.engine import Source, engine_of
from ranksieve.metrics import Convention, Measure, get_convention, parse_measure
from ranksieve.parameters import ConventionChoice, Lambdas, Positive, Ties
from ranksieve.rankers.base import LinearRanker
from ranksieve.registry import Method
from ranksieve.solvers.rankrls.ridge import RidgeRows, decompose_features
from ranksieve.sums.held_out import measure_models

LAMS = tuple(2.0**power for power in range(-10, 11))


class LeftOut(NamedTuple):
    """Models for several lambdas, and their values on queries left out of training."""

    lams: np.ndarray
    coefs: np.ndarray  # (lams, features), of the models of all queries
    mean: np.ndarray  # (lams,), over queries, of the error or measure
    deviation: np.ndarray  # its standard error


@dataclass(eq=False, repr=False)
class RankRLS(LinearRanker):
    r"""Regularized least squares on pairs of documents of a query.

    .. math:: \min_w \sum_Q \frac{1}{2 |Q|} \sum_{i, j \in Q}
              (y_i - y_j - w^T x_i + w^T x_j)^2 + \lambda \|w\|^2

    with the solution :math:`(\hat X^T \hat X + \lambda I)^{-1} \hat X^T \hat y`, where hats denote
    values minus the mean of their query.

    Parameters
    ----------
    lam : float
        Regularization :math:`\lambda > 0`.
    progress : bool
        Whether to show progress in a terminal or a notebook.

    Notes
    -----
    Takes O(m n^2 + n^3) time for m documents and n features, in one pass over the data. Pairs of
    documents with equal labels count, too, as in the paper: their scores should be equal.

    References
    ----------
    T. Pahikkala, E. Tsivtsivadze, A. Airola, J. Jarvinen, J. Boberg. An efficient algorithm for
    learning to rank from preference graphs. Machine Learning 75, 2009.

    Examples
    --------
    >>> from ranksieve import make_ranking
    >>> from ranksieve.rankers import RankRLS
    >>> data, _ = make_ranking(100, noise=0.1)
    >>> RankRLS(lam=1.0).fit(data).score(data) > 0.6
    True
    """

    steps_in_python = True

    methods = (Method("rankrls", "pairwise least squares, in closed form", grid={"lam": LAMS}),)

    lam: Positive = 1.0
    _: KW_ONLY
    progress: bool = True

    def _train(self, source: Source, vali: Source | None) -> None:
        self.coef_ = decompose_features(source).models(np.array([self.lam])).coefs[0]


@dataclass(eq=False, repr=False)
class RankRLSCV(LinearRanker):
    """RankRLS with the regularization chosen by validation queries or by leaving queries out.

    Parameters
    ----------
    lams : sequence of float
        Regularizations to choose from; by default 2^-10, ..., 2^10.
    measure : "squared", str or Measure
        Choose by the smallest squared error, or by the best value of a measure.
    convention, ties
        Those of a measure; see :func:`ranksieve.metrics.evaluate`.
    progress : bool
        Whether to show progress in a terminal or a notebook.

    Attributes
    ----------
    coef_ : array of shape (features,)
    lam_ : float
        The chosen regularization; of equally good ones, the nearest to 1 in ratio.
    values_, deviations_ : arrays of shape (lams,)
        Mean over queries of the error or measure, and its standard error: on the ``eval_set`` if
        ``fit`` got one, else on each training query by a model trained without it.

    Notes
    -----
    All models come from one decomposition. Leaving out a query of q documents takes O(q^2 n + q^3)
    time for n features and each lambda, or O(q n^2 + n^3) if that is less. ``"squared"`` takes no
    ``eval_set``.

    Examples
    --------
    >>> from ranksieve import make_ranking
    >>> from ranksieve.rankers import RankRLSCV
    >>> data, _ = make_ranking(60, noise=0.5)
    >>> RankRLSCV(lams=[0.1, 1, 10, 1e6]).fit(data).lam_ < 1e6
    True
    """

    methods = (Method("rankrls-cv", "RankRLS with lambda by validation or leave-query-out"),)

    lams: Lambdas = LAMS
    _: KW_ONLY
    measure: str | Measure = "squared"
    convention: ConventionChoice = "standard"
    ties: Ties | None = None
    progress: bool = True

    def _train(self, source: Source, vali: Source | None) -> None:
        lams = as_lams(self.lams)
        measure = None if self.measure == "squared" else parse_measure(self.measure)
        if vali is None:
            found = leave_query_out(
                source, lams, measure or "squared", self.convention, ties=self.ties
            )
            coefs, self.values_, self.deviations_ = found[1:]
        else:
            if measure is None:
                raise DataError("eval_set needs a measure to choose by, such as measure='map'")
            coefs = decompose_features(source).models(lams).coefs
            models = [(np.arange(source.n_features), coefs.T.copy())]
            (values,) = measure_models(vali, models, measure, self.convention, ties=self.ties)
            self.values_, self.deviations_ = values
        greater = measure is not None and measure.greater_is_better
        best = nearest_to_one(self.values_ if greater else -self.values_, lams)
        self.lam_, self.coef_ = float(lams[best]), coefs[best]


def leave_query_out(
    source: Source,
    lams: Sequence[float] | np.ndarray = LAMS,
    measure: str | Measure = "squared",
    convention: str | Convention = "standard",
    *,
    ties: Literal["average", "stable"] | None = None,
) -> LeftOut:
    r"""Train RankRLS for many lambdas, with the leave-query-out error of each.

    ``"squared"`` is :math:`\sum_{i \in Q} (\hat y_i - w_{-Q}^T \hat x_i)^2`; otherwise predictions
    are measured. The values are exact, without retraining: the residuals of a query under the model
    trained without it follow from those under the full model. Queries of one document do not count
    in the mean. A query of weight w counts w times, and is left out as a whole.
    """
    lams = as_lams(lams)
    ridge = decompose_features(source).models(lams)
    with engine_of(source).start(RidgeRows) as workers:
        if isinstance(measure, str) and measure == "squared":
            n_queries, n, sums, squares = workers.sum(RidgeRows.errors, ridge)
        else:
            criterion = parse_measure(measure), get_convention(convention, ties)
            n_queries, n, sums, squares = workers.sum(RidgeRows.measured, ridge, *criterion)
    if n_queries < 2:
        raise DataError("leave-query-out needs at least two queries with two documents or more")
    mean = sums / n
    deviation = np.sqrt(np.maximum(0.0, squares / n - mean**2) / max(1.0, n - 1))
    return LeftOut(lams, ridge.coefs, mean, deviation)


def as_lams(lams: Any) -> np.ndarray:
    """Return lambdas as an array; raise a ValueError unless they are positive and distinct."""
    try:
        values = np.atleast_1d(np.asarray(lams, dtype=np.float64))
    except (TypeError, ValueError):
        values = np.empty(0)
    if values.ndim != 1 or not values.size or not (np.isfinite(values) & (values > 0)).all():
        raise ValueError(f"lams must be one or more numbers above 0, got {lams!r}")
    if len(np.unique(values)) != len(values):
        raise ValueError(f"lams lists a number twice: {lams!r}")
    return values


def nearest_to_one(values: np.ndarray, lams: np.ndarray) -> int:
    """Position of the largest value; ties go to lambda nearest to 1 in ratio, then the smaller.

    Raises a FloatingPointError if a value is not a number.
    """
    if np.isnan(values).any():
        raise FloatingPointError("the error with a lambda is not a number")
    tied = np.flatnonzero(equals_of_best(values, scale=abs(values.max())))
    distance = np.round(np.abs(np.log2(lams[tied])), 9)
    return int(tied[np.lexsort((lams[tied], distance))[0]])
