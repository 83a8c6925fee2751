"""Results as tables: on a terminal, and for papers, pages and spreadsheets.

Names are imported when they are first used, so that the command line starts at once.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ranksieve.tables.csv_text import to_csv
    from ranksieve.tables.evaluation import evaluation_table, training_table
    from ranksieve.tables.inspection import inspection_tables
    from ranksieve.tables.latex import to_latex
    from ranksieve.tables.markdown import to_markdown
    from ranksieve.tables.registry import registry_table
    from ranksieve.tables.reproduction import (
        fs_scpr_reproduction_tables,
        greedy_reproduction_tables,
        rankers_reproduction_tables,
    )
    from ranksieve.tables.selection import selection_table
    from ranksieve.tables.sheets import Cell, Column, Sheet
    from ranksieve.tables.study_costs import cost_sheet
    from ranksieve.tables.study_quality import comparison_sheet, curves_sheet, folds_sheet
    from ranksieve.tables.study_selections import selected_sheet, stability_sheet
    from ranksieve.tables.study_statistics import statistics_sheet
    from ranksieve.tables.terminal import show, to_terminal

_HOME = {
    "show": "terminal",
    "inspection_tables": "inspection",
    "evaluation_table": "evaluation",
    "training_table": "evaluation",
    "selection_table": "selection",
    "registry_table": "registry",
    "greedy_reproduction_tables": "reproduction",
    "rankers_reproduction_tables": "reproduction",
    "fs_scpr_reproduction_tables": "reproduction",
    "Cell": "sheets",
    "Column": "sheets",
    "Sheet": "sheets",
    "to_terminal": "terminal",
    "to_markdown": "markdown",
    "to_latex": "latex",
    "to_csv": "csv_text",
    "comparison_sheet": "study_quality",
    "cost_sheet": "study_costs",
    "folds_sheet": "study_quality",
    "selected_sheet": "study_selections",
    "statistics_sheet": "study_statistics",
    "stability_sheet": "study_selections",
    "curves_sheet": "study_quality",
}

__all__ = [
    "show",
    "inspection_tables",
    "evaluation_table",
    "training_table",
    "selection_table",
    "registry_table",
    "greedy_reproduction_tables",
    "rankers_reproduction_tables",
    "fs_scpr_reproduction_tables",
    "Cell",
    "Column",
    "Sheet",
    "to_terminal",
    "to_markdown",
    "to_latex",
    "to_csv",
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
        raise AttributeError(f"module 'ranksieve.tables' has no attribute {name!r}")
    return getattr(import_module(f"ranksieve.tables.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
