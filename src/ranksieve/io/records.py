"""Typed records in JSON: read and check them, and write them with a checksum.

A record is a class with annotated fields: a frozen dataclass, whose file may have other fields as
well, or a ``msgspec.Struct`` with ``forbid_unknown_fields``. Its annotations say all that a field
may be, and its ``__post_init__`` what the fields must be together; nobody checks it again.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, NoReturn, TypeVar, overload

import msgspec
import numpy as np

from ranksieve.data import DataError
from ranksieve.io.files import PathLike, read_file, replace_on_success

_DEPTH = 100
_TOO_DEEP = "lists or objects are nested too deeply"
_SPACE = re.compile(r"[ \t\n\r]*")  # as JSON has it
_LONGEST_INTEGER = 300  # characters; a float holds any such number

T = TypeVar("T")

Count = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
"""A nonnegative integer that fits an index."""
Finite = Annotated[float, msgspec.Meta(ge=-1.7976931348623157e308, le=1.7976931348623157e308)]
"""A number that is neither NaN nor infinite."""


@overload
def read_record(path: PathLike) -> Any: ...
@overload
def read_record(path: PathLike, kind: type[T]) -> T: ...
def read_record(path: PathLike, kind: Any = Any) -> Any:
    """Read a record of some type; raise a DataError with the file, the line and the reason."""
    try:
        return parse_record(read_file(path), kind)
    except json.JSONDecodeError as error:
        raise DataError(f"{path}:{error.lineno}: not JSON: {error.msg}") from None
    except DataError as error:
        place = "" if str(error).startswith(f"{path}:") else f"{path}: "
        raise DataError(f"{place}{error}") from None
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


@overload
def parse_record(text: bytes, *, finite: bool = True) -> Any: ...
@overload
def parse_record(text: bytes, kind: type[T], *, finite: bool = True) -> T: ...
def parse_record(text: bytes, kind: Any = Any, *, finite: bool = True) -> Any:
    """Parse JSON in UTF-8, and convert it to a type.

    Raises a ValueError with the reason if it is not valid JSON, and a DataError if it does not have
    the type. Numbers must be ``finite`` unless they need not, integers short, names in an object
    distinct, and lists or objects nested at most a hundred levels deep, so that records can be
    processed safely.
    """
    try:
        record = _decoder(finite).decode(text.decode())
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    _check_depth(record)
    return convert_record(record, kind)


@overload
def convert_record(values: Any, kind: type[T]) -> T: ...
@overload
def convert_record(values: Any, kind: Any) -> Any: ...
def convert_record(values: Any, kind: Any) -> Any:
    """Convert JSON values to a type; raise a DataError that names the field that does not fit.

    Examples
    --------
    >>> convert_record({"a": [1, 2.5]}, dict[str, list[float]])
    {'a': [1.0, 2.5]}
    >>> class Fold(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    ...     name: str
    ...     queries: list[Count]
    >>> convert_record({"name": "Fold1", "queries": [3]}, Fold)
    Fold(name='Fold1', queries=[3])
    >>> convert_record({"name": "Fold1", "queries": [3, -1]}, Fold)
    Traceback (most recent call last):
        ...
    ranksieve.data.errors.DataError: 'queries[1]' should be a whole number >= 0, not -1
    """
    try:
        return msgspec.convert(values, kind, strict=True, str_keys=True)  # as JSON has them
    except msgspec.ValidationError as error:
        raise DataError(_in_our_words(str(error), values)) from None


_FIELD = re.compile(r"Object (?:missing required|contains unknown) field `(.*)`", re.DOTALL)
_WRONG_TYPE = re.compile(r"Expected `([^`]*)`(.*?)(?:, got (.*))?", re.DOTALL)
_STEP = re.compile(r"\.([^.\[]+)|\[(\d+)\]|(\[\.\.\.\])")  # of a path: a field, an item, any key
_WORDS = {
    "str": "a text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "array": "a list",
    "object": "an object",
}
_NAMES = {str: "str", int: "int", float: "float", bool: "bool", list: "array", dict: "object"}


def _in_our_words(reason: str, values: Any) -> str:
    """Say what msgspec says of some values: where, what it should be, and what it is."""
    reason, _, path = reason.partition(" - at `$")
    path = path.removesuffix("`")
    field, wrong = _FIELD.fullmatch(reason), _WRONG_TYPE.fullmatch(reason)
    is_missing = field is not None and "missing" in reason[: field.start(1)]
    got = (wrong[3] or "").strip("`") if wrong else ""
    reached = _reach(path, values)
    if field:
        objects = [one for one in reached if isinstance(one[1], dict)]
        reached = [one for one in objects if is_missing != (field[1] in one[1])]
    elif got in _NAMES.values():
        reached = [one for one in reached if _NAMES.get(type(one[1])) == got]
    elif len(reached) > 1:
        reached = []  # any of them may be meant
    place, value = reached[0] if reached else (path.lstrip("."), ...)
    subject = f"{place!r:.80}" if place else "it"
    if field:
        what = "is missing" if is_missing else "is not a known field"
        return f"{f'{place}.{field[1]}'.lstrip('.')!r:.80} {what}"
    if wrong:
        kinds = " or ".join(_WORDS.get(kind, kind) for kind in wrong[1].split(" | "))
        found = "" if value is ... else f", not {value!r:.40}"
        return f"{subject} should be {kinds}{wrong[2]}{found}"
    if reason.startswith("Invalid enum value"):
        return f"{subject} is {reason.removeprefix('Invalid enum value ')}, which is not known"
    return f"{place}: {reason}" if place else reason  # of a ``__post_init__``


def _reach(path: str, values: Any) -> list[tuple[str, Any]]:
    """Each place that a path of msgspec may mean, and the value there.

    The path does not say which key of a mapping it means.
    """
    reached = [("", values)]
    for field, item, _ in _STEP.findall(path):
        following: list[tuple[str, Any]] = []
        for place, value in reached:
            if item:
                number = int(item)
                if isinstance(value, (list, tuple)) and number < len(value):
                    following.append((f"{place}[{number}]", value[number]))
            elif isinstance(value, dict):
                keys = [field] if field else list(value)
                following += [(f"{place}.{key}", value[key]) for key in keys if key in value]
        reached = following
    return [(place.removeprefix("."), value) for place, value in reached]


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


def checksum_of_file(path: Path) -> str:
    """Checksum of the bytes of a file."""
    return checksum_of_bytes(read_file(path))


def matches_checksum(record: dict[str, Any], *, if_any: bool = False) -> bool:
    """Whether the checksum in a record, ``if_any``, matches the rest of it."""
    if if_any and "checksum" not in record:
        return True
    content = {name: value for name, value in record.items() if name != "checksum"}
    return record.get("checksum") == checksum_of(content)


def sign_record(value: Any, name: str, version: int) -> dict[str, Any]:
    """Convert a record to JSON values with its format, version and checksum."""
    record = {"format": name, "version": version} | to_values(value)
    return record | {"checksum": checksum_of(record)}


def convert_signed(record: Any, kind: type[T], name: str, version: int, what: str) -> T:
    """Convert what :func:`sign_record` returned to a type; raise a DataError if it is not that."""
    check_signed(record, name, version, what)
    content = {n: v for n, v in record.items() if n not in ("format", "version", "checksum")}
    return convert_record(content, kind)


def to_values(value: Any) -> Any:
    """Convert a typed record to JSON values, for :func:`convert_record`."""
    return msgspec.to_builtins(value)


def check_signed(record: Any, name: str, version: int, what: str) -> None:
    """Raise a DataError unless a record has this format and version, and its own checksum."""
    found = record.get("format") if isinstance(record, dict) else None
    if found != name:
        raise DataError(f"not {what}: its format is {found!r:.40}")
    written = record.get("version")
    if type(written) is not int:
        raise DataError(f"'version' should be a whole number, not {written!r:.40}")
    if written != version:
        age = "an older" if written < version else "a newer"
        raise DataError(
            f"written by {age} version of ranksieve: format {written}, this one reads {version}"
        )
    if not matches_checksum(record):
        raise DataError("it is damaged: its checksum is not that of its content")


def _refuse(number: str) -> NoReturn:
    raise ValueError(f"{number:.40} is not a valid number")


def write_text(text: str, path: PathLike) -> None:
    """Write a file; an old file is replaced only when the new one is complete."""
    with replace_on_success(Path(path)) as temporary:
        temporary.write_text(text, encoding="utf-8")


def get_numbers(record: Mapping[str, Any], key: str, *shape: int | None) -> np.ndarray:
    """Array of finite numbers of a shape (None: any length); raises a DataError otherwise."""
    kind: Any = Finite
    for _ in shape:
        kind = list[kind]
    try:
        values = np.array(convert_record(record.get(key), kind), dtype=np.float64)
    except ValueError:  # also of rows with different lengths
        values = np.zeros(())
    if len(shape) != values.ndim or any(
        wanted not in (None, found) for wanted, found in zip(shape, values.shape, strict=True)
    ):
        wanted = " x ".join("any" if length is None else str(length) for length in shape)
        raise DataError(f"{key!r} should be {wanted} finite numbers, not {record.get(key)!r:.40}")
    return values


def to_json(value: Any) -> dict[str, Any]:
    """Convert a record to JSON values; numbers that are not finite become None."""
    text = json.dumps(msgspec.to_builtins(value, str_keys=True))  # as ASCII: names may be no UTF-8
    record: dict[str, Any] = json.loads(text, parse_constant=lambda _: None)
    return record
