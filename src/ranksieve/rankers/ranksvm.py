"""RankSVM: a large margin between documents of a query with different labels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np

from ranksieve.data import DataError
from ranksieve.engine import Source, engine_of
from ranksieve.parameters import Count, Positive
from ranksieve.rankers.base import LinearRanker
from ranksieve.registry import Method
from ranksieve.solvers.ranksvm.losses import Hinge, Pairs, SquaredHinge
from ranksieve.solvers.ranksvm.minimizers import CuttingPlanes, Newton, Solution, Solver
from ranksieve.sums.checks import check_labels_differ

# Grid of LETOR's runs of svm_rank.
_STRUCT_C = (*(digit * 10.0**power for power in range(-5, 1) for digit in (1, 2, 5)), 10.0)

Loss = Literal["squared_hinge", "hinge"]
Scale = Literal["pairs", "queries", "sum"]


@dataclass(eq=False, repr=False)
class RankSVM(LinearRanker):
    r"""Linear ranker with a large margin between documents of different labels.

    .. math::

        \min_w \tfrac12 \|w\|^2 + \tfrac{C_p}{2} \sum_{y_i > y_j} \max(0, 1 - w^T(x_i - x_j))^2
        \quad\text{or}\quad
        \min_w \tfrac12 \|w\|^2 + C_p \sum_{y_i > y_j} \max(0, 1 - w^T(x_i - x_j))

    over all pairs of documents of the same query with different labels.

    Parameters
    ----------
    C : float
        Weight of the loss relative to the norm of ``w``; see ``scale``.
    scale : {"pairs", "queries", "sum"}
        C_p is C divided by the number of pairs, as in Chapelle's code for LETOR; divided by the
        number of queries, as in SVM-rank; or C itself, for the plain sum over pairs.
    loss : {"squared_hinge", "hinge"}
        The first or the second objective above. The second is that of SVM-rank.
    tol : float
        Stop when the duality gap is at most this fraction of the objective. At the default, weights
        are right to about five digits; at 1e-6, to two or three, and measures lose digits.
    max_iter : int
        Largest number of Newton steps (squared hinge) or cutting planes (hinge).
    warm_start : bool
        Start from the weights of the last ``fit``, for instance along a grid of C; for a whole
        grid on the same data, see :func:`ranksvm_path`.
    progress : bool
        Whether to show progress in a terminal or a notebook.

    Attributes
    ----------
    coef_ : array of shape (features,)
    n_iter_ : int
        Number of Newton steps or cutting planes.
    objective_ : float
        Value of the objective at ``coef_``.
    gap_ : float
        Duality gap: the objective at ``coef_`` exceeds the minimum by at most this, and ``coef_``
        is at most :math:`\sqrt{2\,gap}` away from the weights of the minimum.
    C_per_pair_ : float
        The weight C_p of a pair.

    Notes
    -----
    Pairs are never listed. A gradient, a product with the Hessian or a cutting plane takes O(m f +
    m log n) time for m rows of f features in queries of n documents: documents are sorted by score,
    and a tree over the labels of a query sums over all pairs that violate the margin.

    The squared hinge loss is minimized by a truncated Newton method [1]_: conjugate gradients for
    the step, preconditioned by the diagonal, then an exact line search. Its duality gap is half the
    squared norm of the gradient. The hinge loss is minimized by cutting planes with one slack for
    all pairs [2]_; each new plane is close to the best weights so far, found by a line search [3]_.
    Its gap is the objective minus that of the planes.

    The weight of a query multiplies its pairs, and counts in the numbers of pairs and of queries.
    Queries with one document or equal labels contribute nothing, but count as queries, as in
    SVM-rank. Scale features first, within queries or as a whole: the weights depend on it.

    References
    ----------
    .. [1] Chapelle and Keerthi, Efficient algorithms for ranking with SVMs. Information Retrieval
       13 (2010).
    .. [2] Joachims, Training linear SVMs in linear time. KDD 2006.
    .. [3] Franc and Sonnenburg, Optimized cutting plane algorithm for support vector machines.
       ICML 2008.

    Examples
    --------
    >>> from ranksieve import make_ranking
    >>> from ranksieve.rankers import RankSVM
    >>> data, truth = make_ranking(50, n_informative=2, n_noise=3, random_state=0)
    >>> ranker = RankSVM(C=10.0).fit(data)
    >>> print(truth.kind[ranker.feature_importances_.argmax()])
    informative
    >>> round(ranker.score(data), 2)
    0.53
    """

    steps_in_python = True

    methods = (
        Method(
            "ranksvm",
            "squared hinge loss on pairs, C / number of pairs",
            grid={"C": tuple(10.0**power for power in range(-2, 3))},
        ),
        Method(
            "ranksvm-struct",
            "hinge loss on pairs, C / number of queries, as in svm_rank",
            {"loss": "hinge", "scale": "queries"},
            {"C": _STRUCT_C},
        ),
    )

    C: Positive = 1.0
    _: KW_ONLY
    scale: Scale = "pairs"
    loss: Loss = "squared_hinge"
    tol: Positive = 1e-11
    max_iter: Count = 1000
    warm_start: bool = False
    progress: bool = True

    def _train(self, source: Source, vali: Source | None) -> None:
        start = np.zeros(source.n_features)
        if self.warm_start and hasattr(self, "coef_"):
            start = self.coef_
            if len(start) != source.n_features:
                raise DataError(
                    f"warm_start: the last fit had {len(start)} features, but now there are "
                    f"{source.n_features}"
                )
        with _solver(source, self.loss, self.scale) as solver:
            found = solver.solve(self.C, start, self.tol, self.max_iter)
        self.coef_, self.n_iter_, self.C_per_pair_ = found.coef, found.n_iter, found.C_per_pair
        self.objective_, self.gap_ = found.objective, found.gap


def ranksvm_path(
    source: Source,
    Cs: Sequence[float],
    *,
    scale: Scale = "pairs",
    loss: Loss = "squared_hinge",
    tol: float = 1e-11,
    max_iter: int = 1000,
) -> Iterator[Solution]:
    """Train a :class:`RankSVM` for each C, each starting from the previous solution.

    Weights are carried over, and so are cutting planes of the hinge loss, which hold for every C;
    ascending values need the fewest iterations.

    Parameters
    ----------
    source : RankingData or opened shards
    Cs : sequence of float
    scale, loss, tol, max_iter
        As in :class:`RankSVM`.

    Examples
    --------
    >>> from ranksieve import make_ranking
    >>> from ranksieve.rankers import ranksvm_path
    >>> data, truth = make_ranking(50, n_informative=2, n_noise=3, random_state=0)
    >>> for solution in ranksvm_path(data, [0.1, 1.0, 10.0]):
    ...     print(f"C={solution.C} has {abs(solution.coef).max():.2f} as its largest weight")
    C=0.1 has 0.02 as its largest weight
    C=1.0 has 0.14 as its largest weight
    C=10.0 has 1.07 as its largest weight
    """
    for C in Cs:
        RankSVM(C, scale=scale, loss=loss, tol=tol, max_iter=max_iter)._validate_params()
    check_labels_differ(source)
    with _solver(source, loss, scale) as solver:
        coef = np.zeros(source.n_features)
        for C in Cs:  # the data and the planes are reused
            solution = solver.solve(C, coef, tol, max_iter)
            coef = solution.coef
            yield solution


@contextmanager
def _solver(source: Source, loss: Loss, scale: Scale) -> Iterator[Solver]:
    statistic: Any = SquaredHinge if loss == "squared_hinge" else Hinge
    with engine_of(source).start(statistic) as workers:
        n_pairs, n_queries = workers.sum(Pairs.totals)
        divisor = {"pairs": n_pairs, "queries": n_queries, "sum": 1.0}[scale]
        yield (Newton if loss == "squared_hinge" else CuttingPlanes)(workers, divisor)
