"""The cheapest sets of features that are worth a share, found from products of columns alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

import numpy as np

from ranksieve.choosing import ROUNDING, first_nearly_best
from ranksieve.costs import AlignedCosts
from ranksieve.data import Block, RankingData
from ranksieve.engine import engine_of
from ranksieve.solvers.rankrls.binned import BinnedRows, Bins, make_bins
from ranksieve.solvers.rankrls.swept import SweptProducts
from ranksieve.sums.checks import check_magnitudes, finite
from ranksieve.sums.chunks import Chunk, weights_of
from ranksieve.sums.gram import GramSums, centered_gram

Basis = Literal["linear", "bins"]

_LAM = 1e-3  # relative to the squares of a feature
_N_BINS, _LAM_OF_BINS = 8, 30.0
_PENALTY = 2.0  # variances of noise that a parameter must explain
# Shares of the labels' squares. The first is the price of a whole level: of sets that are worth the
# same, the cheaper one is better. A change that gains less than the second is not made.
_PRICE, _LEAST_GAIN = 1e-7, 1e-10
_N_COARSE, _N_FINE = 12, 60  # levels of cost, to find sets with a share of the worth
_WORK = 10_000  # features times fine levels: with more features there are fewer levels
_N_FORCED = 6  # features that the search takes in although they do not fit
_AS_GOOD_AS_FREE = 1e-12  # cost relative to the level


def sets_within_costs(
    data: RankingData,
    costs: AlignedCosts,
    levels: Sequence[float],
    include: Iterable[int] = (),
    *,
    basis: Basis,
) -> list[list[int]]:
    r"""Find, for each level of cost, the features within it that explain the labels best.

    Labels are predicted by least squares within queries: all values are centered by the means of
    their query. A set S of features is worth what it explains of the labels' squares, less what as
    many parameters would explain of pure noise (Mallows):

    .. math:: w(S) = b_S' A_{SS}^{-1} b_S - 2 \hat\sigma^2 \sum_{j \in S} d_j,
              \qquad A = X'X + \Lambda, \quad b = X'y

    where X has one column for each feature, :math:`\Lambda` is diagonal, :math:`\hat\sigma^2` is
    the residual variance with all features, and :math:`d_j` are the effective parameters of a
    column, :math:`X_j'X_j / A_{jj}`.

    With the basis ``"linear"``, the column is the feature, and :math:`\Lambda` is 0.001 times the
    diagonal of X'X. With ``"bins"``, the feature alone predicts the labels first: by ridge
    regression on its bins :math:`Z_j`, 8 with equally many rows and one for missing values, with
    :math:`\lambda = 30` rows and coefficients :math:`t_j`. Its column is that prediction
    :math:`Z_j t_j`, and its entry of :math:`\Lambda` is :math:`\lambda t_j't_j`. That the
    prediction was fitted, too, does not count as parameters: trees do well with a few features
    more.

    The search is a local one:

    1. Add the feature that is worth most, as long as one fits.
    2. Make the best change of those that add, drop or exchange a feature, until none is left.
    3. Take in one of the six best features that do not fit, drop the features or groups that are
       worth least per cost until the others fit, add what is worth most per cost, and repeat step
       2. If the set is better than before, go on with it, until no such change helps.

    A set is kept for higher levels until a better one is found.

    Parameters
    ----------
    data : RankingData
        Without missing values if the basis is ``"linear"``.
    costs : AlignedCosts
    levels : sequence of float
        Largest cost of each set.
    include : iterable of int
        Features that are in every set. If they cost more than a level, its set is empty.
    basis : {"linear", "bins"}
        For linear rankers, or for trees.

    Returns
    -------
    list of lists of int
        The features of each level, in the order in which each adds most to those before it. Their
        worth never falls with the level. A feature that does not pay for its noise is left out,
        unless it is included.

    Notes
    -----
    Takes O(m p^2) time for the products of m rows and p features, and O(p^2) for each step of the
    search, of which there are a few times as many as a set has features.

    References
    ----------
    C. L. Mallows. Some comments on C_p. Technometrics 15(4), 1973.

    Examples
    --------
    >>> from ranksieve import FeatureCosts, make_ranking
    >>> from ranksieve.recommendation.cheap_sets import sets_within_costs
    >>> data, truth = make_ranking(50, n_informative=3, n_redundant=0, n_noise=3)
    >>> truth.informative.tolist()
    [1, 4, 5]
    >>> costs = FeatureCosts.make([1, 9, 1, 1, 1, 1], data.feature_names)
    >>> aligned = costs.aligned(data.feature_names)
    >>> sets_within_costs(data, aligned, [2, 20], basis="linear")
    [[4, 5], [4, 5, 1]]
    """
    worth = measure_worth(data, basis)
    found = _find_best(worth, costs, levels, include)
    return [[] if own is None else worth.ordered(np.flatnonzero(own.chosen)) for own in found]


def sets_of_worth(
    data: RankingData,
    costs: AlignedCosts,
    shares: Sequence[float],
    include: Iterable[int] = (),
    most: float = np.inf,
    *,
    basis: Basis,
) -> list[list[int]]:
    """Find, for each share of the worth of the best set within a cost, the cheapest set with it.

    The best sets within 72 costs are found, by :func:`sets_within_costs`: 12 that rise in
    proportion from the cheapest feature to ``most``, and 60 from where the smallest share begins,
    fewer with hundreds of features. Sets of equal shares lose about as much, whatever features
    cost.

    Examples
    --------
    >>> from ranksieve import FeatureCosts, make_ranking
    >>> from ranksieve.recommendation.cheap_sets import sets_of_worth
    >>> data, truth = make_ranking(50, n_informative=3, n_redundant=0, n_noise=3)
    >>> costs = FeatureCosts.make([1, 9, 1, 1, 1, 1], data.feature_names)
    >>> aligned = costs.aligned(data.feature_names)
    >>> sets_of_worth(data, aligned, [0, 0.6, 1], basis="linear")
    [[], [4, 5], [4, 5, 1]]
    """
    include, every = sorted(set(include)), range(data.n_features)
    least, most = costs.total(include), min(most, costs.total(every))
    alone = [costs.total([*include, feature]) for feature in every]
    first = min((cost for cost in alone if cost > least), default=most)
    worth = measure_worth(data, basis)
    found: dict[float, SweptProducts] = {}

    def search(levels: Iterable[float]) -> tuple[list[float], np.ndarray]:
        """Search within more levels; returns all levels, and the worth of what is found."""
        new = [float(level) for level in levels if level not in found]
        best = _find_best(worth, costs, new, include)
        found.update((level, own) for level, own in zip(new, best, strict=True) if own is not None)
        known = sorted(found)
        return known, np.maximum.accumulate([worth.of(found[level]) for level in known])

    levels, values = search([least, most, *_proportional(first, most, _N_COARSE)])
    smallest = min((share for share in shares if share > 0), default=1.0)
    begin = levels[max(0, int(np.argmax(values >= smallest * values[-1])) - 1)]
    n_fine = min(_N_FINE, _N_COARSE + _WORK // data.n_features)
    levels, values = search(_proportional(max(begin, first), most, n_fine))
    models = [found[level] for level in levels]
    for place in range(1, len(models)):
        if worth.of(models[place]) < values[place]:
            models[place] = models[place - 1]
    enough = [values >= share * values[-1] - _LEAST_GAIN * worth.scale for share in shares]
    return [worth.ordered(np.flatnonzero(models[int(np.argmax(own))].chosen)) for own in enough]


def _proportional(low: float, high: float, number: int) -> list[float]:
    """Rising levels of cost; none if nothing costs anything."""
    return np.geomspace(low, high, number).tolist() if 0 < low < high else []


def _find_best(
    worth: Worth, costs: AlignedCosts, levels: Sequence[float], include: Iterable[int]
) -> list[SweptProducts | None]:
    """Model of the best set within each level; None if the included features cost more."""
    start = worth.products.copy()
    start.toggle(*sorted(set(include)))
    found: dict[float, SweptProducts | None] = {}
    below = start
    for level in sorted(set(levels)):
        search = _Search(worth, costs, start, level)
        found[level] = None
        if search.cost(start) <= search.limit:
            found[level] = below = max(below, search.run(), key=search.value)
    return [found[level] for level in levels]


class Worth(NamedTuple):
    """What sets of features are worth, as in :func:`sets_within_costs`."""

    products: SweptProducts  # of the columns, none of which is in the model
    penalties: np.ndarray  # (features,)
    scale: float  # squares of the labels

    def of(self, model: SweptProducts) -> float:
        """Worth of the features of a model."""
        return model.explained - float(self.penalties[model.chosen].sum())

    def gains(self, model: SweptProducts) -> np.ndarray:
        """Change of the worth if a feature enters, or leaves: (features,)."""
        return model.toggle_gains() + np.where(model.chosen, self.penalties, -self.penalties)

    def ordered(self, features: np.ndarray) -> list[int]:
        """Features in the order in which each explains most after those before it."""
        model, order = self.products.part(features.tolist()), []
        for _ in features:
            gains = np.where(model.chosen, -np.inf, model.toggle_gains())
            best = first_nearly_best(gains, _LEAST_GAIN * self.scale)
            model.toggle(best)
            order.append(int(features[best]))
        return order


def measure_worth(data: RankingData, basis: Basis) -> Worth:
    """Multiply the columns of all features, and estimate the noise."""
    if basis == "linear":
        gram = centered_gram(data)
        ridge = _LAM * np.diag(gram.xx)
    else:
        gram, ridge = _predictions_by_bins(data)
    if not np.isfinite(gram.xx).all():
        check_magnitudes(data, "products of features are too large")
    squares = np.diag(finite(gram.xx)) + ridge
    squares[squares == 0] = 1.0
    parameters, scales = np.diag(gram.xx) / squares, np.sqrt(squares)
    A, b = gram.xx / np.outer(scales, scales), gram.xy / scales
    np.fill_diagonal(A, 1.0)
    coefs = np.linalg.solve(A, b)
    residual = gram.yy - b @ coefs - coefs**2 @ (ridge / squares)
    n_free = engine_of(data).sum(sum_free_rows)
    noise = residual / max(n_free - parameters.sum(), n_free / 2, 1.0)
    products = np.block([[A, b[:, None]], [b, np.zeros(1)]])
    return Worth(SweptProducts(products), _PENALTY * noise * parameters, gram.yy)


def _predictions_by_bins(data: RankingData) -> tuple[GramSums, np.ndarray]:
    """Products of what each feature predicts alone, and its part of the ridge."""
    engine, bins = engine_of(data), make_bins(data, _N_BINS)
    inner, labels = engine.sum(multiply_own_bins, bins)
    ridge = _LAM_OF_BINS * np.eye(inner.shape[1])
    coefs = np.linalg.solve(inner + ridge, labels[..., None])[..., 0]
    gram = GramSums(*engine.sum(multiply_predictions, bins, coefs))
    return gram, _LAM_OF_BINS * (coefs**2).sum(axis=1)


def multiply_own_bins(block: Block, bins: Bins) -> tuple[np.ndarray, np.ndarray]:
    """Products of the bins of each feature, (features, bins, bins), and with labels."""
    rows, n_bins = BinnedRows(block, bins), int(bins.sizes.max())
    inner, labels = (np.zeros((len(bins.sizes), n_bins, *more)) for more in ([n_bins], []))
    for feature, size in enumerate(bins.sizes.tolist()):
        for piece in rows.pieces(bins.columns_of([feature])):
            inner[feature, :size, :size] += piece.X.T @ piece.X
            labels[feature, :size] += piece.X.T @ rows.y[piece.rows]
    return inner, labels


class _Predictions(BinnedRows):
    """Rows of a block with a coefficient for the bin of each value, (features, bins)."""

    def __init__(self, block: Block, bins: Bins, coefs: np.ndarray) -> None:
        super().__init__(block, bins)
        self.coefs, self.n_features = coefs, len(coefs)

    def _columns(self, chunk: Chunk, features: np.ndarray | None) -> np.ndarray:
        wanted = np.arange(self.n_features)[slice(None) if features is None else features]
        return self.coefs[wanted, chunk.X[:, wanted]]


def multiply_predictions(
    block: Block, bins: Bins, coefs: np.ndarray
) -> tuple[np.ndarray, np.ndarray, float]:
    """Products of the centered predictions of features, with labels, and of labels."""
    return _Predictions(block, bins, coefs).gram()


def sum_free_rows(block: Block) -> float:
    """Number of rows less one for each query, each as often as its query counts."""
    return float(weights_of(block) @ (np.diff(block.query_ptr) - 1))


class _Search:
    """Search for the features of most worth within a level of cost.

    ``start`` is the model of the included features, which never leave.
    """

    def __init__(
        self, worth: Worth, costs: AlignedCosts, start: SweptProducts, level: float
    ) -> None:
        self.worth, self.costs, self.start = worth, costs, start
        self.limit = level * (1 + ROUNDING)
        self.least = _LEAST_GAIN * worth.scale
        self.price = _PRICE * worth.scale / level if level else 0.0
        self.is_free = ~start.chosen  # features that may enter and leave

    def cost(self, model: SweptProducts) -> float:
        """Cost of the features of a model."""
        return self.costs.total(np.flatnonzero(model.chosen))

    def value(self, model: SweptProducts) -> float:
        """Worth, less a price that decides between sets of equal worth."""
        return self.worth.of(model) - self.price * self.cost(model)

    def run(self) -> SweptProducts:
        """Model of the best set that is found."""
        model = self.start.copy()
        self._fill(model, per_cost=False)
        self._exchange(model)
        while (other := self._forced(model)) is not None:
            model = other
        return model

    def _forced(self, model: SweptProducts) -> SweptProducts | None:
        """A better model with one of the features that do not fit; None if there is none."""
        for feature in self._best_that_do_not_fit(model):
            other = model.copy()
            other.toggle(feature)
            self._trim(other, held=feature)
            self._fill(other, per_cost=True)
            self._exchange(other)
            if self.value(other) > self.value(model) + self.least:
                return other
        return None

    def _best_that_do_not_fit(self, model: SweptProducts) -> list[int]:
        """Features that would be worth most, but for which others have to leave."""
        gains = self.worth.gains(model)
        fits_alone = self._added(self.start) <= self.limit - self.cost(self.start)
        is_too_much = self._added(model) > self.limit - self.cost(model)
        able = self.is_free & (gains > self.least) & fits_alone & is_too_much
        best = np.argsort(np.where(able, -gains, np.inf), kind="stable")[:_N_FORCED]
        return best[able[best]].tolist()

    # What follows changes the model in place.

    def _fill(self, model: SweptProducts, *, per_cost: bool) -> None:
        """Add the feature that is worth most, or most per cost, as long as one fits."""
        while True:
            gains, added = self.worth.gains(model), self._added(model)
            fits = added <= self.limit - self.cost(model)
            able = self.is_free & ~model.chosen & (gains > self.least) & fits
            if not able.any():
                return
            if per_cost:
                gains = gains / np.maximum(added, _AS_GOOD_AS_FREE * self.limit or 1.0)
            model.toggle(int(np.argmax(np.where(able, gains, -np.inf))))

    def _exchange(self, model: SweptProducts) -> None:
        """Make the best change of those that add, drop or exchange a feature, until none is."""
        while change := self._best_change(model):
            model.toggle(*change)

    def _best_change(self, model: SweptProducts) -> tuple[int, ...]:
        """Features to toggle; none if no change is better."""
        new, gone = (np.flatnonzero(self.is_free & own) for own in (~model.chosen, model.chosen))
        gains, added, saved = self.worth.gains(model), self._added(model), self._saved(model)
        penalties, own, group_of = self.worth.penalties, self.costs.features, self.costs.group_of
        swaps = model.swap_gains(gone, new) + penalties[gone][:, None] - penalties[new]
        # An exchange within a group does not save the cost of the group.
        is_within = (group_of[gone][:, None] == group_of[new]) & (group_of[new] >= 0)
        swap_costs = added[new] - np.where(is_within, own[gone][:, None], saved[gone][:, None])
        best: tuple[int, ...] = ()
        room, most = self.limit - self.cost(model), self.least
        for moves, gain, cost in (
            ((new,), gains[new], added[new]),
            ((gone,), gains[gone], -saved[gone]),
            ((gone, new), swaps, swap_costs),
        ):
            values = np.where(cost <= room, gain - self.price * cost, -np.inf)
            if values.size and values.max() > most:
                most = float(values.max())
                places = np.unravel_index(np.argmax(values), values.shape)
                best = tuple(int(who[at]) for who, at in zip(moves, places, strict=True))
        return best

    def _trim(self, model: SweptProducts, held: int) -> None:
        """Drop the feature or group that is worth least per cost, until the others fit."""
        group_of = self.costs.group_of
        while (cost := self.cost(model)) > self.limit:
            free = model.chosen & self.is_free
            free[held] = False
            lost, saved = -self.worth.gains(model), self._saved(model)
            with np.errstate(divide="ignore", invalid="ignore"):
                ratios = np.where(free & (saved > 0), lost / saved, np.inf)
            drop = [int(np.argmin(ratios))]
            least = ratios[drop[0]]
            for group in np.unique(group_of[free & (group_of >= 0)]).tolist():
                members = np.flatnonzero(free & (group_of == group)).tolist()
                rest = np.flatnonzero(model.chosen & ~(free & (group_of == group)))
                of_group = cost - self.costs.total(rest)
                worth = -model.set_gain(members) - self.worth.penalties[members].sum()
                if of_group > 0 and worth / of_group < least:
                    least, drop = worth / of_group, members
            model.toggle(*drop)

    def _added(self, model: SweptProducts) -> np.ndarray:
        """Cost of each feature that enters: (features,)."""
        return self.costs.marginal(np.flatnonzero(model.chosen))

    def _saved(self, model: SweptProducts) -> np.ndarray:
        """Cost that each feature saves if it leaves: (features,)."""
        group_of, groups = self.costs.group_of, self.costs.groups
        users = np.bincount(group_of[model.chosen] + 1, minlength=len(groups) + 1)[1:]
        alone = np.append(np.where(users == 1, groups, 0.0), 0.0)[group_of]
        return np.where(model.chosen, self.costs.features + alone, 0.0)
