"""Sheets of measures: of scores, and of a trained ranker."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ranksieve.metrics import Evaluation
from ranksieve.report.sheets.sheet import Column, Entry, Row, Sheet, name_column
from ranksieve.text import describe, quantity


def evaluation_sheet(title: str, result: Evaluation, per_query: bool) -> Sheet:
    """Means of the measures, after the values of every query if ``per_query``."""
    groups = []
    if per_query:
        columns = zip(*result.per_query.values(), strict=True)
        queries = zip(result.query_ids.tolist(), columns, strict=True)
        groups.append([_row(str(query), none_for_nan(values)) for query, values in queries])
    weighted = "" if result.query_weights is None else "weighted "
    label = f"{weighted}mean of {quantity(len(result.query_ids), 'query', 'queries')}"
    groups.append([_row(label, none_for_nan(result.mean.values()))])
    columns_of_names = [name_column("query"), *map(Column, result.mean)]
    setting = f"Convention {result.convention}."
    if result.is_row_weighted:
        setting += " Documents count by the weights of their rows."
    if any(np.isnan(values).any() for values in result.per_query.values()):
        setting += " Queries with equal labels have no pairwise error: its mean is over the others."
    return Sheet("evaluation", title, setting, columns_of_names, groups)


def training_sheet(
    ranker: str,
    n_features: int,
    changed: Mapping[str, Any],
    measured: Mapping[str, Mapping[str, float]],
    convention: str,
) -> Sheet:
    """Quality of a trained ranker on each data set; for ``changed``, see ``selection_sheet``."""
    measures = next(iter(measured.values()))
    return Sheet(
        "training",
        f"{describe(ranker, changed)}, trained on {quantity(n_features, 'feature')}",
        f"Means over queries, convention {convention}.",
        [name_column("data"), *map(Column, measures)],
        [[_row(name, values.values()) for name, values in measured.items()]],
    )


def none_for_nan(values: Iterable[float]) -> list[float | None]:
    """Values, with None for those that are not defined."""
    return [None if math.isnan(value) else value for value in values]


def _row(name: str, values: Iterable[float | None]) -> Row:
    return [Entry(name), *(Entry(value, ".4f") for value in values)]
