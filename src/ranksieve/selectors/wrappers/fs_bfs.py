"""FS-BFS: best-first search for subsets of features, each combined into one new feature."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from numbers import Integral
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from ranksieve.base import Choices, RankSelector
from ranksieve.data import DataError
from ranksieve.data.fitted import SCALE_FIRST, check_rows
from ranksieve.engine import Source, engine_of, in_memory
from ranksieve.metrics import Measure, get_convention, parse_measure
from ranksieve.parameters import ConventionChoice, Count, FeatureCount, NotNegative, Ties
from ranksieve.progress import track
from ranksieve.registry import Method
from ranksieve.selectors._search.searches import Step
from ranksieve.selectors.wrappers.fs_bfs_search import (
    Ascent,
    BestFirstSearch,
    CombinationTrials,
    Node,
    PartialCorrelations,
)
from ranksieve.sums.checks import weight_of_rows
from ranksieve.sums.gram import GramSums, centered_gram
from ranksieve.sums.held_out import linear_scores, orient
from ranksieve.sums.importance import importance_sums


class Subset(NamedTuple):
    """Features combined into one: ``sum(weights * X[:, features])``, and the measure of that."""

    features: tuple[int, ...]  # in the order in which they were added
    weights: tuple[float, ...]
    score: float


@dataclass(eq=False, repr=False)
class FSBFS(RankSelector):
    r"""FS-BFS: subsets of features found by best-first search, each combined into a new feature.

    .. math:: \max_{S, w} \frac1q \sum_Q E\Big(\sum_{f \in S} w_f x_{Q f},\; y_Q\Big)

    over subsets S of the features, for any measure E of ranking quality. Subsets are the nodes of
    a graph whose edges add one feature; the value of a node is the measure that coordinate ascent
    reaches with its features. The search starts with the single features. It visits the best node
    not yet visited, adds its neighbors, and ends when ``patience`` nodes in a row were not better
    than the best. The best subset becomes one new feature, and the search starts again with the
    remaining features, until none is left.

    Parameters
    ----------
    n_features_to_select : int, float or None
        Number of features that :meth:`transform` returns, or a fraction of all features if below
        1. The search ends when there are enough. There may be fewer new features than asked for.
        None returns all of them, or all features that vary.
    output : {"members", "constructed"}
        What :meth:`transform` returns: the members of the subsets, like any selector, or the new
        features.
    measure : str or Measure
        The measure E.
    patience : int
        A search ends after this many nodes in a row without a better one.
    max_size : int, optional
        Largest number of features in a subset.
    max_candidates : int, optional
        Largest number of features to try with a node: those with the largest absolute partial
        correlation with the label, given the node. None tries all remaining features.
    n_steps : int
        Number of weights to try in each direction: the sum of all weights, half of it, and so on.
    tol : float
        Smallest gain that counts, for adding a feature to a subset and for changing a weight. 0
        accepts every gain, as published.
    max_changes : int
        Largest number of weight changes in a node, after the line search for the added feature.
    convention, ties
        Convention of the measure; see :mod:`ranksieve.metrics`. With ``ties="average"``, equal
        scores gain nothing from the order of the rows.
    include, exclude, groups, count, progress
        As in :class:`RankSelector`.

    Attributes
    ----------
    subsets_ : list of Subset
        Disjoint subsets, in the order in which they were found: ``features`` in the order in which
        they were added, their nonzero ``weights``, and the ``score``, the measure of the new
        feature on the training data.
    selected_ : int array
        Members of the subsets, in this order. With ``output="members"``, the last subset may have
        more members; features constant within every query follow if all others are taken.
    path_ : list of (feature, score)
        For each of ``selected_``, the measure of its subset when it was added.
    scores_ : array of shape (features,)
        Measure of each feature alone, in its better direction.
    n_evaluations_ : int
        Number of subsets that were measured, including single features; none is measured twice.
    n_rounds_ : int
        Number of passes over the data.

    Notes
    -----
    Visiting a node takes O((c + p t) s m log d) time for c candidates, p features of the node, t
    changes of its weights, s steps and m documents in queries of d. It takes 1 + t passes over the
    data: one pass measures all candidates, and one pass all possible changes of weights.

    That is seconds for the 46 features of MQ2008, and about ten minutes for 699 features of 34,000
    documents. The last subsets consist of leftovers, and all values are those of the training data:
    tune the number on validation data.

    Best-first search on the graph of subsets, coordinate ascent to evaluate them, a search that
    ends when it has not improved for a while, and disjoint subsets are published. Only descriptions
    of the paper by others were available to us; from these we take edges that add a feature and a
    patience of 5. What makes the search end in reasonable time is ours, as is the default measure:

    - A neighbor starts with the weights of the node from which it was first reached, and a line
      search for the new weight. It is a neighbor only if that is a gain, so that no path gets
      worse. Its other weights are trained when it is visited.
    - Training makes the best change of any weight, as long as one is a gain. Steps are powers of
      two times the sum of all weights, in units of each feature's spread within queries.
    - ``max_candidates``, and ``tol`` above 0.
    - Features that are multiples of each other, up to constants within queries, are never in the
      same subset: together they rank like one of them.

    Nothing is random; ties go to smaller subsets, then to the lowest features.

    References
    ----------
    - V. Dang, W. B. Croft. Feature selection for document ranking using best first search and
      coordinate ascent. SIGIR workshop on feature generation and selection for information
      retrieval, 2010.
    - P. Gupta, P. Rosso. Expected divergence based feature selection for learning to rank. COLING
      2012. (Described there.)

    Examples
    --------
    >>> from ranksieve import make_ranking
    >>> from ranksieve.selectors import FSBFS
    >>> data, truth = make_ranking(200, n_informative=3, n_redundant=0, noise=0.05, tied=0)
    >>> selector = FSBFS(3).fit(data)
    >>> set(selector.selected_.tolist()) == set(truth.informative.tolist())
    True
    >>> new = FSBFS(2, output="constructed").fit_transform(data.X, data.y, qid=data.qid)
    >>> new.shape[1]
    2
    """

    with_include = "The first subset is grown from them."

    methods = (
        Method(
            "fs-bfs",
            "best-first search for subsets to combine into features",
            grid={"tol": (0.0003, 0.001, 0.003)},
        ),
    )

    n_features_to_select: FeatureCount | None = 10
    _: KW_ONLY
    output: Literal["members", "constructed"] = "members"
    measure: str | Measure = "ndcg@10"
    patience: Count = 5
    max_size: Count | None = None
    max_candidates: Count | None = 30
    n_steps: Annotated[int, Interval(Integral, 1, 60, closed="both")] = 7
    tol: NotNegative = 0.001
    max_changes: Annotated[int, Interval(Integral, 0, None, closed="left")] = 10
    convention: ConventionChoice = "standard"
    ties: Ties = "average"

    no_groups = "each feature joins a subset alone, with a weight of its own."
    _is_nested = True

    @property
    def is_nested(self) -> bool:
        """True with ``output="members"``."""
        return self.output == "members" and super().is_nested

    def _choose(self, source: Source, choices: Choices) -> list[int]:
        if self.output == "constructed" and self.include is not None:
            raise DataError("FSBFS takes include only with output='members'")
        measure = parse_measure(self.measure)
        sums = importance_sums(source, measure, self.convention, ties=self.ties)
        values = orient(sums.mean, measure)
        varies = sums.varying > 0
        if self.output == "constructed" and not varies.any():
            raise DataError(
                "all features are constant within every query: nothing can be constructed"
            )
        gram = centered_gram(source)
        units = _units(gram, varies, weight_of_rows(source))
        parameters = measure, get_convention(self.convention, self.ties)
        with engine_of(source).start(CombinationTrials, *parameters) as workers:
            steps = self.n_steps, self.tol, self.max_changes
            ascent = Ascent(workers, sums.n_queries, units, *steps)
            correlations = PartialCorrelations(gram, varies, values.max(axis=0))
            search = BestFirstSearch(ascent, _singles(values, units, varies), correlations, self)
            found = self._search(search, choices.k, [f for f in choices.start if varies[f]])
        self.n_evaluations_, self.n_rounds_ = len(search.measured), ascent.n_rounds
        self.scores_ = orient(values.max(axis=0), measure)
        self.subsets_ = [_subset(node, units, orient(node.value, measure)) for node in found]
        self.path_: list[Step] = [
            Step(feature, orient(value, measure))
            for node in found
            for feature, value in zip(node.members, node.values, strict=True)
        ]
        if self.output == "members":
            self._complete(choices, varies)
        return [step.feature for step in self.path_]

    def _complete(self, choices: Choices, varies: np.ndarray) -> None:
        """Move included features to the front, whether they vary or not, and cut after k."""
        taken = {step.feature: step for step in self.path_}
        order = [*choices.start, *taken]
        if self.n_features_to_select is not None:
            order += np.flatnonzero(~varies).tolist()
        steps = [taken.get(f, Step(f, float(self.scores_[f]))) for f in dict.fromkeys(order)]
        self.path_ = steps[: choices.k]

    def _search(self, search: BestFirstSearch, k: int, start: list[int]) -> list[Node]:
        """Find enough subsets to return ``k`` features; the first one contains ``start``."""
        advance = track("Features in subsets", len(search.measured))
        found: list[Node] = []
        n_found = 0
        for node in search.subsets(start):
            found.append(node)
            advance(len(node.members))
            n_found += 1 if self.output == "constructed" else len(node.members)
            if n_found >= k:
                break
        return found

    def reasons(self) -> list[str]:
        """For each selected feature, the number of its subset, from 1, and its weight there."""
        check_is_fitted(self)
        texts = {
            feature: f"subset {number}, weight {weight:.3g}"
            for number, subset in enumerate(self.subsets_, start=1)
            for feature, weight in zip(subset.features, subset.weights, strict=True)
        }
        return [texts.get(feature, "") for feature in self.selected_.tolist()]

    def construct(self, X: Any) -> np.ndarray:
        """New features (rows, subsets) of an array, frame, sparse matrix or RankingData."""
        check_is_fitted(self)
        coefs = np.zeros((self.n_features_in_, len(self.subsets_)))
        for number, subset in enumerate(self.subsets_):
            coefs[list(subset.features), number] = subset.weights
        return linear_scores(check_rows(self, X), coefs)

    def _transform_array(self, X: Any) -> Any:
        return super()._transform_array(X) if self.output == "members" else self.construct(X)

    def _transform_data(self, data: Any) -> Any:
        if self.output == "members":
            return super()._transform_data(data)
        rows = in_memory(data)
        return rows._replace(X=self.construct(rows), feature_names=self.get_feature_names_out())

    def inverse_transform(self, X: Any) -> Any:
        """Return selected features to their original positions; not possible for new features."""
        if self.output == "constructed":
            raise DataError("new features cannot be converted back to the original features")
        return super().inverse_transform(X)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the features that :meth:`transform` returns; new ones are fsbfs0, fsbfs1, ..."""
        if self.output == "members":
            return super().get_feature_names_out(input_features)
        check_is_fitted(self)
        _check_feature_names_in(self, input_features)
        return np.array([f"fsbfs{number}" for number in range(len(self.subsets_))], dtype=object)


def _singles(values: np.ndarray, units: np.ndarray, varies: np.ndarray) -> list[Node]:
    """Each feature that varies as a subset of its own, in its better direction."""
    return [
        Node((f,), ((1.0 if up >= down else -1.0) / units[f],), (max(up, down),))
        for f, (up, down) in enumerate(values.T.tolist())
        if varies[f]
    ]


def _units(gram: GramSums, varies: np.ndarray, n_rows: float) -> np.ndarray:
    """Powers of two near the spread of each feature within queries; 1 for constant ones."""
    squares = np.where(varies, np.diag(gram.xx), n_rows)
    if not np.isfinite(gram.xx).all() or squares.min() <= 0:
        raise DataError(f"some features are too large or too small to multiply; {SCALE_FIRST}")
    return 2.0 ** np.round(np.log2(squares / n_rows) / 2)


def _subset(node: Node, units: np.ndarray, score: float) -> Subset:
    """Node with weights such that the new feature's spread is near 1.

    They are divided by a power of two, which rounds nothing: the ranking stays the same.
    """
    total = sum(abs(w) * units[f] for f, w in zip(node.members, node.weights, strict=True))
    scale = 2.0 ** (math.frexp(total)[1] - 1)
    return Subset(node.members, tuple(float(w / scale) for w in node.weights), score)
