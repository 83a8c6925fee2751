"""RankSVM with penalties that leave few nonzero weights."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Literal, NamedTuple

import numpy as np

from ranksieve.base import Choices
from ranksieve.engine import Source
from ranksieve.parameters import AtLeastTwo, Count, FeatureCount, Positive, Share
from ranksieve.registry import Method
from ranksieve.selectors._search.embedded import NOT_PENALIZED, EmbeddedSelector
from ranksieve.solvers.ranksvm.mean_loss import mean_loss
from ranksieve.solvers.ranksvm.penalties import MCP, Log, Penalty, Weighted
from ranksieve.solvers.ranksvm.sparse_newton import Minimum, SparseNewton

_GRID = {"lam": (0.3, 0.1, 0.03, 0.01, 0.003, 0.001)}
_TRIAL = {"n_lams": 10}


class SparseFit(NamedTuple):
    """A solution on the path of :class:`SparseRankSVM`."""

    lam: float  # penalty
    features: np.ndarray  # those with nonzero weights, by index
    coef: np.ndarray  # their weights
    objective: float
    violation: float  # largest violation of an optimality condition, which ``tol`` limits
    n_iter: int  # number of Newton steps


@dataclass(eq=False, repr=False)
class SparseRankSVM(EmbeddedSelector):
    r"""Linear ranker with a large margin between pairs and weights for few features.

    .. math:: \min_w \frac1P \sum_{y_i > y_j} \max(0, 1 - w^T (x_i - x_j))^2 + \sum_f g(s_f |w_f|)

    over the P pairs of documents of the same query with different labels. With the penalty
    :math:`\lambda`, g is one of

    .. math::

        \lambda t, \qquad
        \begin{cases} \lambda t - t^2 / (2 \gamma') & t \le \gamma' \lambda \\
                      \gamma' \lambda^2 / 2 & t > \gamma' \lambda \end{cases}, \qquad
        \lambda \varepsilon' \log(1 + t / \varepsilon') .

    All have the slope :math:`\lambda` at 0. The second (MCP) does not shrink large weights and the
    third (log) shrinks them less, so they need fewer features for the same loss.

    Parameters
    ----------
    n_features_to_select : int, float or None
        Number of features, or a fraction of them if below 1: those with the largest weights in the
        first solution on the path that has enough weights. None takes all features of the solution
        at the end of the path.
    penalty : {"l1", "mcp", "log"}
        The penalty g, in the order above.
    standardize : bool
        Whether s is the standard deviation of a feature around the means of its queries, documents
        weighted by the number of their pairs, so that its unit does not matter. Otherwise s is 1.
    lam : float
        Last penalty of the path, relative to the smallest one for which all weights are 0.
    n_lams : int
        Number of penalties on the path, which form a geometric sequence.
    gamma : float
        For MCP: :math:`\gamma' = \gamma / h`, where h is the second derivative of the loss at 0 by
        :math:`s_f w_f` of the first feature of the path. Large values approach ``"l1"``.
    epsilon : float
        For log: :math:`\varepsilon' = \varepsilon u`, where u is the value of :math:`s_f w_f` of
        the first feature after a Newton step from 0. Large values approach ``"l1"``.
    tol : float
        Largest allowed violation of an optimality condition, relative to the largest slope of the
        loss at 0, both divided by the standard deviations of their features.
    max_iter : int
        Largest number of Newton steps for one penalty.
    include, exclude, groups, count, progress
        As in :class:`RankSelector`.

    Attributes
    ----------
    selected_ : int array
        Features by decreasing absolute weight. If the path ends with too few, features without a
        weight follow by how close their slope is to the penalty.
    coef_ : array of shape (features,)
        Weights; 0 for features that are not selected.
    scores_ : array of shape (features,)
        Absolute weights of the solution.
    solutions_ : list of SparseFit
        The path: ``lam``, ``features``, ``coef``, ``objective``, ``violation``, ``n_iter``.
    largest_penalty_, lam_ : float
        The smallest penalty for which all weights are 0, and that of the chosen solution.
    n_iter_ : int
        Number of Newton steps on the whole path.

    Notes
    -----
    A Newton step takes O(m k^2 + m log n) time for m rows in queries of n documents and k features
    that have weights or may get one; checking all f features takes O(m f). See
    :class:`ranksieve.solvers.ranksvm.sparse_newton.SparseNewton`. Each solution starts from the
    previous one and mostly needs 1 to 3 Newton steps. Pairs are never listed.

    With ``"l1"`` a solution is the global minimum. Otherwise it is a stationary point: each Newton
    step replaces g by its tangents, which the paper does after the last step only. The loss,
    penalties and reweighting are from the paper; the solver, the path and the scales are ours.

    Use it to get a linear model from hundreds of features. L1 is the safe first choice; MCP and log
    keep fewer features that only support others, and are worth it if the weights are used directly.

    References
    ----------
    - L. Laporte, R. Flamary, S. Canu, S. Dejean, J. Mothe. Nonconvex regularizations for feature
      selection in ranking with sparse SVM. IEEE Transactions on Neural Networks and Learning
      Systems 25, 2014.
    - R. Tibshirani et al. Strong rules for discarding predictors in lasso-type problems. Journal of
      the Royal Statistical Society B 74, 2012.

    {example}
    """

    with_include = NOT_PENALIZED
    _is_nested = False  # the penalty depends on the number of features

    methods = (
        Method("ranksvm-l1", "RankSVM with an L1 penalty", {"penalty": "l1"}, _GRID, trial=_TRIAL),
        Method(
            "ranksvm-mcp",
            "RankSVM with MCP, which spares large weights",
            {"penalty": "mcp"},
            _GRID | {"gamma": (1.5, 3.0, 10.0)},
            trial=_TRIAL,
        ),
        Method(
            "ranksvm-log",
            "RankSVM with a logarithmic penalty",
            {"penalty": "log"},
            _GRID | {"epsilon": (0.1, 1.0, 10.0)},
            trial=_TRIAL,
        ),
    )

    n_features_to_select: FeatureCount | None = None
    _: KW_ONLY
    penalty: Literal["l1", "mcp", "log"] = "l1"
    standardize: bool = True
    lam: Share = 0.01
    n_lams: AtLeastTwo = 50
    gamma: Positive = 3.0
    epsilon: Positive = 1.0
    tol: Positive = 1e-8
    max_iter: Count = 1000

    def _choose(self, source: Source, choices: Choices) -> list[int]:
        self.solutions_: list[SparseFit] = []
        with mean_loss(source) as loss:
            for found in self._path(SparseNewton(loss), choices.include):
                positions = choices.groups_of(np.flatnonzero(found.coef).tolist())
                is_enough = choices.is_full({*choices.start, *positions})
                if self.n_features_to_select is not None and is_enough:
                    break
            self.lam_ = self.solutions_[-1].lam
            self.n_iter_ = sum(fit.n_iter for fit in self.solutions_)
            return self._select_by_weights(found.coef, found.nearness, loss.varies, choices)

    def _path(self, solver: SparseNewton, include: list[int]) -> Iterator[Minimum]:
        """Solve for one penalty after the other; included features are not penalized."""
        scales = solver.loss.deviations if self.standardize else np.ones(len(solver.coef))
        costs = scales.copy()
        if include:
            costs[include] = 0.0
            solver.move_to(self._start(solver, include))
        slopes = np.abs(solver.slopes) / scales
        slopes[include] = 0.0
        first = int(np.argmax(slopes))
        self.largest_penalty_ = float(slopes[first])
        curvature = solver.curvature(first) / scales[first] ** 2 or 1.0
        for lam in (self.largest_penalty_ * np.geomspace(1.0, self.lam, self.n_lams)).tolist():
            penalty = self._penalty(lam, costs, curvature)
            found = solver.solve(penalty, self.tol, self.max_iter)
            features = np.flatnonzero(found.coef)
            solution = found.coef[features], found.objective, found.violation, found.n_iter
            self.solutions_.append(SparseFit(lam, features, *solution))
            yield found

    def _start(self, solver: SparseNewton, include: list[int]) -> np.ndarray:
        """Weights of the included features if all others have weight 0."""
        columns, coef = np.sort(include), np.zeros(len(solver.coef))
        free = Weighted(np.zeros(len(columns)))
        coef[columns] = solver.solve_on(columns, free, self.tol, self.max_iter)
        return coef

    def _penalty(self, lam: float, scales: np.ndarray, curvature: float) -> Penalty:
        if self.penalty == "mcp":
            return MCP(lam, self.gamma / curvature, scales)
        if self.penalty == "log":
            return Log(lam, self.epsilon * (self.largest_penalty_ or 1.0) / curvature, scales)
        return Weighted(lam * scales)
