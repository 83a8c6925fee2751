"""Read and check JSON records, and write files safely."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from ranksieve.data import DataError
from ranksieve.data.missing import Missing
from ranksieve.io.files import PathLike, read_file, replace_on_success

_DEPTH = 100
_TOO_DEEP = "lists or objects are nested too deeply"
_SPACE = re.compile(r"[ \t\n\r]*")  # as JSON has it
_LONGEST_INTEGER = 300  # characters; a float holds any such number

_KINDS = {
    str: "a text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    list: "a list",
    dict: "an object",
}


def read_record(path: PathLike) -> Any:
    """Read JSON; raise a DataError with the file, the line and the reason."""
    try:
        return parse_record(read_file(path))
    except json.JSONDecodeError as error:
        raise DataError(f"{path}:{error.lineno}: not JSON: {error.msg}") from None
    except DataError:
        raise
    except ValueError as error:
        raise DataError(f"{path}: not JSON: {error}") from None


@contextmanager
def locate_errors(path: PathLike, advice: str = "") -> Iterator[None]:
    """Context manager that adds the path of a file, and what to do, to the message of DataErrors.

    A message that already begins with the path gets only the advice.
    """
    try:
        yield
    except DataError as error:
        place = "" if str(error).startswith(f"{path}:") else f"{path}: "
        raise DataError(f"{place}{error}{advice}") from None


def parse_record(text: bytes, *, finite: bool = True) -> Any:
    """Parse JSON in UTF-8; raise a ValueError with the reason if it is not valid.

    Numbers must be ``finite`` unless they need not, integers short, names in an object distinct,
    and lists or objects nested at most a hundred levels deep, so that records can be processed
    safely.
    """
    try:
        record = _decoder(finite).decode(text.decode())
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    _check_depth(record)
    return record


def parse_records(text: bytes) -> list[tuple[int, Any]]:
    """Parse any number of records; return each with the number of lines before it."""
    decoder, decoded = _decoder(), text.decode()
    records = []
    lines = seen = 0
    start = _skip_space(decoded, 0)
    while start < len(decoded):
        try:
            record, end = decoder.raw_decode(decoded, start)
        except RecursionError:
            raise ValueError(_TOO_DEEP) from None
        _check_depth(record)
        lines, seen = lines + decoded.count("\n", seen, start), start
        records.append((lines, record))
        start = _skip_space(decoded, end)
    return records


def _decoder(finite: bool = True) -> json.JSONDecoder:
    return json.JSONDecoder(
        object_pairs_hook=object_of,
        parse_constant=_refuse if finite else float,
        parse_float=_parse_float if finite else float,
        parse_int=_parse_integer,
    )


def object_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make an object of JSON; raise a ValueError if a name occurs twice."""
    values = dict(pairs)
    if len(values) < len(pairs):
        repeated, _ = Counter(name for name, _ in pairs).most_common(1)[0]
        raise ValueError(f"{repeated!r:.40} appears twice in an object")
    return values


def _skip_space(text: str, start: int) -> int:
    return _SPACE.match(text, start).end()  # type: ignore[union-attr]


def _check_depth(record: Any) -> None:
    level = [record]
    for _ in range(_DEPTH):
        level = [part for node in level if isinstance(node, (dict, list)) for part in _parts(node)]
        if not level:
            return
    raise ValueError(_TOO_DEEP)


def _parts(node: dict[str, Any] | list[Any]) -> Iterable[Any]:
    return node.values() if isinstance(node, dict) else node


def _parse_float(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _refuse(text)


def _parse_integer(text: str) -> int:
    return int(text) if len(text) < _LONGEST_INTEGER else _refuse(text)


def checksum_of(record: dict[str, Any]) -> str:
    """Checksum of a record's content, whatever the order and spacing of its text."""
    try:
        text = json.dumps(record, sort_keys=True, allow_nan=False)
    except ValueError as error:
        raise DataError(f"not written by ranksieve: {error}") from None
    return checksum_of_bytes(text.encode())


def checksum_of_bytes(content: bytes) -> str:
    """Checksum of the content of a file."""
    return "sha256:" + hashlib.sha256(content).hexdigest()


def matches_checksum(record: dict[str, Any], key: str = "checksum") -> bool:
    """Whether the checksum under this key matches the rest of the record."""
    return record[key] == checksum_of({k: v for k, v in record.items() if k != key})


def check_checksum(record: dict[str, Any]) -> None:
    """Raise a DataError unless a record has the checksum of the rest of it."""
    get(record, "checksum", str)
    if not matches_checksum(record):
        raise DataError("it is damaged: its checksum is not that of its content")


def check_format(record: Any, name: str, newest: int, what: str) -> None:
    """Raise a DataError unless this version can read a record of this format."""
    found = record.get("format") if isinstance(record, dict) else None
    if found != name:
        raise DataError(f"not {what}: its format is {found!r:.40}")
    version = record.get("version")
    if type(version) is int and version > newest:
        raise DataError(
            f"written by a newer version of ranksieve: format {version}, this one reads {newest}"
        )


def _refuse(number: str) -> NoReturn:
    raise ValueError(f"{number:.40} is not a valid number")


def write_text(text: str, path: PathLike) -> None:
    """Write a file; an old file is replaced only when the new one is complete."""
    with replace_on_success(Path(path)) as temporary:
        temporary.write_text(text, encoding="utf-8")


def get(record: Any, key: str, kind: type, where: str = "") -> Any:
    """Value of a record; raises a DataError that begins with ``where`` if it has another type."""
    if not isinstance(record, dict) or key not in record:
        raise DataError(f"{where}{key!r} is missing")
    _check_kind(record[key], kind, f"{where}{key!r}")
    return record[key]


def check_kinds(record: Any, kinds: Mapping[str, type]) -> None:
    """Raise a DataError unless a record has exactly these keys, with values of these types.

    The type ``object`` accepts any value.
    """
    if not isinstance(record, dict) or record.keys() != kinds.keys():
        raise DataError(f"it should have {', '.join(kinds)}")
    for key, kind in kinds.items():
        if kind is not object:
            _check_kind(record[key], kind, repr(key))


def _check_kind(value: Any, kind: type, what: str) -> None:
    if type(value) is not kind:  # isinstance would accept true as an int
        raise DataError(f"{what} should be {_KINDS[kind]}, not {value!r:.40}")


def get_count(record: Any, key: str) -> int:
    """Nonnegative integer that fits an index."""
    count = get(record, key, int)
    if not 0 <= count < 2**63:
        raise DataError(f"{key!r} is {count!r:.40}")
    return count


def get_missing(record: dict[str, Any]) -> Missing | None:
    """Treatment of missing values, from ``Missing.to_record``; None if there is none."""
    if record.get("missing") is None:
        return None
    stored = get(record, "missing", dict)
    policy, indicators = get(stored, "policy", str), get(stored, "indicators", list)
    if not all(type(feature) is int for feature in indicators):
        raise DataError("'indicators' of 'missing' should be whole numbers")
    try:
        return Missing(policy, tuple(indicators))
    except ValueError as error:
        raise DataError(str(error)) from None


def get_texts(record: dict[str, Any], key: str) -> list[str]:
    """List of texts under a key."""
    texts = get(record, key, list)
    if not all(type(text) is str for text in texts):
        raise DataError(f"{key!r} should be a list of texts")
    return texts


def get_feature_names(record: dict[str, Any], n_features: int) -> list[str] | None:
    """Names of all features under ``feature_names``; None if that is null."""
    if "feature_names" in record and record["feature_names"] is None:
        return None
    names = get_texts(record, "feature_names")
    if len(names) != n_features:
        raise DataError(f"{len(names)} feature names for {n_features} features")
    return names


def get_numbers(record: Mapping[str, Any], key: str, *shape: int | None) -> np.ndarray:
    """Array of finite numbers of a shape (None: any length); raises a DataError otherwise."""
    try:
        found = np.array(record[key])
        values = found.astype(np.float64)
    except (KeyError, TypeError, ValueError, OverflowError):
        raise DataError(f"{key!r} should be numbers") from None
    if found.dtype.kind not in "iuf" and not all(type(n) is int for n in found.flat):
        raise DataError(f"{key!r} should be numbers")
    fits = len(shape) == values.ndim and all(
        wanted in (None, found) for wanted, found in zip(shape, values.shape, strict=True)
    )
    if not fits or not np.isfinite(values).all():
        wanted = " x ".join("any" if length is None else str(length) for length in shape)
        raise DataError(f"{key!r} should be {wanted} finite numbers, not {values.shape}")
    return values
