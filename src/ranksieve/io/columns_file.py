"""Files in TOML that say what the columns of a table are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path

from ranksieve.data.columns import Columns, list_fields
from ranksieve.data.errors import DataError
from ranksieve.io.files import PathLike
from ranksieve.io.records import write_text
from ranksieve.io.toml import parse_toml, read_text, toml_value
from ranksieve.text import on_one_line

_HEAD = """\
# What the columns of a table are, for `ranksieve COMMAND --columns FILE` and for Python, where the
# path of this file can stand for a Columns. Options of a command take precedence over this file.
"""
_COMMENTS = {
    "label": "The label: a number, and larger is more relevant.",
    "qid": "The query, request or session whose documents are ranked.",
    "doc_id": "The document.",
    "weight": "The weight of the query, the same in all of its rows.",
    "row_weight": "The weight of the row, such as an inverse propensity of clicks.",
    "position": "The position where the document was shown.",
    "ignore": "Columns to leave out. Patterns such as 'debug_*' are allowed, here and below.",
    "features": "The features; columns that are not in this list are left out. Without this list, "
    "all\n# columns are features that are not mentioned above.",
    "categorical": "Those of the features whose values are categories, such as names or codes.",
    "missing": "What to do with missing values: keep, query-min, query-median or zero, each also "
    "with\n# +indicators.",
    "cost_unit": "The unit of the costs of features.",
}
_EXAMPLES = {"missing": "keep", "cost_unit": "ms"}


def write_columns(columns: Columns, path: PathLike, held: Mapping[str, str] | None = None) -> None:
    """Write columns with comments; ``held`` says in words what some columns hold."""
    settings, lists = columns.as_dict(), list_fields()
    parts = [_HEAD]
    for field in sorted(fields(Columns), key=lambda field: field.name in lists):
        name, value = field.name, settings.get(field.name)
        lines = [f"# {_COMMENTS[name]}"] if name in _COMMENTS else []
        if value is None:
            example = ["NAME"] if name in lists else _EXAMPLES.get(name, "NAME")
            lines.append(f"# {name} = {toml_value(example)}")
        elif isinstance(value, list):
            lines += [f"{name} = [", *(_item(one, held or {}) for one in value), "]"]
        else:
            lines.append(f"{name} = {toml_value(value)}")
        parts.append("\n".join(lines) + "\n")
    write_text("\n".join(parts), path)


def _item(name: str, held: Mapping[str, str]) -> str:
    comment = f"  # {on_one_line(held[name])}" if name in held else ""
    return f"    {toml_value(name)},{comment}"


def read_columns(path: PathLike) -> Columns:
    """Read a file of columns; raises a DataError with the file and the name of the setting."""
    settings = parse_toml(read_text(path), path)
    try:
        return Columns.from_dict(settings)
    except ValueError as error:
        raise DataError(f"{Path(path)}: {error}") from None
