"""Coordinate ascent: maximize a measure directly, one weight at a time."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Annotated, Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval

from ranksieve._kernels.ascent import TrialArrays, add_trials
from ranksieve._kernels.rows import score_models
from ranksieve.choosing import ROUNDING, first_of_best
from ranksieve.data import Block
from ranksieve.engine import Source, Workers, changes_state, engine_of, starts_over
from ranksieve.metrics import Convention, Measure, get_convention, parse_measure
from ranksieve.parameters import ConventionChoice, Count, NotNegative, Seed, Ties
from ranksieve.rankers.base import LinearRanker
from ranksieve.registry import Method
from ranksieve.sums.chunks import FeatureColumns, chunks
from ranksieve.sums.held_out import Measured, measure_models, orient
from ranksieve.sums.varying import vary_within_queries

_SHORTEST, _RELATIVE = 0.001, 0.05  # first step; fraction of the weight if that is smaller
_LARGE = 2.0**100  # sum of weights above which all are scaled down


class Move(NamedTuple):
    """A change of a weight: its feature, its new value, and the measure reached."""

    feature: int
    weight: float
    measure: float


class Restart(NamedTuple):
    """Result of a restart: the measure on the training data, and on the ``eval_set`` or None."""

    measure: float
    validation: float | None


class Trials:
    """Statistic: keeps scores of documents, and measures them for changed weights."""

    title = "Coordinate ascent"

    def __init__(self, block: Block, measure: Measure, convention: Convention | str) -> None:
        self.block, self.columns = block, FeatureColumns(block.X)
        self.measured = Measured(block, measure, convention)
        self.weights = self.measured.weights
        self.is_informative = vary_within_queries(
            self.measured.prepared.lists.worth, block.query_ptr
        )
        self.is_informative &= self.weights > 0
        self.scores = np.zeros(len(block.y))

    def weight(self) -> float:
        """Weight of the queries with a value."""
        return float(self.weights.sum())

    @starts_over()
    def begin(self, coef: np.ndarray) -> float:
        """Score documents by all weights; return the sum over queries of the measure."""
        features, coefs = np.arange(len(coef)), coef[:, None]
        for chunk in chunks(self.block):
            score_models(chunk.X, features, coefs, self.scores[chunk.rows, None])
        if not np.isfinite(self.scores).all():
            self.block.check_finite()
        return self._rank()

    @changes_state
    def move(self, feature: int, delta: float) -> float:
        """Change the weight of a feature; return the sum over queries of the measure."""
        self.scores += delta * self.columns[feature]
        return self._rank()

    @changes_state
    def scale(self, factor: float) -> None:
        """Multiply the scores by a power of two, which is exact."""
        self.scores *= factor

    def _rank(self) -> float:
        self.ranking = self.measured.ranking(self.scores)
        self.values = self.measured.prepared.per_query(self.ranking)
        return float(self.weights @ orient(self.values, self.measured.measure))

    def trials(self, feature: int, deltas: np.ndarray, n_steps: int) -> np.ndarray:
        """Sums over queries of the measure if the weight of a feature changes by each delta."""
        prepared = self.measured.prepared
        sums = np.zeros(len(deltas))
        ranked = self.scores, self.ranking.order, self.values, self.is_informative
        trials = TrialArrays(self.columns[feature], deltas, n_steps, *ranked)
        add_trials[prepared.kind](trials, prepared.lists, self.block.query_ptr, self.weights, sums)
        return sums if self.measured.measure.greater_is_better else self.weights.sum() - sums


@dataclass(eq=False, repr=False)
class CoordinateAscent(LinearRanker):
    r"""Coordinate ascent: change one weight at a time as long as the measure improves.

    .. math:: \max_w \frac1q \sum_Q E(X_Q w, y_Q), \qquad \|w\|_1 = 1

    for any measure E of ranking quality, by a search along each weight in turn: steps of 0.001 in
    both directions (5 % of the weight where that is smaller than 0.002), each twice as long as the
    one before, and the weight 0. The best of these is taken if it improves the measure.

    Parameters
    ----------
    measure : str or Measure
        The measure E.
    n_restarts : int
        Number of ascents from equal weights, each with other orders of the features; the best one
        is kept.
    n_steps : int
        Number of weights to try in each direction.
    tol : float
        An ascent ends with a pass over the features that gains less than this.
    max_passes : int
        Largest number of passes of an ascent.
    convention, ties
        Convention of the measure; see :mod:`ranksieve.metrics`. With ``ties="average"``, equal
        scores gain nothing from the order of the rows.
    random_state : int, RandomState or None
        Random seed of the orders.
    progress : bool
        Whether to show progress in a terminal or a notebook.

    Attributes
    ----------
    coef_ : array of shape (features,)
        Weights; their absolute values add up to 1.
    rounds_ : list of Move
        Changes of the ascent that was kept: ``feature``, its new ``weight`` (before weights are
        rescaled) and the training ``measure``, which improves each time.
    restarts_ : list of Restart
        ``measure`` and ``validation`` of each ascent.
    best_restart_ : int
        The ascent that was kept, from 0: the best on the ``eval_set`` or, without one, on the
        training data.

    Notes
    -----
    Takes O(p n s m log d) time for p passes, n features, s steps and m documents in queries of d.
    All weights to try for a feature are measured in one pass over the data, from stored scores.

    The search along coordinates is published. As in RankLib, steps are those above, weights start
    equal and are rescaled after each change, and an ascent ends when all features but one have
    failed in a row. These choices are ours: the best of all weights that were tried, while RankLib
    skips the second direction if the first one helps; an ascent that ends by the gain of one pass,
    not of all passes; only improvements larger than 1e-11 count.

    References
    ----------
    D. Metzler, W. B. Croft. Linear feature-based models for information retrieval. Information
    Retrieval, 2007.

    Examples
    --------
    >>> from ranksieve import make_ranking
    >>> from ranksieve.rankers import CoordinateAscent
    >>> data, truth = make_ranking(100, n_informative=3, noise=0.1)
    >>> ranker = CoordinateAscent("ndcg@10", n_restarts=2, random_state=0).fit(data)
    >>> gains = [move.measure for move in ranker.rounds_]
    >>> gains == sorted(gains)
    True
    """

    methods = (
        Method(
            "coordinate-ascent",
            "one weight at a time, by a measure (MAP)",
            trial={"n_restarts": 1, "max_passes": 5},
        ),
    )

    measure: str | Measure = "map"
    n_restarts: Count = 5
    n_steps: Annotated[int, Interval(Integral, 1, 60, closed="both")] = 25
    tol: NotNegative = 0.001
    max_passes: Count = 50
    convention: ConventionChoice = "standard"
    ties: Ties = "average"
    random_state: Seed = 0
    progress: bool = True

    def _train(self, source: Source, vali: Source | None) -> None:
        measure = parse_measure(self.measure)
        rng = check_random_state(self.random_state)
        parameters = measure, get_convention(self.convention, self.ties)
        ascents = []
        with engine_of(source).start(Trials, *parameters) as workers:
            total = workers.sum(Trials.weight)
            for _ in range(self.n_restarts):
                ascent = _Ascent(workers, source.n_features, total, self.n_steps)
                ascent.climb(rng, self.tol, self.max_passes)
                ascents.append(ascent)
        reached = [ascent.value for ascent in ascents]
        held_out: list[Any] = [None] * len(ascents)
        values = np.array(reached)
        if vali is not None:
            models = np.arange(source.n_features), np.column_stack([a.coef for a in ascents])
            (found,) = measure_models(vali, [models], measure, self.convention, ties=self.ties)
            held_out = found.mean.tolist()
            values = found.mean if measure.greater_is_better else -found.mean
        self.best_restart_ = first_of_best(values)
        best = ascents[self.best_restart_]
        self.coef_ = best.coef
        self.rounds_ = [move._replace(measure=orient(move.measure, measure)) for move in best.moves]
        pairs = zip(reached, held_out, strict=True)
        self.restarts_ = [Restart(orient(value, measure), other) for value, other in pairs]


class _Ascent:
    """An ascent from equal weights.

    Steps are scaled instead of the weights, so that scores are never rounded again and no gain can
    be lost.
    """

    def __init__(
        self, workers: Workers[Trials], n_features: int, total: float, n_steps: int
    ) -> None:
        self.workers, self.total, self.n_steps = workers, total, n_steps
        self.weights = np.full(n_features, 1 / n_features)
        self.value = workers.sum(Trials.begin, self.weights) / total
        self.moves: list[Move] = []

    @property
    def norm(self) -> float:
        """Sum of absolute weights; 1 if all are 0."""
        return float(np.abs(self.weights).sum()) or 1.0

    @property
    def coef(self) -> np.ndarray:
        """Weights whose absolute values add up to 1."""
        return self.weights / self.norm

    def climb(self, rng: np.random.RandomState, tol: float, max_passes: int) -> None:
        """Pass over the features, in a new order each time, as long as the measure improves."""
        n_features = len(self.weights)
        failures = 0
        for _ in range(max_passes):
            before = self.value
            for feature in rng.permutation(n_features).tolist():
                failures = 0 if self._improve(feature) else failures + 1
                if failures >= max(1, n_features - 1):
                    return
            if self.value - before < tol:
                return

    def _improve(self, feature: int) -> bool:
        weight, norm = self.weights[feature], self.norm
        deltas = norm * trial_steps(weight / norm, self.n_steps)
        deltas[-1] = -weight  # exactly to 0
        values = self.workers.sum(Trials.trials, feature, deltas, self.n_steps) / self.total
        best = first_of_best(values)
        if values[best] <= self.value + ROUNDING:
            return False
        self.weights[feature] = 0.0 if best == len(deltas) - 1 else weight + deltas[best]
        self.value = self.workers.sum(Trials.move, feature, deltas[best]) / self.total
        self.moves.append(Move(feature, float(self.weights[feature] / norm), self.value))
        if self.norm > _LARGE:
            self.workers.collect(Trials.scale, 1 / _LARGE)
            self.weights /= _LARGE
        return True


def trial_steps(weight: float, n_steps: int) -> np.ndarray:
    """Changes of a weight to try: ``n_steps`` up, as many down, and to 0.

    >>> trial_steps(0.5, 3).round(3).tolist()
    [0.001, 0.003, 0.007, -0.001, -0.003, -0.007, -0.5]
    """
    small = 0 < abs(weight) < 2 * _SHORTEST
    first = _RELATIVE * abs(weight) if small else _SHORTEST
    up = first * (2.0 ** np.arange(1, n_steps + 1) - 1)
    return np.concatenate([up, -up, [-weight]])
