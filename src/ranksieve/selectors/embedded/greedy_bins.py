"""Greedy RankRLS over bins: forward selection of features that need not be linear."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from types import NoneType
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods

from ranksieve.base import Choices
from ranksieve.base.choices import feature_indices
from ranksieve.data import DataError, RankingData
from ranksieve.data.fitted import SCALE_FIRST
from ranksieve.data.inputs import default_names
from ranksieve.engine import Source, engine_of, in_memory
from ranksieve.engine.memo import shared
from ranksieve.parameters import AtLeastTwo, Count, FeatureCount, Features, Positive, Seed
from ranksieve.progress import track
from ranksieve.rankers import LambdaMART, as_ranker
from ranksieve.rankers.adapter import untrained_ranker
from ranksieve.rankers.base import Ranker
from ranksieve.registry import Method
from ranksieve.registry.foreign import row_weights
from ranksieve.selectors._search.held_out import counted_queries
from ranksieve.selectors._search.leave_query_out import LeaveQueryOutSelector
from ranksieve.selectors._search.searches import Bounds, Fit, check_two_queries, forward, path_steps
from ranksieve.selectors._search.wrapper import in_parallel
from ranksieve.solvers.rankrls.binned import BinnedRows, Bins, bins_of, make_bins
from ranksieve.solvers.rankrls.groups import GroupModel, GroupProducts, GroupResiduals
from ranksieve.splits import query_parts
from ranksieve.sums.chunks import FeatureColumns

_SEEDS = ("random_state", "estimator__random_state", "estimator__random_seed")


class StepFunction(NamedTuple):
    """Score that a feature adds to a document, depending on the bin of its value."""

    feature: int
    bounds: np.ndarray  # inner edges of its bins, or the codes of a category, as in Bins
    weights: np.ndarray  # weight of each bin
    is_category: bool

    def values(self, values: np.ndarray) -> np.ndarray:
        """Weight of the bin of each value."""
        return self.weights[bins_of(values, self.bounds, self.is_category)]


@dataclass(eq=False, repr=False)
class GreedyBins(LeaveQueryOutSelector):
    r"""Greedy RankRLS over bins: add the feature whose steps best predict left-out queries.

    Each feature becomes several columns, with 1 where its value is in a bin and 0 elsewhere, so
    that a model of some features is a sum of step functions :math:`f_j`. It is fitted by least
    squares on pairs of documents of a query,

    .. math:: \min_f \sum_Q \frac{1}{2 |Q|} \sum_{a, b \in Q} (t_a - t_b - f(x_a) + f(x_b))^2
              + \lambda \sum_j \|f_j\|^2, \qquad f(x) = \sum_j f_j(x_j),

    and each step adds the feature with all of its columns after which the sum over queries of the
    same loss, each of a model trained without that query, is smallest. The target t is the label,
    or the score that a *teacher*, a ranker of any kind, gives the document when it was trained
    without its query. So it finds features that are good in the middle of their range or as a
    category, and with a teacher also those that only trees can use.

    Parameters
    ----------
    n_features_to_select : int, float, "best" or "one-se"
        Number of features, or a fraction of them if below 1; or the number with the smallest
        leave-query-out error; or the smallest number within one standard error of that.
    lam : float
        Regularization :math:`\lambda > 0`: it halves the weight of a bin with this number of
        documents.
    n_bins : int
        Largest number of bins of a feature, with equally many documents. Equal values share a bin,
        so there may be fewer.
    categorical : int, str, or sequence of them, optional
        Features whose values are codes of categories, by name or 0-based index: each code has a
        bin.
    max_categories : int
        Largest number of bins of a categorical feature: the rarest codes share one.
    teacher : ranker, str or None
        Ranker whose scores are the target: one of this library, LightGBM, XGBoost or CatBoost; the
        name of one of ours; or ``"trees"``, LambdaMART with 100 trees of 15 leaves. None for the
        labels.
    n_folds, n_repeats : int
        Each of ``n_folds`` parts of the queries is scored by a teacher that was trained on the
        others, and that is repeated with other parts and another seed of the teacher. Scores are
        centered within queries, averaged, and scaled to unit variance.
    max_features : int, optional
        Largest size on the path if the error chooses the number of features; by default all.
    random_state : int, RandomState or None
        Random seed of the parts.
    include, exclude, groups, count, progress
        As in :class:`RankSelector`.

    Attributes
    ----------
    selected_ : int array
        Features in the order of selection.
    scores_ : array of shape (features,)
        Fraction by which each feature alone, or its group, lowers the leave-query-out error of the
        empty model; negative if it raises the error.
    path_ : list of (feature, score)
        Each selected feature, and the leave-query-out error of the model of that size.
    fits_ : list of Fit
        Models of 1, 2, ... features or groups: ``features``; ``coef``, weights of their bins, one
        feature after the other; ``error`` and its standard error ``deviation``.
    steps_ : list of StepFunction
        Scores that the values of each selected feature add: ``bounds``, the inner edges of its
        bins or its codes, and ``weights``, one for each bin.
    target_ : array of shape (rows,), or None
        Scores of the teacher, if there is one, in the order of the data.

    Notes
    -----
    A step takes O(m c (s + p)) time for m documents, c columns of all features, s columns in the
    model and p columns of a feature; k features take O(m c p k^2) together. Memory is one byte per
    value. The teacher takes ``n_folds * n_repeats`` trainings, for which shards are read into
    memory. Features constant within every query come last. Missing values that the data keeps have
    a bin of their own. A category that training did not see counts as one of the rarest, and has no
    weight if there were none.

    Greedy selection by leave-query-out errors is that of the paper. Groups of columns with exact
    errors, bins, and the scores of a teacher as the target are ours.

    References
    ----------
    T. Pahikkala, A. Airola, P. Naula, T. Salakoski. Greedy RankRLS: a linear time algorithm for
    learning sparse ranking models. SIGIR 2010 workshop on feature generation and selection.

    Examples
    --------
    The last feature is good in the middle of its range, where no linear model finds it.

    >>> import numpy as np
    >>> from ranksieve.selectors import GreedyBins, GreedyRankRLS
    >>> X = np.random.default_rng(0).normal(size=(2000, 6))
    >>> y, qid = np.abs(X[:, 5]) < 0.5, np.repeat(np.arange(100), 20)
    >>> GreedyBins(1).fit(X, y, qid=qid).selected_.tolist()
    [5]
    >>> GreedyRankRLS(1).fit(X, y, qid=qid).selected_.tolist()
    [4]
    """

    with_groups = "Each step adds the group whose features' bins give the smallest error."

    methods = (
        Method(
            "greedy-bins",
            "leave-query-out error of least squares on bins of features",
            grid={"lam": (3.0, 30.0, 300.0)},
            draws=False,
            trial={"n_bins": 4},
        ),
        Method(
            "teacher-bins",
            "the same, on scores of boosted trees instead of labels",
            {"teacher": "trees"},
            grid={"lam": (3.0, 30.0, 300.0)},
            trial={"n_bins": 4, "n_folds": 3, "n_repeats": 1},
        ),
    )

    n_features_to_select: FeatureCount | Literal["best", "one-se"] = 10
    _: KW_ONLY
    lam: Positive = 30.0
    n_bins: AtLeastTwo = 16
    categorical: Features | None = None
    max_categories: AtLeastTwo = 64
    teacher: Annotated[Any, str, None, HasMethods(["fit", "predict"])] = None
    n_folds: AtLeastTwo = 5
    n_repeats: Count = 2
    max_features: Count | None = None
    random_state: Seed = 0

    @property
    def takes_missing(self) -> bool:  # type: ignore[override]
        """True unless there is a teacher that does not take missing values."""
        return self.teacher is None or make_teacher(self.teacher).takes_missing

    @property
    def _name_in_errors(self) -> str:
        name = type(self).__name__
        if self.teacher is None:
            return name
        return f"{name} with the teacher {type(make_teacher(self.teacher)).__name__}"

    @property
    def works_on_shards(self) -> bool:  # type: ignore[override]
        """True without a teacher; a teacher is trained in memory."""
        return self.teacher is None

    @property
    def is_nested(self) -> bool:
        """True unless the training of the teacher cannot be repeated."""
        has_seed = getattr(self.teacher, "random_state", 0) is not None
        return has_seed and super().is_nested

    def _choose(self, source: Source, choices: Choices) -> list[int]:
        categories = self._categories(choices)
        bins = make_bins(source, self.n_bins, categories, self.max_categories)
        self.target_ = self._target(source, choices)
        groups = [bins.columns_of(choices.features_of([g])) for g in range(choices.n_groups)]
        rows = BinnedRows, bins, self.target_
        with engine_of(source).start(GroupResiduals, *rows) as workers:
            n_queries, weight = workers.sum(GroupResiduals.n_queries)
            check_two_queries(n_queries)
            products = GroupProducts(workers, groups)
            model = GroupModel(products, self.lam)
            errors = model.addition_errors(np.arange(choices.n_groups))
            self.scores_ = choices.spread(1.0 - errors / model.error)
            self.fits_ = forward(model, Bounds(weight, products.varies, choices))
        position = self._position_on(self.fits_, choices)
        self.path_ = path_steps(self.fits_, position)
        chosen = self.fits_[position]
        self.steps_ = _step_functions(bins, chosen)
        return list(chosen.features)

    def _categories(self, choices: Choices) -> tuple[int, ...]:
        """Indices of categorical features among those that are not excluded."""
        if self.categorical is None:
            return ()
        names = getattr(self, "feature_names_in_", default_names(choices.n_features_in))
        listed = feature_indices("categorical", self.categorical, names)
        return tuple(np.flatnonzero(np.isin(choices.columns, listed)).tolist())

    def _target(self, source: Source, choices: Choices) -> np.ndarray | None:
        if self.teacher is None:
            return None
        teacher = self.teacher
        if choices.n_features < choices.n_features_in and not isinstance(teacher, str):
            teacher = choices.cut_ranker(as_ranker(teacher))
        seed = int(check_random_state(self.random_state).randint(2**31))
        return teacher_scores(source, teacher, self.n_folds, self.n_repeats, seed)

    def _scores(self, X: Any) -> np.ndarray:
        columns = FeatureColumns(X)
        parts = [step.values(columns[step.feature]) for step in self.steps_]
        return np.sum(parts, axis=0)


def _step_functions(bins: Bins, fit: Fit) -> list[StepFunction]:
    weights = np.split(fit.coef, np.cumsum(bins.sizes[list(fit.features)])[:-1])
    return [
        StepFunction(feature, bins.bounds[feature], own, bool(bins.is_category[feature]))
        for feature, own in zip(fit.features, weights, strict=True)
    ]


def make_teacher(teacher: Any) -> Ranker:
    """Make a ranker from an estimator of any library, the name of a ranker, or ``"trees"``."""
    if teacher == "trees":
        return LambdaMART(100, num_leaves=15)
    return untrained_ranker(teacher)


@shared
def teacher_scores(
    source: Source, teacher: Any, n_folds: int, n_repeats: int, random_state: int
) -> np.ndarray:
    """Score of each row by rankers that were trained without its query.

    Scores are centered within queries, averaged over the repeats, and divided by their standard
    deviation over all rows. Queries of weight 0 have scores of 0. Shards are read into memory.

    The queries are divided into ``n_folds`` parts, each of which is scored by a ranker trained on
    the others; every repeat has other parts and another random seed of the ranker.
    """
    data, ranker = in_memory(source), make_teacher(teacher)
    counted = counted_queries(data)
    n = len(counted)
    if n < n_folds:
        raise DataError(
            f"there {'is only one query' if n == 1 else f'are only {n} queries'} for the {n_folds} "
            "folds of the teacher: lower n_folds, or use no teacher"
        )
    tasks = [
        (_with_seed(ranker, repeat), counted[part])
        for repeat in range(n_repeats)
        for part in query_parts(n, n_folds, random_state=random_state + repeat)
    ]
    scores, advance = np.zeros(data.n_rows), track("Teacher", len(tasks))
    results = in_parallel(lambda task: _held_out_scores(data, *task), tasks, ranker, data.n_rows)
    for (_, part), found in zip(tasks, results, strict=True):
        scores[_rows_of(data, part)] += found
        advance(1)
    counts, starts = data.group_counts, data.query_ptr[:-1]
    scores -= np.repeat(np.add.reduceat(scores, starts) / counts, counts)
    if not scores.any():
        raise DataError(
            "the teacher gives all documents of a query the same score: use another teacher, or "
            f"none; if the values are too small for its trees to split, {SCALE_FIRST}"
        )
    scores /= _deviation(scores, data)
    return scores if data is source else data.to_input_order(scores)


def _deviation(scores: np.ndarray, data: RankingData) -> float:
    """Standard deviation of scores that are centered within queries."""
    if data.query_weights is None:
        return float(scores.std())
    return float(np.sqrt(np.average(scores**2, weights=row_weights(data))))


def _held_out_scores(data: RankingData, ranker: Ranker, part: np.ndarray) -> np.ndarray:
    """Scores of some queries by a ranker trained on all others."""
    others = np.setdiff1d(np.arange(data.n_queries), part)
    return ranker.fit(data.take_queries(others)).predict(data.take_queries(part))


def _rows_of(data: RankingData, queries: np.ndarray) -> np.ndarray:
    """Mask of the rows of some queries."""
    return np.repeat(np.isin(np.arange(data.n_queries), queries), data.group_counts)


def _with_seed(ranker: Ranker, repeat: int) -> Ranker:
    """Copy of a ranker whose random seed, if it has one, is set for a repeat."""
    copy, known = clone(ranker), ranker.get_params()
    seeds = {
        name: known[name] for name in _SEEDS if isinstance(known.get(name, ""), (int, NoneType))
    }
    return copy.set_params(**{name: (seed or 0) + repeat for name, seed in seeds.items()})
