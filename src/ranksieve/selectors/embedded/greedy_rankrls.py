"""Greedy RankRLS: forward selection by exact leave-query-out errors of pairwise least squares."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
from sklearn.utils import check_random_state

from ranksieve.base import Choices
from ranksieve.engine import Source, engine_of, fits_in_memory
from ranksieve.metrics import Measure, get_convention, parse_measure
from ranksieve.parameters import (
    ConventionChoice,
    Costs,
    Count,
    FeatureCount,
    NotNegative,
    Positive,
    Seed,
    Ties,
    Weight,
)
from ranksieve.rankers.rankrls import LAMS
from ranksieve.registry import Method
from ranksieve.selectors._search import searches
from ranksieve.selectors._search.leave_query_out import LinearPathSelector
from ranksieve.selectors._search.searches import AnyFit, Bounds, Fit, MeasuredFit, check_two_queries
from ranksieve.solvers.rankrls.features import FeatureModel, KeptResiduals, MeasuredResiduals
from ranksieve.solvers.rankrls.groups import GroupModel, GroupProducts, GroupResiduals
from ranksieve.sums.gram import GramSums

_BLOCK = 2**22  # bytes; calling a worker costs as much as a pass over a tenth of this


@dataclass(eq=False, repr=False)
class GreedyRankRLS(LinearPathSelector):
    r"""Greedy RankRLS: repeatedly add the feature whose model best ranks left-out queries.

    The model is least squares on pairs of documents of a query,

    .. math:: \min_w \sum_Q \frac{1}{2 |Q|} \sum_{i, j \in Q}
              (y_i - y_j - w^T x_i + w^T x_j)^2 + \lambda \|w\|^2 .

    Each step adds the feature after which the sum over queries of the same loss, each of a model
    trained without that query, is smallest. These leave-query-out errors are exact, and those of
    all candidates take one pass over the data.

    Parameters
    ----------
    n_features_to_select : int, float, "best" or "one-se"
        Number of features, or a fraction of them if below 1; or the number with the smallest
        leave-query-out error; or the smallest number within one standard error of that.
    lam : float
        Regularization :math:`\lambda > 0`.
    criterion : "squared", str or Measure
        Leave-query-out squared loss, or a measure of the leave-query-out predictions, such as
        ``"map"`` or ``"ndcg@10"``. A measure needs sorting and takes several times as long.
    search : {"forward", "floating", "foba"}
        Only add features; or also remove features if that gives the best model of its size; or
        remove features whose removal has come to cost little (FoBa, which may stop before the
        number of features is reached). The latter two need the squared criterion.
    kappa : int, optional
        Try this number of random features in each step instead of all. With 59, one of the best 5 %
        is among them with a probability of 95 %.
    memory : {"auto", "full", "low"}
        Keep the residuals of all features, about twice the size of the data, or compute them again
        in each step; ``"auto"`` keeps them if there is room.
    storage : {"float64", "float32"}
        Type of the stored residuals; sums are float64.
    rotate : bool
        Whether to replace queries with more documents than features by as many rows as there are
        features and labels. Squared errors stay the same.
    max_features : int, optional
        Largest size on the path if the error chooses the number of features; by default all.
    epsilon, nu : float
        For FoBa: the smallest gain of an addition, and the fraction of it that a removal may cost.
    convention, ties
        Those of a measure as criterion; see :mod:`ranksieve.metrics`.
    costs : FeatureCosts, mapping, array or frame, optional
        Costs of features; see :meth:`ranksieve.FeatureCosts.make`. Each step adds the feature with
        the largest decrease of the error per added cost. By default every feature costs 1.
    budget : float, optional
        Largest cost of the selected features. The search is run by the decrease per cost and by the
        decrease alone, and the smaller error wins. Costs and a budget need the forward search and
        no ``kappa``.
    random_state : int, RandomState or None
        Random seed of the candidates.
    include, exclude, groups, count, progress
        As in :class:`RankSelector`.

    Attributes
    ----------
    selected_ : int array
        Features in the order of selection.
    coef_ : array of shape (features,)
        Weights; 0 for features that are not selected.
    fits_ : list of Fit or MeasuredFit
        Models of 1, 2, ... features: ``features``, ``coef``, the leave-query-out ``error`` and its
        standard error ``deviation``. With a measure as criterion, ``value`` takes the place of the
        error: the mean over queries of the measure. :meth:`at` gives any smaller selection.
    path_ : list of (feature, score)
        Each selected feature, and the error or value of the model of that size.
    cost_ : float
        Cost of the selected features; only with costs or a budget.

    Notes
    -----
    Takes O(k m n) time for m documents, n features and k steps, and O(m n^2) once for products of
    features. Memory bandwidth limits its speed. With low memory, ``kappa`` or groups of several
    features, a step takes O(m c (s + p)) time for c features that are tried, s in the model and p
    in a group; storage and rotation have no effect. Features constant within every query come
    last. Leave-query-out needs two queries of two documents. A query of weight w counts w times in
    the model and in the error, and is left out as a whole; if its copies were left out one by one,
    the others would reveal its labels.

    The better of the two searches within a budget has a guarantee if gains are submodular (Leskovec
    et al. 2007); these are not, so it is a heuristic. With equal costs, costs change nothing.

    The paper gives the model, the criterion and the algorithm, whose printed form has errors that
    are corrected here. The other searches, the rules, rotation, and steps with a single pass over
    the data are ours.

    References
    ----------
    T. Pahikkala, A. Airola, P. Naula, T. Salakoski. Greedy RankRLS: a linear time algorithm for
    learning sparse ranking models. SIGIR 2010 workshop on feature generation and selection.

    J. Leskovec, A. Krause, C. Guestrin, C. Faloutsos, J. VanBriesen, N. Glance. Cost-effective
    outbreak detection in networks. KDD 2007. (Costs.)

    Examples
    --------
    >>> from ranksieve import make_ranking
    >>> from ranksieve.selectors import GreedyRankRLS
    >>> data, truth = make_ranking(200, n_informative=3, n_redundant=0, noise=0.1)
    >>> selector = GreedyRankRLS(n_features_to_select=3).fit(data)
    >>> sorted(selector.selected_.tolist()) == truth.informative.tolist()
    True
    >>> selector.at(2).selected_.tolist() == selector.selected_[:2].tolist()
    True
    """

    with_groups = (
        "Each step adds the group whose features together give the smallest error. Needs "
        "criterion='squared'."
    )

    methods = (
        Method(
            "greedy-rankrls",
            "exact leave-query-out error of pairwise least squares",
            grid={"lam": LAMS},
            draws=False,
        ),
    )

    n_features_to_select: FeatureCount | Literal["best", "one-se"] = 10
    _: KW_ONLY
    lam: Positive = 1.0
    criterion: str | Measure = "squared"
    search: Literal["forward", "floating", "foba"] = "forward"
    kappa: Count | None = None
    memory: Literal["auto", "full", "low"] = "auto"
    storage: Literal["float64", "float32"] = "float64"
    rotate: bool = True
    max_features: Count | None = None
    epsilon: NotNegative = 0.0
    nu: Weight = 0.5
    convention: ConventionChoice = "standard"
    ties: Ties = "average"
    costs: Costs = None
    budget: NotNegative | None = None
    random_state: Seed = 0

    @property
    def is_nested(self) -> bool:
        """True with the forward search, which removes nothing, and without a budget."""
        return self.search == "forward" and self.budget is None and super().is_nested

    @property
    def cost_(self) -> float:
        """Cost of the selected features."""
        costs = getattr(self, "_costs", None)
        if costs is None:
            raise AttributeError("cost_ exists only after fit with costs or a budget")
        return float(costs.total(self.selected_))

    @property
    def _has_costs(self) -> bool:
        return self.costs is not None or self.budget is not None

    @property
    def _greater_is_better(self) -> bool:
        return self.criterion != "squared" and parse_measure(self.criterion).greater_is_better

    def _choose(self, source: Source, choices: Choices) -> list[int]:
        (self.fits_,) = self._paths(source, choices, [self.lam])
        return self._use_model(self._position_on(self.fits_, choices), source.n_features)

    def _paths(
        self, source: Source, choices: Choices, lams: Sequence[float]
    ) -> Sequence[Sequence[AnyFit]]:
        """Models of 1 to k features for each regularization; they share products of features."""
        self._check(choices)
        self._costs = self._costs_of_features() if self._has_costs else None
        statistic, *parameters = self._statistic(source, choices)
        with engine_of(source, _BLOCK).start(statistic, *parameters) as workers:
            n_queries, weight = workers.sum(statistic.n_queries)
            check_two_queries(n_queries)
            make: Callable[..., Any]
            if statistic is GroupResiduals:
                groups = [choices.features_of([group]) for group in range(choices.n_groups)]
                products = GroupProducts(workers, groups)
                make, varies = partial(GroupModel, products), products.varies
            else:
                gram = GramSums(*workers.sum(statistic.gram))
                make, varies = partial(FeatureModel, workers, gram), gram.varies
            bounds = Bounds(weight, varies, choices)
            paths = [self._run_search(partial(make, lam=lam), bounds) for lam in lams]
        if self.criterion == "squared":
            return paths
        # Means of the measure instead of the sums that the search lowers.
        sign = -1.0 if self._greater_is_better else 1.0
        return [
            [
                MeasuredFit(
                    fit.features, fit.coef, sign * fit.error / weight, fit.deviation / weight
                )
                for fit in path
            ]
            for path in paths
        ]

    def _statistic(self, source: Source, choices: Choices) -> tuple[Any, ...]:
        """Statistic to start on the data, and its parameters."""
        if self.criterion != "squared":
            convention = get_convention(self.convention, self.ties)
            return MeasuredResiduals, self.storage, parse_measure(self.criterion), convention
        is_low = self.memory == "low" or self.kappa is not None or choices.has_several
        if self.memory == "auto" and not is_low:
            width = np.dtype(self.storage).itemsize
            rows = 2 * width * source.n_features + 8 * choices.k  # bytes per row, a bit too many
            is_low = not fits_in_memory(source, source.n_rows * rows)
        return (GroupResiduals,) if is_low else (KeptResiduals, self.storage, self.rotate)

    def _run_search(self, make: Callable[[], Any], bounds: Bounds) -> list[Fit]:
        """Path of one search; ``make`` makes a model without features."""
        if self.kappa is not None:
            random = check_random_state(self.random_state)
            bounds = bounds._replace(kappa=self.kappa, random=random)
        if self.search == "floating":
            return searches.floating(make(), bounds)
        if self.search == "foba":
            return searches.foba(make(), bounds, self.epsilon, self.nu)
        if self._costs is None:
            return searches.forward(make(), bounds)
        costs = self._costs.take(bounds.choices.columns)
        by_last = not isinstance(self.n_features_to_select, str)
        return searches.forward_with_costs(make, bounds, costs, self.budget, by_last=by_last)

    def _check(self, choices: Choices) -> None:
        """Raise a ValueError if parameters exclude each other."""
        if choices.has_several and self.criterion != "squared":
            raise ValueError("groups need criterion='squared'")
        special = self.search != "forward" or self.kappa is not None
        if special and (self._has_costs or self.criterion != "squared"):
            what = "costs and a budget need" if self._has_costs else "a measure as criterion needs"
            raise ValueError(f"{what} search='forward' and no kappa")
        if self.search != "forward" and self.kappa is not None:
            raise ValueError("kappa needs search='forward'")
        if self.memory == "low" and self.criterion != "squared":
            raise ValueError("a measure as criterion needs memory='full'")
