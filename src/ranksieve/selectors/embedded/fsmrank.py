"""FSMRank: train a ranker and select features in one convex problem."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from ranksieve.base import Choices
from ranksieve.data import DataError
from ranksieve.engine import Source
from ranksieve.parameters import Count, FeatureCount, NotNegative, Positive
from ranksieve.registry import Method
from ranksieve.selectors._search.embedded import EmbeddedSelector
from ranksieve.selectors._search.filters import ImportanceChoice, SimilarityChoice
from ranksieve.solvers.ranksvm.mean_loss import mean_loss
from ranksieve.solvers.ranksvm.penalties import Weighted
from ranksieve.solvers.ranksvm.sparse_newton import SparseNewton
from ranksieve.sums.checks import check_labels_differ
from ranksieve.sums.importance import Importance
from ranksieve.sums.similarity import Similarity

PENALTY_GRID = {
    "lambda1": (1.0, 0.1, 0.01, 0.001, 0.0001),
    "lambda2": (0.1, 0.01, 0.001, 0.0001, 0.00001),
}

_LEAST = 1e-12  # smallest importance, to avoid division by 0
_ROUNDING = 1e-12  # negative eigenvalues up to this fraction of the largest count as 0


@dataclass(eq=False, repr=False)
class FSMRank(EmbeddedSelector):
    r"""Pairwise ranking with few, important and dissimilar features, as one convex problem.

    .. math:: \min_w \frac1P \sum_{y_i > y_j} \max(0, 1 - w^T (x_i - x_j))^2
              + \frac{\lambda_1}{2} |w|^T A |w| + \lambda_2 b^T |w|

    over the P pairs of documents of the same query with different labels. A is the similarity of
    features: using similar features together costs more. b is large for features that rank badly on
    their own.

    Parameters
    ----------
    n_features_to_select
        As in :class:`EmbeddedSelector`.
    lambda1 : float
        Weight of similarity.
    lambda2 : float
        Weight of importance; only this term makes weights 0 where similarity is 0.
    importance, similarity
        As in :class:`GAS`, but similarities must not be negative; by default they are absolute.
    cost : {"inverse", "complement"}
        b is 1 / importance, or 1 - importance (at least 0).
    tol : float
        Largest allowed violation of an optimality condition, relative to the largest slope of the
        loss at 0.
    max_iter : int
        Largest number of Newton steps.
    include, exclude, groups, count, progress
        As in :class:`RankSelector`.

    Attributes
    ----------
    selected_ : int array
        Features by decreasing absolute weight. If too few have weights, others follow by how close
        the slope of the loss is to the limit that the penalties set.
    coef_ : array of shape (features,)
        Weights; 0 for features that are not selected.
    scores_ : array of shape (features,)
        Absolute weights of the solution.
    importance_ : array of shape (features,)
    similarity_ : array of shape (features, features)
        A.
    objective_, violation_ : float
        Value of the objective, and largest violation of an optimality condition.
    n_iter_ : int
        Number of Newton steps.

    Notes
    -----
    Takes the time of :class:`SparseRankSVM` with one penalty, after importance and similarity. For
    many parameters on the same data, see :func:`fsmrank_path`.

    According to the paper's abstract, which is all we have, it solves one joint convex problem of
    pairwise errors with any measures of importance and similarity by Nesterov's accelerated
    gradient method. The objective above is our reconstruction: squared hinge loss, quadratic form
    of similarity, weighted absolute values. So are the defaults, and the solver, which finds the
    same minimum by Newton's method. We add to the diagonal of A the smallest number that makes it
    positive semidefinite; otherwise the problem would not be convex.

    Use it for a linear model of few features that are important and dissimilar. Tune both penalties
    on validation data, and scale features first, within queries or as a whole.

    References
    ----------
    H.-J. Lai, Y. Pan, Y. Tang, R. Yu. FSMRank: feature selection algorithm for learning to rank.
    IEEE Transactions on Neural Networks and Learning Systems 24, 2013.

    {example}
    """

    with_include = (
        "Their weights are penalized only for similarity. The others follow by their "
        "weights in the same model."
    )
    steps_in_python = False  # most of the time, it computes similarities

    methods = (
        Method(
            "fsmrank", "hinge loss, similarity and importance in one problem", grid=PENALTY_GRID
        ),
    )

    n_features_to_select: FeatureCount | None = None
    _: KW_ONLY
    lambda1: NotNegative = 0.01
    lambda2: NotNegative = 0.01
    importance: ImportanceChoice = Importance("map")
    cost: Literal["inverse", "complement"] = "inverse"
    similarity: SimilarityChoice = Similarity("concordance", absolute=True)
    tol: Positive = 1e-8
    max_iter: Count = 1000

    def _choose(self, source: Source, choices: Choices) -> list[int]:
        terms = self._terms(source, choices.include)
        with mean_loss(source) as loss:
            solver = SparseNewton(loss)
            penalty = terms.penalty(self.lambda1, self.lambda2)
            found = solver.solve(penalty, self.tol, self.max_iter)
            chosen = self._select_by_weights(found.coef, found.nearness, loss.varies, choices)
            self._finish(solver, np.array(chosen, dtype=np.intp))
        self.importance_, self.similarity_ = terms.importance, terms.similarity
        self.objective_, self.violation_ = found.objective, found.violation
        self.n_iter_ = found.n_iter
        return chosen

    def _finish(self, solver: SparseNewton, chosen: np.ndarray) -> None:
        """Complete the fit once features are chosen; FSMSVM trains its own weights here."""

    def _terms(self, source: Source, include: Sequence[int] = ()) -> Terms:
        """Importance and similarity, from which the penalties are computed."""
        quality = Importance.from_estimator(self)(source)
        if self.cost == "inverse":
            costs = 1.0 / np.maximum(quality.values, _LEAST)
        else:
            costs = np.maximum(0.0, 1.0 - quality.values)
        costs[list(include)] = 0.0
        similarity = Similarity.from_estimator(self)(source, quality.directions)
        _check_similarity(similarity)
        return Terms(quality.values, costs, _semidefinite(similarity))


class Terms(NamedTuple):
    """Importance, its cost b, and similarity A."""

    importance: np.ndarray
    costs: np.ndarray
    similarity: np.ndarray

    def penalty(self, lambda1: float, lambda2: float) -> Weighted:
        """Both penalties, weighted."""
        return Weighted(lambda2 * self.costs, lambda1 * self.similarity if lambda1 else None)


class FSMRankFit(NamedTuple):
    """A solution of :func:`fsmrank_path`, as the attributes of :class:`FSMRank`."""

    lambda1: float
    lambda2: float
    coef: np.ndarray
    objective: float
    violation: float
    n_iter: int


def fsmrank_path(
    source: Source, lambda1s: Sequence[float], lambda2s: Sequence[float], **parameters: Any
) -> Iterator[FSMRankFit]:
    """Train an :class:`FSMRank` for each pair of penalties, each starting from one nearby.

    Parameters
    ----------
    source : RankingData or opened shards
    lambda1s, lambda2s : sequences of float
        Descending values need the fewest steps.
    **parameters
        Further parameters of :class:`FSMRank`, except those that limit the features: use
        ``source.take_features`` instead.

    Yields
    ------
    FSMRankFit
        All of ``lambda2s`` for the first of ``lambda1s``, and so on.

    Notes
    -----
    Importance and similarity, which take longer than a solution, are computed once.

    Examples
    --------
    >>> from ranksieve import make_ranking
    >>> from ranksieve.selectors import fsmrank_path
    >>> data, truth = make_ranking(50, n_informative=2, n_noise=3, random_state=0)
    >>> for fit in fsmrank_path(data, [0.01], [0.1, 0.01]):
    ...     print(f"lambda2={fit.lambda2} has {(fit.coef != 0).sum()} features")
    lambda2=0.1 has 6 features
    lambda2=0.01 has 7 features
    """
    for name in ("include", "exclude", "groups"):
        if name in parameters:
            raise ValueError(f"fsmrank_path does not take {name}: it selects no features")
    for lambda1 in lambda1s:
        for lambda2 in lambda2s:
            FSMRank(lambda1=lambda1, lambda2=lambda2, **parameters)._validate_params()
    model = FSMRank(**parameters)
    check_labels_differ(source)
    terms = model._terms(source)
    with mean_loss(source) as loss:
        solver = SparseNewton(loss)
        beginning = solver.coef
        for lambda1 in lambda1s:
            solver.move_to(beginning)
            for position, lambda2 in enumerate(lambda2s):
                penalty = terms.penalty(lambda1, lambda2)
                found = solver.solve(penalty, model.tol, model.max_iter)
                if position == 0:
                    beginning = found.coef
                yield FSMRankFit(
                    lambda1, lambda2, found.coef, found.objective, found.violation, found.n_iter
                )


def _check_similarity(similarity: np.ndarray) -> None:
    if not np.allclose(similarity, similarity.T):  # also false for NaN
        raise DataError("similarity must be a symmetric matrix of finite numbers")
    if similarity.min() < 0:
        raise DataError("similarity must not be negative: take absolute values")


def _semidefinite(similarity: np.ndarray) -> np.ndarray:
    """Raise the diagonal until no eigenvalue is negative."""
    values = np.linalg.eigvalsh(similarity)
    if values[0] >= -_ROUNDING * max(1.0, values[-1]):
        return similarity
    return similarity - values[0] * np.eye(len(similarity))
