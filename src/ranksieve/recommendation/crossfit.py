"""Repeated cross-fitting: what sets of rising cost lose, on queries that had no part in them.

The queries are divided into parts. The path is built on all parts but one, the ranker is trained on
each of its sets and on all features, and the part that was left out judges. That is repeated with
new divisions, and the differences of each query are averaged over the repeats. The model on all
features is in every difference, so it is trained in further divisions, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import special

from ranksieve.experiments import OutOfTimeError, Runner, Trial, gather
from ranksieve.recommendation.path import Path, Subset
from ranksieve.recommendation.task import Effort, Task
from ranksieve.significance.band import Band, simultaneous_band

POWER = 0.8  # probability with which what is true should be shown

_ROUNDING = 1e-20  # variance of differences that are none
_QUIET = 0.2  # largest share of the variance of a query's difference that is noise of training
# Trainings on all features that may be spent: usually, and from so many rows on. Small sets take
# more than their share.
_WORTH, _WORTH_MANY, _WORTH_VERY_MANY = 150, 40, 7.5
_MANY, _VERY_MANY = 50_000, 100_000
_SPREAD, _SPREAD_ERROR = 0.3, 0.3  # of paths, as seen on real collections, and how sure that is
_EXTRA = 3  # further divisions that train on all features alone, for each one that trains all sets


def plan_effort(n_rows: int, n_parts: int, sizes: Sequence[float], n_features: int) -> Effort:
    """Decide how much to train at most, in proportion to what a training on all features costs."""
    worth = _WORTH if n_rows < _MANY else _WORTH_MANY if n_rows < _VERY_MANY else _WORTH_VERY_MANY
    sets = sum(sizes) / max(1, n_features) + 1  # of one part: every set, and all features
    parts = min(n_parts, max(1, int(worth / sets)))
    extra = min(_EXTRA, max(0, int(worth / parts - sets))) if parts == n_parts else 0
    divisions = 1 if parts < n_parts else max(1, int(worth / (parts * (sets + extra))))
    return Effort(parts, divisions, extra)


class Judged(NamedTuple):
    """What one part of the queries says of the sets of a path that the others have built."""

    queries: np.ndarray  # positions of the queries that judge
    base: np.ndarray  # (queries,) with all features
    path: PathJudged | None = None  # None if only all features were trained


class PathJudged(NamedTuple):
    """A path, and the values of its sets."""

    sets: Sequence[Subset]
    values: np.ndarray  # (sets, queries)


@dataclass(frozen=True, eq=False)
class Curve:
    """Differences of each query that has judged, averaged over the repeats."""

    queries: np.ndarray  # (queries,) positions, ascending
    base: np.ndarray  # (queries,) mean value with all features
    differences: np.ndarray  # (sets, queries) means, without smoothing
    noise: float  # share of the variance of a query's difference that is noise of training
    n_repeats: int  # number of times that each of them has judged the sets, at least
    paths: Sequence[Sequence[Subset]]  # the sets of each
    spread: float  # how much paths that differ differ in loss; see spread_of_paths

    def band(self, task: Task, named: Sequence[Subset] | None = None) -> Band | None:
        """Bound the losses of named sets, or of those of a path; None if these queries cannot.

        Differences are smoothed over neighboring sets.
        """
        weights = task.weights(self.queries)
        if len(self.queries) < 2 or not len(self.differences):
            return None
        mean = np.average(self.base, weights=weights)
        if mean <= 0:
            return None
        smoothed = smooth(self.differences, task.first_smoothed)
        losses = np.abs(np.average(smoothed, axis=1, weights=weights)) / mean
        apart = distances(self.paths)
        if named is not None:  # to the mean of paths; one that all paths have is not apart
            of_paths = zip(*self.paths, strict=True)
            to_named = [distance(one, own) for one, own in zip(named, of_paths, strict=True)]
            apart = np.maximum(2 * np.array(to_named) - apart, apart / len(self.paths))
        return simultaneous_band(
            smoothed,
            self.base,
            task.level,
            weights,
            variance_factor=1 + 1 / (task.queries.n_parts - 1),  # a part judges what others train
            deviations=losses * np.sqrt(self.spread * apart),
        )


async def cross_fit(
    task: Task, path: Path, run: Runner, further: Callable[[int], int] = lambda size: 0
) -> Curve:
    """Judge the sets of the path until more training would add little, or time is up.

    ``further`` says, for the progress, how many cells follow if a set of some size is named.
    """
    first = next(task.queries.division(0))
    try:
        sets = await path.build(run, first)
    except OutOfTimeError:
        task.ran_out_of_time = True
        return assemble(task, [])
    sizes = [len(own) for own in set(map(frozenset, sets))]  # equal ones are trained once
    effort = plan_effort(task.queries.whole.n_rows, task.queries.n_parts, sizes, len(task.allowed))
    task.effort = effort
    n_paths = effort.divisions * effort.parts
    in_the_middle = sorted(sizes)[len(sizes) // 2] if sizes else 0
    run.expect(n_paths * (len(sets) + 2 + effort.extra) + further(in_the_middle))
    judged: list[Judged] = []
    curve = assemble(task, judged)
    for work in _rounds(task):
        done = await gather(
            *(
                judge(task, run, trial, seed, path if has_sets else None)
                for trial, seed, has_sets in work
            )
        )
        judged += [one for one in done if one is not None]
        curve = assemble(task, judged)
        if None in done:
            task.ran_out_of_time = True
            break
        if _is_enough(task, curve):
            break
    return curve


def _rounds(task: Task) -> Iterator[list[tuple[Trial, int, bool]]]:
    """Yield trials to judge before asking whether that is enough: divisions, or parts of the first.

    Each has the seed of its trainings, and whether it builds a path and trains its sets.
    """
    effort, division = task.effort, task.queries.division
    for number in range(effort.divisions):
        first = number * (1 + effort.extra)
        every = [(trial, first, True) for trial in division(first)][: effort.parts]
        if task.queries.is_large and not number:  # a part has many queries
            yield from ([one] for one in every[:-1])
            every = every[-1:]
        further = range(first + 1, first + 1 + effort.extra)
        yield every + [(trial, other, False) for other in further for trial in division(other)]


def _is_enough(task: Task, curve: Curve) -> bool:
    """Whether training adds little noise, or sets that may be enough have narrow bounds.

    They are narrow if a loss of half the margin would be shown.
    """
    if curve.n_repeats > 1 and curve.noise < _QUIET:
        return True
    band = curve.band(task) if task.queries.is_large else None
    if band is None:
        return False
    errors = band.error[band.change > -task.margin]
    reach = (band.quantile + float(special.ndtri(POWER))) * errors.max(initial=0.0)
    return 0 < reach < task.margin / 2


async def judge(
    task: Task, run: Runner, trial: Trial, seed: int, path: Path | None
) -> Judged | None:
    """Train on the sets of a path and on all features, and let the part that is left out judge.

    Returns None if there is no time.
    """
    (queries,) = trial.sets.judged.values()
    try:
        if path is None:
            return Judged(queries, await task.values(run, trial, task.allowed, seed))
        sets = await path.build(run, trial)
        base, *values = await gather(
            *(task.values(run, trial, own, seed) for own in [task.allowed, *sets])
        )
    except OutOfTimeError:
        return None
    rows = np.array(values).reshape(len(sets), len(queries))
    return Judged(queries, base, PathJudged(sets, rows))


def assemble(task: Task, judged: Sequence[Judged]) -> Curve:
    """Average what the queries say, and compute the band."""
    n = task.queries.whole.n_queries
    with_sets = [(one.queries, one.path.values) for one in judged if one.path is not None]
    sets = Means.of(with_sets, len(with_sets[0][1]) if with_sets else 0, n)
    every = Means.of([(one.queries, one.base[None]) for one in judged], 1, n)
    own = np.flatnonzero(sets.times)
    base = every.mean[0, own]
    differences = sets.mean[:, own] - base
    paths = [one.path.sets for one in judged if one.path is not None]
    return Curve(
        own,
        base,
        differences,
        _noise(differences, sets.variance[:, own] + every.variance[:, own]),
        int(sets.times[own].min()) if len(own) else 0,
        paths,
        spread_of_paths(with_sets, sets, smooth(differences, task.first_smoothed), paths),
    )


class Means(NamedTuple):
    """Mean values of each query over the trainings that it has judged."""

    times: np.ndarray  # (queries,) number of these trainings
    mean: np.ndarray  # (rows, queries); 0 for queries that have not judged
    variance: np.ndarray  # (rows, queries) of these means; NaN from fewer than two trainings

    @classmethod
    def of(
        cls, values: Sequence[tuple[np.ndarray, np.ndarray]], n_rows: int, n_queries: int
    ) -> Means:
        """Average values, each of shape (rows, own queries)."""
        shape = n_rows, n_queries
        times, total, squares = np.zeros(n_queries), np.zeros(shape), np.zeros(shape)
        for queries, own in values:
            times[queries] += 1
            total[:, queries] += own
            squares[:, queries] += np.square(own)
        mean = total / np.maximum(times, 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            variance = np.maximum(squares / times - mean**2, 0.0) / (times - 1)
        variance[:, times < 2] = np.nan
        return cls(times, mean, variance)


def smooth(differences: np.ndarray, first: int) -> np.ndarray:
    """Average differences over neighboring sets (1, 2, 1), from the ``first`` set on.

    The set after the last is that of all features, whose difference is 0. Means that rise ever less
    with each set are only lowered by that.
    """
    smoothed = differences.copy()
    after = np.vstack([differences[1:], np.zeros((1, differences.shape[1]))])
    inner = slice(first + 1, None)
    smoothed[inner] = (differences[first:-1] + 2 * differences[inner] + after[inner]) / 4
    return smoothed


def _noise(differences: np.ndarray, variance: np.ndarray) -> float:
    """Share of the variance of differences that is noise of training: the median over the sets."""
    known = np.isfinite(variance).all(axis=0)
    if not known.any() or len(known) < 2:
        return 1.0
    total = differences.var(axis=1, ddof=1)
    differ = total > _ROUNDING  # not only in their last bits
    shares = variance[:, known].mean(axis=1)[differ] / total[differ]
    return float(np.clip(np.median(shares), 0.0, 1.0)) if len(shares) else 0.0


def distance(one: Subset, others: Sequence[Subset]) -> float:
    """Mean Jaccard distance of a set to others."""
    own, apart = frozenset(one), 0.0
    for other in map(frozenset, others):
        union = len(own | other)
        apart += 1 - len(own & other) / union if union else 0.0
    return apart / max(1, len(others))


def distances(paths: Sequence[Sequence[Subset]]) -> np.ndarray:
    """Mean Jaccard distance of the sets of two paths, for each place, (sets,)."""
    n = len(paths)
    return np.array(
        [
            sum(distance(one, own) for one in own) / max(1, n - 1)  # that to itself is 0
            for own in zip(*paths, strict=True)
        ]
    )


def spread_of_paths(
    judged: Sequence[tuple[np.ndarray, np.ndarray]],
    sets: Means,
    smoothed: np.ndarray,
    paths: Sequence[Sequence[Subset]],
) -> float:
    r"""Estimate how much the losses of paths differ.

    The variance of the loss :math:`L_t` between paths is taken to be :math:`c D_t L_t^2`, with the
    mean distance :math:`D_t` of the sets of two paths: there is none where all paths have the same
    set. Queries that judge the same path share its deviation, so the products of their residuals
    from their own means over the repeats have this variance as their mean, up to the part that the
    means take out. Least squares over all sets gives c, together with what other collections say
    of it: about 0.3, which counts like one more observation with an error of 0.3.
    """
    repeats = sets.times.sum() / max(1, np.count_nonzero(sets.times))
    if repeats < 2:
        return _SPREAD
    parts = len(judged) / repeats
    kept = (1 - 1 / repeats) ** 2 + (repeats - 1) / (repeats**2 * parts)
    products, squares = np.zeros(len(smoothed)), np.zeros(len(smoothed))
    n_pairs, n_values = 0, 0
    for queries, values in judged:
        residuals = values - sets.mean[:, queries]
        own = (residuals**2).sum(axis=1)
        products += residuals.sum(axis=1) ** 2 - own
        squares += own
        n_pairs += len(queries) * (len(queries) - 1)
        n_values += len(queries)
    expected = distances(paths) * smoothed.mean(axis=1) ** 2
    differ = (expected > 0) & (squares > 0)
    if not n_pairs or not differ.any():
        return _SPREAD
    variances = products[differ] / (n_pairs * kept)
    errors = squares[differ] / n_values * np.sqrt(2 / n_pairs) / kept  # of the products' means
    weights = expected[differ] / errors**2
    known = float(weights @ expected[differ])
    prior = 1 / _SPREAD_ERROR**2
    return max(0.0, float((weights @ variances + prior * _SPREAD) / (known + prior)))
