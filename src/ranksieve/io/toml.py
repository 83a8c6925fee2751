"""Settings in TOML: read them with the place of an error, and write them for people."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from typing import Any

from ranksieve.data.errors import DataError
from ranksieve.io.files import PathLike, read_file

NULL = "null"
"""Text that stands for None, which TOML does not have."""


def read_text(path: PathLike) -> str:
    """Text of a file in UTF-8; raises a DataError with the file and the reason."""
    try:
        return read_file(path).decode()
    except UnicodeDecodeError:
        raise DataError(f"{path}: not UTF-8 text") from None


def parse_toml(text: str, path: PathLike) -> dict[str, Any]:
    """Settings in the text of a file; raises a DataError with the file and the reason."""
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}: not TOML: {error}") from None


def to_toml(settings: Mapping[str, Any], prefix: str = "") -> str:
    """Format as TOML: plain values first, then a table for each nonempty mapping."""
    tables = {k: v for k, v in settings.items() if isinstance(v, Mapping) and v}
    plain = [f"{_key(k)} = {toml_value(v)}" for k, v in settings.items() if k not in tables]
    lines = [f"[{prefix}]", *plain] if prefix and plain else plain
    text = "\n".join(lines) + "\n" if lines else ""
    for name, value in tables.items():
        path = f"{prefix}.{_key(name)}" if prefix else _key(name)
        text += ("\n" if text else "") + to_toml(value, path)
    return text


def _key(name: str) -> str:
    bare = name.replace("-", "").replace("_", "").isalnum() and name.isascii()
    return name if bare else _quote(name)


def toml_value(value: Any) -> str:
    """Format one value on one line."""
    if isinstance(value, list):
        return "[" + ", ".join(toml_value(item) for item in value) + "]"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_key(k)} = {toml_value(v)}" for k, v in value.items()) + "}"
    if value is None:
        return _quote(NULL)
    return _quote(value) if isinstance(value, str) else json.dumps(value)


def _quote(text: str) -> str:
    """Quote a string, as JSON does except for two kinds of characters."""
    # Names of files can be any bytes.
    readable = text.encode("utf-8", "backslashreplace").decode("utf-8")
    return json.dumps(readable, ensure_ascii=False).replace("\x7f", "\\u007f")
