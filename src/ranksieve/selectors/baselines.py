"""Baselines: the best single features, a random order, and all features."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

from sklearn.utils import check_random_state

from ranksieve.base import Choices, RankSelector
from ranksieve.engine import Source
from ranksieve.parameters import FeatureCount, Seed
from ranksieve.registry import Method
from ranksieve.selectors._search.filters import ImportanceChoice, ImportanceFilter, best_first
from ranksieve.sums.importance import Importance


@dataclass(eq=False, repr=False)
class TopImportance(ImportanceFilter):
    """Select the features that rank best alone.

    Parameters
    ----------
    n_features_to_select : int or float
        Number of features, or a fraction of them if below 1.
    importance : str, Measure or Importance
        Quality of a feature alone: a measure, ``"loss"`` or ``"one_minus_loss"``; or an
        :class:`Importance`, which also sets the convention, ties and directions. A document
        without a value of a feature ranks last, if the data keeps missing values.
    include, exclude, groups, count, progress
        As in :class:`RankSelector`.

    Notes
    -----
    Takes O(f m log n) time for f features and m rows in queries of n documents. Similar features
    are all taken, which :class:`GAS` and its family avoid.

    Examples
    --------
    >>> from ranksieve import make_ranking
    >>> from ranksieve.selectors import TopImportance
    >>> data, truth = make_ranking(200, n_informative=2, n_redundant=0, noise=0.1)
    >>> selector = TopImportance(n_features_to_select=2).fit(data)
    >>> sorted(selector.selected_.tolist()) == truth.informative.tolist()
    True
    """

    methods = (Method("top", "the best single features"),)

    n_features_to_select: FeatureCount = 10
    _: KW_ONLY
    importance: ImportanceChoice = Importance("ndcg@10")

    _is_nested = True

    def _choose(self, source: Source, choices: Choices) -> list[int]:
        quality = self._quality(source, choices)
        return self._record_path(best_first(choices, quality.varies, quality.values))


class _Blind(RankSelector):
    """A baseline that looks neither at values nor at labels."""

    with_groups = "A group takes the position of its first feature."
    takes_missing = True
    takes_categories = True
    no_row_weights = no_positions = ""  # it looks at no label
    _uses_labels = False
    _is_nested = True


@dataclass(eq=False, repr=False)
class RandomSelector(_Blind):
    """Select features in random order: the baseline that every method must beat.

    Parameters
    ----------
    n_features_to_select : int or float
        Number of features, or a fraction of them if below 1.
    random_state : int, RandomState or None
        Random seed of the order, which does not depend on ``n_features_to_select``.
    include, exclude, groups, count, progress
        As in :class:`RankSelector`.

    Examples
    --------
    >>> from ranksieve import make_ranking
    >>> from ranksieve.selectors import RandomSelector
    >>> data, _ = make_ranking(20)
    >>> three = RandomSelector(3, random_state=1).fit(data).selected_
    >>> five = RandomSelector(5, random_state=1).fit(data).selected_
    >>> bool((three == five[:3]).all())
    True
    """

    with_include = "The others follow in random order."

    methods = (Method("random", "a seeded random order: the baseline to beat"),)

    n_features_to_select: FeatureCount = 10
    _: KW_ONLY
    random_state: Seed = 0

    def _choose(self, source: Source, choices: Choices) -> list[int]:
        random = check_random_state(self.random_state)
        return choices.in_order(random.permutation(source.n_features).tolist())


@dataclass(eq=False, repr=False)
class AllFeatures(_Blind):
    """Select all features that are not excluded, in the order of the data, for comparisons.

    Parameters
    ----------
    include, exclude, groups, count, progress
        As in :class:`RankSelector`.

    Examples
    --------
    >>> from ranksieve import make_ranking
    >>> from ranksieve.selectors import AllFeatures
    >>> data, _ = make_ranking(20, n_informative=1, n_redundant=1, n_noise=1)
    >>> AllFeatures().fit(data).selected_.tolist()
    [0, 1, 2]
    """

    with_include = "The others follow in the order of the data."

    methods = (Method("all", "all features, in the order of the data"),)

    def _number_to_select(self, n: int) -> int:
        return n

    def _choose(self, source: Source, choices: Choices) -> list[int]:
        return choices.in_order(range(source.n_features))
