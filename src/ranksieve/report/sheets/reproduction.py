"""Sheets of published results beside ours."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

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


def greedy_reproduction_tables(result: GreedyReproduction) -> list[Sheet]:
    """Published numbers and ours, side by side, and how many agree."""
    return _warned(result.facts, greedy_sheets(result))


def rankers_reproduction_tables(result: RankersReproduction) -> list[Sheet]:
    """Published results of rankers and ours, how far they are apart, and how ours were trained."""
    return _warned(result.facts, rankers_sheets(result))


def fs_scpr_reproduction_tables(result: FSSCPRReproduction) -> list[Sheet]:
    """Published results of FS-SCPR and others and ours, improvements and unified ranks."""
    return _warned(result.facts, fs_scpr_sheets(result))


def fs_ed_reproduction_tables(result: FSEDReproduction) -> list[Sheet]:
    """Published numbers of features and ours, and the curves that they come from."""
    return _warned(result.facts, fs_ed_sheets(result))


def gas_reproduction_tables(result: GASReproduction) -> list[Sheet]:
    """Curves of all measures, and what the paper says of its own."""
    return _warned(result.facts, gas_sheets(result))


def _warned(facts: Facts, sheets: list[Sheet]) -> list[Sheet]:
    """The sheets, of which the first says what to know before numbers are compared."""
    if facts.warning is None:
        return sheets
    first, *others = sheets
    return [replace(first, setting=f"{facts.warning} {first.setting}"), *others]
