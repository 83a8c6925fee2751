"""Sheets of measures: of scores, and of a trained ranker."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ranksieve.metrics import Evaluation
from ranksieve.report.sheets.sheet import Column, Entry, Row, Sheet, name_column
from ranksieve.text import describe, quantity


def evaluation_sheet(title: str, result: Evaluation, per_query: bool) -> Sheet:
    """Means of the measures, after the values of every query if ``per_query``."""
    groups = []
    if per_query:
        columns = zip(*result.per_query.values(), strict=True)
        queries = zip(result.query_ids.tolist(), columns, strict=True)
        groups.append([_row(str(query), values) for query, values in queries])
    weighted = "" if result.query_weights is None else "weighted "
    label = f"{weighted}mean of {quantity(len(result.query_ids), 'query', 'queries')}"
    groups.append([_row(label, result.mean.values())])
    columns_of_names = [name_column("query"), *map(Column, result.mean)]
    setting = f"Convention {result.convention}."
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


def _row(name: str, values: Iterable[float]) -> Row:
    return [Entry(name), *(Entry(value, ".4f") for value in values)]
