"""Features to which the scores of a network are most sensitive, one per cluster."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ranksieve.base import Choices
from ranksieve.data import Block
from ranksieve.engine import Source, engine_of
from ranksieve.parameters import Count, FeatureCount, Seed
from ranksieve.rankers import ListMLE, ListNet, RankNet
from ranksieve.registry import Method
from ranksieve.selectors._search.clustering import Clustering, ClusterSelector
from ranksieve.selectors.filters.hcas import cut, dissimilarity, link
from ranksieve.solvers.gradient.networks import ACTIVATIONS, Weights
from ranksieve.sums.checks import weight_of_rows
from ranksieve.sums.chunks import CHUNK, chunks, row_weights_of, weights_of
from ranksieve.sums.varying import varying_features

_RANKERS = {"ranknet": RankNet, "listnet": ListNet, "listmle": ListMLE}


@dataclass(eq=False, repr=False)
class SaliencySelector(ClusterSelector):
    r"""Train a network, cluster features by its gradients, and keep the most salient of each.

    The saliency of feature f for a document is :math:`\sigma_f |\partial s(x) / \partial x_f|`,
    with the standard deviation :math:`\sigma_f` of the feature. The ``group_size`` most salient
    features of a document form a group. Features are similar if they are often in the same groups,

    .. math:: e_{fg} = \frac{\#(f \wedge g)}{\#(f \vee g)},

    and are clustered by average linkage. The feature with the largest mean saliency represents each
    of the k clusters.

    Parameters
    ----------
    n_features_to_select : int or float
        Number of features, or a fraction of them if below 1.
    loss, hidden, random_state
        As in :class:`GroupLassoNetwork`.
    epochs : int
        Number of passes over the data.
    group_size : int
        Number of features of a document that form a group. With 1, no two features share a group,
        and the most salient features are selected.
    include, exclude, groups, count, progress
        As in :class:`RankSelector`.

    Attributes
    ----------
    selected_ : int array
        Features by decreasing saliency.
    scores_ : array of shape (features,)
        Mean saliency.
    similarity_ : array of shape (features, features)
        e.
    clusters_, n_clusters_
        As in :class:`HCAS`.

    Notes
    -----
    A pass takes O(m f h) time for m rows of f features with h hidden units, and the groups take
    O(m f^2).

    This is a reconstruction. The steps are those of the paper; the network, the scale
    :math:`\sigma_f`, the size of groups and the measure of similarity are ours. As published,
    features that are salient together share a cluster even if they are not redundant, and all but
    one of them are lost.

    Use it to compare with the paper; or, with ``group_size=1``, if the ranker will be a network.

    References
    ----------
    A. Purpura, K. Buchner, G. Silvello, G. A. Susto. Neural feature selection for learning to rank.
    ECIR 2021.

    Examples
    --------
    >>> from ranksieve import make_ranking
    >>> from ranksieve.selectors import SaliencySelector
    >>> data, truth = make_ranking(200, n_informative=3, n_redundant=0, noise=0.1)
    >>> selector = SaliencySelector(n_features_to_select=3, group_size=1).fit(data)
    >>> sorted(selector.selected_.tolist()) == truth.informative.tolist()
    True
    """

    steps_in_python = True

    methods = (
        Method(
            "saliency",
            "gradients of a network's scores, one feature per cluster",
            trial={"hidden": 2, "epochs": 3},
        ),
    )

    n_features_to_select: FeatureCount = 10
    _: KW_ONLY
    loss: Literal["ranknet", "listnet", "listmle"] = "listnet"
    hidden: Count = 10
    epochs: Count = 20
    group_size: Count = 5
    random_state: Seed = 0

    def _choose(self, source: Source, choices: Choices) -> list[int]:
        network = _RANKERS[self.loss](
            self.hidden, epochs=self.epochs, random_state=self.random_state
        ).fit(source)
        varies = varying_features(source)
        scale = np.where(varies, network.scale_, 0.0)
        parameters = network.weights_, scale, self.group_size
        sums, together = engine_of(source).sum(sum_saliencies, *parameters)
        self.scores_ = sums / weight_of_rows(source)
        either = together.diagonal()[:, None] + together.diagonal() - together
        self.similarity_ = together / np.where(either > 0, either, 1)
        steps = self._represent_clusters(self.scores_, self.similarity_, varies, choices)
        return [step.feature for step in steps]

    def _cluster(
        self, features: np.ndarray, importance: np.ndarray, similarity: np.ndarray, k: int | None
    ) -> Clustering:
        assert k is not None
        # The least salient first, so that these merge if no features are similar.
        merges = link(dissimilarity(similarity)[::-1, ::-1], "average")
        return Clustering(cut(merges, k)[::-1], importance, importance)

    def reasons(self) -> list[str]:
        """Mean saliency of each selected feature."""
        check_is_fitted(self)
        return [f"saliency {value:.3g}" for value in self.scores_[self.selected_]]


def sum_saliencies(
    block: Block, weights: Weights, scale: np.ndarray, group_size: int
) -> tuple[np.ndarray, np.ndarray]:
    """Sum of saliencies, and the number of documents with both features of a pair in the group.

    Documents count by the weights of their queries.
    """
    n = len(scale)
    inner, bias, outer = weights
    activate, derivative = ACTIVATIONS["tanh"]
    total, together = np.zeros(n), np.zeros((n, n))
    counts = row_weights_of(block, weights_of(block))[:, None]
    for part in chunks(block, most=CHUNK):
        slopes = derivative(activate(part.X @ inner + bias)) * outer
        saliency = np.abs(slopes @ inner.T) * scale
        total += (counts[part.rows] * saliency).sum(axis=0)
        # Stable, so that ties go to the lowest index.
        salient = np.argsort(-saliency, axis=1, kind="stable")[:, :group_size]
        groups = np.zeros(saliency.shape)
        np.put_along_axis(groups, salient, 1.0, axis=1)
        together += groups.T @ (counts[part.rows] * groups)
    return total, together
