"""Sheets of an export: the files, the verification, and features to switch off."""

from __future__ import annotations

from collections.abc import Mapping

from ranksieve.costs import cost_heading, format_cost
from ranksieve.export.exporting import Export
from ranksieve.export.targets.target import Target
from ranksieve.export.verifying import MEASURE, Verification
from ranksieve.report.sheets.sheet import Column, Entry, Row, Sheet, name_column, text_column
from ranksieve.text import quantity

_MISSING = {"nan": "no value (NaN)", "zero": "0"}


def export_sheets(export: Export) -> list[Sheet]:
    """All tables of an export."""
    sheets = [_summary(export)]
    if export.switched_off:
        sheets.append(_switched_off(export))
    return sheets


def targets_sheet(targets: Mapping[str, Target]) -> Sheet:
    """All targets."""
    columns = [
        name_column("target"),
        Column("models", align="left"),
        text_column("what is written"),
    ]
    rows = [
        [Entry(name), Entry(", ".join(target.kinds)), Entry(target.about)]
        for name, target in targets.items()
    ]
    return Sheet("targets", "Targets of exports", "", columns, [rows])


def _summary(export: Export) -> Sheet:
    groups = [
        [_fact("file", path) for path in export.files],
        [
            _fact("features that the model uses", len(export.features)),
            _fact("served for a missing value", _MISSING[export.missing]),
        ],
    ]
    setting = "The files were not verified: --verify DATA does that."
    if export.verification is not None:
        found = export.verification
        rows, queries = quantity(found.n_rows, "row"), quantity(found.n_queries, "query", "queries")
        setting = f"Verified in the arithmetic of the target, on {rows} of {queries}."
        groups.append(_verification_rows(found))
    columns = [name_column("what"), text_column("value")]
    title = f"Model for {export.target}"
    return Sheet("export", title, setting, columns, groups, export.notes)


def _verification_rows(found: Verification) -> list[Row]:
    facts = {
        "queries whose order changes": found.n_changed,
        "queries whose order changes only among ties": found.n_tied,
        "rows whose score changes beyond rounding": found.n_strayed,
        "largest difference of scores": f"{found.largest_difference:.3g}",
        f"{MEASURE} of the model": f"{found.before:.4f}",
        f"{MEASURE} of the written files": f"{found.after:.4f}",
    }
    if found.as_trained is not None:
        facts[f"{MEASURE} with missing values as in training"] = f"{found.as_trained:.4f}"
    return [_fact(name, value) for name, value in facts.items()]


def _fact(name: str, value: object) -> Row:
    return [Entry(name), Entry(str(value))]


def _switched_off(export: Export) -> Sheet:
    costs = export.switched_off
    setting = "Nothing that the model uses refers to them."
    if export.saved is not None:
        setting += f" Together they cost {format_cost(export.saved, export.cost_unit)}."
    columns = [name_column("feature"), Column("cost", cost_heading(export.cost_unit))]
    costly_first = sorted(costs.items(), key=lambda item: -(item[1] or 0.0))
    rows = [[Entry(name), Entry(cost, "g")] for name, cost in costly_first]
    title = f"{quantity(len(costs), 'feature')} to switch off"
    return Sheet("switched-off", title, setting, columns, [rows])
