"""RSRank: pairs weighted by NDCG, and gradient steps that truncate small weights."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

import numpy as np
from sklearn.utils import check_random_state

from ranksieve.base import Choices
from ranksieve.engine import Source
from ranksieve.parameters import Count, FeatureCount, Positive, Seed, Share
from ranksieve.registry import Method
from ranksieve.selectors._search.embedded import NOT_PENALIZED, EmbeddedSelector
from ranksieve.selectors.related.proximal import RowPenalty
from ranksieve.selectors.related.standardized_loss import StandardizedLoss, standardized_loss
from ranksieve.solvers.gradient.networks import TrainingLoss

_LEAST = 1e-6  # length of a first step that only breaks ties


@dataclass(eq=False, repr=False)
class RSRank(EmbeddedSelector):
    r"""Linear LambdaRank by stochastic gradient steps that truncate small weights (RSRank).

    Each step follows the gradient of

    .. math:: \frac{1}{\#Q} \sum_Q \sum_{i, j \in Q: y_i > y_j} |\Delta_{ij}|
              \log\left(1 + e^{w^T (x_j - x_i)}\right)

    on a batch of queries, over standardized features, where :math:`\Delta_{ij}` is the change of
    NDCG if the two documents swapped their current ranks. After every ``period`` steps, all weights
    move toward 0 by ``period`` times the step size times :math:`\lambda`, and those that would
    change sign become 0.

    Parameters
    ----------
    n_features_to_select
        As in :class:`EmbeddedSelector`.
    lam : float
        :math:`\lambda`, as a fraction of the largest slope at the first step.
    period : int
        Number of steps from one truncation to the next.
    learning_rate : float
        Step size.
    epochs, batch_queries : int
        Number of passes over the queries, and number of queries in a step.
    random_state : int, RandomState or None
        Random seed of the batches.
    include, exclude, groups, count, progress
        As in :class:`RankSelector`.

    Attributes
    ----------
    selected_, coef_, scores_
        As in :class:`EmbeddedSelector`.

    Notes
    -----
    A pass takes O(m (n + f)) time for m documents in queries of n, with f features. Labels must not
    be negative.

    This is a reconstruction. The paper weights pairs in a classification by NDCG and takes
    stochastic gradient steps with truncation. The logistic loss, the weights (those of LambdaRank),
    batches of whole queries and the standardized features are ours.

    Use it to compare with the paper, or on data that is too large for solvers that read all of it
    in every step.

    References
    ----------
    - Z. Sun, T. Qin, Q. Tao, J. Wang. Robust sparse rank learning for non-smooth ranking measures.
      SIGIR 2009.
    - J. Langford, L. Li, T. Zhang. Sparse online learning via truncated gradient. Journal of
      Machine Learning Research 10, 2009.

    {example}
    """

    with_include = NOT_PENALIZED

    methods = (
        Method(
            "rsrank",
            "pairs weighted by NDCG, by truncated gradient steps",
            grid={"lam": (0.3, 0.1, 0.03, 0.01, 0.003, 0.001)},
            trial={"epochs": 5},
        ),
    )

    n_features_to_select: FeatureCount | None = None
    _: KW_ONLY
    lam: Share = 0.03
    period: Count = 10
    learning_rate: Positive = 0.1
    epochs: Count = 50
    batch_queries: Count = 16
    random_state: Seed = 0

    def _choose(self, source: Source, choices: Choices) -> list[int]:
        with standardized_loss(source, "lambdarank") as loss:
            start = np.zeros(source.n_features)
            # If all scores are equal there is no ranking yet, so take a tiny step first.
            _, first = loss.linear_loss_and_gradient(start)
            _, slopes = loss.linear_loss_and_gradient(
                -_LEAST * first / (np.abs(first).max() or 1.0)
            )
            slopes[choices.include] = 0.0
            largest = float(np.abs(slopes).max())
            costs = np.full(len(start), self.lam * largest)
            costs[choices.include] = 0.0
            weights = self._descend(loss, start, RowPenalty(costs))
            nearness = np.abs(loss.linear_loss_and_gradient(weights)[1]) / (largest or 1.0)
            scales = loss.standard.scale
            return self._select_by_weights(weights, nearness, loss.varies, choices, scales)

    def _descend(
        self, loss: StandardizedLoss, weights: np.ndarray, penalty: RowPenalty
    ) -> np.ndarray:
        random = check_random_state(self.random_state)
        queries = np.concatenate(loss.workers.collect(TrainingLoss.informative_queries))
        n_steps = 0
        for _ in range(self.epochs):
            shuffled = random.permutation(queries)
            for first in range(0, len(queries), self.batch_queries):
                batch = np.sort(shuffled[first : first + self.batch_queries])
                _, gradient = loss.linear_loss_and_gradient(weights, batch)
                weights = weights - self.learning_rate * len(queries) / len(batch) * gradient
                n_steps += 1
                if n_steps % self.period == 0:
                    weights = penalty.shrink(weights, self.period * self.learning_rate)
        return penalty.shrink(weights, (n_steps % self.period) * self.learning_rate)
