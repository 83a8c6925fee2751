"""Selection by the gain of features in boosted trees (their influence, in the papers)."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ranksieve.base import Choices, RankSelector
from ranksieve.engine import Source
from ranksieve.parameters import AtLeastTwo, Count, FeatureCount, NotNegative, Positive, Seed
from ranksieve.rankers import LambdaMART
from ranksieve.registry import Method
from ranksieve.selectors._search.filters import (
    GroupStep,
    SimilarityChoice,
    SimilarityFilter,
    best_sum_first,
)
from ranksieve.selectors.filters.gas import GAS
from ranksieve.sums.importance import Quality
from ranksieve.sums.similarity import Similarity
from ranksieve.sums.varying import varying_features

TREE_GRID: dict[str, Any] = {"n_estimators": (50, 200), "num_leaves": (5, 10, 31)}

_REFERENCE = """
    F. Pan, T. Converse, D. Ahn, F. Salvetti, G. Donato. Feature selection for ranking using boosted
    trees. CIKM 2009.
"""


@dataclass(eq=False, repr=False)
class TreeSelector(RankSelector):
    """Base of selectors that train LambdaMART and use the gain of features in its trees.

    Parameters
    ----------
    n_estimators, learning_rate, num_leaves, min_child_samples : int, float, int, int
        As in :class:`ranksieve.rankers.LambdaMART`.
    params : dict, optional
        Further parameters of LightGBM, which take precedence over the others.
    random_state : int, RandomState or None
        Random seed.
    include, exclude, groups, count, progress
        As in :class:`RankSelector`.
    """

    with_include = "The others follow by their gain in trees on all features."
    with_groups = "The gain of a group is the sum over its features."

    _shared_docs: ClassVar[dict[str, str]] = {"reference": _REFERENCE}

    takes_missing = True

    n_features_to_select: FeatureCount = 10
    _: KW_ONLY
    n_estimators: Count = 50
    learning_rate: Positive = 0.1
    num_leaves: AtLeastTwo = 10
    min_child_samples: Count = 20
    params: dict[str, Any] | None = None
    random_state: Seed = 0

    no_row_weights = ""

    @property
    def no_positions(self) -> str:  # type: ignore[override]
        """Why the objective of the trees takes no positions; empty if it does."""
        return LambdaMART(params=self.params).no_positions

    def _ranker(self, choices: Choices, seed: Any) -> LambdaMART:
        """Untrained trees for the features that are not excluded."""
        own = ("n_estimators", "learning_rate", "num_leaves", "min_child_samples", "params")
        parameters = {name: getattr(self, name) for name in own}
        return choices.cut_ranker(LambdaMART(**parameters, random_state=seed))

    def _relative_gains(self, source: Source, choices: Choices) -> np.ndarray:
        """Gain of each feature, relative to the largest."""
        trained = self._ranker(choices, self.random_state).fit(source)
        return shares(trained.feature_importances_)

    def reasons(self) -> list[str]:
        """For each selected feature, its gain relative to the largest."""
        check_is_fitted(self)
        influence = self.scores_[self.selected_].tolist()
        return [f"gain {share:.3g}" if share else "in no tree" for share in influence]


class BoostedTrees(TreeSelector):
    r"""Features with the largest gain in boosted trees.

    .. math:: I_f = \sum_{\text{splits on } f} \text{gain of the split}

    over all trees of a :class:`ranksieve.rankers.LambdaMART`.

    Parameters
    ----------
    n_features_to_select : int or float
        Number of features, or a fraction of them if below 1.
    n_estimators, learning_rate, num_leaves, min_child_samples, params, random_state
        As in :class:`TreeSelector`.
    include, exclude, groups, count, progress
        As in :class:`RankSelector`.

    Attributes
    ----------
    selected_, path_ : int array, list of (feature, score)
        Features in descending order of their gain.
    scores_ : array of shape (features,)
        Gain relative to the largest; 0 for features in no tree.

    Notes
    -----
    Takes one training. The paper selects the features with the largest relative influence;
    LightGBM's trees, its total gain as influence, and the defaults are our choices. Trees use the
    first of two equal features, so a copy has no gain. Features constant within every query come
    last. LightGBM handles missing values that the data keeps. Trees may change with the order of
    the documents of a query, by which LightGBM ranks documents of equal score, and on a Dask
    cluster, where bins are made from the rows of each worker.

    References
    ----------
    {reference}

    Examples
    --------
    >>> from ranksieve import make_ranking
    >>> from ranksieve.selectors import BoostedTrees
    >>> data, truth = make_ranking(200, n_informative=2, n_redundant=0, noise=0.1)
    >>> selector = BoostedTrees(n_features_to_select=2).fit(data)
    >>> sorted(selector.selected_.tolist()) == truth.informative.tolist()
    True
    """

    methods = (
        Method(
            "bt-influence",
            "largest gain in boosted trees",
            grid=TREE_GRID,
            draws=False,
            trial={"n_estimators": 5},
        ),
    )

    takes_categories = True
    _is_nested = True

    def _choose(self, source: Source, choices: Choices) -> list[int]:
        self.scores_ = self._relative_gains(source, choices)
        steps = best_sum_first(choices, varying_features(source), self.scores_)
        return self._record_path(steps)


@dataclass(eq=False, repr=False)
class DiscountedBoostedTrees(SimilarityFilter, TreeSelector):
    r"""Dissimilar features with a large gain in boosted trees.

    Takes the feature with the largest weight, lowers the weights of similar features, and repeats:

    .. math:: w_f \leftarrow w_f - 2 c\, e_{fg} \quad \text{once } g \text{ is taken}, \qquad
              w_f = I_f / \max_j I_j \quad \text{at first}

    with the gain I of :class:`BoostedTrees` and the similarity e of two features: the update
    of :class:`ranksieve.selectors.GAS`.

    Parameters
    ----------
    n_features_to_select : int or float
        Number of features, or a fraction of them if below 1.
    c : float
        Weight of similarity; 0 selects by gain alone.
    similarity : str, callable or Similarity
        As in GAS. By default the absolute value of Kendall's tau-b, because trees do not depend on
        the direction of a feature; aligning directions changes nothing.
    n_estimators, learning_rate, num_leaves, min_child_samples, params, random_state
        As in :class:`TreeSelector`.
    include, exclude, groups, count, progress
        As in :class:`RankSelector`.

    Attributes
    ----------
    scores_, importance_ : arrays of shape (features,)
        Gain relative to the largest.
    path_ : list of (feature, score)
        The weight of each feature when it was chosen.
    similarity_ : array of shape (features, features)
        Similarity e of each pair.
    objective_ : float
        Value of the objective of GAS for the selected features.

    Notes
    -----
    Takes one training, and the similarity of all pairs, for which a document without a value of a
    feature comes last. The paper discounts influence by similarity; the formula is our choice, as
    are those in :class:`BoostedTrees`.

    References
    ----------
    {reference}

    Examples
    --------
    >>> from ranksieve import make_ranking
    >>> from ranksieve.selectors import DiscountedBoostedTrees
    >>> data, truth = make_ranking(200, n_informative=3, n_redundant=6, copy_noise=0.1, tied=0)
    >>> selector = DiscountedBoostedTrees(n_features_to_select=3, c=0.3).fit(data)
    >>> sorted(truth.families[selector.selected_].tolist())
    [0, 1, 2]
    """

    with_groups = (
        "The gain of a group is the sum over its features, and two groups are as similar "
        "as their most similar features."
    )

    methods = (
        Method(
            "bt-discounted",
            "gain in boosted trees minus similarity",
            grid=TREE_GRID | {"c": (0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1)},
            draws=False,
            trial={"n_estimators": 5},
        ),
    )

    _is_nested = True

    _: KW_ONLY
    c: NotNegative = 0.01
    similarity: SimilarityChoice = Similarity("tau_b", absolute=True)

    def _quality(
        self, source: Source, choices: Choices, queries: np.ndarray | None = None
    ) -> Quality:
        varies = varying_features(source)
        self.importance_ = self.scores_ = self._relative_gains(source, choices)
        unknown = np.zeros(source.n_features)
        return Quality(self.scores_, unknown, np.ones(source.n_features, dtype=int), varies)

    def _group_quality(self, quality: Quality, choices: Choices) -> Quality:
        """Gain of each group, which is the sum over its features."""
        leaders = super()._group_quality(quality, choices)
        return replace(leaders, values=choices.total(quality.values))

    def _choose_groups(
        self, quality: Quality, similarity: np.ndarray, choices: Choices
    ) -> list[GroupStep]:
        gas = GAS(c=self.c)
        steps = gas._choose_groups(quality, similarity, choices)
        self.objective_ = gas.objective_
        return steps


def shares(influence: np.ndarray) -> np.ndarray:
    """Values relative to the largest; unchanged if all are 0."""
    return influence / (influence.max(initial=0.0) or 1.0)
