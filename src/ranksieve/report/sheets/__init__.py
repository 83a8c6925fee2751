"""Results as tables: on a terminal, and for papers, pages and spreadsheets.

Names are imported when they are first used, so that the command line starts at once.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ranksieve.report.formats.csv_text import to_csv
    from ranksieve.report.formats.json_text import to_json
    from ranksieve.report.formats.latex import to_latex
    from ranksieve.report.formats.markdown import to_markdown
    from ranksieve.report.formats.printing import show_sheets
    from ranksieve.report.formats.terminal import show, to_terminal
    from ranksieve.report.sheets.evaluation import evaluation_sheet, training_sheet
    from ranksieve.report.sheets.inspection import inspection_sheets
    from ranksieve.report.sheets.registry import registry_sheet
    from ranksieve.report.sheets.reproduction import reproduction_sheets
    from ranksieve.report.sheets.selection import selection_sheet
    from ranksieve.report.sheets.sheet import Cell, Column, Sheet
    from ranksieve.report.sheets.study_costs import cost_sheet
    from ranksieve.report.sheets.study_quality import comparison_sheet, curves_sheet, folds_sheet
    from ranksieve.report.sheets.study_selections import selected_sheet, stability_sheet
    from ranksieve.report.sheets.study_statistics import statistics_sheet

_HOME = {
    "show": "ranksieve.report.formats.terminal",
    "inspection_sheets": "ranksieve.report.sheets.inspection",
    "evaluation_sheet": "ranksieve.report.sheets.evaluation",
    "training_sheet": "ranksieve.report.sheets.evaluation",
    "selection_sheet": "ranksieve.report.sheets.selection",
    "registry_sheet": "ranksieve.report.sheets.registry",
    "reproduction_sheets": "ranksieve.report.sheets.reproduction",
    "Cell": "ranksieve.report.sheets.sheet",
    "Column": "ranksieve.report.sheets.sheet",
    "Sheet": "ranksieve.report.sheets.sheet",
    "to_terminal": "ranksieve.report.formats.terminal",
    "to_markdown": "ranksieve.report.formats.markdown",
    "to_latex": "ranksieve.report.formats.latex",
    "to_csv": "ranksieve.report.formats.csv_text",
    "to_json": "ranksieve.report.formats.json_text",
    "show_sheets": "ranksieve.report.formats.printing",
    "comparison_sheet": "ranksieve.report.sheets.study_quality",
    "cost_sheet": "ranksieve.report.sheets.study_costs",
    "folds_sheet": "ranksieve.report.sheets.study_quality",
    "selected_sheet": "ranksieve.report.sheets.study_selections",
    "statistics_sheet": "ranksieve.report.sheets.study_statistics",
    "stability_sheet": "ranksieve.report.sheets.study_selections",
    "curves_sheet": "ranksieve.report.sheets.study_quality",
}

__all__ = [
    "show",
    "inspection_sheets",
    "evaluation_sheet",
    "training_sheet",
    "selection_sheet",
    "registry_sheet",
    "reproduction_sheets",
    "Cell",
    "Column",
    "Sheet",
    "to_terminal",
    "to_markdown",
    "to_latex",
    "to_csv",
    "to_json",
    "show_sheets",
    "comparison_sheet",
    "cost_sheet",
    "folds_sheet",
    "selected_sheet",
    "statistics_sheet",
    "stability_sheet",
    "curves_sheet",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'ranksieve.report.sheets' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
