"""Selection by boosted trees that pay for the first use of each feature."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from numbers import Integral
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from ranksieve.base import Choices
from ranksieve.data import DataError
from ranksieve.engine import Source
from ranksieve.engine.memo import shared
from ranksieve.parameters import Costs
from ranksieve.progress import track
from ranksieve.rankers.libraries.lightgbm import (
    blocks_of,
    check_for_lightgbm,
    dataset_of,
    lightgbm_errors,
    train,
)
from ranksieve.registry import Method
from ranksieve.selectors._search.filters import scored_groups, spread_steps
from ranksieve.selectors.trees.bt_influence import TREE_GRID, TreeSelector
from ranksieve.sums.varying import varying_features
from ranksieve.threads import limit_threads_for

# Tradeoffs relative to the gain of the first split. Below, most features are used; at 1, rounding
# would decide whether there is a split at all.
_LEAST, _MOST = 0.002, 0.9
_FACTOR, _LONGEST = 4.0, 5  # how the path is extended: times this, so many times at most
_PENALTIES = "cegb_penalty_feature_coupled"
_OURS = ("cegb_tradeoff", _PENALTIES)


class PenalizedTrees(NamedTuple):
    """What a model of the path uses."""

    tradeoff: float  # penalty of a feature of mean price, in units of gain
    features: tuple[int, ...]  # those in its trees, in descending order of their gain
    shares: np.ndarray  # share of the total gain of each of them


@dataclass(eq=False, repr=False)
class CostEfficientTrees(TreeSelector):
    r"""Features that boosted trees keep when each feature has a price.

    The first use of a feature anywhere in the trees lowers the gain of a split,

    .. math:: \text{gain} - t\, c_f \quad \text{if no split before has used } f,

    with the cost :math:`c_f` of the feature and a tradeoff t (cost-efficient gradient boosting,
    CEGB). So of several similar features, trees use one, and only as many as are worth it. Models
    for a path of tradeoffs, up to one that leaves at most one feature, order the features by

    .. math:: s_f = \frac{1}{T} \sum_{t} \frac{\text{gain of the splits on } f}{\text{total gain}},

    the mean share of the gain over all T models: first come those that are used at any price.
    Features in none of them follow by their gain in a model without a penalty.

    Parameters
    ----------
    n_features_to_select : int or float
        Number of features, or a fraction of them if below 1.
    tradeoffs : int or array-like
        Number of tradeoffs, or the tradeoffs themselves. They are relative to the gain of the first
        split without a penalty, so that they mean the same for any number of documents and any
        scale of weights. A number stands for a geometric series from 0.002 to 0.9, which is
        extended until at most one of the features that have a price is used.
    order : {"nested", "sets"}
        ``"nested"``: by the mean share of the gain. ``"sets"``: the features of the model that uses
        the most among those that use no more than wanted, by their gain; then those of the smallest
        model that uses more, by theirs; then those of the model without a penalty.
    costs : FeatureCosts, array-like of shape (features,) or dict by name, optional
        Cost of each feature, see :meth:`ranksieve.FeatureCosts.make`; by default all cost the same.
        Only their ratios count. A feature of cost 0 is free. The features of a group with a cost
        share it equally, until one of them is included.
    n_estimators, learning_rate, num_leaves, min_child_samples, params, random_state
        As in :class:`TreeSelector`.
    include, exclude, groups, count, progress
        As in :class:`RankSelector`.

    Attributes
    ----------
    scores_ : array of shape (features,)
        Mean share of the gain; 0 for features in no model with a penalty.
    path_ : list of (feature, score)
    models_ : list of PenalizedTrees
        Without a penalty, then for each tradeoff, the smallest first: ``tradeoff``, in units of
        gain; ``features`` that the model uses, in descending order of their gain; and ``shares``,
        their shares of it. Each is a candidate for a subset of that size.

    Notes
    -----
    Takes 15 trainings for all numbers of features with the default number of tradeoffs, and up to
    5 more if costs are very different. Values are put into bins once. Train the final ranker on the
    selected features without a penalty.

    The penalty is that of the paper, as LightGBM implements it. Tradeoffs relative to the first
    split, the path and both orders are ours. Trees use the first of two equal features, so a copy
    comes last, as do features constant within every query. Trees may change with the order of the
    documents of a query; see :class:`ranksieve.rankers.LambdaMART`. Missing values that the data
    keeps are left to LightGBM. Its distributed training does not support the penalty, so on a Dask
    cluster one process reads all shards and trains, with a byte of memory for most values.

    References
    ----------
    S. Peter, F. Diego, F. A. Hamprecht, B. Nadler. Cost efficient gradient boosting. NIPS 2017.

    Examples
    --------
    >>> from ranksieve import make_ranking
    >>> from ranksieve.selectors import CostEfficientTrees
    >>> data, truth = make_ranking(200, n_informative=2, n_redundant=2, noise=0.1)
    >>> selector = CostEfficientTrees(n_features_to_select=2, n_estimators=20).fit(data)
    >>> sorted(truth.families[selector.selected_].tolist())
    [0, 1]
    >>> sizes = [len(model.features) for model in selector.models_]
    >>> sizes[0] > sizes[-1]
    True
    """

    with_include = (
        "Trees use them without a penalty; the others follow by their shares of the gain."
    )
    with_groups = (
        "A group has the shares of its features together, each of which pays its penalty divided "
        "by their number."
    )

    methods = (
        Method(
            "cegb",
            "share of the gain in boosted trees that pay for features",
            grid=TREE_GRID,
            draws=False,
            trial={"n_estimators": 3, "tradeoffs": 2},
        ),
    )

    _is_nested = True

    _: KW_ONLY
    tradeoffs: Annotated[Any, Interval(Integral, 1, None, closed="left"), "array-like"] = 14
    order: Literal["nested", "sets"] = "nested"
    costs: Costs = None

    @property
    def is_nested(self) -> bool:
        """True with the nested order."""
        return self.order == "nested" and super().is_nested

    def _choose(self, source: Source, choices: Choices) -> list[int]:
        varies = choices.any_of(varying_features(source))
        self.models_ = self._sweep(source, choices)
        priced = self.models_[1:] or self.models_
        self.scores_ = np.mean([_gain_shares(model, choices) for model in priced], axis=0)
        together = choices.total(self.scores_)
        unpriced = choices.total(_gain_shares(self.models_[0], choices))
        if self.order == "nested":
            first = np.lexsort((-unpriced, -together, ~varies)).tolist()
        else:
            first = _from_sets(self.models_, choices, varies)
        others = np.lexsort((-unpriced, ~varies)).tolist()
        groups = choices.take(list(dict.fromkeys([*choices.start, *first, *others])))
        return self._record_path(spread_steps(scored_groups(groups, together), choices))

    def reasons(self) -> list[str]:
        """For each selected feature, its mean share of the gain, and how many models use it."""
        check_is_fitted(self)
        of = f"of {len(self.models_)} models"
        uses = [sum(f in model.features for model in self.models_) for f in self.selected_]
        scores = self.scores_[self.selected_].tolist()
        return [
            f"{score:.1%} of the gain, in {n} {of}" if n else "in no model"
            for score, n in zip(scores, uses, strict=True)
        ]

    def _sweep(self, source: Source, choices: Choices) -> list[PenalizedTrees]:
        check_for_lightgbm("LambdaMART", source)
        for name in _OURS:
            if name in (self.params or {}):
                raise ValueError(f"params has {name}: use the parameters tradeoffs and costs")
        if isinstance(self.tradeoffs, Integral):
            relative, longest = np.geomspace(_LEAST, _MOST, int(self.tradeoffs)), _LONGEST
        else:
            relative, longest = _read_tradeoffs(self.tradeoffs), 0
        prices = self._prices(choices)
        with limit_threads_for(source.n_rows):
            ranker = self._ranker(choices, self.random_state)
            settings = tuple(ranker._dataset_parameters().items())
            return _penalized_path(source, settings, self.n_estimators, prices, relative, longest)

    def _prices(self, choices: Choices) -> np.ndarray:
        """What each feature pays for its first use, relative to the mean of those that pay."""
        costs = self._costs_of_features().take(choices.columns)
        alone = costs.features.copy()
        alone[choices.include] = 0.0
        sizes = np.bincount(costs.group_of + 1)[costs.group_of + 1]
        prices = alone + (costs.marginal(choices.include) - alone) / sizes
        for group in choices.groups or ():
            prices[list(group)] /= len(group)
        return prices / (prices[prices > 0].mean() if prices.any() else 1.0)


def _read_tradeoffs(values: Any) -> np.ndarray:
    """Tradeoffs as an array; a DataError if they are no such numbers."""
    try:
        found = np.array([float(value) for value in values])
    except (TypeError, ValueError):
        raise DataError(f"tradeoffs should be numbers, got {values!r:.60}") from None
    for wrong in found[~(np.isfinite(found) & (found >= 0))][:1]:
        raise DataError(f"tradeoffs should be finite and not negative, got {wrong:g}")
    return np.unique(found[found > 0])


@shared
def _penalized_path(
    source: Source,
    settings: tuple[tuple[str, Any], ...],
    n_trees: int,
    prices: np.ndarray,
    relative: np.ndarray,
    longest: int,
) -> list[PenalizedTrees]:
    """Models without a penalty and with each tradeoff, on values that are put into bins once.

    ``settings`` are parameters of LightGBM. ``relative`` has ascending tradeoffs, extended at most
    ``longest`` times, as long as the last model uses more than one feature with a price.
    """
    data, advance = dataset_of(blocks_of(source)), track("Tradeoffs", 1 + len(relative))

    models: list[PenalizedTrees] = []

    def add_model(tradeoff: float) -> Any:
        penalties = {_PENALTIES: (tradeoff * prices).tolist()} if tradeoff else {}
        with lightgbm_errors():
            booster = train(dict(settings) | penalties, data, n_trees)
        gains, used = booster.feature_importance("gain"), booster.feature_importance("split") > 0
        order = np.argsort(np.where(used, -gains, np.inf), kind="stable")[: used.sum()]
        shares = gains[order] / (gains.sum() or 1.0)
        models.append(PenalizedTrees(tradeoff, tuple(order.tolist()), shares))
        advance(1)
        return booster

    trees = add_model(0.0).dump_model(num_iteration=1)["tree_info"]
    unit = float(trees[0]["tree_structure"].get("split_gain", 0.0)) if trees else 0.0
    if not unit or not prices.any():
        return models
    for tradeoff in relative:
        add_model(float(tradeoff) * unit)
    while longest and np.count_nonzero(prices[list(models[-1].features)]) > 1:
        add_model(_FACTOR * models[-1].tradeoff)
        longest -= 1
    return models


def _gain_shares(model: PenalizedTrees, choices: Choices) -> np.ndarray:
    """Share of the gain of each feature."""
    shares = np.zeros(choices.n_features)
    shares[list(model.features)] = model.shares
    return shares


def _from_sets(models: Sequence[PenalizedTrees], choices: Choices, varies: np.ndarray) -> list[int]:
    """Positions of groups: the largest set of a model that fits, and then the next larger one."""
    sets = [_set_of(model, choices, varies) for model in models]
    sizes = [choices.size_of(positions) for positions in sets]
    fitting = [n for n, size in enumerate(sizes) if size <= choices.k]
    larger = [n for n, size in enumerate(sizes) if size > choices.k]
    best = [max(fitting, key=lambda n: sizes[n])] if fitting else []
    best += [min(larger, key=lambda n: sizes[n])] if larger else []
    return [position for number in best for position in sets[number]]


def _set_of(model: PenalizedTrees, choices: Choices, varies: np.ndarray) -> list[int]:
    """Groups that a model uses, those to start with first, then by their gain."""
    used = np.zeros(choices.n_features, dtype=bool)
    used[list(model.features)] = True
    positions = np.flatnonzero(choices.any_of(used) & varies)
    gains = choices.total(_gain_shares(model, choices))[positions]
    ordered = positions[np.argsort(-gains, kind="stable")]
    return list(dict.fromkeys([*choices.start, *ordered.tolist()]))
