"""RankFilter and RankWrapper: Relief within queries."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ranksieve._kernels.relief import add_relief
from ranksieve._kernels.scaling import scale_dense
from ranksieve.base import Choices, RankSelector
from ranksieve.data import Block, DataError
from ranksieve.engine import Source, engine_of
from ranksieve.parameters import Count, FeatureCount, Seed
from ranksieve.registry import Method
from ranksieve.selectors._search.filters import best_first
from ranksieve.sums.chunks import CHUNK, chunks, weights_of

_REFERENCES = """
    References
    ----------
    - H. Yu, J. Oh, W.-S. Han. Efficient feature weighting methods for ranking. CIKM 2009.
    - K. Kira, L. A. Rendell. A practical approach to feature selection. ICML 1992. (Relief.)

    {example}
"""


def sum_relief(
    block: Block, by_ordering: bool, max_documents: int | None, seed: int
) -> tuple[float, np.ndarray, np.ndarray]:
    """Sums over queries of the mean over documents of a Relief update.

    If ``by_ordering``, signs of differences count (:class:`RankWrapper`), else their sizes
    (:class:`RankFilter`). The sample of at most ``max_documents`` of a query depends only on the
    seed and on the number of the query. Returns the weight of the queries used, the sum over them
    (features,), and which features vary.
    """
    sampled, query_weights = _sample(block, max_documents, seed), weights_of(block)
    n_features = block.X.shape[1]
    n_queries, weights = 0.0, np.zeros(n_features)
    varying = np.zeros(n_features, dtype=np.int64)
    for chunk in chunks(block, most=CHUNK):
        X = np.array(chunk.X, dtype=np.float64)
        scale_dense(X, chunk.query_ptr, False, 0, len(chunk.query_ptr) - 1)
        if not np.isfinite(X).all():
            block.check_finite()
        own = query_weights[chunk.queries]
        varying += X[np.repeat(own > 0, np.diff(chunk.query_ptr))].any(axis=0)
        labels = block.y[chunk.rows]
        n_queries += add_relief(
            X, labels, chunk.query_ptr, own, sampled[chunk.rows], by_ordering, weights
        )
    return n_queries, weights, varying


def _sample(block: Block, most: int | None, seed: int) -> np.ndarray:
    """Mask of sampled rows: at most ``most`` documents of each query."""
    sampled = np.ones(len(block.y), dtype=bool)
    lengths = np.diff(block.query_ptr)
    for query in [] if most is None else np.flatnonzero(lengths > most).tolist():
        rng = np.random.default_rng([seed, block.first_query + query])
        own = sampled[block.query_ptr[query] : block.query_ptr[query + 1]]
        own[rng.permutation(len(own))[most:]] = False
    return sampled


@dataclass(eq=False, repr=False)
class _Relief(RankSelector):
    """Scores features by how they differ between close documents of a query.

    Parameters
    ----------
    n_features_to_select : int or float
        Number of features, or a fraction of them if below 1.
    max_documents : int or None
        Number of documents of a query whose neighbors are searched: a random sample of longer
        queries, or all documents if None. Neighbors may be any documents of the query.
    random_state : int, RandomState or None
        Random seed of the sample in longer queries.
    include, exclude, groups, count, progress
        As in :class:`RankSelector`.

    Attributes
    ----------
    selected_ : int array
        Features in descending order of their score.
    path_ : list of (feature, score)
    scores_ : array of shape (features,)
    """

    _shared_docs: ClassVar[dict[str, str]] = {"references": _REFERENCES}

    _by_ordering: ClassVar[bool]
    _is_nested = True

    n_features_to_select: FeatureCount = 10
    _: KW_ONLY
    max_documents: Count | None = 200
    random_state: Seed = 0

    def _choose(self, source: Source, choices: Choices) -> list[int]:
        seed = int(check_random_state(self.random_state).randint(2**31))
        parameters = self._by_ordering, self.max_documents, seed
        n_queries, weights, varying = engine_of(source).sum(sum_relief, *parameters)
        if n_queries == 0:
            raise DataError(
                "no document has both a neighbor of its own label and one of another label in its "
                "query; use RankWrapper, which needs only the latter, or round labels to grades"
            )
        self.scores_ = self._score(weights / n_queries)
        return self._record_path(best_first(choices, varying > 0, self.scores_))

    @abstractmethod
    def _score(self, weights: np.ndarray) -> np.ndarray:
        """Score of each feature, given its mean update."""


class RankFilter(_Relief):
    r"""Relief with relevance levels: features that differ between levels but not within them.

    .. math:: w_f = \frac{1}{N} \sum_Q \frac{1}{|Q|} \sum_{i \in Q}
              \big( |y_i - y_M|\, |x_{if} - x_{Mf}| - |x_{if} - x_{Hf}| \big)

    For document i of query Q, H is the nearest document of the same label in the query, and M the
    nearest one of another label, by L1 distance over all features. Features are scaled to [0, 1]
    within each query. The features with the largest w are selected.

    Parameters
    ----------
    n_features_to_select, max_documents, random_state
        As in :class:`_Relief`.
    include, exclude, groups, count, progress
        As in :class:`RankSelector`.

    Attributes
    ----------
    selected_, path_, scores_
        As in :class:`_Relief`.
        w; below 0 if a feature differs more within levels than between them.

    Notes
    -----
    Takes O(n sum |Q| min(|Q|, d)) time for n features, queries of |Q| documents and d =
    ``max_documents``. This is our own variant: of the paper we know only that it extends Relief to
    relevance levels. Documents without an H or M do not count in \|Q\|, and queries with only such
    documents do not count in N. Equally near neighbors share the update, so that the order of
    documents does not matter. Queries, not documents, have equal weight. Labels are used as
    numbers: y and 2 y weigh M differently. Features constant within every query come last.

    Use it for a quick look at features that matter only between close documents. It ignores
    redundancy. On LETOR's MQ2008, two rankers on 3 to 20 of its features are better than on random
    ones (the mean of 20 orders) in 8 of 8 cases, but on average a little worse than on all
    features.

    {references}
    """

    methods = (Method("rankfilter", "Relief within queries, by relevance levels"),)

    _by_ordering = False

    def _score(self, weights: np.ndarray) -> np.ndarray:
        return weights


class RankWrapper(_Relief):
    r"""Relief with relative orderings: features that order close documents as their labels do.

    .. math:: w_f = \Big| \frac{1}{N} \sum_Q \frac{1}{|Q|} \sum_{i \in Q}
              \mathrm{sign}(y_i - y_M)\, (x_{if} - x_{Mf}) \Big|

    For document i of query Q, M is the nearest document of another label in the query, by L1
    distance over all features: the pair that is hardest to order. The difference of a feature
    between the two counts for it if it orders them as the labels do, and against it otherwise; so a
    feature unrelated to the labels has a w near 0. Features are scaled to [0, 1] within each query.
    The features with the largest w are selected.

    Parameters
    ----------
    n_features_to_select, max_documents, random_state
        As in :class:`_Relief`.
    include, exclude, groups, count, progress
        As in :class:`RankSelector`.

    Attributes
    ----------
    selected_, path_, scores_
        As in :class:`_Relief`.
        w.
    directions_ : int array of shape (features,)
        1 if large values of a feature are good, -1 if small ones are.

    Notes
    -----
    Cost, neighbors and weights as in :class:`RankFilter`. This, too, is our own variant: of the
    paper we know only that it weighs features by relative orderings of documents. N counts the
    queries whose labels differ, by whatever amount.

    On LETOR's MQ2008, two rankers on 3 to 20 of its features are better than on random ones (the
    mean of 20 orders) in 7 of 8 cases, and on average a little worse than on those of RankFilter.

    {references}
    """

    methods = (Method("rankwrapper", "Relief within queries, by relative orderings"),)

    _by_ordering = True

    def _score(self, weights: np.ndarray) -> np.ndarray:
        self.directions_ = np.where(weights < 0, -1, 1)
        return np.abs(weights)

    def reasons(self) -> list[str]:
        """For each selected feature, which of its values are good."""
        check_is_fitted(self)
        directions = self.directions_[self.selected_].tolist()
        return ["large values are good" if d > 0 else "small values are good" for d in directions]
