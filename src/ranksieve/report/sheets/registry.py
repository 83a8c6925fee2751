"""Names of methods or rankers as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table

from ranksieve.report.formats.terminal import PlainTable

if TYPE_CHECKING:
    from ranksieve.registry import Registry


def registry_table(registry: Registry) -> Table:
    """Names of methods or rankers and what they do."""
    table = PlainTable()
    table.add_column(registry.what, no_wrap=True)
    table.add_column("what it goes by", overflow="fold")
    for name, method in registry.items():
        table.add_row(name, method.description)
    return table
