"""Records that ranksieve writes as JSON: reading with checks, and safe writing."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

from ranksieve.data import DataError
from ranksieve.io.files import READ_ERRORS, explain_os_error, replacing

PathLike = str | os.PathLike[str]

_KINDS = {int: "a number", str: "a text", list: "a list", dict: "an object"}


def read_record(path: PathLike) -> Any:
    """Read JSON; a DataError says ``file:line: what is wrong``."""
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"), parse_constant=_refuse)
    except json.JSONDecodeError as error:
        raise DataError(f"{path}:{error.lineno}: not JSON: {error.msg}") from None
    except READ_ERRORS as error:
        raise DataError(f"{path}: {explain_os_error(error)}") from error
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}: not JSON: {error}") from None


def checksum_of(record: dict[str, Any]) -> str:
    """Checksum of a record's content, whatever the order and spacing of its text."""
    try:
        text = json.dumps(record, sort_keys=True, allow_nan=False)
    except (ValueError, RecursionError) as error:
        raise DataError(f"it cannot have been written by ranksieve: {error}") from None
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not a number that JSON knows")


def write_text(text: str, path: PathLike) -> None:
    """Write a file that takes the place of an older one only when all is written."""
    with replacing(Path(path)) as temporary:
        temporary.write_text(text, encoding="utf-8")


def get(record: dict[str, Any], key: str, kind: type, where: str = "") -> Any:
    """Value of a record; a DataError that begins with ``where`` if it is not of this kind."""
    if key not in record:
        raise DataError(f"{where}{key!r} is missing")
    value = record[key]
    if type(value) is not kind:  # true is an int for isinstance
        raise DataError(f"{where}{key!r} should be {_KINDS[kind]}, not {value!r:.40}")
    return value


def get_texts(record: dict[str, Any], key: str) -> list[str]:
    """A list of texts."""
    texts = get(record, key, list)
    if not all(type(text) is str for text in texts):
        raise DataError(f"{key!r} should be a list of texts")
    return texts
