"""Selection by boosted trees on many random subsets of the features."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from functools import cache
from numbers import Real
from typing import Annotated, Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval

from ranksieve.choosing import first_of_best
from ranksieve.data import Block
from ranksieve.engine import Source, Workers, engine_of
from ranksieve.metrics import Measure, get_convention, parse_measure
from ranksieve.parameters import ConventionChoice, Count, Share, Ties
from ranksieve.progress import track
from ranksieve.rankers.lightgbm_data import as_known
from ranksieve.registry import Method
from ranksieve.selectors._search.parts import HeldOutSelector, hold_out
from ranksieve.selectors.trees.bt_influence import TREE_GRID, TreeSelector, shares, varying_features
from ranksieve.sums.density_sums import Part
from ranksieve.sums.measured import Measured


class Trial(NamedTuple):
    """Features of trees, their influence, and how well the trees rank held-out queries.

    The value is the measure, or 1 minus the measure if smaller is better.
    """

    features: tuple[int, ...]
    influence: tuple[float, ...]
    value: float


class MeasuredTrees(Measured):
    """Statistic: how well trees rank some queries."""

    def __init__(self, block: Block, *how: Any) -> None:
        super().__init__(block, *how)
        self.block.check_finite()

    def sums(self, text: str, features: np.ndarray) -> tuple[int, float]:
        """Number of queries, and the sum over them of the measure; larger is better.

        ``text`` is a model of LightGBM on some ``features``.
        """
        import lightgbm

        if self.is_empty:
            return 0, 0.0
        booster = lightgbm.Booster(model_str=text)
        scores = booster.predict(as_known(self.block.X[:, features]), num_threads=1)
        return self.total(np.asarray(scores, dtype=np.float64))


@dataclass(eq=False, repr=False)
class RandomizedBoostedTrees(TreeSelector, HeldOutSelector):
    r"""The best of several random subsets, each reduced by influence in boosted trees.

    Each run draws a random subset of the features, trains trees on it, drops the features with the
    lowest influence, and repeats until the wanted number is left. Trees on these features are then
    evaluated on held-out queries. The features of the best of ``n_subsets`` runs are selected.

    Parameters
    ----------
    {n_features_to_select}
    n_subsets : int
        Number of random subsets to start with.
    subset_size : float
        Fraction of the features in each subset, but never fewer than the number to select.
    elimination : float
        Fraction of a subset's features to drop before trees are trained again: at least one
        feature, but never more than necessary.
    measure : str or Measure
        Measure by which subsets are compared.
    validation_fraction : float
        Fraction of the queries to hold out if ``fit`` gets no ``eval_set``.
    convention : str or Convention
        Convention of the measure; see :mod:`ranksieve.metrics`.
    ties : {"average", "stable"}
        How the measure treats documents of equal score.
    {parameters}

    Attributes
    ----------
    selected_ : int array
        Features of the best run in descending order of their influence in its last trees.
    scores_ : array of shape (features,)
        That influence relative to the largest; 0 for other features.
    trials_ : list of Trial
        The end of each run: its features, their influence, and the measure.
    best_trial_ : int
        The run whose features are selected; the first of equals.

    Notes ----- Takes ``n_subsets`` times about log(f / k) / -log(1 - ``elimination``) + 1
    trainings, for subsets of f features of which k are selected. Random subsets, backward
    elimination by importance, and choice by validation are from the paper. The sizes, dropping
    several features at a time, and the choices in :class:`BoostedTrees` are ours. Held-out queries
    of the training data have weight 0 in training: their rows influence the bins, but their labels
    have no influence. They are copied into memory for evaluation; an ``eval_set`` is not. Features
    constant within every query are taken only if there are no others.

    Use it if the influence of a feature depends strongly on the other features, and you can afford
    tens of trainings.

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

    methods = (
        Method(
            "bt-randomized",
            "random subsets, reduced by influence in boosted trees",
            grid=TREE_GRID | {"subset_size": (0.3, 0.5, 0.8)},
            trial={"n_estimators": 5, "n_subsets": 2},
        ),
    )

    _: KW_ONLY
    n_subsets: Count = 10
    subset_size: Annotated[float, Interval(Real, 0, 1, closed="right")] = 0.5
    elimination: Share = 0.5
    measure: str | Measure = "ndcg@10"
    validation_fraction: Share = 0.25
    convention: ConventionChoice = "standard"
    ties: Ties = "average"

    def _choose(self, source: Source, k: int, **held_out: Any) -> np.ndarray:
        rng = check_random_state(self.random_state)
        train, validation = hold_out(source, held_out["eval_set"], self.validation_fraction, rng)
        varies = varying_features(source)
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
        """Reduce each subset to ``k`` features."""
        weights = None if train.queries is None else train.queries.astype(np.float64)
        with self._judging(validation) as workers:

            @cache
            def trial(features: tuple[int, ...]) -> Trial:
                if not features:
                    return Trial((), (), 0.0)
                ranker = self._trained(train.source, seed, weights, features)
                influence = tuple(shares(ranker.feature_importances_).tolist())
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

    def _judging(self, validation: Part) -> Workers:
        measure = parse_measure(self.measure)
        parameters = measure, get_convention(self.convention, self.ties), validation.queries
        return engine_of(validation.source).start(MeasuredTrees, *parameters)


def _by_influence(trial: Trial) -> np.ndarray:
    """Features of a trial by descending influence; ties by index."""
    order = np.argsort(-np.array(trial.influence), kind="stable")
    return np.array(trial.features, dtype=np.intp)[order]
