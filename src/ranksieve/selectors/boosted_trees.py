"""Selection by the influence of features in boosted trees."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from ranksieve.base import RankSelector
from ranksieve.classes import start_classes, totals
from ranksieve.data import Block
from ranksieve.densities import Part
from ranksieve.engine import Source, Workers, engine_of
from ranksieve.metrics import CONVENTIONS, Convention, Measure, parse_measure
from ranksieve.progress import track
from ranksieve.rankers import LambdaMART
from ranksieve.rankers.lightgbm_data import as_known
from ranksieve.rankers.stages import Measured, first_of_best
from ranksieve.selectors.filters import SimilarityFilter
from ranksieve.selectors.gas import GAS
from ranksieve.selectors.greedy import Step, choose_in_turn
from ranksieve.selectors.parts import hold_out, take_queries
from ranksieve.selectors.quality import Quality
from ranksieve.statistics import locating
from ranksieve.threads import limit_threads

_FEW_ROWS = 20_000  # below this, LightGBM's threads wait for each other longer than they work

_PARAMETERS = """
    n_estimators, learning_rate, num_leaves, min_child_samples : int, float, int, int
        Of :class:`ranksieve.rankers.LambdaMART`.
    params : dict, optional
        Further parameters of LightGBM, which outweigh the others.
    random_state : int, RandomState or None
        Seed of all that is random.
    verbose : bool
        Whether to show progress on a terminal.
"""

_REFERENCE = """
    F. Pan, T. Converse, D. Ahn, F. Salvetti, G. Donato. Feature selection for ranking using boosted
    trees. CIKM 2009.
"""


class _TreeSelector(RankSelector):
    """Trains LambdaMART, and asks it for the influence of features."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **RankSelector._parameter_constraints,
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "num_leaves": [Interval(Integral, 2, None, closed="left")],
        "min_child_samples": [Interval(Integral, 1, None, closed="left")],
        "params": [dict, None],
        "random_state": ["random_state"],
    }

    n_estimators: int
    learning_rate: float
    num_leaves: int
    min_child_samples: int
    params: dict[str, Any] | None
    random_state: int | np.random.RandomState | None
    scores_: np.ndarray

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        doc = (cls.__doc__ or "").replace("\n    {parameters}\n", _PARAMETERS)
        cls.__doc__ = doc.replace("\n    {reference}\n", _REFERENCE)

    def _trained(
        self, source: Source, seed: Any, query_weights: np.ndarray | None = None
    ) -> LambdaMART:
        ranker = LambdaMART(
            self.n_estimators,
            learning_rate=self.learning_rate,
            num_leaves=self.num_leaves,
            min_child_samples=self.min_child_samples,
            params=self.params,
            random_state=seed,
        )
        with _few_threads(source):
            return ranker.fit(source, sample_weight=query_weights)

    def _influence(self, source: Source) -> np.ndarray:
        """Influence of each feature as a share of the largest."""
        return _shares(self._trained(source, self.random_state).feature_importances_)

    def reasons(self) -> list[str]:
        """For each selected feature, its influence."""
        check_is_fitted(self)
        influence = self.scores_[self.selected_].tolist()
        return [f"influence {share:.3g}" if share else "in no tree" for share in influence]


class BoostedTrees(_TreeSelector):
    r"""Features with the largest influence in boosted trees.

    .. math:: I_f = \sum_{\text{splits on } f} \text{gain of the split}

    over all trees of a :class:`ranksieve.rankers.LambdaMART`.

    Parameters
    ----------
    n_features_to_select : int or float
        Number of features, or the share of them if below 1.
    {parameters}

    Attributes
    ----------
    selected_ : int array
        Features in descending order of their influence.
    scores_ : array of shape (features,)
        Influence as a share of the largest; 0 for features in no tree.
    path_ : list of (feature, score)

    Notes
    -----
    One training. Published: to take the features of the largest relative influence. Ours:
    LightGBM's trees and its total gain as influence, and the defaults. Trees take the first of two
    equal features: a copy has no influence. Features constant within every query come last. On
    a Dask cluster LightGBM makes bins from the rows of each worker, so that trees, and with them
    features of near influence, may differ from those in memory. So they may with the order of the
    documents of a query: LightGBM ranks those of equal score in that order.

    References
    ----------
    {reference}

    Examples
    --------
    >>> from ranksieve import make_ranking
    >>> from ranksieve.selectors import BoostedTrees
    >>> data, truth = make_ranking(200, n_informative=2, n_redundant=0, noise=0.1)
    >>> selector = BoostedTrees(n_features_to_select=2).fit(data)
    >>> sorted(selector.selected_.tolist()) == truth.informative.tolist()
    True
    """

    def __init__(
        self,
        n_features_to_select: float = 10,
        *,
        n_estimators: int = 50,
        learning_rate: float = 0.1,
        num_leaves: int = 10,
        min_child_samples: int = 20,
        params: dict[str, Any] | None = None,
        random_state: int | np.random.RandomState | None = 0,
        verbose: bool = False,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.num_leaves = num_leaves
        self.min_child_samples = min_child_samples
        self.params = params
        self.random_state = random_state
        self.verbose = verbose

    def _choose(self, source: Source, k: int, **held_out: Any) -> list[int]:
        varies = _varying(source)
        self.scores_ = self._influence(source)
        self.path_ = choose_in_turn(k, varies, lambda chosen: self.scores_)
        return [step.feature for step in self.path_]


class DiscountedBoostedTrees(SimilarityFilter, _TreeSelector):
    r"""Features with a large influence in boosted trees that are unlike each other.

    The feature with the largest weight is taken, and lowers the weights of those like it:

    .. math:: w_f \leftarrow w_f - 2 c\, e_{fg} \quad \text{once } g \text{ is taken}, \qquad
              w_f = I_f / \max_j I_j \quad \text{at first}

    with the influence I of :class:`BoostedTrees` and the similarity e of two features: the update
    of :class:`ranksieve.selectors.GAS`.

    Parameters
    ----------
    n_features_to_select : int or float
        Number of features, or the share of them if below 1.
    c : float
        How much similarity counts; 0 selects by influence alone.
    similarity : str or callable
        As of GAS. Trees do not mind the direction of a feature, so it is the absolute value of
        Kendall's tau-b by default.
    absolute : bool
        Whether to take absolute values of signed similarities.
    {parameters}

    Attributes
    ----------
    selected_ : int array
        Features in the order of choice.
    scores_, importance_ : arrays of shape (features,)
        Influence as a share of the largest.
    path_ : list of (feature, score)
        The weight of each feature when it was chosen.
    similarity_ : array of shape (features, features)
        Similarity e of each pair.
    objective_ : float
        Value of the objective of GAS for the selected features.

    Notes
    -----
    One training, and the similarity of all pairs. Published: to discount influence by similarity.
    Ours: how, and what is said in :class:`BoostedTrees`.

    References
    ----------
    {reference}

    Examples
    --------
    >>> from ranksieve import make_ranking
    >>> from ranksieve.selectors import DiscountedBoostedTrees
    >>> data, truth = make_ranking(200, n_informative=3, n_redundant=6, copy_noise=0.1, tied=0)
    >>> selector = DiscountedBoostedTrees(n_features_to_select=3, c=0.3).fit(data)
    >>> sorted(truth.families[selector.selected_].tolist())
    [0, 1, 2]
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **_TreeSelector._parameter_constraints,
        "c": [Interval(Real, 0, None, closed="left")],
        "similarity": SimilarityFilter._parameter_constraints["similarity"],
        "absolute": ["boolean"],
    }
    align_directions = False

    def __init__(
        self,
        n_features_to_select: float = 10,
        *,
        c: float = 0.01,
        similarity: Any = "tau_b",
        absolute: bool = True,
        n_estimators: int = 50,
        learning_rate: float = 0.1,
        num_leaves: int = 10,
        min_child_samples: int = 20,
        params: dict[str, Any] | None = None,
        random_state: int | np.random.RandomState | None = 0,
        verbose: bool = False,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.c = c
        self.similarity = similarity
        self.absolute = absolute
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.num_leaves = num_leaves
        self.min_child_samples = min_child_samples
        self.params = params
        self.random_state = random_state
        self.verbose = verbose

    def _quality(self, source: Source, queries: np.ndarray | None = None) -> Quality:
        varies = _varying(source)
        self.importance_ = self.scores_ = self._influence(source)
        unknown = np.zeros(source.n_features)
        return Quality(self.scores_, unknown, np.ones(source.n_features, dtype=int), varies)

    def _weigh(self, quality: Quality, similarity: np.ndarray, k: int) -> list[Step]:
        gas = GAS(c=self.c)
        steps = gas._weigh(quality, similarity, k)
        self.objective_ = gas.objective_
        return steps


class Trial(NamedTuple):
    """Features of trees, their influence there, and how well the trees rank held-out queries.

    The value is the measure, or 1 minus it if smaller ones are better.
    """

    features: tuple[int, ...]
    influence: tuple[float, ...]
    value: float


class HeldOutTrees:
    """Statistic: how well trees rank some queries.

    Parameters
    ----------
    block : Block
    measure, convention, average_ties
        How to judge.
    queries : bool array of shape (queries of all blocks,), optional
        The queries to look at.
    """

    title = "Validation"

    def __init__(
        self,
        block: Block,
        measure: Measure,
        convention: Convention | str,
        average_ties: bool,
        queries: np.ndarray | None,
    ) -> None:
        self.block = take_queries(block, queries)
        self.block.check_finite()
        if len(self.block.y):
            self.measured = Measured(self.block, measure, convention, average_ties)

    def sums(self, text: str, features: np.ndarray) -> tuple[int, float]:
        """Queries, and the sum over them of the measure, larger is better.

        ``text`` is a model of LightGBM on some ``features``.
        """
        import lightgbm

        if len(self.block.y) == 0:
            return 0, 0.0
        booster = lightgbm.Booster(model_str=text)
        X = as_known(self.block.X[:, features])
        scores = booster.predict(X, num_threads=1)
        values = self.measured.values(self.measured.ranking(np.asarray(scores, dtype=np.float64)))
        return len(values), float(values.sum())


class RandomizedBoostedTrees(_TreeSelector):
    r"""The best of several random subsets, each thinned out by influence in boosted trees.

    A random subset of the features is drawn, trees are trained on it, and the features of the
    lowest influence are dropped, until as many are left as are wanted; then trees on these are
    judged on held-out queries. Of ``n_subsets`` such runs the best one's features are selected.

    Parameters
    ----------
    n_features_to_select : int or float
        Number of features, or the share of them if below 1.
    n_subsets : int
        Random subsets to begin with.
    subset_size : float
        Share of the features in each of them, but never fewer than are wanted.
    elimination : float
        Share of a subset's features that is dropped before trees are trained again: at least one,
        and never more than are to go.
    measure : str or Measure
        By which subsets are judged.
    validation_fraction : float
        Share of the queries that is held out if ``fit`` gets no ``eval_set``.
    convention : str or Convention
        Of the measure; see :mod:`ranksieve.metrics`.
    ties : {"average", "stable"}
        What the measure does with documents of equal score.
    {parameters}

    Attributes
    ----------
    selected_ : int array
        Features of the best run in descending order of their influence in its last trees.
    scores_ : array of shape (features,)
        That influence as a share of the largest; 0 for other features.
    trials_ : list of Trial
        The end of each run: its features, their influence, and the measure.
    best_trial_ : int
        The run whose features are selected; the first of equals.

    Notes
    -----
    ``n_subsets`` times about log(f / k) / -log(1 - ``elimination``) + 1 trainings, for subsets of f
    features of which k are selected. Published: random subsets, backward elimination by importance,
    and choice by validation. Ours: the sizes, that several features are dropped at a time, and what
    is said in :class:`BoostedTrees`. Held-out queries of the training data have weight 0 in
    training: their rows count in the choice of bins, but not their labels. They are copied into
    memory to be judged; an ``eval_set`` is not. Features constant within every query are taken
    only when there are no others.

    References
    ----------
    {reference}

    Examples
    --------
    >>> from ranksieve import make_ranking
    >>> from ranksieve.selectors import RandomizedBoostedTrees
    >>> data, truth = make_ranking(200, n_informative=2, n_redundant=0, n_noise=4, noise=0.1)
    >>> selector = RandomizedBoostedTrees(n_features_to_select=2, subset_size=0.8).fit(data)
    >>> sorted(selector.selected_.tolist()) == truth.informative.tolist()
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **_TreeSelector._parameter_constraints,
        "n_subsets": [Interval(Integral, 1, None, closed="left")],
        "subset_size": [Interval(Real, 0, 1, closed="right")],
        "elimination": [Interval(Real, 0, 1, closed="neither")],
        "measure": [str, Measure],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "convention": [StrOptions(set(CONVENTIONS)), Convention],
        "ties": [StrOptions({"average", "stable"})],
    }

    def __init__(
        self,
        n_features_to_select: float = 10,
        *,
        n_subsets: int = 10,
        subset_size: float = 0.5,
        elimination: float = 0.5,
        measure: str | Measure = "ndcg@10",
        validation_fraction: float = 0.25,
        convention: str | Convention = "standard",
        ties: Literal["average", "stable"] = "average",
        n_estimators: int = 50,
        learning_rate: float = 0.1,
        num_leaves: int = 10,
        min_child_samples: int = 20,
        params: dict[str, Any] | None = None,
        random_state: int | np.random.RandomState | None = 0,
        verbose: bool = False,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.n_subsets = n_subsets
        self.subset_size = subset_size
        self.elimination = elimination
        self.measure = measure
        self.validation_fraction = validation_fraction
        self.convention = convention
        self.ties = ties
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.num_leaves = num_leaves
        self.min_child_samples = min_child_samples
        self.params = params
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, qid: Any = None, eval_set: Any = None) -> Any:
        """Select features.

        Parameters
        ----------
        X, y, qid
            As in :meth:`ranksieve.base.RankSelector.fit`.
        eval_set : tuple (X, y, qid), RankingData or opened shards, optional
            Held-out data. Without it, some of the queries are held out.
        """
        return self._fit(X, y, qid, eval_set=eval_set)

    def _choose(self, source: Source, k: int, **held_out: Any) -> np.ndarray:
        rng = check_random_state(self.random_state)
        train, validation = hold_out(source, held_out["eval_set"], self.validation_fraction, rng)
        varies = _varying(source)
        candidates = np.flatnonzero(varies)
        constant = np.flatnonzero(~varies)[: max(0, k - len(candidates))]
        k -= len(constant)
        size = max(k, round(self.subset_size * len(candidates)))
        subsets = [np.sort(rng.permutation(candidates)[:size]) for _ in range(self.n_subsets)]
        self.trials_ = self._run(train, validation, subsets, k, rng.randint(2**31))
        self.best_trial_ = first_of_best(np.array([trial.value for trial in self.trials_]))
        best = self.trials_[self.best_trial_]
        self.scores_ = np.zeros(source.n_features)
        self.scores_[list(best.features)] = best.influence
        return np.concatenate([_by_influence(best), constant])

    def _run(
        self, train: Part, validation: Part, subsets: list[np.ndarray], k: int, seed: int
    ) -> list[Trial]:
        """Thin out each subset to ``k`` features."""
        weights = None if train.queries is None else train.queries.astype(np.float64)
        with self._judging(validation) as workers:

            @cache
            def trial(features: tuple[int, ...]) -> Trial:
                if not features:
                    return Trial((), (), 0.0)
                ranker = self._trained(train.source.take_features(list(features)), seed, weights)
                influence = tuple(_shares(ranker.feature_importances_).tolist())
                if len(features) > k:
                    return Trial(features, influence, float("nan"))
                text = ranker.booster_.model_to_string()
                n_queries, value = workers.sum("sums", text, np.array(features))
                return Trial(features, influence, value / n_queries)

            advance = track("Random subsets", len(subsets))
            ends = []
            for subset in subsets:
                ends.append(self._thinned(trial, tuple(subset.tolist()), k))
                advance(1)
            return ends

    def _thinned(
        self, trial: Callable[[tuple[int, ...]], Trial], features: tuple[int, ...], k: int
    ) -> Trial:
        while len(features) > k:
            n_dropped = max(1, int(self.elimination * len(features)))
            kept = _by_influence(trial(features))[: max(k, len(features) - n_dropped)]
            features = tuple(np.sort(kept).tolist())
        return trial(features)

    @contextmanager
    def _judging(self, validation: Part) -> Iterator[Workers]:
        measure = parse_measure(self.measure)
        parameters = measure, self.convention, self.ties == "average", validation.queries
        with (
            locating(validation.source),
            engine_of(validation.source).start(HeldOutTrees, *parameters) as workers,
        ):
            yield workers


def _varying(source: Source) -> np.ndarray:
    """Mask of the features that are not constant within every query; a DataError for NaN."""
    all_rows = np.array([np.inf])  # one class
    with locating(source), start_classes(source, all_rows) as workers:
        return totals(workers).varies


def _shares(influence: np.ndarray) -> np.ndarray:
    """Influence as a share of the largest, if there is any."""
    return influence / (influence.max(initial=0.0) or 1.0)


def _by_influence(trial: Trial) -> np.ndarray:
    """Features of a trial in descending order of their influence, ties in their own."""
    order = np.argsort(-np.array(trial.influence), kind="stable")
    return np.array(trial.features, dtype=np.intp)[order]


def _few_threads(source: Source) -> AbstractContextManager[None]:
    return limit_threads(1) if source.n_rows < _FEW_ROWS else nullcontext()
