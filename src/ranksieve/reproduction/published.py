"""Read published tables from the CSV files next to the modules of the papers."""

from __future__ import annotations

import csv
from pathlib import Path

from ranksieve.reproduction.paper import Means, OnFolds


def read_on_folds(name: str) -> OnFolds:
    """Read a table whose columns are folds."""
    tables: dict[str, dict[str, dict[str, tuple[float, ...]]]] = {}
    for collection, method, measure, *folds in _rows(name)[1:]:
        values = tables.setdefault(collection, {}).setdefault(method, {})
        values[measure] = tuple(map(float, folds))
    return tables


def read_means(name: str) -> Means:
    """Read a table whose columns are measures."""
    tables: dict[str, dict[str, dict[str, float]]] = {}
    (_, _, *measures), *rows = _rows(name)
    for collection, method, *values in rows:
        means = dict(zip(measures, map(float, values), strict=True))
        tables.setdefault(collection, {})[method] = means
    return tables


def _rows(name: str) -> list[list[str]]:
    text = (Path(__file__).parent / "papers" / f"{name}.csv").read_text(encoding="ascii")
    return list(csv.reader(text.splitlines()))
