"""Recursive elimination around any ranker."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property, partial
from itertools import pairwise
from numbers import Integral
from typing import NamedTuple

import numpy as np

from ranksieve.base import Choices, PerFeature
from ranksieve.data import RankingData
from ranksieve.parameters import FeatureCount
from ranksieve.progress import track
from ranksieve.rankers.base import Ranker, Refits
from ranksieve.registry import Method
from ranksieve.selectors._search.held_out import Fold, QueryPart
from ranksieve.selectors._search.importances import Kind, importances
from ranksieve.selectors._search.searches import MeasuredFit, Step, best_fit, standard_error
from ranksieve.selectors._search.wrapper import (
    HeldOutValues,
    WrapperSelector,
    in_parallel,
    varying_groups,
)
from ranksieve.sums.held_out import orient

_ROUNDING = 1e-6  # of the largest importance: a difference in which equal features may differ


class Elimination(NamedTuple):
    """Result of an elimination on one part of the queries."""

    order: tuple[int, ...]  # all groups: those that stay, then the others, the last removed first
    values: dict[int, np.ndarray]  # number of groups -> value of each held-out query


@dataclass(eq=False, repr=False)
class EliminationSelector(WrapperSelector):
    """Train a ranker, remove the features that it uses least, and train again.

    If the number of features is to be chosen, each part of the queries is held out once: rankers
    that have not seen it eliminate features, and every number of features is evaluated on it.

    Parameters
    ----------
    ranker : Ranker, LGBMRanker, XGBRanker or CatBoostRanker, optional
        Ranker to train; :class:`ranksieve.rankers.RankRLS` by default.
    n_features_to_select, cv, tol, convention, ties, checkpoint, random_state
        As in :class:`SequentialSelector`.
    step : int or float
        Number of features or groups to remove at a time, or a fraction of the remaining ones.
    importance : {"auto", "coef", "gain", "permutation", "shap"}
        How important a feature is to a ranker. ``"coef"``: absolute weight times the spread of the
        feature within queries. ``"gain"``: its ``feature_importances_``. ``"permutation"``: loss in
        the measure if its values are shuffled within queries. ``"shap"``: as in
        :class:`ShapSelector`. ``"auto"``: weights if there are any, else gain. Permutation and SHAP
        use the held-out queries if the number of features is to be chosen or there is an
        ``eval_set``, else the training data.
    measure : str or Measure
        Measure by which numbers of features are compared.
    include, exclude, groups, count, progress
        As in :class:`RankSelector`.

    Attributes
    ----------
    selected_ : int array
        Selected features, in the reverse order of further elimination: the most important first.
    path_ : list of (feature, score)
        Each selected feature, and the mean value with this number of features, if it was measured.
    fits_, values_ : list of MeasuredFit, array of shape (sizes, queries)
        As in :class:`SequentialSelector`, for each number of features that was tried in the
        elimination on all data. Empty unless the number of features is to be chosen.
    ranking_ : int array of shape (features,)
        1 for the selected features, 2 for the last one removed, and so on.
    ranker_ : Ranker
        As in :class:`SequentialSelector`.

    Notes
    -----
    Takes O(n / step) trainings for n features, on all data and on each fold; with a fraction, O(log
    n). To order the selected features, elimination continues to the last feature. Features constant
    within every query are removed first. Shards are read into memory.

    Around LambdaMART and LGBMRanker, features are binned once for all trainings, and those in no
    tree go without a training, wherever that cannot change the result: not if trees are linear, if
    LightGBM might bundle sparse features at the loss of a few values, or, for the second, if
    features are drawn (``feature_fraction``, ``extra_trees``).

    References
    ----------
    I. Guyon, J. Weston, S. Barnhill, V. Vapnik. Gene selection for cancer classification using
    support vector machines. Machine Learning 46, 2002.

    Examples
    --------
    >>> from lightgbm import LGBMRanker
    >>> from ranksieve import make_ranking
    >>> from ranksieve.selectors import EliminationSelector
    >>> data, truth = make_ranking(60, n_informative=2, n_redundant=0, n_noise=4, noise=0.1)
    >>> ranker = LGBMRanker(n_estimators=10, verbosity=-1)
    >>> selector = EliminationSelector(ranker, 2).fit(data.X, data.y, qid=data.qid)
    >>> sorted(selector.selected_.tolist()) == truth.informative.tolist()
    True
    """

    with_include = "They are never removed."
    with_groups = "A group is as important as its features together."

    methods = (Method("elimination", "repeatedly drop what a trained ranker uses least"),)

    _: KW_ONLY
    step: FeatureCount = 1
    importance: Kind = "auto"

    _is_nested = True

    @property
    def is_nested(self) -> bool:
        """True with one feature at a time and without groups."""
        return self.step == 1 and super().is_nested

    def _search_settings(self) -> dict[str, str]:
        return {"importance": f"{self.importance}, seed {self.random_state!r}"}

    def _search(
        self, data: RankingData, fold: Fold | None, ranker: Ranker, choices: Choices
    ) -> list[int]:
        varies, sizes = varying_groups(data, choices), self._sizes(choices)
        folds = self._folds(data, fold) if self._by_value else []
        # Last comes the elimination on all data, whose values are not needed.
        whole = fold or Fold(QueryPart(data), QueryPart(data))
        held_out = self._held_out(data, [*folds, whole], ranker, len(folds))
        advance = track("Trainings", (len(folds) + 1) * len(sizes) - 1)

        def run(number: int) -> Elimination:
            trainings = Trainings(self, held_out, number, number < len(folds), advance)
            return eliminate(choices, varies, sizes, trainings)

        final = run(len(folds))
        self.fits_: list[MeasuredFit] = []
        self.values_ = np.empty((0, 0))
        weights = held_out.weights[: -whole.test.n_queries]  # without those of all data
        if self._by_value:
            parts = in_parallel(run, range(len(folds)), ranker, held_out.n_rows)
            self._judge(final, list(parts), choices, weights)
            self.values_[:, ~held_out.is_defined[: len(weights)]] = np.nan
            best = best_fit(
                self.fits_,
                str(self.n_features_to_select),
                tol=self.tol,
                greater_is_better=held_out.measure.greater_is_better,
            )
            chosen = list(final.order[: sorted(final.values)[best]])
        else:
            chosen = choices.take(final.order)
        positions = np.argsort(final.order)
        self.ranking_ = choices.spread(np.maximum(1, positions - len(chosen) + 2))
        return self._keep(chosen, choices)

    def _sizes(self, choices: Choices) -> list[int]:
        """Numbers of groups to compare, descending; k is one of them if it counts groups."""
        sizes, k, least = [choices.n_groups], choices.k, max(1, len(choices.start))
        counts_groups = choices.counts_groups or choices.groups is None
        while sizes[-1] > least:
            size = sizes[-1]
            step = self.step if isinstance(self.step, Integral) else int(self.step * size)
            smaller = max(least, size - max(1, int(step)))
            sizes.append(k if counts_groups and smaller < k < size else smaller)
        return sizes

    def _judge(
        self, final: Elimination, parts: list[Elimination], choices: Choices, weights: np.ndarray
    ) -> None:
        sizes, total = sorted(final.values), float(weights.sum())
        rows = [np.concatenate([part.values[size] for part in parts]) for size in sizes]
        self.values_ = np.array(rows)
        for size, row in zip(sizes, rows, strict=True):
            value = float(np.average(row, weights=weights))
            deviation = standard_error((weights * row).sum(), (weights * row**2).sum(), total)
            features = tuple(choices.features_of(final.order[:size]))
            self.fits_.append(MeasuredFit(features, np.empty(0), value, deviation / total))

    def _widen(self, choices: Choices, names: set[str]) -> None:
        super()._widen(choices, names)
        last = int(self.ranking_.max()) + 1
        self.ranking_ = PerFeature(fill=last).widen(self.ranking_, choices)

    def _keep(self, order: Sequence[int], choices: Choices) -> list[int]:
        means = {len(fit.features): fit.value for fit in self.fits_}
        steps: list[Step] = []
        for position in order:
            group = choices.features_of([position])
            score = means.get(len(steps) + len(group), np.nan)
            steps += [Step(feature, score) for feature in group]
        return self._record_path(steps)


def eliminate(
    choices: Choices, varies: np.ndarray, sizes: Sequence[int], trainings: Trainings
) -> Elimination:
    """Eliminate groups by the importances of their features.

    ``sizes`` are the numbers of groups, from all to the fewest. Groups that are constant within
    every query are removed first: ``varies`` (groups,) is False for them.
    """
    start, features_of = choices.start, choices.features_of
    left, removed = list(range(choices.n_groups)), []
    values = {}

    def least(totals: dict[int, float]) -> int:
        """The group to remove next: the last of those that are equal up to rounding."""
        eligible = [group for group in left if group not in start]
        eligible = [group for group in eligible if not varies[group]] or eligible
        margin = _ROUNDING * max(abs(totals[group]) for group in left)
        limit = min(totals[group] for group in eligible) + margin
        return max(group for group in eligible if totals[group] <= limit)

    for size, smaller in pairwise(sizes):
        features = tuple(sorted(features_of(left)))
        found, values[size] = trainings(features)
        importance = dict(zip(features, found.tolist(), strict=True))
        totals = {group: sum(importance[f] for f in features_of([group])) for group in left}
        for _ in range(size - smaller):
            removed.append(least(totals))
            left.remove(removed[-1])
    # At the last size nothing is removed, so only the values need a training.
    values[len(left)] = np.empty(0)
    if trainings.is_judged:
        values[len(left)] = trainings(tuple(sorted(features_of(left))))[1]
    stays = [*start, *(group for group in left if group not in start)]
    return Elimination((*stays, *reversed(removed)), values)


class Trainings:
    """Trainings on fewer and fewer features of one fold.

    Called with features, it returns their importances to a ranker trained on the fold, and the
    values of held-out queries if they are to be judged.
    """

    def __init__(
        self,
        selector: EliminationSelector,
        held_out: HeldOutValues,
        number: int,
        is_judged: bool,
        advance: Callable[[int], None],
    ) -> None:
        self.held_out, self.number, self.is_judged = held_out, number, is_judged
        self.kind, self.random_state = selector.importance, selector.random_state
        self.advance = advance
        train, test = held_out.folds[number]
        self.train, self.test = train.take(), test.take()  # for as long as there are trainings
        self.latest: tuple[tuple[int, ...], list[np.ndarray]] = (), []

    @cached_property
    def refits(self) -> Refits:
        """Made with the first training; a checkpoint may leave none to do."""
        return self.held_out.ranker._refits(self.train)

    def __call__(self, features: tuple[int, ...]) -> list[np.ndarray]:
        """Importances and values."""
        key, known = (-1 - self.number, *features), self.held_out.known  # see Checkpoint
        if key not in known:
            known.add(key, self._without_unused(features) or self._train(features))
        self.latest = features, known[key]
        self.advance(1)
        return known[key]

    def _without_unused(self, features: tuple[int, ...]) -> list[np.ndarray]:
        """Result of the latest ranker if it uses no feature removed since; else an empty list."""
        before, found = self.latest
        if not before or not self.refits.ignores_unused or self.kind not in ("auto", "gain"):
            return []
        stays = np.isin(before, features)
        return [] if found[0][~stays].any() else [found[0][stays], found[1]]

    def _train(self, features: tuple[int, ...]) -> list[np.ndarray]:
        ranker = self.refits.fit(features)
        judge, measure = partial(self.held_out.judge, number=self.number), self.held_out.measure

        def judge_gain(scores: np.ndarray) -> np.ndarray:
            return orient(judge(scores), measure)

        by_gain = self.kind == "gain" or (self.kind == "auto" and not hasattr(ranker, "coef_"))
        train, test = self.train, self.test  # gain needs no rows, and taking features takes time
        if not by_gain:
            train = train.take_features(list(features))
        if self.is_judged or not by_gain:
            test = test.take_features(list(features))
        found = importances(ranker, self.kind, train, test, judge_gain, self.random_state)
        return [found, judge(ranker.predict(test)) if self.is_judged else np.empty(0)]
