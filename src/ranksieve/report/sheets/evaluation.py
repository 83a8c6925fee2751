"""Measures of scores and of trained rankers as tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rich.console import Group
from rich.table import Table

from ranksieve.registry import described
from ranksieve.report.formats.terminal import PlainTable, heading
from ranksieve.text import counted

if TYPE_CHECKING:
    from ranksieve.metrics import Evaluation


def evaluation_table(result: Evaluation, per_query: bool) -> Table:
    """Means of the measures, after the values of every query if they are wanted."""
    table = PlainTable()
    table.add_column(f"convention {result.convention}", overflow="fold")
    for name in result.mean:
        table.add_column(name, justify="right")
    if per_query:
        columns = zip(*result.per_query.values(), strict=True)
        for query, values in zip(result.query_ids.tolist(), columns, strict=True):
            table.add_row(str(query), *(f"{value:.4f}" for value in values))
    label = f"mean of {counted(len(result.query_ids), 'query', 'queries')}"
    table.add_row(label, *(f"{value:.4f}" for value in result.mean.values()))
    return table


def training_table(
    ranker: str,
    n_features: int,
    changed: Mapping[str, Any],
    measured: Mapping[str, Mapping[str, float]],
    convention: str,
) -> Group:
    """How well a trained ranker ranks each of some data; ``changed`` as in selection_table."""
    table = PlainTable()
    table.add_column(f"convention {convention}", overflow="fold")
    for name in next(iter(measured.values())):
        table.add_column(name, justify="right")
    for place, values in measured.items():
        table.add_row(place, *(f"{value:.4f}" for value in values.values()))
    trained_on = counted(n_features, "feature")
    return Group(heading(f"{described(ranker, changed)}, trained on {trained_on}"), table)
