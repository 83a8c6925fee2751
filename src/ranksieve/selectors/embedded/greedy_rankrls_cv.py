"""Greedy RankRLS with its regularization and number of features chosen by validation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from itertools import pairwise
from typing import ClassVar, Literal, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ranksieve.base import Choices
from ranksieve.choosing import ROUNDING, first_nearly_best, pareto_front
from ranksieve.data import DataError
from ranksieve.engine import Source, engine_of
from ranksieve.metrics import Measure, parse_measure
from ranksieve.parameters import FeatureCount, Lambdas, NotNegative, Ties
from ranksieve.rankers.rankrls import LAMS, as_lams, nearest_to_one
from ranksieve.registry import Method
from ranksieve.selectors._search.held_out import HeldOutSelector
from ranksieve.selectors._search.searches import AnyFit, MeasuredFit, Step, changes_with_bars
from ranksieve.selectors.embedded.greedy_rankrls import GreedyRankRLS
from ranksieve.sums.checks import check_labels_differ, sum_weights_of_several
from ranksieve.sums.held_out import measure_models

Rule = Literal["best", "one-se", "penalized", "knee", "pareto"]


class FrontModel(NamedTuple):
    """A model that is better than all smaller ones."""

    k: int  # number of features
    lam: float  # regularization
    value: float  # of the error or measure


@dataclass(eq=False, repr=False)
class GreedyRankRLSCV(GreedyRankRLS, HeldOutSelector):
    r"""Greedy RankRLS whose regularization and number of features are chosen by validation.

    .. math:: (\lambda, k) = \arg\max_{\lambda, k} V(w_{\lambda, k})

    :math:`w_{\lambda, k}` is the model of k features on the path of :class:`GreedyRankRLS` with
    regularization :math:`\lambda`, and V the mean over held-out queries of a measure. Without
    held-out data, V is the leave-query-out error of the training queries, which the paths include;
    smaller is then better.

    Parameters
    ----------
    n_features_to_select : int, float, "best", "one-se", "penalized", "knee" or "pareto"
        Number of features, or a fraction of them if below 1: then only :math:`\lambda` is chosen.
        Or how to choose both from the front, the models that are better than all smaller ones:

        - ``"best"``: the best value.
        - ``"one-se"``: the fewest features whose value is within one standard error of the best.
          This is the standard error of the best mean over queries, not of paired differences.
        - ``"penalized"``: the largest :math:`V - \mu k / n` for n features of the data.
        - ``"knee"``: farthest above the chord from the first to the last point of the front, both
          axes scaled to 1; the best value if no point is above it.
        - ``"pareto"``: the same as ``"best"``, for users who choose from ``front_`` (which every
          rule provides) and then call :meth:`at`.
    lams : sequence of float
        Regularizations :math:`\lambda > 0` to try.
    measure : str or Measure
        The measure V on held-out data.
    mu : float
        For ``"penalized"``: the cost of all features together, in units of V.
    max_features : int, optional
        Largest size on the path if the error chooses the number of features; by default all.
    criterion : "squared", str or Measure
        Criterion of the paths; also V if there is no held-out data.
    convention, ties
        Those of all measures; see :func:`ranksieve.metrics.evaluate`.
    search, kappa, memory, storage, rotate, epsilon, nu, costs, budget, random_state
        As in :class:`GreedyRankRLS`.
    include, exclude, groups, count, progress
        As in :class:`RankSelector`.

    Attributes
    ----------
    selected_, coef_, cost_
        As in :class:`GreedyRankRLS`.
    lam_, lams_ : float and list of float
        The regularization, and all that were tried.
    validated_ : bool
        Whether there was held-out data.
    values_, deviations_ : arrays of shape (regularizations, sizes)
        V of models of 1, 2, ... features, and its standard error; NaN where a search stopped
        earlier.
    front_ : list of FrontModel
        Each model that is better than all smaller ones: ``k``, ``lam`` and ``value``.
    fits_, paths_ : list of Fit or MeasuredFit, and list of these lists
        Path of the chosen regularization, and those of all, as in :class:`GreedyRankRLS`.
    path_ : list of (feature, score)
        Each selected feature, and V of the model of that size on the same path.

    Notes
    -----
    Takes, for l regularizations, l times the time of :class:`GreedyRankRLS` without its products of
    features, and O(l k m' (k + log d)) for m' held-out rows in queries of d documents.

    Equal values go to fewer features, then to the :math:`\lambda` nearest to 1 in ratio, as in the
    published choices on MQ2008. The grid and ``"best"`` are from the paper; the other rules,
    and validation by leave-query-out, are ours. Leave-query-out judges models by the errors that
    also chose their features, so it favors large models.

    References
    ----------
    T. Pahikkala, A. Airola, P. Naula, T. Salakoski. Greedy RankRLS: a linear time algorithm for
    learning sparse ranking models. SIGIR 2010 workshop on feature generation and selection.

    Examples
    --------
    >>> import numpy as np
    >>> from ranksieve import make_ranking
    >>> from ranksieve.selectors import GreedyRankRLSCV
    >>> data, truth = make_ranking(200, n_informative=3, n_redundant=0, noise=0.1)
    >>> train, held_out = data.take_queries(np.arange(150)), data.take_queries(np.arange(150, 200))
    >>> selector = GreedyRankRLSCV("knee").fit(train, eval_set=held_out)
    >>> sorted(selector.selected_.tolist()) == truth.informative.tolist()
    True
    >>> selector.at(2).selected_.size
    2
    """

    methods = (
        Method(
            "greedy-rankrls-cv",
            "greedy-rankrls with lambda and size chosen by validation",
            draws=False,
            trial={"lams": (0.1, 10.0)},
        ),
    )

    no_groups = "its values belong to models that grow by one feature at a time."

    n_features_to_select: FeatureCount | Rule = "best"
    _: KW_ONLY
    lam: ClassVar[None] = None  # type: ignore[misc, assignment]  # replaced by lams
    lams: Lambdas = LAMS
    measure: str | Measure = "map"
    mu: NotNegative = 0.05
    ties: Ties | None = None  # type: ignore[assignment]

    @property
    def is_nested(self) -> bool:
        """True with a single regularization; the best of several depends on the number."""
        return np.size(self.lams) == 1 and super().is_nested

    def at(self, k: int) -> GreedyRankRLSCV:
        """Return the selector for ``k`` features, from the paths, without fitting again.

        Its regularization is the best one for that number.
        """
        check_is_fitted(self)
        most = self.values_.shape[1]
        if not 1 <= k <= most:
            raise ValueError(f"k={k}, but the paths have models of 1 to {most} features")
        return self._copy_of_size(k)

    def _use_size(self, k: int) -> list[int]:
        return self._use_point(self._best_of_size(k), self.n_features_in_)

    def reasons(self) -> list[str]:
        """For each selected feature, the change of the model's value, and a bar."""
        check_is_fitted(self)
        values = [step.score for step in self.path_]
        return changes_with_bars([f"{now - old:+.4f}" for old, now in pairwise(values)], values)

    def _choose(self, source: Source, choices: Choices, vali: Source | None = None) -> list[int]:
        self.lams_ = as_lams(self.lams).tolist()
        if vali is not None:
            _check_labels(vali)
        self.validated_ = vali is not None
        # Raise errors for wrong names before the long search.
        measure = self._measure(vali)
        self._sign = 1 if measure is not None and measure.greater_is_better else -1
        self.paths_ = self._paths(source, choices, self.lams_)
        self._set_values(source, vali)
        # Smaller models lack included features.
        first = max(1, len(choices.start))
        self.front_ = front_of_sizes(self.values_, self.lams_, self._sign, first)
        if isinstance(self.n_features_to_select, str):
            point = self._point_by_rule(self.n_features_to_select, source.n_features)
        else:
            point = self._best_of_size(self.values_.shape[1])
        return self._use_point(point, source.n_features)

    def _measure(self, vali: Source | None) -> Measure | None:
        """The measure V; None for squared loss."""
        if vali is not None:
            return parse_measure(self.measure)
        return None if self.criterion == "squared" else parse_measure(self.criterion)

    def _set_values(self, source: Source, vali: Source | None) -> None:
        """Set ``values_`` and ``deviations_`` of all models on the paths."""
        found: Iterable[tuple[np.ndarray, np.ndarray]] = self._measure_errors(source)
        if vali is not None:
            rule = self.measure, self.convention
            found = measure_models(vali, self._models(), *rule, ties=self.ties)
        shape = len(self.paths_), max(len(path) for path in self.paths_)
        self.values_, self.deviations_ = np.full((2, *shape), np.nan)
        for row, (path, values) in enumerate(zip(self.paths_, found, strict=True)):
            columns = [len(fit.features) - 1 for fit in path]
            self.values_[row, columns], self.deviations_[row, columns] = values

    def _measure_errors(self, source: Source) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Mean leave-query-out errors or measures of each path, and their standard errors."""
        n_queries = engine_of(source).sum(sum_weights_of_several)
        for path in self.paths_:
            scores = np.array([fit.score for fit in path])
            deviations = np.array([fit.deviation for fit in path])
            # Values of a measure are means already.
            n = 1.0 if isinstance(path[0], MeasuredFit) else n_queries
            yield scores / n, deviations / n

    def _models(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """For each path, the features that its models use and an array of their weights."""
        for path in self.paths_:
            used = np.unique(np.concatenate([fit.features for fit in path]))
            coefs = np.zeros((len(used), len(path)))
            for column, fit in enumerate(path):
                coefs[np.searchsorted(used, fit.features), column] = fit.coef
            yield used, coefs

    def _point_by_rule(self, rule: str, n_features: int) -> FrontModel:
        best = self.front_[-1]
        deviation = self.deviations_[self.lams_.index(best.lam), best.k - 1]
        return choose_point(self.front_, rule, self._sign, deviation, self.mu / n_features)

    def _best_of_size(self, k: int) -> FrontModel:
        """The best model of this size."""
        row = best_lam(self.values_[:, k - 1], self.lams_, self._sign)
        assert row is not None  # the longest path has a model of every size
        return FrontModel(k, self.lams_[row], float(self.values_[row, k - 1]))

    def _use_point(self, point: FrontModel, n_features: int) -> list[int]:
        self.lam_ = point.lam
        self.fits_: Sequence[AnyFit] = self.paths_[self.lams_.index(point.lam)]
        return self._use_model(point.k - 1, n_features)

    def _use_model(self, position: int, n_features: int) -> list[int]:
        features = super()._use_model(position, n_features)
        values = self.values_[self.lams_.index(self.lam_)]
        self.path_ = [Step(feature, float(values[size])) for size, feature in enumerate(features)]
        return features


def _check_labels(vali: Source) -> None:
    try:
        check_labels_differ(vali)
    except DataError as error:
        raise DataError(f"eval_set: {error}") from None


def best_lam(values: np.ndarray, lams: Sequence[float], sign: int) -> int | None:
    """Index of the best value, given one for each regularization; None if all are NaN.

    ``sign`` is 1 if larger is better, else -1. Ties go to the regularization nearest to 1 in ratio,
    then to the smaller one.
    """
    gains = np.where(np.isnan(values), -np.inf, sign * values)
    if not np.isfinite(gains).any():
        return None
    return nearest_to_one(gains, np.array(lams))


def front_of_sizes(
    values: np.ndarray, lams: Sequence[float], sign: int, smallest: int = 1
) -> list[FrontModel]:
    """Models of ``smallest`` features or more that are better than all smaller ones.

    ``values`` (regularizations, sizes) are those of models of 1, 2, ... features, and NaN where
    there is no model. ``sign`` is 1 if larger is better, else -1.
    """
    points: list[FrontModel] = []
    for k in range(smallest, values.shape[1] + 1):
        row = best_lam(values[:, k - 1], lams, sign)
        if row is not None:
            points.append(FrontModel(k, float(lams[row]), float(values[row, k - 1])))
    gains = sign * np.array([point.value for point in points])
    return [points[position] for position in pareto_front([point.k for point in points], gains)]


def choose_point(
    front: Sequence[FrontModel], rule: str, sign: int, deviation: float, price: float
) -> FrontModel:
    """Choose a point of a front by a rule of :class:`GreedyRankRLSCV`.

    ``sign`` is 1 if larger is better, else -1. ``"one-se"`` uses ``deviation``, the standard error
    of the best value, and ``"penalized"`` the ``price`` of a feature.
    """
    gains = sign * np.array([point.value for point in front])
    sizes = np.array([point.k for point in front])
    if rule == "one-se":
        return front[first_nearly_best(gains, deviation)]
    if rule == "penalized":
        return front[int(np.argmax(gains - price * sizes))]
    if rule == "knee" and len(front) > 2:
        # Height above the chord, with both axes scaled to 1; it is proportional to the distance.
        across = (sizes - sizes[0]) / (sizes[-1] - sizes[0])
        above = (gains - gains[0]) / (gains[-1] - gains[0]) - across
        if above.max() > ROUNDING:
            return front[int(np.argmax(above))]
    return front[-1]
