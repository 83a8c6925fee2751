"""Published results beside ours, as tables on a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from ranksieve.report.formats.terminal import to_terminal
from ranksieve.report.sheets.reproduction_fs_ed import fs_ed_sheets
from ranksieve.report.sheets.reproduction_fs_scpr import fs_scpr_sheets
from ranksieve.report.sheets.reproduction_gas import gas_sheets
from ranksieve.report.sheets.reproduction_greedy import greedy_sheets
from ranksieve.report.sheets.reproduction_rankers import rankers_sheets
from ranksieve.report.sheets.sheet import Sheet

if TYPE_CHECKING:
    from ranksieve.reproduction import (
        FSEDReproduction,
        FSSCPRReproduction,
        GASReproduction,
        GreedyReproduction,
        RankersReproduction,
    )
    from ranksieve.reproduction.collections import Facts


def greedy_reproduction_tables(result: GreedyReproduction) -> Group:
    """Published numbers and ours, side by side, and how many agree."""
    return _stacked(result.facts, greedy_sheets(result))


def rankers_reproduction_tables(result: RankersReproduction) -> Group:
    """Published results of rankers and ours, how far they are apart, and how ours were trained."""
    return _stacked(result.facts, rankers_sheets(result))


def fs_scpr_reproduction_tables(result: FSSCPRReproduction) -> Group:
    """Published results of FS-SCPR and others and ours, improvements and unified ranks."""
    return _stacked(result.facts, fs_scpr_sheets(result))


def fs_ed_reproduction_tables(result: FSEDReproduction) -> Group:
    """Published numbers of features and ours, and the curves that they come from."""
    return _stacked(result.facts, fs_ed_sheets(result))


def gas_reproduction_tables(result: GASReproduction) -> Group:
    """Curves of all measures, and what the paper says of its own."""
    return _stacked(result.facts, gas_sheets(result))


def _stacked(facts: Facts, sheets: Iterable[Sheet]) -> Group:
    warning = [] if facts.warning is None else [Text(facts.warning), Text()]
    return Group(*warning, *_with_space(sheets))


def _with_space(sheets: Iterable[Sheet]) -> Iterator[RenderableType]:
    for number, sheet in enumerate(sheets):
        if number:
            yield Text()
        yield to_terminal(sheet)
