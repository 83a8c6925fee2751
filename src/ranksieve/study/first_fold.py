"""Facts about the data for reports, stored next to the ledger, so that reports need no data."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from platform import machine, python_version, system
from typing import Any

import numpy as np

from ranksieve._version import __version__
from ranksieve.data import DataError
from ranksieve.engine.memo import sharing
from ranksieve.io import records
from ranksieve.study.results import StudyResult
from ranksieve.study.study import Study
from ranksieve.sums.importance import Importance
from ranksieve.sums.similarity import Similarity

FIRST_FOLD = "first-fold.json"
MOST_COMPARED = 150
"""Number of features whose similarity is stored: most often selected, then most important."""
_FORMAT, _VERSION = "ranksieve-first-fold", 1
_PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "lightgbm", "xgboost", "catboost")


@dataclass(frozen=True, eq=False)
class FirstFold:
    """Facts about the training queries of the first fold."""

    fold: str  # its name
    measure: str  # of the importance
    # (features,): mean of the measure if one feature ranks the documents, in its better direction
    importance: np.ndarray
    compared: np.ndarray  # features whose similarity is known
    # (compared, compared): absolute value of the mean over queries of Spearman's coefficient
    similarity: np.ndarray
    versions: Mapping[str, str]  # of Python and of packages when this was computed

    def similar_to(
        self, feature: int, most: int = 3, least: float = 0.5
    ) -> list[tuple[int, float]]:
        """The features most similar to one, with their similarity, if it is at least ``least``."""
        rows = np.flatnonzero(self.compared == feature)
        if not len(rows):
            return []
        own = np.where(self.compared == feature, -np.inf, self.similarity[rows[0]])
        nearest = np.argsort(-own, kind="stable")[: min(most, len(own) - 1)]
        found = [(int(self.compared[row]), float(own[row])) for row in nearest]
        return [(other, alike) for other, alike in found if alike >= least]


def describe_first_fold(study: Study, result: StudyResult) -> FirstFold:
    """Compute the facts about the data that a report shows; test queries are not used.

    Raises a DataError if the data has values that cannot be ranked.
    """
    fold = study.trials[0].open()
    importance = Importance(study.plan.tune, study.plan.convention)
    with sharing(fold.memo):
        values = importance(fold.train).values
    compared = np.sort(rank_features(result, values)[:MOST_COMPARED])
    # A mean of absolute values would be far from 0 for features that have nothing in common.
    similarity = np.abs(Similarity("spearman")(fold.train.take_features(compared)))
    return FirstFold(
        fold.name,
        importance.label,
        values,
        compared,
        np.minimum(similarity, 1.0),
        installed_versions(),
    )


def rank_features(result: StudyResult, importance: np.ndarray | None) -> list[int]:
    """All features: those that are selected most often first, then the most important."""
    counts = count_taken(result)
    values = np.zeros(len(result.feature_names)) if importance is None else importance
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


def installed_versions() -> dict[str, str]:
    """Versions of Python, of packages that results depend on, and of the system."""
    found = {"ranksieve": __version__, "Python": python_version()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found | {"system": f"{system()} {machine()}"}


def write_first_fold(seen: FirstFold, directory: Path) -> None:
    """Write the facts to the directory of a study."""
    record: dict[str, Any] = {
        "format": _FORMAT,
        "version": _VERSION,
        "fold": seen.fold,
        "measure": seen.measure,
        "importance": np.round(seen.importance, 6).tolist(),
        "compared": seen.compared.tolist(),
        "similarity": np.round(seen.similarity, 3).tolist(),
        "versions": dict(seen.versions),
    }
    record["checksum"] = records.checksum_of(record)
    records.write_text(json.dumps(record, allow_nan=False) + "\n", directory / FIRST_FOLD)


def read_first_fold(directory: Path, n_features: int) -> FirstFold | None:
    """Read the facts from the directory of a study; None if there is no such file.

    Raises a DataError that says what is wrong with the file and what to do.
    """
    path = directory / FIRST_FOLD
    if not path.exists():
        return None
    record = records.read_record(path)
    try:
        records.check_format(record, _FORMAT, _VERSION, "facts about the data of a study")
        records.check_checksum(record)
        return _parse(record, n_features)
    except DataError as error:
        raise DataError(f"{path}: {error}; delete the file, or run compare again") from None


def _parse(record: dict[str, Any], n_features: int) -> FirstFold:
    compared = records.get_numbers(record, "compared", None).astype(int)
    if len(compared) and not 0 <= compared.min() <= compared.max() < n_features:
        raise DataError("'compared' has features that are not in the study")
    return FirstFold(
        records.get(record, "fold", str),
        records.get(record, "measure", str),
        records.get_numbers(record, "importance", n_features),
        compared,
        records.get_numbers(record, "similarity", len(compared), len(compared)),
        {
            str(name): str(version)
            for name, version in records.get(record, "versions", dict).items()
        },
    )
