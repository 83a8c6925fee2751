"""AdaRank: boosting of single features for any measure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from ranksieve.choosing import first_of_best
from ranksieve.data import Block
from ranksieve.engine import Source, Workers, changes_state, engine_of
from ranksieve.metrics import Convention, Measure, get_convention, parse_measure
from ranksieve.parameters import ConventionChoice, Count, Ties
from ranksieve.rankers.base import LinearRanker
from ranksieve.rankers.boosting_rounds import Rounds
from ranksieve.registry import Method
from ranksieve.sums.chunks import FeatureColumns
from ranksieve.sums.held_out import Measured, orient

# Weight of errors assumed for a perfect feature, so that alpha stays finite.
_SMALLEST = 1e-10


class AdaRankRound(NamedTuple):
    """A round of AdaRank: its feature, its weight, and the measure of the model so far."""

    feature: int
    alpha: float
    measure: float


class QueryValues:
    """Statistic: keeps the value of each feature on each query, and the weights of the queries.

    If ``both``, values of ascending order are further candidates, after those of descending order.
    If ``multiply``, weights are multiplied from round to round, as in RankLib.
    """

    title = "AdaRank"

    def __init__(
        self,
        block: Block,
        measure: Measure,
        convention: Convention | str,
        both: bool,
        multiply: bool,
    ) -> None:
        self.columns = FeatureColumns(block.X)
        self.measured = Measured(block, measure, convention)
        signs = (1.0, -1.0) if both else (1.0,)
        self.values = np.hstack([self._values(block, sign) for sign in signs])
        self.query_weights = self.measured.weights
        self.multiply = multiply
        self.scores = np.zeros(len(block.y))
        self.weights = self.query_weights.copy()
        self.chosen: dict[int, np.ndarray] = {}  # columns used before; many are used again

    def _values(self, block: Block, sign: float) -> np.ndarray:
        """Value of each query ranked by each feature, (queries, features)."""
        values = []
        for feature in range(block.X.shape[1]):
            column = self.columns[feature]
            if not np.isfinite(column).all():
                block.check_finite()
            values.append(self.measured.values(self.measured.ranking(sign * column)))
        return np.column_stack(values)

    def sums(self) -> tuple[float, np.ndarray]:
        """Weight of all queries, and weighted sums of the candidates' values."""
        return float(self.weights.sum()), self.weights @ self.values

    @changes_state
    def advance(self, feature: int, alpha: float, weight: float) -> tuple[float, float, np.ndarray]:
        """Add a feature and update the weights; return the model's value, then :meth:`sums`.

        Weights are divided by ``weight``, their previous sum, so that products do not underflow.
        """
        if feature not in self.chosen:
            self.chosen[feature] = self.columns[feature]
        self.scores += alpha * self.chosen[feature]
        values = self.measured.values(self.measured.ranking(self.scores))
        if self.multiply:
            self.weights *= np.exp(-abs(alpha) * values) / weight
        else:
            self.weights = self.query_weights * np.exp(-values)
        return float(self.query_weights @ values), *self.sums()

    def distribution(self) -> np.ndarray:
        """Weight of each query."""
        return self.weights


@dataclass(eq=False, repr=False)
class AdaRank(LinearRanker):
    r"""AdaRank: each round adds the feature that best ranks the queries ranked badly so far.

    The model is :math:`f_t(x) = \sum_{s \le t} \alpha_s x_{h_s}`. Round t takes the feature

    .. math:: h_t = \arg\max_h \sum_q P_t(q)\, E(h, q), \qquad
              \alpha_t = \frac12 \ln \frac{\sum_q P_t(q) (1 + E(h_t, q))}
                                          {\sum_q P_t(q) (1 - E(h_t, q))}

    where E(h, q) is the measure of query q ranked by h; then the queries that the model ranks
    badly gain weight: :math:`P_{t+1}(q) \propto \exp(-E(f_t, q))`.

    Parameters
    ----------
    measure : str or Measure
        The measure E: ``"map"`` gives AdaRank-MAP, ``"ndcg@10"`` AdaRank-NDCG. If smaller values of
        a measure are better, 1 minus the value is used.
    n_rounds : int
        Largest number of rounds.
    directions : {"descending", "both"}
        Rank only by descending values of a feature, as published and as suits LETOR's features; or
        also by ascending values, which get a negative weight.
    reweighting : {"model", "multiply"}
        :math:`P_{t+1} \propto \exp(-E(f_t, q))`, as published; or
        :math:`P_{t+1} \propto P_t \exp(-\alpha_t E(f_t, q))`, as RankLib does.
    eval_measure : str, Measure or None
        Measure of the ``eval_set`` by which the number of rounds is chosen; None for ``measure``.
    early_stopping_rounds : int or None
        With an ``eval_set``, stop after this many rounds without an improvement; None runs all.
    convention, ties
        Convention of the measure; see :mod:`ranksieve.metrics`. ``ties="average"`` does not let the
        order of the rows decide between features.
    progress : bool
        Whether to show progress in a terminal or a notebook.

    Attributes
    ----------
    coef_ : array of shape (features,)
        Sum of each feature's alphas up to the best round.
    rounds_ : list of AdaRankRound
        ``feature``, ``alpha`` and the training ``measure`` after each round.
    best_round_ : int
        Number of rounds in the model: the first that ranks the ``eval_set``, or else the training
        data, best.
    validation_ : array
        Measure of the ``eval_set`` after each round; empty without one.
    query_weights_ : array of shape (queries,)
        P after the last round; large for queries that are ranked badly.

    Notes
    -----
    The values of all features are computed once, in O(m n log d) time for m documents in queries of
    d and n features, and kept: q n numbers for q queries. A round takes O(q n) for the choice and
    O(m log d) to measure the model.

    The algorithm is published. These choices are ours: the best round without validation data;
    features within 1e-11 of the best are equal and the first is taken; a feature that ranks all
    queries perfectly gets a large finite alpha, and is the last. Training ends if the first feature
    is chosen again before any other, as is common if one is far better than the rest: all later
    rounds would be the same. ``reweighting="multiply"`` continues.

    References
    ----------
    J. Xu, H. Li. AdaRank: a boosting algorithm for information retrieval. SIGIR 2007.

    Examples
    --------
    >>> from ranksieve import make_ranking
    >>> from ranksieve.rankers import AdaRank
    >>> data, truth = make_ranking(100, n_informative=3, noise=0.1)
    >>> ranker = AdaRank("ndcg@10", n_rounds=20).fit(data)
    >>> ranker.rounds_[ranker.best_round_ - 1].measure >= ranker.rounds_[0].measure
    True
    """

    methods = (
        Method("adarank-map", "boosted features, MAP", {"measure": "map"}),
        Method("adarank-ndcg", "boosted features, NDCG@10", {"measure": "ndcg@10"}),
    )

    measure: str | Measure = "map"
    n_rounds: Count = 100
    directions: Literal["descending", "both"] = "descending"
    reweighting: Literal["model", "multiply"] = "model"
    eval_measure: str | Measure | None = None
    early_stopping_rounds: Count | None = 50
    convention: ConventionChoice = "standard"
    ties: Ties = "average"
    progress: bool = True

    def _train(self, source: Source, vali: Source | None) -> None:
        measure = parse_measure(self.measure)
        parameters = (
            measure,
            get_convention(self.convention, self.ties),
            self.directions == "both",
            self.reweighting == "multiply",
        )
        held_out = Rounds.measured_on(vali, self, self.eval_measure or measure)
        with engine_of(source).start(QueryValues, *parameters) as workers, held_out as chosen:
            rounds = self._boost(workers, source.n_features, chosen)
            weights = np.concatenate(workers.collect(QueryValues.distribution))
        self.best_round_ = (
            chosen.best or first_of_best(np.array([one.measure for one in rounds])) + 1
        )
        self.coef_ = np.zeros(source.n_features)
        for feature, alpha, _ in rounds[: self.best_round_]:
            self.coef_[feature] += alpha
        self.rounds_ = [one._replace(measure=orient(one.measure, measure)) for one in rounds]
        self.validation_ = chosen.measured
        self.query_weights_ = weights / weights.sum()

    def _boost(
        self, workers: Workers[QueryValues], n_features: int, chosen: Rounds
    ) -> list[AdaRankRound]:
        """Rounds, whose measure is turned so that larger is better."""
        rounds: list[AdaRankRound] = []
        taken: set[int] = set()
        weight, sums = workers.sum(QueryValues.sums)
        total = weight  # of the queries with a value, before any round
        for _ in range(self.n_rounds):
            candidate = first_of_best(sums / weight)
            if taken == {candidate} and self.reweighting == "model":
                break  # all later rounds would be the same
            taken.add(candidate)
            feature, sign = candidate % n_features, 1.0 if candidate < n_features else -1.0
            share = min(sums[candidate] / weight, 1 - _SMALLEST)
            alpha = sign * float(np.log((1 + share) / (1 - share)) / 2)
            value, weight, sums = workers.sum(QueryValues.advance, feature, alpha, weight)
            rounds.append(AdaRankRound(feature, alpha, value / total))
            if chosen.add(feature, alpha) or share == 1 - _SMALLEST:
                break
        return rounds
