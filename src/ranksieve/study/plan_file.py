"""The plan of a study as a TOML file, with its data and protocol."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ranksieve.data import DataError
from ranksieve.data.columns import Columns
from ranksieve.datasets.opening import paths_of
from ranksieve.datasets.split_rules import SplitRule
from ranksieve.io.record_log import checksum
from ranksieve.io.records import write_text
from ranksieve.io.toml import parse_toml, read_text, to_toml
from ranksieve.study.plan import PLAN_SETTINGS, Plan, RecordedPlan
from ranksieve.study.settings import check_settings

PLAN = "study.toml"
_OTHER_KEYS = (
    "data", "vali", "test", "pool", "columns", "split", "title", "protocol", "resamples"
)  # fmt: skip
_MARK = "# checksum: "  # so that `report` knows whether this is the plan that was run


def read_settings(path: Path) -> dict[str, Any]:
    """Read settings of a study from a TOML file: those of :class:`Plan`, data and protocol.

    Raises a DataError with the file and the reason.
    """
    return _settings(read_text(path), path)


def data_facts(
    data: Any, columns: Columns | None, split: SplitRule | None, pool: bool
) -> dict[str, Any]:
    """Settings of a plan file for the data, if it is read from files."""
    parts = data if isinstance(data, tuple) else (data,)
    names = {1: ("data",), 2: ("data", "test"), 3: ("data", "vali", "test")}[len(parts)]
    paths = {
        name: [os.path.abspath(path) for path in paths_of(part)]
        for name, part in zip(names, parts, strict=True)
        if part is not None
    }
    if not all(paths.values()):
        return {}
    facts: dict[str, Any] = dict(paths) | ({"pool": True} if pool else {})
    if columns:
        facts["columns"] = columns.as_dict()
    if split is not None:
        plain = (str, int, float)  # a time is not
        facts["split"] = {
            name: value if isinstance(value, plain) else value.isoformat()
            for name, value in vars(split).items()
        }
    return facts


def write_plan(directory: Path, plan: Plan, others: Mapping[str, Any]) -> None:
    """Write the plan of a study, with its data, title and protocol."""
    text = to_toml(dict(others) | plan.as_dict())
    write_text(text + _MARK + checksum(text.encode()) + "\n", directory / PLAN)


def read_plan(directory: Path) -> tuple[RecordedPlan, str]:
    """Read the plan and title of a study that :func:`write_plan` wrote; nothing is imported."""
    path = directory / PLAN
    whole = read_text(path)
    text, _, expected = whole.rpartition(_MARK)
    if expected != checksum(text.encode()) + "\n":
        raise DataError(
            f"{path}: the file was changed after the study ran; to run the changed plan: "
            f"ranksieve compare --plan {shlex.quote(str(path))} --out {shlex.quote(str(directory))}"
        )
    settings = _settings(text, path)
    others = {name: settings.pop(name) for name in _OTHER_KEYS if name in settings}
    try:
        return RecordedPlan(**settings), others.get("title", directory.name)
    except ValueError as error:
        raise DataError(f"{path}: {error}") from None


def _settings(text: str, path: Path) -> dict[str, Any]:
    settings = parse_toml(text, path)
    for name in settings:
        if name not in (*PLAN_SETTINGS, *_OTHER_KEYS):
            known = ", ".join((*_OTHER_KEYS, *PLAN_SETTINGS))
            raise DataError(f"{path}: unknown setting {name!r}; choose from {known}")
    try:
        return check_settings(settings)
    except ValueError as error:
        raise DataError(f"{path}: {error}") from None
