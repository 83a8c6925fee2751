"""The plan of a study as a small TOML file."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from ranksieve.data import DataError
from ranksieve.io.files import READ_ERRORS, explain_os_error
from ranksieve.io.records import write_text
from ranksieve.study.plan import Plan

LEDGER, PLAN = "ledger.jsonl", "study.toml"
_PLAN_KEYS = tuple(field.name for field in fields(Plan))
_OTHER_KEYS = ("data", "title", "protocol")


def read_settings(path: Path) -> dict[str, Any]:
    """Settings of a study from a TOML file; keys are those of :class:`Plan`, data and protocol.

    A DataError says ``file:line: what is wrong``.
    """
    try:
        settings = tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise DataError(f"{path}: not TOML: {error}") from None
    except UnicodeDecodeError:
        raise DataError(f"{path}: not a text in UTF-8") from None
    except READ_ERRORS as error:
        raise DataError(f"{path}: {explain_os_error(error)}") from error
    for name in settings:
        if name not in (*_PLAN_KEYS, *_OTHER_KEYS):
            known = ", ".join((*_OTHER_KEYS, *_PLAN_KEYS))
            raise DataError(f"{path}: unknown setting {name!r}; known are {known}")
    return settings


def write_plan(directory: Path, plan: Plan, others: Mapping[str, Any]) -> None:
    """Write down what a study runs, and on what: data, title and protocol."""
    write_text(_toml(dict(others) | plan.as_dict()), directory / PLAN)


def read_plan(directory: Path) -> tuple[Plan, str]:
    """Plan and title of a study, as :func:`write_plan` has written them."""
    path = directory / PLAN
    settings = read_settings(path)
    others = {name: settings.pop(name) for name in _OTHER_KEYS if name in settings}
    try:
        return Plan(**settings), others.get("title", directory.name)
    except (TypeError, ValueError) as error:
        raise DataError(f"{path}: {error}") from None


def _toml(settings: Mapping[str, Any], prefix: str = "") -> str:
    """Text of TOML: plain values first, then a table for each mapping that has values."""
    plain = [f"{_key(k)} = {_value(v)}" for k, v in settings.items() if not isinstance(v, Mapping)]
    lines = [f"[{prefix}]", *plain] if prefix and plain else plain
    text = "\n".join(lines) + "\n" if lines else ""
    for name, value in settings.items():
        if isinstance(value, Mapping) and value:
            path = f"{prefix}.{_key(name)}" if prefix else _key(name)
            text += ("\n" if text else "") + _toml(value, path)
    return text


def _key(name: str) -> str:
    bare = name.replace("-", "").replace("_", "").isalnum() and name.isascii()
    return name if bare else json.dumps(name)


def _value(value: Any) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(_value(item) for item in value) + "]"
    return json.dumps(value)  # texts, numbers and truth values look the same in both
