"""FenchelRank: RankSVM with an L1 constraint, by steps that add at most one feature each."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

import numpy as np

from ranksieve.base import Choices
from ranksieve.engine import Source
from ranksieve.parameters import Count, FeatureCount, Positive
from ranksieve.registry import Method
from ranksieve.selectors._search.embedded import EmbeddedSelector, relative_sizes
from ranksieve.solvers.ranksvm.mean_loss import ActiveSet, MeanLoss, mean_loss

_EQUAL = 1e-9  # relative difference up to which slopes are equal
_LINE = 50  # most evaluations in a line search; Newton's method needs few
_LEVEL = 1e-9  # fraction of the initial derivative at which a line search ends


@dataclass(eq=False, repr=False)
class FenchelRank(EmbeddedSelector):
    r"""RankSVM with an L1 constraint on the weights (FenchelRank).

    .. math:: \min_w \frac1P \sum_{y_i > y_j} \max(0, 1 - w^T (x_i - x_j))^2
              \quad\text{subject to}\quad \|w\|_1 \le r

    over the P pairs of documents of the same query with different labels. Each step moves from w
    toward the model of a single feature, the one with the steepest slope, as long as the objective
    falls. So it adds at most one feature.

    Parameters
    ----------
    n_features_to_select
        As in :class:`EmbeddedSelector`.
    radius : float
        The radius r: the smaller it is, the fewer features have weights.
    away_steps : bool
        Whether a step may also move away from the model of a single feature with too large a
        weight in w, which takes far fewer steps. False is the published method.
    tol : float
        Stop when the duality gap is at most this; the objective is 1 if all weights are 0.
    max_iter : int
        Largest number of steps; ``gap_`` shows whether it was enough.
    include, exclude, groups, count, progress
        As in :class:`RankSelector`.

    Attributes
    ----------
    selected_, coef_, scores_
        As in :class:`EmbeddedSelector`.
    objective_, gap_ : float
        Value of the objective before features are dropped; it exceeds the minimum by at most the
        gap.
    n_iter_ : int
        Number of steps.

    Notes
    -----
    This is the Frank-Wolfe method with exact line search. A step takes O(m f + m log n) time for m
    rows of f features in queries of n documents; pairs are never listed. Without away steps, the
    gap falls like 1 / T with the number of steps T. It also falls slowly if the radius is so large
    that the best weights are inside the ball. The paper gives the problem, steps toward a feature,
    and when to stop. Away steps and the order of features are ours.

    Use it to compare with the paper, or to add features one at a time and stop early. Scale
    features first, within queries or as a whole. The path of :class:`SparseRankSVM`
    (``penalty="l1"``, ``standardize=False``) has the same solutions, and is faster unless the
    radius is small.

    References
    ----------
    H. Lai, Y. Pan, C. Liu, L. Lin, J. Wu. Sparse learning-to-rank via an efficient primal-dual
    algorithm. IEEE Transactions on Computers 62, 2013.

    S. Lacoste-Julien, M. Jaggi. On the global linear convergence of Frank-Wolfe optimization
    variants. NIPS 2015. (Away steps.)

    {example}
    """

    methods = (
        Method(
            "fenchelrank",
            "RankSVM with an L1 constraint on the weights",
            grid={"radius": (0.3, 1.0, 3.0, 10.0, 30.0, 100.0)},
            trial={"max_iter": 20},
        ),
    )

    n_features_to_select: FeatureCount | None = None
    _: KW_ONLY
    radius: Positive = 1.0
    away_steps: bool = True
    tol: Positive = 1e-3
    max_iter: Count = 1000

    def _choose(self, source: Source, choices: Choices) -> list[int]:
        with mean_loss(source) as loss:
            mixture = Mixture(loss.n_features, self.radius)
            for n_iter in range(self.max_iter + 1):
                coef, slopes = mixture.coef, loss.full_gradient()
                best, feature = mixture.steepest(slopes)
                gap = float(slopes @ coef) - best
                if gap <= self.tol or n_iter == self.max_iter:
                    break
                highest, position = mixture.worst(slopes)
                if self.away_steps and highest - slopes @ coef > gap:
                    most = mixture.room(position)
                    slope, curvature = loss.mean(
                        ActiveSet.direct_to, *mixture.model(position), -1.0
                    )
                    mixture.leave(position, _length(loss, slope, curvature, most))
                else:
                    slope, curvature = loss.mean(ActiveSet.direct_to, *mixture.model(feature), 1.0)
                    mixture.approach(feature, _length(loss, slope, curvature, 1.0))
            self.objective_ = loss.mean(ActiveSet.loss_and_gradient)[0]
            self.gap_, self.n_iter_ = gap, n_iter
            nearness = relative_sizes(slopes)
            return self._select_by_weights(coef, nearness, loss.varies, choices)


class Mixture:
    """A model as a mixture of models with one feature of weight r or -r, and of the zero model.

    Position f is feature f with weight r, position n + f with -r; the last is the zero model.
    """

    def __init__(self, n_features: int, radius: float) -> None:
        self.n, self.radius = n_features, radius
        self.shares = np.zeros(2 * n_features + 1)
        self.shares[-1] = 1.0

    @property
    def coef(self) -> np.ndarray:
        """Weights."""
        return self.radius * (self.shares[: self.n] - self.shares[self.n : -1])

    def model(self, position: int) -> tuple[int, float]:
        """Feature and weight of the model at a position."""
        if position == 2 * self.n:
            return 0, 0.0
        return position % self.n, self.radius if position < self.n else -self.radius

    def steepest(self, slopes: np.ndarray) -> tuple[float, int]:
        """Smallest product of slope and weight of a feature, and its position; ties by feature."""
        size = np.abs(slopes)
        feature = int(np.argmax(size >= (1 - _EQUAL) * size.max()))
        position = feature if slopes[feature] < 0 else self.n + feature
        return -self.radius * float(size[feature]), position

    def worst(self, slopes: np.ndarray) -> tuple[float, int]:
        """Largest product of slopes and weights of a model in the mixture, and its position."""
        products = self.radius * np.concatenate([slopes, -slopes, [0.0]])
        position = int(np.argmax(np.where(self.shares > 0, products, -np.inf)))
        return float(products[position]), position

    def room(self, position: int) -> float:
        """Longest step away from a model, at which its share is 0."""
        return float(self.shares[position] / (1 - self.shares[position]))

    def approach(self, position: int, t: float) -> None:
        """Move a fraction of the way to a model."""
        self.shares *= 1 - t
        self.shares[position] += t

    def leave(self, position: int, t: float) -> None:
        """Move away from a model; after the longest step its share is 0."""
        is_removed = t >= self.room(position)
        self.shares *= 1 + t
        self.shares[position] = 0.0 if is_removed else self.shares[position] - t


def _length(loss: MeanLoss, slope: float, curvature: float, most: float) -> float:
    """Length of a step by Newton's method: where the derivative is 0, or the whole step.

    Starts with both derivatives at the start of the step.
    """
    low, high, own, t = 0.0, most, slope, 0.0
    for _ in range(_LINE):
        t = t - own / curvature if curvature > 0 else high
        if not low < t < high:
            t = high if high == most else 0.5 * (low + high)
        own, curvature = loss.mean(ActiveSet.line_derivatives, t)
        if abs(own) <= _LEVEL * abs(slope) or (t == most and own < 0):
            break
        low, high = (t, high) if own < 0 else (low, t)
    return t
