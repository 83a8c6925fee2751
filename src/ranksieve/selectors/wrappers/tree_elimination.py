"""Recursive elimination around boosted trees of a size that held-out queries choose."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np
from sklearn.base import clone

from ranksieve.base import Choices
from ranksieve.choosing import first_of_best
from ranksieve.data import RankingData
from ranksieve.metrics import evaluate, get_convention, parse_measure
from ranksieve.parameters import FeatureCount
from ranksieve.rankers import LambdaMART
from ranksieve.rankers.base import Ranker
from ranksieve.registry import Method
from ranksieve.selectors._search.held_out import Fold, make_folds
from ranksieve.selectors._search.parts import counted_queries
from ranksieve.selectors.wrappers.elimination import EliminationSelector

_SHARES = (0.05, 0.1, 0.2, 0.3, 0.4, 0.6, 0.8, 1.0)  # of the trees, to compare numbers of them


class TreeSize(NamedTuple):
    """Trees of one size, and how well they rank queries that they were not trained on.

    Attributes
    ----------
    num_leaves : int
        Largest number of leaves of a tree.
    n_estimators : int
        Number of trees.
    value : float
        Mean of the measure over held-out queries, negated if smaller is better.
    """

    num_leaves: int
    n_estimators: int
    value: float


@dataclass(eq=False, repr=False)
class TreeElimination(EliminationSelector):
    """Train boosted trees of a suitable size, remove the features they use least, and train again.

    Large trees find features that help only together; but if labels are noisy or queries are few,
    most of their splits fit noise, and so does their gain. The size of the trees is therefore
    chosen first: trees of each number of leaves are trained on one half of the queries and rank the
    other half, with fewer or more of the trees, and vice versa. Elimination by gain then uses the
    size that ranks held-out queries best.

    Parameters
    ----------
    ranker : LambdaMART, optional
        Trees whose ``num_leaves`` and ``n_estimators`` are chosen; the given ``n_estimators``, 100
        by default, is the largest number to try.
    n_features_to_select : int, float, "best", "one_se" or "tolerance"
        As in :class:`SequentialSelector`. The size of trees is chosen once, by all queries.
    leaves : sequence of int
        Numbers of leaves to compare.
    step, importance, measure, cv, tol, convention, ties, checkpoint, random_state
        As in :class:`EliminationSelector`; the size of trees is chosen by the same measure, and its
        halves of the queries by the same seed.
    {choices}
    {verbose}

    Attributes
    ----------
    selected_ : int array
        Selected features, in the reverse order of further elimination: the most important first.
    path_, fits_, values_, ranking_
        As in :class:`EliminationSelector`.
    sizes_ : list of TreeSize
        Each size that was compared: ``num_leaves``, ``n_estimators`` and ``value``. Empty if sizes
        cannot be compared: with a single query, or if labels do not differ in half of the queries.
    size_ : TreeSize
        Size of the trees by which features are eliminated; the smallest of equals.
    ranker_ : LambdaMART
        As given, trained on the selected features of all data.

    Notes
    -----
    Takes two trainings for each of ``leaves`` and, with the default step, at most 15 for 140
    features, and 12 for 50. An ``eval_set`` takes the place of the halves. The best size for half
    of the queries is slightly smaller than that for all.

    For LGBMRanker, XGBoost and CatBoost, train your ranker on what this selects, or use
    :class:`EliminationSelector` around it, which takes any ranker as it is.

    Examples
    --------
    >>> from ranksieve import make_ranking
    >>> from ranksieve.selectors import TreeElimination
    >>> data, truth = make_ranking(100, n_informative=2, n_redundant=0, n_noise=4, noise=0.1)
    >>> selector = TreeElimination(n_features_to_select=2).fit(data)
    >>> sorted(selector.selected_.tolist()) == truth.informative.tolist()
    True
    >>> len(selector.sizes_)
    16
    """

    methods = (
        Method(
            "tree-elimination",
            "repeatedly drop what trees of a suitable size use least",
            trial={"leaves": [4], "step": 0.5},
        ),
    )

    _: KW_ONLY
    step: FeatureCount = 0.3
    leaves: Annotated[Any, "array-like"] = (4, 15)

    @property
    def _allows_missing(self) -> bool:  # type: ignore[override]
        kept = getattr(self, "missing_", None)
        return kept is not None and kept.keeps

    def _ranker(self) -> Ranker:
        if self.ranker is None:
            return LambdaMART(num_leaves=15)
        if not isinstance(self.ranker, LambdaMART):
            raise ValueError(
                f"ranker should be a LambdaMART, got {type(self.ranker).__name__}: use elimination "
                "for other rankers"
            )
        return clone(self.ranker)

    def _search(
        self, data: RankingData, given: Fold | None, ranker: Ranker, choices: Choices
    ) -> list[int]:
        assert isinstance(ranker, LambdaMART)
        data.check_finite()
        folds = [given] if given else self._halves(data)
        self.sizes_ = [
            size for leaves in self._leaves() for size in self._sized(ranker, leaves, folds)
        ]
        if self.sizes_:
            best = first_of_best(np.array([size.value for size in self.sizes_]))
            self.size_ = self.sizes_[best]
        else:
            self.size_ = TreeSize(ranker.num_leaves, ranker.n_estimators, float("nan"))
        sized = _resized(ranker, self.size_.num_leaves, self.size_.n_estimators)
        return super()._search(data, given, sized, choices)

    def _leaves(self) -> list[int]:
        try:
            found = sorted({int(leaves) for leaves in self.leaves})
        except (TypeError, ValueError):
            found = []
        if not found or found[0] < 2:
            raise ValueError(f"leaves should be numbers from 2 on, got {self.leaves!r:.60}")
        return found

    def _halves(self, data: RankingData) -> list[Fold]:
        """Both ways to train on one half and rank the other; none if labels in a half are equal."""
        if len(counted_queries(data)) < 2:
            return []
        folds = make_folds(data, 2, self.random_state)
        return folds if all(_differ(fold.train) for fold in folds) else []

    def _sized(self, ranker: LambdaMART, leaves: int, folds: list[Fold]) -> Iterator[TreeSize]:
        """Trees of a number of leaves, few to many."""
        measure, convention = (
            parse_measure(self.measure),
            get_convention(self.convention, self.ties),
        )
        numbers = sorted({int(np.ceil(share * ranker.n_estimators)) for share in _SHARES})
        values, weights = [], []
        for train, test in folds:
            trained = _resized(ranker, leaves, ranker.n_estimators).fit(train)
            found = []
            for number in numbers:
                trained.best_iteration_ = number
                judged = evaluate(test.y, trained.predict(test), test.qid, [measure], convention)
                found.append(judged.per_query[measure.name])
            values.append(found)
            weights.append(
                np.ones(test.n_queries) if test.query_weights is None else test.query_weights
            )
        if folds:
            sign = 1.0 if measure.greater_is_better else -1.0
            means = np.average(np.hstack(values), axis=1, weights=np.concatenate(weights))
            for number, mean in zip(numbers, means.tolist(), strict=True):
                yield TreeSize(leaves, number, sign * mean)


def _resized(ranker: LambdaMART, leaves: int, trees: int) -> LambdaMART:
    return clone(ranker).set_params(num_leaves=leaves, n_estimators=trees)


def _differ(data: RankingData) -> bool:
    """Whether some query has documents of different labels."""
    starts = data.query_ptr[:-1]
    return bool((np.maximum.reduceat(data.y, starts) > np.minimum.reduceat(data.y, starts)).any())
