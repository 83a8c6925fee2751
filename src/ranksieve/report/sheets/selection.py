"""Selected features as a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rich.console import Group

from ranksieve.registry import described
from ranksieve.report.formats.terminal import PlainTable, heading
from ranksieve.text import counted

if TYPE_CHECKING:
    from ranksieve.io.selection import Selection


def selection_table(
    title: str, selection: Selection, changed: Mapping[str, Any], n_groups: int | None = None
) -> Group:
    """The features selected, best first.

    Parameters
    ----------
    title : str
        What they were selected from.
    selection : Selection
    changed : mapping
        Parameters worth naming.
    n_groups : int, optional
        Groups selected, where features come in groups.
    """
    what = described(selection.method, changed)
    number = f"{len(selection.features):,} of {selection.n_features_in:,} features"
    if n_groups is not None:
        number = f"{counted(n_groups, 'group')}, {number}"
    table = PlainTable()
    table.add_column("", justify="right")
    table.add_column("feature", overflow="fold")
    scores = [abs(feature.score) for feature in selection.features if feature.score is not None]
    # Four decimals line up; they would hide small scores, and drown in large ones.
    form = ".4f" if 0.1 <= max(scores, default=0) < 1e4 else ".4g"
    with_reasons = any(feature.reason for feature in selection.features)
    if scores:
        table.add_column("score", justify="right", no_wrap=True)
    if with_reasons:
        table.add_column("reason", overflow="fold")
    for rank, feature in enumerate(selection.features, start=1):
        cells = [str(rank), feature.name]
        if scores:
            cells.append("" if feature.score is None else format(feature.score, form))
        if with_reasons:
            cells.append(feature.reason)
        table.add_row(*cells)
    return Group(heading(f"{what}: {number} of {title}"), table)
