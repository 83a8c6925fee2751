"""Select by boosted trees of a size that held-out queries choose: by prices or by elimination."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import KW_ONLY, dataclass
from numbers import Integral
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from ranksieve.base import Choices
from ranksieve.choosing import first_of_best
from ranksieve.data import RankingData
from ranksieve.engine import Source, in_memory
from ranksieve.metrics import Measure, get_convention, mean_of_defined, parse_measure
from ranksieve.parameters import ConventionChoice
from ranksieve.rankers import LambdaMART
from ranksieve.registry import Method
from ranksieve.selectors._search.held_out import Fold, QueryPart, counted_queries, make_folds
from ranksieve.selectors._search.lists import ListMember, ListsSelector
from ranksieve.selectors._search.wrapper import HeldOutValues
from ranksieve.sums.held_out import orient
from ranksieve.sums.varying import vary_within_queries, varying_features

_SHARES = (0.05, 0.1, 0.2, 0.3, 0.4, 0.6, 0.8, 1.0)  # of the trees, to compare numbers of them


class TreeSize(NamedTuple):
    """Trees of one size, and how well they rank queries that they were not trained on."""

    num_leaves: int  # largest number of leaves of a tree
    n_estimators: int  # number of trees
    value: float  # mean of the measure over held-out queries


@dataclass(eq=False, repr=False)
class SizedTrees(ListsSelector):
    """Find out how large trees may be on this data, and select in the way that suits such trees.

    Trees of each number of leaves are trained on one half of the queries and rank the other half
    with fewer or more of the trees, and vice versa. If the smallest trees are best, features act
    mostly on their own and large trees would fit noise: then trees that pay for each feature
    (``cegb``) select, and near-copies are left out. If larger trees are best, features help
    together: then those that trees of the best size use least are eliminated step by step.

    Parameters
    ----------
    n_features_to_select : int or float
        Number of features, or a fraction of them if below 1.
    selectors, parameters
        As in :class:`ListsSelector`.
        The first one selects if the smallest trees are best, the second one otherwise;
        ``elimination`` gets trees of the best size unless its parameters have a ranker.
    ranker : LambdaMART, optional
        Trees of which ``num_leaves`` and ``n_estimators`` are chosen; ``n_estimators`` is the
        largest number to try. 100 trees by default.
    leaves : sequence of int
        Numbers of leaves to compare.
    measure : str or Measure
        Measure by which sizes are compared.
    convention : str or Convention
        Convention of the measure.
    random_state : int, RandomState or None
        Random seed of the halves, and of selectors without a seed among ``parameters``.
    include, exclude, groups, count, verbose
        As in :class:`RankSelector`.

    Attributes
    ----------
    scores_ : array of shape (features,)
        Decreasing from 1 for the first feature to 0 for features that are not listed.
    path_ : list of (feature, score)
    sizes_ : list of TreeSize
        Each size that was compared: ``num_leaves``, ``n_estimators`` and ``value``. Empty if there
        was no choice: one query, or a half of the queries without different labels.
    size_ : TreeSize
        The best size; of equals the smallest.
    method_ : str
        Name of the selector that was used.

    Notes
    -----
    Takes two trainings for each of ``leaves`` and 15 for ``cegb``, or with the default step 12 for
    the elimination of 50 features and 16 for 140. An ``eval_set`` takes the place of the halves.
    Half of the queries favor slightly smaller trees than all of them. Which queries form a half
    depends on the seed and on their order in the data, and trees may change with the order of the
    documents of a query (see :class:`ranksieve.rankers.LambdaMART`). Shards are read into memory.

    Examples
    --------
    >>> from ranksieve import make_ranking
    >>> from ranksieve.selectors import SizedTrees
    >>> data, truth = make_ranking(100, n_informative=2, n_redundant=0, n_noise=4, noise=0.1)
    >>> selector = SizedTrees(2).fit(data)
    >>> sorted(selector.selected_.tolist()) == truth.informative.tolist()
    True
    >>> len(selector.sizes_)
    16
    """

    with_include = "Each of the selectors includes them."
    with_groups = "A group takes the position of its first feature."

    methods = (
        Method(
            "sized-trees",
            "cegb or elimination, as the best size of trees suggests",
            trial={"leaves": [4], "parameters": {"cegb": {"n_estimators": 5, "tradeoffs": 3}}},
        ),
    )

    _is_nested = True
    works_on_shards: ClassVar[bool] = False

    _: KW_ONLY
    selectors: Annotated[Any, "array-like"] = ("cegb", "elimination")
    ranker: Any = None
    leaves: Annotated[Any, "array-like"] = (4, 15)
    measure: str | Measure = "ndcg@10"
    convention: ConventionChoice = "standard"

    def reasons(self) -> list[str]:
        """For each selected feature, which selector has chosen it, and after how many others."""
        check_is_fitted(self)
        return [f"{self.method_} {rank}" for rank in range(1, 1 + len(self.selected_))]

    def _choose(self, source: Source, choices: Choices, vali: Source | None = None) -> list[int]:
        data, n, varies = in_memory(source), choices.n_features, varying_features(source)
        data.check_finite()
        ranker, numbers = self._trees(), self._leaves()
        folds = self._folds(data, vali)
        self.sizes_ = self._compare_sizes(ranker, numbers, folds) if folds else []
        self.size_ = TreeSize(ranker.num_leaves, ranker.n_estimators, float("nan"))
        if self.sizes_:
            values = np.array([one.value for one in self.sizes_])
            self.size_ = self.sizes_[first_of_best(orient(values, parse_measure(self.measure)))]
        small, large = self._members()
        is_small = bool(self.sizes_) and self.size_.num_leaves == numbers[0]
        [ranked] = self._lists([small if is_small else large], data, choices, n, vali)
        self.method_ = ranked.name
        return self._follow(ranked.features, varies, choices)

    def _members(self) -> Iterator[ListMember]:
        members = list(super()._members())
        if len(members) != 2:
            raise ValueError(
                "selectors should be two, one for small trees and one for large ones; "
                f"got {len(members)}"
            )
        for member in members:
            if member.method.name == "elimination" and "ranker" not in member.parameters:
                trees = self._trees()
                if hasattr(self, "size_"):
                    trees = _resize(trees, self.size_.num_leaves, self.size_.n_estimators)
                ours = {"ranker": trees, "step": 0.3, "importance": "gain"}
                member = member._replace(parameters=ours | member.parameters)
            yield member

    def _trees(self) -> LambdaMART:
        if self.ranker is None:
            return LambdaMART(num_leaves=15)
        if not isinstance(self.ranker, LambdaMART):
            raise ValueError(
                f"ranker should be a LambdaMART, got {type(self.ranker).__name__}: use elimination "
                "for other rankers"
            )
        return clone(self.ranker)

    def _leaves(self) -> list[int]:
        numbers: list[Any] = list(self.leaves) if isinstance(self.leaves, Iterable) else []
        if not numbers or not all(isinstance(n, Integral) and int(n) >= 2 for n in numbers):
            raise ValueError(f"leaves should be whole numbers from 2 on, got {self.leaves!r:.60}")
        return sorted({int(n) for n in numbers})

    def _folds(self, data: RankingData, vali: Source | None) -> list[Fold]:
        """Both ways to train on one half and rank the other; none if a half teaches nothing."""
        if vali is not None:
            return [Fold(QueryPart(data), QueryPart(in_memory(vali)))]
        if len(counted_queries(data)) < 2:
            return []
        folds = make_folds(data, 2, self.random_state)
        labels_differ = vary_within_queries(data.y, data.query_ptr)
        return folds if all(labels_differ[fold.train.positions].any() for fold in folds) else []

    def _compare_sizes(
        self, ranker: LambdaMART, leaves: list[int], folds: list[Fold]
    ) -> list[TreeSize]:
        """For each number of leaves, few to many trees."""
        measure, convention = parse_measure(self.measure), get_convention(self.convention)
        compared = HeldOutValues(ranker, folds, measure, convention)
        numbers = sorted({int(np.ceil(share * ranker.n_estimators)) for share in _SHARES})
        sizes = []
        for n_leaves in leaves:
            values: list[list[np.ndarray]] = []
            for position, fold in enumerate(folds):
                trained = _resize(ranker, n_leaves, ranker.n_estimators).fit(fold.train.take())
                test = fold.test.take()
                values.append([])
                for number in numbers:
                    trained.best_iteration_ = number
                    values[-1].append(compared.judge(trained.predict(test), position))
            for number, row in zip(numbers, np.hstack(values), strict=True):
                mean = mean_of_defined(np.where(compared.is_defined, row, np.nan), compared.weights)
                sizes.append(TreeSize(n_leaves, number, mean))
        return sizes


def _resize(ranker: LambdaMART, leaves: int, trees: int) -> LambdaMART:
    return clone(ranker).set_params(num_leaves=leaves, n_estimators=trees)
