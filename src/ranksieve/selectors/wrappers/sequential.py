"""Sequential selection around any ranker."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from ranksieve.data import RankingData
from ranksieve.metrics import Convention, Measure
from ranksieve.rankers.base import Ranker
from ranksieve.registry import Method
from ranksieve.selectors._search.choices import check_choices
from ranksieve.selectors._search.fits import Fit, best_fit
from ranksieve.selectors._search.greedy import Step
from ranksieve.selectors._search.held_out import Fold, FoldValues
from ranksieve.selectors._search.searches import Bounds, backward, floating, forward
from ranksieve.selectors._search.wrapper import WrapperSelector, varying


class SequentialSelector(WrapperSelector):
    """Add the feature that helps a ranker most, or remove the one that it misses least.

    Candidates are evaluated on held-out queries, by rankers trained on the others.

    Parameters
    ----------
    ranker : Ranker, LGBMRanker, XGBRanker or CatBoostRanker, optional
        Ranker to train; :class:`ranksieve.rankers.RankRLS` by default.
    n_features_to_select : int, float, "best", "one_se" or "tolerance"
        Number of features, or a fraction of them if below 1. Or, among all sizes that the search
        tried: the one with the best value; the smallest within one standard error of it; the
        smallest within ``tol`` of it. With ``groups``, the number of groups.
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
    include, exclude : int, str, or sequences of them
        Features that must, or must not, be selected: 0-based indices or names.
    groups : list of lists, mapping of names to lists, or sequence of labels, optional
        Features to add and remove together: lists of indices or names, or a label for each feature.
        Features in no list are groups of their own.
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
    verbose : bool
        Whether to show progress on a terminal.

    Attributes
    ----------
    selected_ : int array
        Features in the order of selection; after a backward search, the one missed most first.
    path_ : list of (feature, score)
        Each selected feature, and the mean value of the subset of that size, or of the smallest
        subset that was tried.
    fits_ : list of Fit
        The best subset of each size: ``features``; ``error``, the sum over held-out queries of 1
        minus the value; ``deviation``, the standard error of that.
    values_ : array of shape (sizes, queries)
        Value of each held-out query, fold by fold, for each of ``fits_``.
    n_trained_ : int
        Number of subsets that were trained, each once per fold.
    n_groups_ : int
        Number of selected groups; only with ``groups``.
    ranker_ : Ranker
        Ranker trained on the selected features of all data; see :meth:`predict`. Parameters of
        LightGBM, XGBoost and CatBoost with one value per feature, such as
        ``monotone_constraints``, are reduced along with the features.

    Notes
    -----
    Trains O(n k) subsets forward and O(n (n - k)) backward for n features, each on every fold. No
    subset is trained twice. Trainings run in parallel, each on one thread. Shards are read into
    memory. Ties go to the first feature; features constant within every query come last. Use it for
    at most a few hundred features and a ranker that trains in a second; otherwise use
    :class:`GreedyRankRLS`, which does the same for RankRLS in the time of a few trainings, or
    :class:`EliminationSelector`.

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

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **WrapperSelector._parameter_constraints,
        "direction": [StrOptions({"forward", "backward"})],
        "floating": ["boolean"],
        "patience": [Interval(Integral, 1, None, closed="left"), None],
    }

    def __init__(
        self,
        ranker: Any = None,
        n_features_to_select: float | Literal["best", "one_se", "tolerance"] = 10,
        *,
        direction: Literal["forward", "backward"] = "forward",
        floating: bool = False,
        measure: str | Measure = "ndcg@10",
        cv: Any = 5,
        include: Sequence[int | str] | int | str = (),
        exclude: Sequence[int | str] | int | str = (),
        groups: Any = None,
        patience: int | None = None,
        tol: float = 0.001,
        convention: str | Convention = "standard",
        ties: Literal["average", "stable"] = "average",
        checkpoint: Any = None,
        random_state: Any = 0,
        verbose: bool = False,
    ) -> None:
        self.ranker = ranker
        self.n_features_to_select = n_features_to_select  # type: ignore[assignment]
        self.direction = direction
        self.floating = floating
        self.measure = measure
        self.cv = cv
        self.include = include
        self.exclude = exclude
        self.groups = groups
        self.patience = patience
        self.tol = tol
        self.convention = convention
        self.ties = ties
        self.checkpoint = checkpoint
        self.random_state = random_state
        self.verbose = verbose

    _is_nested = True

    @property
    def is_nested(self) -> bool:
        """True with a forward search that removes nothing, without groups."""
        return self.direction == "forward" and not self.floating and super().is_nested

    def reasons(self) -> list[str]:
        """For each selected feature, the change of the mean value."""
        check_is_fitted(self)
        scores = [step.score for step in self.path_]
        before = [None, *scores[:-1]]
        pairs = zip(scores, before, strict=True)
        return ["" if last is None else f"{score - last:+.4f}" for score, last in pairs]

    def _search(self, data: RankingData, given: Fold | None, ranker: Ranker, k: int) -> list[int]:
        if self.floating and self.direction == "backward":
            raise ValueError("floating=True needs direction='forward'")
        groups = self._groups(data.n_features)
        include, exclude = (self._listed(name, data, groups) for name in ("include", "exclude"))
        by_value = isinstance(self.n_features_to_select, str)
        if by_value:
            k = len(groups) - len(exclude)
        check_choices(k, [self._name_of(min(group)) for group in groups], include, exclude)
        held_out = self._held_out(data, self._folds(data, given), ranker)
        model = SubsetModel(held_out, groups)
        differs = varying(data)
        varies = np.array([differs[list(group)].any() for group in groups])
        bounds = Bounds(held_out.n_queries, varies, include, exclude)
        if self.direction == "backward":
            model.start_with([place for place in range(len(groups)) if place not in exclude])
            fits = backward(model, max(1, len(include)) if by_value else k, bounds)
            fits[0] = _by_importance(fits[0], model)
        elif self.floating:
            fits = floating(model, k, bounds)
        else:
            fits = forward(model, k, bounds, self.patience if by_value else None)
        self.n_trained_ = held_out.n_trained
        smallest = len(fits[0].features)
        place = -1 if self.direction == "forward" else 0
        if by_value:
            least = max(1, len(include)) - smallest + 1
            rule = str(self.n_features_to_select)
            place = best_fit(fits, rule, least, tol=self.tol * held_out.n_queries)
        return self._keep(fits, fits[place], model)

    def _keep(self, fits: list[Fit], chosen: Fit, model: SubsetModel) -> list[int]:
        self.values_ = np.array([model.values(fit.features) for fit in fits])
        self.fits_ = [fit._replace(features=model.features_of(fit.features)) for fit in fits]
        sizes = [len(fit.features) for fit in fits]
        means = dict(zip(sizes, self.values_.mean(axis=1).tolist(), strict=True))
        steps = enumerate(_in_order(chosen, fits), start=1)
        self.path_ = [
            Step(feature, means.get(size, means[min(means)]))
            for size, place in steps
            for feature in model.groups[place]
        ]
        return [step.feature for step in self.path_]


def _in_order(chosen: Fit, fits: list[Fit]) -> list[int]:
    """Groups of a subset, those of smaller subsets first."""
    within = [fit for fit in fits if set(fit.features) <= set(chosen.features)]
    return list(dict.fromkeys(place for fit in within for place in fit.features))


def _by_importance(fit: Fit, model: SubsetModel) -> Fit:
    """The smallest subset of a backward search, the group that is missed most first."""
    if len(fit.features) == 1:
        return fit
    errors = model.removal_errors(list(fit.features))
    order = np.argsort(-errors, kind="stable")
    return fit._replace(features=tuple(fit.features[place] for place in order))


class SubsetModel:
    """A subset of groups of features, for :mod:`ranksieve.selectors._search.searches`.

    Attributes
    ----------
    features : list of int
        Positions of its groups, in the order in which they were added.
    """

    def __init__(self, held_out: FoldValues, groups: list[tuple[int, ...]]) -> None:
        self.held_out = held_out
        self.groups = groups
        self.features: list[int] = []
        self.coefficients = np.empty(0)

    def start_with(self, places: list[int]) -> None:
        """Start with these groups."""
        self.features = list(places)

    def features_of(self, places: Sequence[int]) -> tuple[int, ...]:
        """Features of groups."""
        return tuple(feature for place in places for feature in self.groups[place])

    def values(self, places: Sequence[int]) -> np.ndarray:
        """Value of each held-out query."""
        return self.held_out.values([self.features_of(places)])[0]

    @property
    def error(self) -> float:
        """Sum over held-out queries of 1 minus the value."""
        return float(np.sum(1.0 - self.values(self.features)))

    @property
    def square(self) -> float:
        """Sum of squares of the same."""
        return float(np.sum((1.0 - self.values(self.features)) ** 2))

    def change(self, feature: int) -> None:
        """Add a group, or remove it."""
        if feature in self.features:
            self.features.remove(feature)
        else:
            self.features.append(feature)

    def addition_errors(self, candidates: np.ndarray) -> np.ndarray:
        """Error after adding each of some groups."""
        return self._errors([[*self.features, place] for place in candidates.tolist()])

    def removal_errors(self, candidates: Sequence[int]) -> np.ndarray:
        """Error after removing each of some groups."""
        return self._errors(
            [[other for other in self.features if other != place] for place in candidates]
        )

    def _errors(self, subsets: list[list[int]]) -> np.ndarray:
        values = self.held_out.values([self.features_of(subset) for subset in subsets])
        return np.array([np.sum(1.0 - value) for value in values])
