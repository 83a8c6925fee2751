"""What sheets of reproductions share: rows of published numbers, ours and their differences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ranksieve.metrics import get_convention
from ranksieve.report.sheets.sheet import Cell, Column, Row

if TYPE_CHECKING:
    from ranksieve.reproduction.collections import Facts
    from ranksieve.reproduction.numbers import Number

TIES = {
    "stable": "equal scores in the order of the files",
    "average": "averaged over the orders of equal scores",
    "document": "equal scores by descending document id",
}
WHOSE = Column("whose", align="left", is_name=True)


def setting_of(facts: Facts, exception: str = "") -> str:
    """Queries, convention, tuning and protocol of results on folds, in sentences."""
    return (
        f"Measured on test queries ({facts.n_queries:,} queries in all), convention "
        f"{facts.convention}, {TIES[get_convention(facts.convention).ties]}; all was tuned by "
        f"MAP on validation queries{exception}. Protocol: the folds of the collection."
    )


def rows_beside(names: Sequence[str], numbers: Sequence[Number | None], form: str) -> list[Row]:
    """Rows of published numbers, ours, and their differences if there are any.

    A difference is marked with ``*`` if it is larger than asked.
    """
    first = [Cell(name) for name in names]
    rows: list[Row] = [
        [*first, Cell("paper"), *(Cell(None if n is None else n.published, form) for n in numbers)],
        [*first, Cell("ours"), *(Cell(None if n is None else n.ours, form) for n in numbers)],
    ]
    if any(number is not None and number.difference is not None for number in numbers):
        rows.append([*first, Cell("apart"), *(difference(n, form) for n in numbers)])
    return rows


def difference(number: Number | None, form: str) -> Cell:
    """Ours minus the published number; empty if there is none."""
    if number is None or number.difference is None:
        return Cell("")
    mark = "*" if number.is_within is False else ""
    return Cell(number.difference, f"+z{form.removeprefix('+').removeprefix('z')}", mark=mark)
