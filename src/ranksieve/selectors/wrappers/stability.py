"""Stability selection: features selected most often on random halves of the queries."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import KW_ONLY, dataclass
from math import isqrt
from numbers import Integral, Real
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from sklearn.utils._param_validation import HasMethods, Interval
from sklearn.utils.validation import check_is_fitted

from ranksieve.base import Choices, PerFeature, RankSelector
from ranksieve.data import DataError, RankingData
from ranksieve.engine import Source, in_memory
from ranksieve.parameters import Count, FeatureCount, Seed, Weight
from ranksieve.progress import track
from ranksieve.registry import Method
from ranksieve.selectors._search.filters import SimilarityChoice, scored_steps
from ranksieve.selectors._search.held_out import counted_queries
from ranksieve.selectors._search.wrapper import in_parallel, varying_groups
from ranksieve.selectors.registry import SELECTORS, make_method
from ranksieve.significance import false_selections_bound, near_copies, selection_probabilities
from ranksieve.splits import complementary_halves
from ranksieve.sums.similarity import Similarity
from ranksieve.sums.varying import vary_within_queries

Threshold = Annotated[float, Interval(Real, 0.5, 1, closed="right")]


@dataclass(eq=False, repr=False)
class StabilitySelector(RankSelector):
    r"""Features that another selector selects most often, on random halves of the queries.

    Divides the queries B times into two halves, runs the selector on each, and keeps features with

    .. math:: \Pi_f = \frac{\text{runs that select } f}{2 B} \ge \tau

    The expected number of kept features that a run on a half selects with a probability of at most
    q / p, as if at random, is at most :math:`q^2 / ((2 \tau - 1) p)` for p features, of which a run
    selects q on average. That holds for every selector.

    Parameters
    ----------
    selector : str or selector
        Name of a method, or a selector of this library, scikit-learn or your own.
    parameters : dict, optional
        Parameters of the selector, such as ``{"c": 0.1}``.
    n_features_to_select : int, float or None
        Number of features, or a fraction of them if below 1: those that are selected most often.
        None keeps those with a probability of at least ``threshold``, of which there may be none.
    n_features_per_run : int, float, "own" or None
        Number of features that each run selects. None selects as many as keep the bound at 1 or
        below, but at least one; ``"own"`` leaves the number to the selector.
    n_pairs : int
        Number B of pairs of halves.
    threshold : float
        The :math:`\tau` above: more than 0.5, and at most 1.
    similarity : str, callable or Similarity
        Similarity of two features, by which near-copies are found; see :class:`GAS`.
    copy_similarity : float
        Smallest similarity of near-copies.
    random_state : int, RandomState or None
        Random seed of the halves, and of each run of a selector that has a random seed.
    include, exclude, groups, count, progress
        As in :class:`RankSelector`.

    Attributes
    ----------
    selected_, path_ : int array, list of (feature, score)
        Features by descending probability; ties go to those that runs select earlier on average.
    probabilities_, scores_ : array of shape (features,)
        Share of the runs that select each feature.
    cluster_probabilities_ : array of shape (features,)
        Share of the runs that select the feature or any of its near-copies. If a feature's own
        probability is far below this one, the feature is not useless but replaceable.
    clusters_ : int array of shape (features,)
        Cluster of each feature. Near-copies, and features connected by them, share a cluster.
    n_selected_ : float
        Mean number q of features that a run selects.
    bound_ : float
        The bound above on the expected number of features that reach ``threshold`` by chance.
    runs_ : bool array of shape (2 B, features)
        Features that each run selected; the two halves of a pair are adjacent.

    Notes
    -----
    Takes 2 B runs on half of the queries, several at a time, each with one thread; and the
    similarity of all pairs of features. Queries of weight 0 are in no half, and a half in which no
    query has different labels selects nothing. Features constant within every query come last. With
    groups, the bound counts groups. Shards are read into memory.

    The bound does not say that the other features are useful: a feature that is selected for a
    reason may still not help your ranker.

    References
    ----------
    N. Meinshausen, P. Buehlmann. Stability selection. Journal of the Royal Statistical Society B
    72(4), 2010. Halves in complementary pairs, and their bound: R. D. Shah, R. J. Samworth,
    Variable selection with error control, 75(1), 2013.

    Examples
    --------
    >>> from ranksieve import make_ranking
    >>> from ranksieve.selectors import StabilitySelector
    >>> data, truth = make_ranking(60, n_informative=2, n_redundant=0, n_noise=8, noise=0.1)
    >>> selector = StabilitySelector("gas-e", n_features_per_run=2, n_pairs=10).fit(data)
    >>> sorted(selector.selected_.tolist()) == truth.informative.tolist()
    True
    >>> round(selector.bound_, 3)
    0.8
    """

    with_include = "They come first. The runs on halves ignore them."
    with_groups = "A run that selects a feature of a group selects the group."

    methods = (
        Method(
            "stability",
            "features that a method selects on most halves of queries",
            trial={"selector": "ig", "n_pairs": 2},
        ),
    )

    works_on_shards = False
    _per_feature: ClassVar[dict[str, PerFeature]] = {
        **RankSelector._per_feature,
        "probabilities_": PerFeature(),
        "cluster_probabilities_": PerFeature(),
        "clusters_": PerFeature(fill=-1),
        "runs_": PerFeature((1,), fill=False),
    }
    _is_nested = True

    selector: Annotated[Any, str, HasMethods("fit")] = "bt-influence"
    n_features_to_select: FeatureCount | None = None
    _: KW_ONLY
    parameters: dict[str, Any] | None = None
    n_features_per_run: FeatureCount | Literal["own"] | None = None
    n_pairs: Count = 50
    threshold: Threshold = 0.75
    similarity: SimilarityChoice = Similarity("tau_b", absolute=True)
    copy_similarity: Weight = 0.95
    random_state: Seed = 0

    @property
    def is_nested(self) -> bool:
        """True if the runs can be repeated."""
        seed = getattr(self._inner(), "random_state", 0)
        return super().is_nested and isinstance(seed, Integral)

    @property
    def takes_missing(self) -> bool:  # type: ignore[override]
        """Whether the selector takes missing values."""
        return bool(self._inner().takes_missing)

    @property
    def no_row_weights(self) -> str:  # type: ignore[override]
        """Why the selector takes no weights of rows; empty if it does."""
        return str(self._inner().no_row_weights)

    @property
    def no_positions(self) -> str:  # type: ignore[override]
        """Why the selector takes no positions; empty if it does."""
        return str(self._inner().no_positions)

    @property
    def _name_in_errors(self) -> str:
        return f"{type(self).__name__} around {type(self._inner()).__name__}"

    def _inner(self, k: Any = None) -> RankSelector:
        """Selector of the runs, with the given number of features if it takes one."""
        method = SELECTORS.find(self.selector)
        number = k if "n_features_to_select" in method.defaults else None
        return make_method(method, number, **(self.parameters or {}))

    def _choose(self, source: Source, choices: Choices) -> list[int]:
        data = in_memory(source)
        varies = varying_groups(data, choices)
        k = None if self.n_features_per_run == "own" else self.n_features_per_run
        if self.n_features_per_run is None:  # as many as the bound allows
            k = max(1, isqrt(int((2 * self.threshold - 1) * choices.n_groups + 1e-9)))
        runs = self._select_on_halves(data, self._inner(k))
        groups = [choices.groups_of(run) for run in runs]
        self._set_probabilities(data, runs, groups, choices)
        ranks = mean_ranks(groups, choices.n_groups)
        together = selection_probabilities(groups, choices.n_groups)
        order = np.lexsort((ranks, -together, ~varies))
        kept = self.probabilities_ >= self.threshold
        wanted = kept if self.n_features_to_select is None else None
        chosen = choices.in_order(choices.features_of(order.tolist()), wanted)
        return self._record_path(scored_steps(chosen, self.scores_))

    def _select_on_halves(self, data: RankingData, inner: RankSelector) -> list[list[int]]:
        """Features that each run selects, in the order of selection."""
        counted, advance = counted_queries(data), track("Runs", 2 * self.n_pairs)
        seed = self.random_state
        if isinstance(seed, np.random.RandomState):
            seed = int(seed.randint(2**31))
        random = np.random.default_rng(seed)
        halves = complementary_halves(len(counted), self.n_pairs, random)
        selectors = [_with_seed(inner, random) for _ in halves]
        labels_differ = vary_within_queries(data.y, data.query_ptr)

        def select(run: tuple[RankSelector, np.ndarray]) -> list[int]:
            selector, queries = run
            advance(1)
            if not labels_differ[queries].any():
                return []
            try:
                return selector.fit(data.take_queries(queries)).selected_.tolist()
            except DataError as error:
                raise type(error)(f"on a half of the queries: {error}") from error

        runs = zip(selectors, (counted[half] for half in halves), strict=True)
        return list(in_parallel(select, runs, inner, data.n_rows))

    def _set_probabilities(
        self, data: RankingData, runs: list[list[int]], groups: list[list[int]], choices: Choices
    ) -> None:
        n = choices.n_features
        together = selection_probabilities(groups, choices.n_groups)
        self.probabilities_ = self.scores_ = choices.spread(together)
        alike = Similarity.from_estimator(self)(data)
        self.clusters_ = near_copies(np.nan_to_num(alike), self.copy_similarity)
        self.cluster_probabilities_ = selection_probabilities(runs, n, self.clusters_)
        self.runs_ = np.array([np.isin(np.arange(n), run) for run in runs])
        self.n_selected_ = float(np.mean([len(group) for group in groups]))
        self.bound_ = false_selections_bound(self.n_selected_, choices.n_groups, self.threshold)

    def reasons(self) -> list[str]:
        """For each selected feature, the share of runs that select it."""
        check_is_fitted(self)
        return [f"in {self.scores_[feature]:.0%} of the runs" for feature in self.selected_]


def mean_ranks(runs: list[list[int]], n: int) -> np.ndarray:
    """Mean rank of each feature over runs, from 0; n where a run does not select it.

    >>> mean_ranks([[2, 0], [2, 1]], 3).tolist()
    [2.0, 2.0, 0.0]
    """
    ranks = np.full((len(runs), n), float(n))
    for row, run in zip(ranks, runs, strict=True):
        row[run] = np.arange(len(run))
    return ranks.mean(axis=0)


def _with_seed(selector: RankSelector, random: np.random.Generator) -> RankSelector:
    """Copy of a selector with a new random seed, so that runs draw different numbers."""
    copied, seed = deepcopy(selector), int(random.integers(2**31))
    is_seeded = isinstance(copied.get_params(deep=False).get("random_state"), Integral)
    return copied.set_params(random_state=seed) if is_seeded else copied
