"""Fold wide tables into several narrower ones, one below the other."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from ranksieve.report.sheets.sheet import Column

GAP = 2  # characters between columns


def fold(columns: Sequence[Column], widths: Sequence[int], width: int) -> list[list[int]]:
    """Divide columns into tables of limited width, each starting with the columns of names.

    Groups of columns are split only if they do not fit alone; a single column may be too wide.

    Examples
    --------
    >>> columns = [Column("selector", is_name=True), *map(Column, ("MAP", "NDCG@1", "NDCG@10"))]
    >>> fold(columns, [10, 6, 6, 7], 28)
    [[0, 1, 2], [0, 3]]
    """
    names = [index for index, column in enumerate(columns) if column.is_name]
    room = width - sum(widths[index] + GAP for index in names)

    def width_of(indices: Sequence[int]) -> int:
        return sum(widths[index] + GAP for index in indices) - GAP

    blocks: list[list[int]] = [[]]
    for unit in _units(columns):
        for piece in [unit] if width_of(unit) <= room else [[index] for index in unit]:
            if blocks[-1] and width_of(blocks[-1] + piece) > room:
                blocks.append([])
            blocks[-1] += piece
    return [names + block for block in blocks]


def _units(columns: Sequence[Column]) -> list[list[int]]:
    """List the indices of columns other than names, those of a group together."""
    indices = [index for index, column in enumerate(columns) if not column.is_name]
    runs = groupby(indices, lambda index: columns[index].group or str(index))
    return [list(run) for _, run in runs]
