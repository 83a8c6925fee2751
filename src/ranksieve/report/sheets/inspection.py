"""Sheets that describe ranking data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ranksieve.metrics import CONVENTIONS
from ranksieve.report.sheets.sheet import Column, Entry, Sheet, name_column, text_column
from ranksieve.text import quantity

if TYPE_CHECKING:
    from ranksieve.sums.inspection import Inspection

_MOST_LISTED = 8


def facts_sheet(title: str, found: Inspection) -> Sheet:
    """Properties of the data as a whole."""
    rows = [
        [Entry(name), Entry(value, "," if isinstance(value, int) else "")]
        for name, value in _facts(found)
    ]
    columns = [name_column("property"), text_column("value")]
    return Sheet("inspection", title, "", columns, [rows])


def labels_sheet(found: Inspection) -> Sheet:
    """Number of documents with each label."""
    rows = [
        [Entry(f"{label:g}"), Entry(n, ","), Entry(n / found.n_rows, ".1%")]
        for label, n in found.labels.items()
    ]
    columns = [name_column("label"), Column("documents"), Column("share")]
    return Sheet("labels", "Documents by label", "", columns, [rows])


def lengths_sheet(found: Inspection) -> Sheet:
    """Number of queries by number of documents."""
    rows = [[Entry(one.least), Entry(one.most), Entry(one.queries, ",")] for one in found.lengths]
    columns = [Column("from", is_name=True), Column("to", is_name=True), Column("queries")]
    return Sheet("lengths", "Queries by number of documents", "", columns, [rows])


def useless_sheet(found: Inspection) -> Sheet:
    """Features that are constant or duplicates."""
    facts = [(name, "constant") for name in found.constant]
    facts += [(name, "constant within every query") for name in found.constant_in_queries or []]
    facts += [
        (name, f"same values as {first}") for first, *copies in found.duplicates for name in copies
    ]
    equal = {name for _, *copies in found.duplicates for name in copies}
    facts += [
        (name, one.what)
        for one in found.suspicions
        if one.kind == "copy"
        for name in one.features
        if name not in equal
    ]
    known = {name for name, _ in facts}
    facts += [
        (pair.second, f"nearly {pair.first} (correlation {pair.correlation:.4f})")
        for pair in found.near_duplicates or []
        if pair.second not in known
    ]
    rows = [[Entry(name), Entry(what)] for name, what in facts]
    columns = [name_column("feature"), text_column("what")]
    return Sheet("useless", "Features that add nothing", "", columns, [rows])


def missing_sheet(found: Inspection, top: int | None) -> Sheet:
    """Features with missing values, the largest number first."""
    columns = [
        name_column("feature"),
        Column("missing", "missing values"),
        Column("share", "share of rows"),
    ]
    rows = [
        [Entry(name), Entry(number, ","), Entry(number / found.n_rows, ".1%")]
        for name, number in list(found.missing.items())[:top]
    ]
    setting = "Where features are compared, a document without a value ranks last."
    n_more = len(found.missing) - len(rows)
    notes = [f"{quantity(n_more, 'more feature')} with missing values."] if n_more > 0 else []
    return Sheet("missing-values", "Missing values", setting, columns, [rows], notes)


def best_features_sheet(found: Inspection, top: int | None) -> Sheet:
    """Features that rank best alone: the ``top`` ones, or all."""
    assert found.best_features is not None
    columns = [name_column("feature"), Column("order", align="left"), Column(found.measure)]
    rows = [
        [Entry(feature.name), Entry(feature.direction), Entry(feature.value, ".4f")]
        for feature in found.best_features[:top]
    ]
    title = f"Best single features by {found.measure}"
    setting = f"Convention {found.convention}, ties averaged."
    return Sheet("best-features", title, setting, columns, [rows])


def _facts(found: Inspection) -> Iterator[tuple[str, str | int]]:
    """Rows of the first sheet: a property and its value, a number or words."""
    length = found.documents_per_query
    total = found.n_rows
    yield "rows", total
    yield "queries", found.n_queries
    if found.query_weights is not None:
        least, mean, most = found.query_weights.values()
        yield "weights of queries", f"{least:g} to {most:g}, mean {mean:.3g}"
    what = "neither zero nor missing" if found.n_missing else "not zero"
    yield "features", f"{found.n_features:,} ({found.density:.0%} of the values are {what})"
    shares = (f"{label:g}: {n:,} ({n / total:.1%})" for label, n in found.labels.items())
    yield "labels", ", ".join(shares) if len(found.labels) <= 12 else f"{len(found.labels)} values"
    yield (
        "documents per query",
        f"{length['min']:g} to {length['max']:g}, "
        f"median {length['median']:g}, mean {length['mean']:.1f}",
    )
    yield "one-document queries", found.n_single
    without = found.n_without_relevant
    yield (
        "no relevant document",
        f"{quantity(without, 'query', 'queries')} ({without / found.n_queries:.1%})",
    )
    yield "file order", describe_file_order(found)
    if found.n_missing:
        yield "missing values", _missing(found)
    if found.n_infinite:
        yield "infinite values", f"{found.n_infinite:,}: features are not compared"
    yield "constant features", _listing(found.constant)
    if found.constant_in_queries is not None:
        yield "constant in each query", _listing(found.constant_in_queries)
    yield "duplicated features", _listing([" = ".join(group) for group in found.duplicates])
    if found.near_duplicates is not None:
        pairs = [f"{p.first} ~ {p.second} ({p.correlation:.4f})" for p in found.near_duplicates]
        yield "nearly duplicated", _listing(pairs)
    elif not found.n_infinite:
        yield "nearly duplicated", "not computed: too many features"


def _missing(found: Inspection) -> str:
    share = found.n_missing / (found.n_rows * found.n_features)
    return (
        f"{found.n_missing:,} ({share:.1%}), of {quantity(len(found.missing), 'feature')}; trees "
        "take them as they are, other rankers need --missing"
    )


def describe_file_order(found: Inspection) -> str:
    """Describe whether the order of the file reveals labels."""
    order = found.file_order
    values = f"{found.measure} {order.value:.4f} against {order.by_chance:.4f} of random orders"
    if not order.better_than_chance:
        return f"ranks no better than chance: {values}"
    flattering = [name for name, c in CONVENTIONS.items() if c.ties == "stable"]
    return (
        f"ranks better than chance: {values}. Conventions that break ties by file order "
        f"({', '.join(flattering)}) flatter weak models on this data."
    )


def _listing(items: list[str]) -> str:
    if not items:
        return "none"
    more = f", and {len(items) - _MOST_LISTED} more" if len(items) > _MOST_LISTED else ""
    return ", ".join(items[:_MOST_LISTED]) + more
