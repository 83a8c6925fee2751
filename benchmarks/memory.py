"""Memory of each filter in addition to the data: 300,000 rows x 300 features in float32 (360 MB).

The peak is counted from the moment when everything is imported and compiled and the data is in
memory, so it is what the filter itself needs. The data is passed as arrays, as users of
scikit-learn do.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from benchmarks.harness import Task
from ranksieve.selectors.registry import SELECTORS

PARAMETERS = {"rows": 300_000, "features": 300, "documents": 100}
TINY = {"rows": 60, "features": 12, "documents": 6}

_FILTERS = [name for name, method in SELECTORS.items() if method.family == "filters"]


class _Arrays(NamedTuple):
    X: np.ndarray
    y: np.ndarray
    qid: np.ndarray


def _draw(rows: int, features: int, documents: int) -> _Arrays:
    """Return features that depend on the label to different degrees, and not only linearly."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, rows)
    X = np.empty((rows, features), dtype=np.float32)
    rng.standard_normal(out=X, dtype=np.float32)
    for first in range(0, rows, 1000):  # no second array of this size, whose memory would be reused
        part = X[first : first + 1000]
        part += y[first : first + 1000, None] * np.linspace(1, 0, features, dtype=np.float32)
    return _Arrays(X, y, np.arange(rows) // documents)


def select(name: str, rows: int, features: int, documents: int) -> Task:
    """Select ten features with a filter."""
    selector = SELECTORS[name].make(n_features_to_select=10)
    X, y, qid = _draw(rows, features, documents)
    few = _draw(20 * documents, 11, documents)

    def describe(fitted: Any) -> dict[str, Any]:
        best = fitted.selected_[:3] + 1
        return {"data MB": f"{X.nbytes / 1e6:.0f}", "first three": " ".join(map(str, best))}

    return Task(
        lambda: selector.fit(X, y, qid=qid),
        lambda: selector.fit(few.X, few.y, qid=few.qid),
        describe,
    )


CONTENDERS = {name: partial(select, name) for name in (*_FILTERS, "top")}
