"""Facts about the data for reports, stored next to the ledger, so that reports need no data."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from ranksieve._version import installed_versions
from ranksieve.data import DataError
from ranksieve.data.encoding import encode_categories
from ranksieve.engine import Source, engine_of
from ranksieve.engine.memo import sharing
from ranksieve.io import records
from ranksieve.io.records import Count, Finite
from ranksieve.selectors import FSED
from ranksieve.selectors.registry import SELECTORS
from ranksieve.study.results import StudyResult
from ranksieve.study.study import Study
from ranksieve.sums.densities import ClassDensities, bandwidths_of
from ranksieve.sums.file_order import random_order
from ranksieve.sums.grades import grades_of, totals
from ranksieve.sums.importance import Importance
from ranksieve.sums.similarity import Similarity

FIRST_FOLD = "first-fold.json"
MOST_COMPARED = 150
"""Number of features whose similarity is stored: most often selected, then most important."""
_FORMAT, _VERSION = "ranksieve-first-fold", 3
_MOST_SIMILAR = 3  # features that are named as similar to one
_SIMILAR = 0.5  # least similarity of these
_N_DENSITIES = 3  # features that rank best, and features that rank worst
_N_POINTS = 200, 400  # of a density, at least and at most
_POINTS_PER_BANDWIDTH = 4
_MARGIN = 3.0  # bandwidths around the data


@dataclass(frozen=True)
class FeatureDensities:
    """Densities of the values of a feature within the grades of documents."""

    feature: Count
    points: list[Finite]
    values: list[list[Finite]]  # (grades, points)


@dataclass(frozen=True, kw_only=True)
class FirstFold:
    """Facts about the training queries of the first fold."""

    fold: str  # its name
    measure: str  # of the importance
    # (features,): mean of the measure if one feature ranks the documents, in its better direction
    importance: list[Finite]
    chance: Finite  # what documents in random order reach, the mean over all orders
    compared: list[Count]  # features whose similarity is known
    # Row i has the similarities of compared[i] to compared[:i + 1]: absolute value of the mean over
    # queries of Spearman's coefficient.
    likeness: list[list[Finite]]
    grades: list[Finite] = field(default_factory=list)  # labels of documents, in ascending order
    # Of the features that rank best alone, then of those that rank worst, if FS-ED is in the study.
    densities: list[FeatureDensities] = field(default_factory=list)
    versions: dict[str, str]  # of Python and of packages when this was computed

    @cached_property
    def similarity(self) -> np.ndarray:
        """Symmetric matrix of the similarity of all pairs of compared features."""
        full = np.zeros((len(self.compared), len(self.compared)))
        for i, row in enumerate(self.likeness):
            full[i, : i + 1] = full[: i + 1, i] = row
        return full

    def similar_to(self, feature: int) -> list[tuple[int, float]]:
        """Features that are similar to one, the most similar first, with their similarity."""
        if feature not in self.compared:
            return []
        own = self.similarity[self.compared.index(feature)].copy()
        own[self.compared.index(feature)] = -np.inf
        nearest = np.argsort(-own, kind="stable")[:_MOST_SIMILAR]
        return [(self.compared[row], float(own[row])) for row in nearest if own[row] >= _SIMILAR]


def add_first_fold(study: Study, result: StudyResult, directory: Path | None = None) -> StudyResult:
    """Return the result of a study with facts about its data, which reports show.

    They are also written to the directory, so that :func:`read_first_fold` needs no data. Facts
    that cannot be computed, such as the similarity of missing values, are left out; those of an
    earlier study in the directory are removed.
    """
    if directory is not None:
        (directory / FIRST_FOLD).unlink(missing_ok=True)
    with suppress(DataError):
        seen = describe_first_fold(study, result)
        if directory is not None:
            write_first_fold(seen, directory)
        return replace(result, seen=seen)
    return result


def describe_first_fold(study: Study, result: StudyResult) -> FirstFold:
    """Compute the facts about the data that a report shows; test queries are not used.

    Raises a DataError if the data has values that cannot be ranked.
    """
    fold = study.trials[0].open()
    train, _ = encode_categories(fold.train)
    importance = Importance(study.plan.tune, study.plan.convention)
    with sharing(fold.memo):
        values = importance(train).values.round(6)
        chance = random_order(fold.train, study.plan.tune, study.plan.convention)
        compared = np.sort(rank_features(result, values)[:MOST_COMPARED])
        # A mean of absolute values would be far from 0 for features that have nothing in common.
        similarity = np.abs(Similarity("spearman")(train.take_features(compared)))
        similarity = np.minimum(similarity, 1.0).round(3)
        grades = np.empty(0)
        densities: list[FeatureDensities] = []
        kinds = [SELECTORS[name].kind for name in study.plan.selectors if name in SELECTORS]
        if any(issubclass(kind, FSED) for kind in kinds):
            with suppress(DataError):  # such as values that are missing, which have no density
                grades, densities = _densities(train, values)
    return FirstFold(
        fold=fold.name,
        measure=importance.label,
        importance=values.tolist(),
        chance=round(chance, 6),
        compared=compared.tolist(),
        likeness=[similarity[row, : row + 1].tolist() for row in range(len(similarity))],
        grades=grades.tolist(),
        densities=densities,
        versions=installed_versions(),
    )


def _densities(source: Source, importance: np.ndarray) -> tuple[np.ndarray, list[FeatureDensities]]:
    r"""Grades, and densities of the features that rank best and worst alone.

    .. math:: \hat f^a(x) = \frac{1}{M_a h_a} \sum_{j: y_j = a} \varphi((x - x_j) / h_a)

    with a Gaussian :math:`\varphi`, over the :math:`M_a` documents of grade a, and the bandwidth h
    of FS-ED, as in figure 3 of P. Gupta, P. Rosso. Expected divergence based feature selection for
    learning to rank. COLING 2012. Features that are constant within every query are left out.
    """
    grades = grades_of(source)
    with engine_of(source).start(ClassDensities, grades) as workers:
        found = totals(workers)
        widths = bandwidths_of(workers, found)
        order = np.argsort(-importance, kind="stable")
        order = order[(found.varies & np.isfinite(widths).all(axis=0))[order]]
        if not len(order):
            return grades, []
        n_shown = min(_N_DENSITIES, len(order) // 2)
        features = np.concatenate([order[:n_shown], order[len(order) - n_shown :]])
        points = [_points(found.low[i], found.high[i], widths[:, i]) for i in features]
        starts = np.cumsum([0, *map(len, points)])
        where = features, np.concatenate(points), starts, widths[:, features]
        values = workers.sum(ClassDensities.kernel_sums, *where) / found.counts[:, None]
    parts = np.split(values, starts[1:-1], axis=1)
    own = zip(features.tolist(), points, parts, strict=True)
    return grades, [FeatureDensities(i, at.tolist(), part.tolist()) for i, at, part in own]


def _points(low: float, high: float, widths: np.ndarray) -> np.ndarray:
    """Evenly spaced points over a feature's values, several in its smallest bandwidth."""
    margin = _MARGIN * widths.max()
    wanted = _POINTS_PER_BANDWIDTH * (high - low + 2 * margin) / widths.min()
    return np.linspace(low - margin, high + margin, int(np.clip(wanted, *_N_POINTS)))


def rank_features(
    result: StudyResult, importance: Sequence[float] | np.ndarray | None
) -> list[int]:
    """All features: those that are selected most often first, then the most important."""
    counts = count_taken(result)
    values = [0.0] * len(result.feature_names) if importance is None else importance
    return sorted(range(len(values)), key=lambda feature: (-counts[feature], -values[feature]))


def count_taken(result: StudyResult) -> Counter[int]:
    """How often each feature is selected, over all selectors, rankers, seeds and folds."""
    return Counter(
        feature
        for (selector, _), run in result.runs.items()
        if selector in result.selecting
        for features in run.chosen.selections
        for feature in features
    )


def write_first_fold(seen: FirstFold, directory: Path) -> None:
    """Write the facts to the directory of a study."""
    record = records.sign_record(seen, _FORMAT, _VERSION)
    records.write_text(json.dumps(record, allow_nan=False) + "\n", directory / FIRST_FOLD)


def read_first_fold(directory: Path, n_features: int) -> FirstFold | None:
    """Read the facts from the directory of a study; None if there is no such file.

    Raises a DataError that says what is wrong with the file and what to do.
    """
    path = directory / FIRST_FOLD
    if not path.exists():
        return None
    what = "facts about the data of a study"
    with records.locate_errors(path, "; delete the file, or run compare again"):
        record = records.read_record(path)
        seen = records.convert_signed(record, FirstFold, _FORMAT, _VERSION, what)
        _check(seen, n_features)
        return seen


def _check(seen: FirstFold, n_features: int) -> None:
    """Raise a DataError unless all features are known and all lists have the right length."""
    if len(seen.importance) != n_features:
        raise DataError(f"'importance' should be {n_features} finite numbers")
    known = range(n_features)
    if any(f not in known for f in [*seen.compared, *(one.feature for one in seen.densities)]):
        raise DataError("it has features that are not in the study")
    if [len(row) for row in seen.likeness] != list(range(1, len(seen.compared) + 1)):
        raise DataError("'likeness' should have a row for each feature compared")
    for one in seen.densities:
        shape = [len(one.points)] * len(seen.grades)
        if not one.points or not shape or [len(row) for row in one.values] != shape:
            raise DataError("'densities' should have a number for each grade and point")
