"""RankBoost: boosting of thresholds on single features, over pairs of documents."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Integral
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from ranksieve._kernels.losses import add_potentials, pair_potentials
from ranksieve.choosing import ROUNDING, first_of_best
from ranksieve.data import Block, DataError
from ranksieve.engine import Source, Workers, changes_state, engine_of, starts_over
from ranksieve.io.records import get_numbers
from ranksieve.metrics import Measure
from ranksieve.parameters import ConventionChoice, Count, Ties
from ranksieve.rankers.base import Ranker
from ranksieve.rankers.boosting_rounds import Rounds
from ranksieve.registry import Method
from ranksieve.sums.chunks import FeatureColumns, row_weights_of, weights_of
from ranksieve.sums.grades import Classes, bin_ranks, last_rank, values_of_ranks
from ranksieve.sums.varying import vary_within_queries

MOST_THRESHOLDS = 255  # of a feature, so that codes fit in a byte
_SMALLEST = 1e-10  # weight of misordered pairs assumed for a perfect threshold
_VANISHED = 1e-200  # fraction of the initial weight below which precision is lost


class Round(NamedTuple):
    """A round of RankBoost: a threshold, its weight, and the loss of the model so far."""

    feature: int
    threshold: float
    alpha: float
    loss: float  # mean over pairs of exp(score of the worse - score of the better document)


class PairPotentials:
    """Statistic: keeps a byte per value and the weights of all pairs, as sums over documents."""

    title = "RankBoost"

    def __init__(self, block: Block) -> None:
        self.block = block
        starts, lengths = block.query_ptr[:-1], np.diff(block.query_ptr)
        self.weights = weights_of(block)
        kept = vary_within_queries(block.y, block.query_ptr) & (self.weights > 0)
        rows = np.flatnonzero(np.repeat(kept, lengths))
        codes = np.repeat(np.arange(len(starts)), lengths)
        self.rows = rows[np.lexsort((-block.y[rows], codes[rows]))]  # by query and label
        self.labels = block.y[self.rows]
        self.query_ptr = np.concatenate([[0], np.cumsum(np.where(kept, lengths, 0))])
        self.scores, self.potentials = np.zeros((2, len(self.rows)))

    def distinct(self, most: int) -> tuple[float, list[np.ndarray]]:
        """Weight of rows, and the distinct values of each feature; of more than ``most``, some.

        The weight is an int if queries have no weights.
        """
        columns, found = FeatureColumns(self.block.X), []
        for feature in range(self.block.X.shape[1]):
            values = np.unique(columns[feature][self.rows] + 0.0)  # -0.0 becomes 0.0
            if not np.isfinite(values).all():
                self.block.check_finite()
            found.append(values[: most + 1])
        if self.block.query_weights is None:
            return len(self.rows), found
        return row_weights_of(self.block, self.weights)[self.rows].sum(), found

    def digits(
        self, features: np.ndarray, shift: int, n_bits: int, prefixes: np.ndarray
    ) -> np.ndarray:
        """Counts of the next bits of some features; see :func:`values_of_ranks`."""
        block = replace(self.block, X=self.block.X[:, features])
        one_class = Classes(block, np.array([np.inf]))
        one_class.classes[:] = -1
        one_class.classes[self.rows] = 0
        return one_class.digits(shift, n_bits, prefixes[None])[0]

    @starts_over()
    def begin(self, thresholds: np.ndarray, n: np.ndarray) -> tuple[float, np.ndarray]:
        """Replace values by the number of thresholds below them; return as :meth:`advance`."""
        self.codes = np.empty((len(thresholds), len(self.rows)), dtype=np.uint8)
        columns = FeatureColumns(self.block.X)
        for feature, (own, used) in enumerate(zip(thresholds, n, strict=True)):
            self.codes[feature] = np.searchsorted(own[:used], columns[feature][self.rows])
        self.scores[:] = 0
        return self._sums()

    @changes_state
    def advance(self, feature: int, position: int, alpha: float) -> tuple[float, np.ndarray]:
        """Add a threshold to the model; return the weight of all pairs and potentials by code."""
        np.add(self.scores, alpha, out=self.scores, where=self.codes[feature] > position)
        return self._sums()

    def _sums(self) -> tuple[float, np.ndarray]:
        total = pair_potentials(
            self.scores, self.labels, self.weights, self.query_ptr, self.potentials
        )
        sums = np.zeros((len(self.codes), MOST_THRESHOLDS + 1))
        add_potentials(self.codes, self.potentials, sums)
        return total, sums


def order_statistics(
    workers: Workers[PairPotentials], features: np.ndarray, ranks: np.ndarray
) -> np.ndarray:
    """Values (features, ranks) of given ranks, from 0; rows count by their weights."""
    return values_of_ranks(
        lambda *known: workers.sum(PairPotentials.digits, features, *known),
        np.tile(ranks, (len(features), 1)),
        n_bits=4,
    )


@dataclass(eq=False, repr=False)
class RankBoost(Ranker):
    r"""RankBoost: each round adds the threshold that best orders the pairs misordered so far.

    The score of a document is :math:`f(x) = \sum_t \alpha_t 1[x_{f_t} > \theta_t]`. With weights
    D, equal at first, of the pairs of documents i and j of a query with :math:`y_i > y_j`, round t
    takes

    .. math:: \arg\max_{f, \theta} |r|, \qquad
              r(f, \theta) = \sum_{i, j} D_t(i, j) (1[x_{if} > \theta] - 1[x_{jf} > \theta]),
              \qquad \alpha_t = \frac12 \ln \frac{1 + r}{1 - r}

    and sets :math:`D_{t+1}(i, j) \propto \exp(f_t(j) - f_t(i))`.

    Parameters
    ----------
    n_rounds : int
        Largest number of rounds.
    n_thresholds : int
        Largest number of thresholds of a feature, at most 255.
    binning : {"frequency", "width"}
        Thresholds are quantiles with equally many documents in between, or all values if there are
        few. Or they are right below k / ``n_thresholds`` of the range, k = 1, 2, ..., as in LETOR's
        runs, whose features range from 0 to 1 in each query.
    directions : {"both", "descending"}
        Whether small values may also be better; such a threshold has a negative weight.
    measure, convention, ties
        Measure of the ``eval_set`` by which the number of rounds is chosen, and its convention; see
        :mod:`ranksieve.metrics`.
    early_stopping_rounds : int or None
        With an ``eval_set``, stop after this many rounds without an improvement; None runs all.
    progress : bool
        Whether to show progress in a terminal or a notebook.

    Attributes
    ----------
    rounds_ : list of Round
        ``feature``, ``threshold`` and ``alpha`` of each round, and the ``loss`` after it: the
        mean over pairs of exp(f(j) - f(i)), which never grows.
    best_round_ : int
        Number of rounds in the model: the first that ranks the ``eval_set`` best, or all.
    thresholds_ : list of array
        Thresholds of each feature, ascending.
    validation_ : array
        Measure of the ``eval_set`` after each round; empty without one.
    feature_importances_ : array of shape (features,)
        Sum of each feature's absolute alphas.

    Notes
    -----
    Pairs are never listed. D(i, j) is a product of exp(-f(i)) and exp(f(j)), so the potential of a
    document (the weight of the pairs that it should win minus that of the pairs that it should
    lose) takes two passes over the labels of its query. Then r(f, theta) is a sum of potentials: a
    round takes O(m n) time for m documents and n features, with one byte per value, including zeros
    of sparse data. Quantiles are exact and take 16 passes over the data, once.

    The algorithm is published. LETOR's runs had 255 thresholds, which are not described further;
    with ``binning="width"``, four of five results on MQ2008 are the same to four digits. These
    choices are ours: quantiles, over documents of queries with different labels, weighted by the
    weights of queries; thresholds within 1e-11 of the best are equal and the first is taken;
    training ends when a threshold orders all pairs or no threshold helps.

    References
    ----------
    Y. Freund, R. Iyer, R. E. Schapire, Y. Singer. An efficient boosting algorithm for combining
    preferences. JMLR 2003.

    Examples
    --------
    >>> from ranksieve import make_ranking
    >>> from ranksieve.rankers import RankBoost
    >>> data, truth = make_ranking(100, n_informative=3, n_redundant=0, noise=0.1)
    >>> ranker = RankBoost(n_rounds=30).fit(data)
    >>> sorted(ranker.feature_importances_.argsort()[-3:].tolist()) == truth.informative.tolist()
    True
    """

    methods = (Method("rankboost", "boosted thresholds of features", trial={"n_rounds": 10}),)

    n_rounds: Count = 100
    n_thresholds: Annotated[int, Interval(Integral, 1, MOST_THRESHOLDS, closed="both")] = (
        MOST_THRESHOLDS
    )
    binning: Literal["frequency", "width"] = "frequency"
    directions: Literal["both", "descending"] = "both"
    measure: str | Measure = "map"
    early_stopping_rounds: Count | None = 50
    convention: ConventionChoice = "standard"
    ties: Ties = "average"
    progress: bool = True

    @property
    def feature_importances_(self) -> np.ndarray:
        """Sum of each feature's absolute alphas."""
        check_is_fitted(self)
        importances = np.zeros(self.n_features_in_)
        for step in self.rounds_[: self.best_round_]:
            importances[step.feature] += abs(step.alpha)
        return importances

    def _train(self, source: Source, vali: Source | None) -> None:
        held_out = Rounds.measured_on(vali, self, self.measure)
        with engine_of(source).start(PairPotentials) as workers, held_out as chosen:
            self.thresholds_ = self._thresholds(workers)
            self.rounds_ = self._boost(workers, chosen)
        self.best_round_ = chosen.best or len(self.rounds_)
        self.validation_ = chosen.measured

    def _thresholds(self, workers: Workers[PairPotentials]) -> list[np.ndarray]:
        """Ascending thresholds of each feature; none if it is constant."""
        most = self.n_thresholds + 1
        parts = workers.collect(PairPotentials.distinct, most)
        n_rows = sum(rows for rows, _ in parts)
        found: list[np.ndarray] = []
        many: list[int] = []
        for feature, known in enumerate(zip(*(values for _, values in parts), strict=True)):
            distinct = np.unique(np.concatenate(known))
            found.append(distinct[:-1])
            if len(distinct) > most or (self.binning == "width" and len(distinct) > 1):
                many.append(feature)
        if many:
            cut = self._widths if self.binning == "width" else self._quantiles
            for feature, values in zip(many, cut(workers, np.array(many), n_rows), strict=True):
                found[feature] = values
        return found

    def _widths(
        self, workers: Workers[PairPotentials], features: np.ndarray, n_rows: float
    ) -> list[np.ndarray]:
        """Equally spaced thresholds; only the largest value exceeds the last one."""
        ends = np.array([0, last_rank(n_rows)])
        low, high = order_statistics(workers, features, ends).T[..., None]
        shares = np.arange(1, self.n_thresholds) / self.n_thresholds
        values = np.hstack([low + (high - low) * shares, high])
        return [np.unique(row) for row in np.nextafter(values, -np.inf)]

    def _quantiles(
        self, workers: Workers[PairPotentials], features: np.ndarray, n_rows: float
    ) -> list[np.ndarray]:
        """Thresholds with equally many documents in between, except for equal values."""
        ranks = np.append(bin_ranks(n_rows, self.n_thresholds + 1), last_rank(n_rows))
        values = order_statistics(workers, features, ranks)
        return [np.setdiff1d(row[:-1], row[-1]) for row in values]  # none exceeds the largest

    def _boost(self, workers: Workers[PairPotentials], chosen: Rounds) -> list[Round]:
        n = np.array([len(values) for values in self.thresholds_])
        padded = np.full((len(n), max(1, n.max())), np.inf)
        for row, values in zip(padded, self.thresholds_, strict=True):
            row[: len(values)] = values
        rounds: list[Round] = []
        weight, sums = workers.sum(PairPotentials.begin, padded, n)
        first = weight
        if first == 0:  # no query of positive weight has different labels
            return rounds
        for _ in range(self.n_rounds):
            # Potentials of the documents above each threshold, which have larger codes.
            r = np.cumsum(sums[:, :0:-1], axis=1)[:, ::-1] / weight
            worth = np.abs(r) if self.directions == "both" else r
            feature, position = divmod(first_of_best(worth.ravel()), r.shape[1])
            best = float(r[feature, position])
            if abs(best) <= ROUNDING or worth[feature, position] <= 0:
                break
            best = float(np.clip(best, _SMALLEST - 1, 1 - _SMALLEST))
            alpha = float(np.log((1 + best) / (1 - best)) / 2)
            weight, sums = workers.sum(PairPotentials.advance, feature, position, alpha)
            threshold = float(self.thresholds_[feature][position])
            rounds.append(Round(feature, threshold, alpha, weight / first))
            done = abs(best) == 1 - _SMALLEST or weight < _VANISHED * first
            if chosen.add(feature, alpha, threshold) or done:
                break
        return rounds

    def _scores(self, X: Any) -> np.ndarray:
        columns = FeatureColumns(X)
        steps = self.rounds_[: self.best_round_]
        scores = np.zeros(X.shape[0])
        for feature in sorted({step.feature for step in steps}):
            own = sorted((step.threshold, step.alpha) for step in steps if step.feature == feature)
            thresholds, alphas = np.array(own).T
            levels = np.concatenate([[0.0], np.cumsum(alphas)])
            scores += levels[np.searchsorted(thresholds, columns[feature], side="left")]
        return scores

    def _learned(self) -> dict[str, Any]:
        return {"rounds": [list(step) for step in self.rounds_[: self.best_round_]]}

    def _relearn(self, learned: dict[str, Any]) -> None:
        steps = get_numbers(
            {"rounds": learned.get("rounds") or np.empty((0, 4))}, "rounds", None, 4
        )
        self.rounds_ = [Round(int(feature), *rest) for feature, *rest in steps.tolist()]
        if any(not 0 <= step.feature < self.n_features_in_ for step in self.rounds_):
            raise DataError(f"the feature of a round is not one of {self.n_features_in_} features")
        self.best_round_ = len(self.rounds_)
