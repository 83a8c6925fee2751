"""Sequential selection with any ranker."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from itertools import chain
from typing import Literal

import numpy as np

from ranksieve.base import Choices
from ranksieve.data import RankingData
from ranksieve.parameters import Count
from ranksieve.rankers.base import Ranker
from ranksieve.registry import Method
from ranksieve.selectors._search.held_out import Fold
from ranksieve.selectors._search.searches import (
    Bounds,
    Fit,
    MeasuredFit,
    Step,
    backward,
    best_fit,
    floating,
    forward,
)
from ranksieve.selectors._search.wrapper import HeldOutValues, WrapperSelector, varying_groups
from ranksieve.sums.held_out import orient


@dataclass(eq=False, repr=False)
class SequentialSelector(WrapperSelector):
    """Repeatedly add the feature that helps a ranker most, or remove the one that helps least.

    Candidates are evaluated on held-out queries, by rankers trained on the others.

    Parameters
    ----------
    ranker : Ranker, LGBMRanker, XGBRanker or CatBoostRanker, optional
        Ranker to train; :class:`ranksieve.rankers.RankRLS` by default.
    n_features_to_select : int, float, "best", "one-se" or "tolerance"
        Number of features, or a fraction of them if below 1. Or, among all sizes that the search
        tried: the one with the best value; the smallest within one standard error of it; the
        smallest within ``tol`` of it.
    direction : {"forward", "backward"}
        Start with no features and add, or start with all and remove.
    floating : bool
        Whether to remove features after each addition, as long as that gives the best subset of its
        size so far (SFFS). Only with ``direction="forward"``.
    measure : str or Measure
        Measure by which subsets are compared.
    cv : int, "leave-query-out", or list of splits or of pairs (train, test)
        Number of parts of the queries, each of which is held out once; or hold out each query once;
        or given splits of 0-based query positions. Ignored if there is an ``eval_set``.
    patience : int, optional
        If the number of features is chosen by the value, end a forward search after this many
        additions without a better one.
    tol : float
        For ``"tolerance"``: how much worse the mean may be.
    convention, ties
        Convention of the measure; see :mod:`ranksieve.metrics`.
    checkpoint : path, optional
        File for the values of all subsets. If it exists, the search resumes from it and gives the
        same result, bit for bit.
    random_state : int, RandomState or None
        Random seed of the division of queries.
    include, exclude, groups, count, progress
        As in :class:`RankSelector`.

    Attributes
    ----------
    selected_ : int array
        Features in the order of selection; after a backward search, the most important one first.
    path_ : list of (feature, score)
        Each selected feature, and the mean value of the subset of that size, or of the smallest
        subset that was tried.
    fits_ : list of MeasuredFit
        The best subset of each size: ``features``; ``value``, the mean over held-out queries of the
        measure; ``deviation``, the standard error of that.
    values_ : array of shape (sizes, queries)
        The measure of each held-out query, fold by fold, for each of ``fits_``; NaN where a query
        has no value, as in :func:`ranksieve.metrics.evaluate`.
    n_trained_ : int
        Number of subsets that were trained, each once per fold.
    ranker_ : Ranker
        Ranker trained on the selected features of all data; see :meth:`predict`. Parameters of
        LightGBM, XGBoost and CatBoost with one value per feature, such as
        ``monotone_constraints``, are reduced along with the features.

    Notes
    -----
    Trains O(n k) subsets forward and O(n (n - k)) backward for n features, each once on every fold,
    in parallel, each on one thread. Shards are read into memory. Which queries a number as ``cv``
    holds out together depends on the seed and on their order in the data. Ties go to the first
    feature; features constant within every query come last. :class:`GreedyRankRLS` does the same
    for RankRLS in the time of a few trainings.

    References
    ----------
    P. Pudil, J. Novovicova, J. Kittler. Floating search methods in feature selection. Pattern
    Recognition Letters 15, 1994.

    Examples
    --------
    >>> from lightgbm import LGBMRanker
    >>> from ranksieve import make_ranking
    >>> from ranksieve.selectors import SequentialSelector
    >>> data, truth = make_ranking(60, n_informative=2, n_redundant=0, n_noise=2, noise=0.1)
    >>> ranker = LGBMRanker(n_estimators=10, verbosity=-1)
    >>> selector = SequentialSelector(ranker, n_features_to_select=2, cv=3).fit(data)
    >>> sorted(selector.selected_.tolist()) == truth.informative.tolist()
    True
    """

    methods = (
        Method(
            "sequential",
            "add what helps a ranker most, or drop what helps least",
            draws=False,
            trial={"cv": 2},
        ),
    )

    _: KW_ONLY
    direction: Literal["forward", "backward"] = "forward"
    floating: bool = False
    patience: Count | None = None

    _is_nested = True

    @property
    def is_nested(self) -> bool:
        """True with a forward search that removes nothing, without groups."""
        return self.direction == "forward" and not self.floating and super().is_nested

    def _search(
        self, data: RankingData, fold: Fold | None, ranker: Ranker, choices: Choices
    ) -> list[int]:
        if self.floating and self.direction == "backward":
            raise ValueError("floating=True needs direction='forward'")
        held_out = self._held_out(data, self._folds(data, fold), ranker)
        model = SubsetModel(held_out, choices)
        total = float(held_out.weights.sum())
        bounds = Bounds(total, varying_groups(data, choices), choices)
        if self.direction == "backward":
            model.chosen = list(range(choices.n_groups))
            fits = backward(model, bounds, to_the_end=self._by_value)
            fits[0] = _by_importance(fits[0], model)
        elif self.floating:
            fits = floating(model, bounds)
        else:
            fits = forward(model, bounds, self.patience if self._by_value else None)
        self.n_trained_ = held_out.n_trained
        smallest = len(choices.groups_of(fits[0].features))
        position = -1 if self.direction == "forward" else 0
        if self._by_value:
            least = max(1, len(choices.start)) - smallest + 1
            rule = str(self.n_features_to_select)
            position = best_fit(fits, rule, least, tol=self.tol * total)
        return self._keep(fits, fits[position], model)

    def _keep(self, fits: list[Fit], chosen: Fit, model: SubsetModel) -> list[int]:
        self.values_ = np.array([model.values(fit.features) for fit in fits])
        values = np.average(self.values_, axis=1, weights=model.weights).tolist()
        self.values_[:, ~model.held_out.is_defined] = np.nan
        choices, total = model.choices, float(model.weights.sum())
        self.fits_ = [
            MeasuredFit(fit.features, fit.coef, value, fit.deviation / total)
            for fit, value in zip(fits, values, strict=True)
        ]
        sizes = [len(choices.groups_of(fit.features)) for fit in fits]
        means = dict(zip(sizes, values, strict=True))
        # Groups of smaller subsets come first.
        within = [fit.features for fit in fits if set(fit.features) <= set(chosen.features)]
        order = dict.fromkeys([*choices.start, *choices.groups_of(chain(*within))])
        steps = [
            Step(feature, means.get(size, means[min(means)]))
            for size, group in enumerate(choices.take(list(order)), start=1)
            for feature in choices.features_of([group])
        ]
        return self._record_path(steps)


def _by_importance(fit: Fit, model: SubsetModel) -> Fit:
    """Smallest subset of a backward search, its most important group first."""
    groups = model.choices.groups_of(fit.features)
    if len(groups) == 1:
        return fit
    order = np.argsort(-model.removal_errors(groups), kind="stable")
    return fit._replace(features=tuple(model.choices.features_of([groups[i] for i in order])))


class SubsetModel:
    """A subset of groups of features, for :mod:`ranksieve.selectors._search.searches`."""

    def __init__(self, held_out: HeldOutValues, choices: Choices) -> None:
        self.held_out = held_out
        self.choices = choices
        self.weights = held_out.weights
        self.chosen: list[int] = []  # positions of its groups, in the order of addition
        self.coefficients = np.empty(0)

    def values(self, features: Sequence[int]) -> np.ndarray:
        """Value of each held-out query with some features."""
        return self.held_out.values([tuple(features)])[0]

    @property
    def error(self) -> float:
        """Sum over held-out queries of 1 minus the measure, or of the measure if it is an error."""
        return float(self._errors([self.chosen])[0])

    @property
    def square(self) -> float:
        """Sum over held-out queries of the squares of these errors."""
        errors = 1.0 - orient(
            self.values(self.choices.features_of(self.chosen)), self.held_out.measure
        )
        return float(np.sum(self.weights * errors**2))

    def change(self, group: int) -> None:
        """Add a group, or remove it if it is in the subset."""
        if group in self.chosen:
            self.chosen.remove(group)
        else:
            self.chosen.append(group)

    def addition_errors(self, candidates: np.ndarray) -> np.ndarray:
        """Error after adding each of some groups."""
        return self._errors([[*self.chosen, position] for position in candidates.tolist()])

    def removal_errors(self, candidates: Sequence[int]) -> np.ndarray:
        """Error after removing each of some groups."""
        return self._errors(
            [[other for other in self.chosen if other != position] for position in candidates]
        )

    def _errors(self, subsets: list[list[int]]) -> np.ndarray:
        features = [tuple(self.choices.features_of(subset)) for subset in subsets]
        values = [orient(value, self.held_out.measure) for value in self.held_out.values(features)]
        return np.array([np.sum(self.weights * (1.0 - value)) for value in values])
