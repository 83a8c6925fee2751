"""FS-ED on data of the size of Yahoo's set 2: five grades, as many validation as training rows.

The data is random, with shares of grades like those of a web collection. Of six features, three are
normal, two skewed and one mostly zero. ranksieve fits all features, including the NDCG@10 of each.
SciPy's ``gaussian_kde`` gets the same bandwidths, and is called once per feature and grade, on one
thread and only for the first ``sample`` features. "all features" extrapolates its time to all
features: compare that with ranksieve's seconds. It comes from the first run of a process, which is
the one whose seconds are shown if ``--repeats`` is 1. Both must find the same divergences of these
few features.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from benchmarks.harness import Task

PARAMETERS = {"rows": 35_000, "features": 699, "sample": 3}
TINY = {"rows": 600, "features": 10, "sample": 2}
GRADES = {0: 0.26, 1: 0.36, 2: 0.28, 3: 0.08, 4: 0.02}
DOCUMENTS = 25
KINDS = ("normal", "skewed", "mostly zero", "normal", "skewed", "normal")


def _data(rows: int, features: int, seed: int) -> Any:
    from ranksieve import RankingData

    rng = np.random.default_rng(seed)
    y = rng.choice(list(GRADES), size=rows, p=list(GRADES.values())).astype(float)
    strength = np.random.default_rng(0).uniform(0.3, 0.6, features)
    X = rng.normal(size=(rows, features)) + y[:, None] * strength
    for feature in range(features):
        kind, column = KINDS[feature % len(KINDS)], X[:, feature]
        if kind == "skewed":
            X[:, feature] = np.exp(0.8 * column)
        elif kind == "mostly zero":
            X[:, feature] = np.maximum(column - 1, 0)
    return RankingData(X, y, np.arange(rows) // DOCUMENTS)


def _both(rows: int, features: int) -> tuple[Any, Any]:
    return _data(rows, features, 1), _data(rows, features, 2)


def _facts(divergence: np.ndarray) -> dict[str, Any]:
    return {"divergences of the few": " ".join(f"{value:.4f}" for value in divergence)}


def ranksieve(rows: int, features: int, sample: int) -> Task:
    """Fit all features."""
    from ranksieve.selectors import FSED

    train, validation = _both(rows, features)

    def run() -> Any:
        return FSED().fit(train, eval_set=validation)

    return Task(run, run, lambda selector: _facts(selector.divergence_[:sample]))


def scipy(rows: int, features: int, sample: int) -> Task:
    """A loop over a few features and the grades."""
    few = min(sample, features)
    train, validation = _both(rows, features)

    def measure(n_features: int) -> tuple[float, np.ndarray]:
        start = time.perf_counter()
        found = [_divergence(train, validation, feature) for feature in range(n_features)]
        return time.perf_counter() - start, np.array(found)

    def describe(result: tuple[float, np.ndarray]) -> dict[str, Any]:
        seconds, divergence = result
        whole = f"{seconds * features / few:.0f} s, extrapolated"
        return _facts(divergence) | {"all features": whole}

    small = _both(min(rows, 500), 1)
    return Task(lambda: measure(few), lambda: _divergence(*small, 0), describe)


def _divergence(train: Any, validation: Any, feature: int) -> float:
    """Return the sum over pairs of grades of their distance times their divergence in bits."""
    points = validation.X[:, feature]
    density = np.array([_density(train.X[train.y == g, feature], points) for g in GRADES])
    density = np.maximum(density, 1e-12 * density.max())
    total = 0.0
    for a in range(len(GRADES)):
        for b in range(a + 1, len(GRADES)):
            middle = (density[a] + density[b]) / 2
            parts = [np.log2(density[g] / middle)[validation.y == g].mean() for g in (a, b)]
            total += (b - a) * max(0.0, sum(parts) / 2)
    return total


def _density(values: np.ndarray, points: np.ndarray) -> np.ndarray:
    from scipy.stats import gaussian_kde

    spread = np.std(values, ddof=1)
    quartiles = np.subtract(*np.quantile(values, [0.75, 0.25]))
    width = min(spread, quartiles / 1.34) if quartiles > 0 else spread
    bandwidth = 0.9 * width * len(values) ** -0.2
    return gaussian_kde(values, bw_method=bandwidth / spread)(points)


CONTENDERS = {"ranksieve": ranksieve, "SciPy, few features": scipy}
