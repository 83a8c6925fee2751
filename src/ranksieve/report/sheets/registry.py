"""Sheet of the methods or rankers that there are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ranksieve.report.sheets.sheet import Cell, Column, Sheet

if TYPE_CHECKING:
    from ranksieve.registry import Registry


def registry_sheet(registry: Registry) -> Sheet:
    """Names of methods or rankers and what they do."""
    return Sheet(
        f"{registry.what}s",
        f"{registry.what.capitalize()}s by name",
        "",
        [
            Column(registry.what, align="left", is_name=True),
            Column("description", "what it does", align="left", wraps=True),
        ],
        [[[Cell(name), Cell(method.description)] for name, method in registry.items()]],
    )
