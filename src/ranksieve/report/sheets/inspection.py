"""What was found in data, as tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.console import Group
from rich.table import Table
from rich.text import Text

from ranksieve.metrics import CONVENTIONS
from ranksieve.report.formats.terminal import PlainTable, heading
from ranksieve.text import counted

if TYPE_CHECKING:
    from ranksieve.sums.inspection import Inspection


def inspection_tables(title: str, found: Inspection, top: int) -> Group:
    """What was found in the data, and its ``top`` best single features."""
    facts = PlainTable(show_header=False)
    facts.add_column()
    facts.add_column(overflow="fold")
    for name, text in _facts(found):
        facts.add_row(name, text)
    if found.best_features is None:
        return Group(heading(title), facts)
    what = f"Best single features by {found.measure} ({found.convention}, ties averaged)"
    return Group(heading(title), facts, Text(), heading(what), _best_features(found, top))


def _best_features(found: Inspection, top: int) -> Table:
    assert found.best_features is not None
    table = PlainTable()
    table.add_column("feature", overflow="fold")
    table.add_column("order")
    table.add_column(found.measure, justify="right")
    table.add_column("")
    for feature in found.best_features[:top]:
        bar = "#" * round(30 * min(1.0, feature.value))
        table.add_row(feature.name, feature.direction, f"{feature.value:.4f}", bar)
    return table


def _facts(found: Inspection) -> Iterator[tuple[str, str]]:
    """Lines of the first table: what it is, and in words how much of it there is."""
    length = found.documents_per_query
    total = found.n_rows
    yield "rows", f"{total:,}"
    yield "queries", f"{found.n_queries:,}"
    yield "features", f"{found.n_features:,} ({found.density:.0%} of the values are not zero)"
    shares = (f"{label:g}: {n:,} ({n / total:.1%})" for label, n in found.labels.items())
    yield "labels", ", ".join(shares) if len(found.labels) <= 12 else f"{len(found.labels)} values"
    yield (
        "documents per query",
        f"{length['min']:g} to {length['max']:g}, "
        f"median {length['median']:g}, mean {length['mean']:.1f}",
    )
    yield "one-document queries", f"{found.n_single:,}"
    without = found.n_without_relevant
    yield (
        "no relevant document",
        f"{counted(without, 'query', 'queries')} ({without / found.n_queries:.1%})",
    )
    yield "file order", _file_order(found)
    if found.n_missing:
        yield "missing values", f"{found.n_missing:,}: features are not compared"
    yield "constant features", _listing(found.constant)
    if found.constant_in_queries is not None:
        yield "constant in each query", _listing(found.constant_in_queries)
    yield "duplicated features", _listing([" = ".join(group) for group in found.duplicates])
    if found.near_duplicates is not None:
        pairs = [f"{p.first} ~ {p.second} ({p.correlation:.4f})" for p in found.near_duplicates]
        yield "nearly duplicated", _listing(pairs)
    elif not found.n_missing:
        yield "nearly duplicated", "not looked for: too many features"


def _file_order(found: Inspection) -> str:
    order = found.file_order
    values = f"{found.measure} {order.value:.4f} against {order.by_chance:.4f} of random orders"
    if not order.better_than_chance:
        return f"ranks no better than chance: {values}"
    flattering = [name for name, c in CONVENTIONS.items() if c.ties == "stable"]
    return (
        f"ranks better than chance: {values}. Conventions that break ties by file order "
        f"({', '.join(flattering)}) flatter weak models on this data."
    )


def _listing(items: list[str], most: int = 8) -> str:
    if not items:
        return "none"
    more = f", and {len(items) - most} more" if len(items) > most else ""
    return ", ".join(items[:most]) + more
