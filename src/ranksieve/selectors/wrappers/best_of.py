"""The list of one of several selectors, chosen by held-out queries."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from numbers import Integral
from typing import Annotated, Any, ClassVar

import numpy as np

from ranksieve.base import Choices
from ranksieve.engine import Source, in_memory
from ranksieve.metrics import Measure, get_convention, parse_measure
from ranksieve.parameters import ConventionChoice, Share
from ranksieve.rankers import LambdaMART
from ranksieve.rankers.adapter import untrained_ranker
from ranksieve.rankers.base import Ranker
from ranksieve.registry import Method
from ranksieve.selectors._search.held_out import Fold, QueryPart, hold_out_fraction
from ranksieve.selectors._search.lists import ListMember, ListsSelector
from ranksieve.selectors._search.wrapper import HeldOutValues
from ranksieve.significance.samples import Sample
from ranksieve.sums.held_out import orient
from ranksieve.sums.varying import varying_features

# The default selectors, with parameters with which each takes a few trainings.
_DEFAULTS = {
    "cegb": {"tradeoffs": 5},
    "elimination": {"ranker": LambdaMART(num_leaves=15), "step": 0.4, "importance": "gain"},
}


@dataclass(eq=False, repr=False)
class BestOf(ListsSelector):
    """The features of the selector whose list ranks held-out queries best.

    Each selector makes a list from the training queries. A ranker is trained on the first features
    of each list, and held-out queries decide which list is the best. The first selector is
    preferred unless another one is better by more than a standard error of the difference.

    Parameters
    ----------
    n_features_to_select : int or float
        Number of features, or a fraction of them if below 1.
    selectors, parameters
        As in :class:`ListsSelector`.
        By default ``cegb`` with five penalties, and ``elimination`` with LambdaMART, which drops
        40 % of the features at a time.
    ranker : Ranker, LGBMRanker, XGBRanker or CatBoostRanker, optional
        Ranker to evaluate lists; :class:`ranksieve.rankers.LambdaMART` with 15 leaves by default.
    sizes : sequence of int
        Numbers of features with which lists are evaluated.
    measure : str or Measure
        Measure by which lists are compared.
    validation_fraction : float
        Fraction of the queries to hold out, rounded up, if ``fit`` gets no ``eval_set``; at least
        one query stays to train on.
    convention : str or Convention
        Convention of the measure.
    random_state : int, RandomState or None
        Random seed of the held-out queries, and of selectors without a seed among ``parameters``.
    include, exclude, groups, count, progress
        As in :class:`RankSelector`.

    Attributes
    ----------
    scores_ : array of shape (features,)
        Decreasing from 1 for the first feature of the best list to 0 for features not in it.
    path_ : list of (feature, score)
    best_ : str
        Name of the selector that made the list.
    lists_ : list of RankedList
        For each selector its ``name`` and ``features``.
    values_ : array of shape (selectors, queries)
        Mean over ``sizes`` of the measure, for each list and held-out query; NaN where a query has
        no value, as in :func:`ranksieve.metrics.evaluate`.

    Notes
    -----
    No single method suits all data: penalties (``cegb``) do best if features are noisy copies of
    each other, elimination if they work only together. Takes the trainings of the selectors, and
    one for each list and size: with the defaults about 19 for 50 features, and 21 for 140. Lists
    are made without the held-out queries. Shards are read into memory.

    Examples
    --------
    >>> from ranksieve import make_ranking
    >>> from ranksieve.selectors import BestOf
    >>> data, truth = make_ranking(60, n_informative=2, n_redundant=0, noise=0.1)
    >>> selector = BestOf(2, selectors=["random", "greedy-rankrls"], sizes=[2]).fit(data)
    >>> selector.best_, sorted(selector.selected_.tolist()) == truth.informative.tolist()
    ('greedy-rankrls', True)
    """

    with_include = "Each of the selectors includes them."
    with_groups = "A group takes the position of its first feature."

    methods = (
        Method(
            "best-of",
            "the list of the selector that ranks held-out queries best",
            trial={"selectors": ["top", "gas-e"], "ranker": "lambdamart", "sizes": [2]},
        ),
    )

    _is_nested = True
    works_on_shards: ClassVar[bool] = False

    _: KW_ONLY
    selectors: Annotated[Any, "array-like"] = tuple(_DEFAULTS)
    ranker: Any = None
    sizes: Annotated[Any, "array-like"] = (5, 10)
    measure: str | Measure = "ndcg@10"
    validation_fraction: Share = 0.2
    convention: ConventionChoice = "standard"

    @property
    def takes_missing(self) -> bool:  # type: ignore[override]
        """Whether the ranker takes missing values."""
        return self._judging_ranker().takes_missing

    def _choose(self, source: Source, choices: Choices, vali: Source | None = None) -> list[int]:
        sizes = self._sizes(choices.n_features)  # before the long search
        n, varies = choices.n_features, varying_features(source)
        fold = self._fold(source, vali)
        measure, convention = parse_measure(self.measure), get_convention(self.convention)
        compared = HeldOutValues(self._judging_ranker(), [fold], measure, convention)
        self.lists_ = self._lists(list(self._members()), fold.train.take(), choices, n, vali)
        subsets = [[ranked.features[:size] for size in sizes] for ranked in self.lists_]
        self.values_ = np.array([np.mean(compared.values(of_list), axis=0) for of_list in subsets])
        defined, is_weighted = compared.is_defined, fold.test.data.query_weights is not None
        values = orient(self.values_[:, defined], measure)
        best = _winner(values, compared.weights[defined] if is_weighted else None)
        self.values_[:, ~defined] = np.nan
        self.best_ = self.lists_[best].name
        order = [feature for feature in self.lists_[best].features if varies[feature]]
        self.scores_ = np.zeros(n)
        self.scores_[order] = np.linspace(1, 0, len(order), endpoint=False)
        return self._complete(order, varies, choices)

    def _members(self) -> Iterator[ListMember]:
        defaults = _DEFAULTS if tuple(self.selectors) == tuple(_DEFAULTS) else {}
        for member in super()._members():
            yield member._replace(
                parameters=defaults.get(member.method.name, {}) | member.parameters
            )

    def _judging_ranker(self) -> Ranker:
        """Untrained ranker that evaluates lists."""
        return LambdaMART(num_leaves=15) if self.ranker is None else untrained_ranker(self.ranker)

    def _fold(self, source: Source, vali: Source | None) -> Fold:
        """Training queries, and held-out queries."""
        data = in_memory(source)
        if vali is not None:
            return Fold(QueryPart(data), QueryPart(in_memory(vali)))
        return hold_out_fraction(data, self.validation_fraction, self.random_state)

    def _sizes(self, n_features: int) -> list[int]:
        """Numbers of features with which lists are evaluated, ascending."""
        sizes = list(self.sizes)
        if not sizes or not all(isinstance(size, Integral) and int(size) >= 1 for size in sizes):
            raise ValueError(f"sizes must be whole numbers of at least 1, got {self.sizes!r:.60}")
        return sorted({min(int(size), n_features) for size in sizes})


def _winner(values: np.ndarray, weights: np.ndarray | None) -> int:
    """The best list; the first unless the best is better by more than a standard error."""
    means = [Sample.of(own, weights).mean for own in values]
    best = int(np.argmax(means))
    gain = Sample.of(values[best] - values[0], weights)
    return best if gain.mean > gain.error else 0
