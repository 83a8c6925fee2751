"""Sheets of GAS beside its paper."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ranksieve.report.sheets.sheet import Cell, Column, Sheet
from ranksieve.report.sheets.study_captions import setting_of
from ranksieve.report.sheets.study_quality import curves_sheet
from ranksieve.reproduction.gas import MEASURES, RANKER

if TYPE_CHECKING:
    from ranksieve.reproduction import GASReproduction


def gas_sheets(result: GASReproduction) -> list[Sheet]:
    """A sheet of curves for each measure, and statements if the paper has the collection."""
    sheets = [curves_sheet(result.study, RANKER, measure) for measure in MEASURES]
    found = result.findings()
    if not found:
        note = f"Nothing is published about {result.facts.title}: the paper has .gov and OHSUMED."
        return [*sheets[:-1], replace(sheets[-1], notes=[*sheets[-1].notes, note])]
    statements = Sheet(
        "gas-statements",
        f"What the GAS paper says of {result.facts.title}, and what is found",
        f"Test MAP with {RANKER}. {setting_of(result.study)}",
        [
            Column("paper", align="left", wraps=True),
            Column("ours", align="left", wraps=True),
        ],
        [[[Cell(finding.paper), Cell(finding.ours)] for finding in found]],
        ["The figures of the paper are not at hand, only its words. Percentages are relative."],
    )
    return [*sheets, statements]
