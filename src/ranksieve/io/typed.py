"""Dataclasses and NamedTuples as JSON values, and checks of their types after reading."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from math import isfinite
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from ranksieve.data import DataError


def to_json_values(value: Any) -> Any:
    """Convert a value to lists and dictionaries, and numbers that are not finite to None.

    Dataclasses and NamedTuples become dictionaries; dictionaries stay as they are.

    Examples
    --------
    >>> from typing import NamedTuple
    >>> Bound = NamedTuple("Bound", [("name", str), ("lower", float)])
    >>> to_json_values((Bound("a", 0.5), Bound("b", float("-inf"))))
    [{'name': 'a', 'lower': 0.5}, {'name': 'b', 'lower': None}]
    """
    if _has_fields(type(value)):
        names = _field_names(type(value))
        return {name: to_json_values(getattr(value, name)) for name in names}
    if isinstance(value, (list, tuple)):
        return [to_json_values(part) for part in value]
    return None if isinstance(value, float) and not isfinite(value) else value


def check_types(value: Any, kind: Any, where: str = "") -> None:
    """Raise a DataError that says where a value, or a part of it, has the wrong type.

    Fields of dataclasses and NamedTuples are checked against their annotations, which may be
    numbers, strings, lists, dictionaries with string keys, Literal, unions and Any. An int is
    accepted as a float.

    Examples
    --------
    >>> check_types([1.5, 2], list[float], "costs")
    >>> check_types({"a": "b"}, dict[str, int], "counts")
    Traceback (most recent call last):
        ...
    ranksieve.data.errors.DataError: counts.a should be int, not 'b'
    """
    if not _fits(value, kind, where):
        name = getattr(kind, "__name__", str(kind)) if get_origin(kind) is None else str(kind)
        raise DataError(f"{where} should be {name}, not {value!r:.40}")


def _fits(value: Any, kind: Any, where: str) -> bool:
    """Whether a value has a type; raises a DataError for parts that do not."""
    origin, arguments = get_origin(kind), get_args(kind)
    if kind is Any:
        return True
    if origin is Literal:
        return value in arguments
    if origin in (Union, UnionType):
        return any(_fits(value, option, where) for option in arguments)
    if origin in (list, Sequence):
        return isinstance(value, (list, tuple)) and _parts_fit(
            enumerate(value), arguments[0], where
        )
    if origin is dict:
        return isinstance(value, dict) and _parts_fit(value.items(), arguments[1], where)
    if _has_fields(kind):
        hints = get_type_hints(kind)
        if not isinstance(value, kind):
            return False
        for name in _field_names(kind):
            check_types(getattr(value, name), hints[name], f"{where}.{name}".lstrip("."))
        return True
    return type(value) is kind or (kind is float and type(value) is int)


def _has_fields(kind: Any) -> bool:
    """Whether a type is a dataclass or NamedTuple."""
    return is_dataclass(kind) or hasattr(kind, "_fields")


def _field_names(kind: Any) -> Sequence[str]:
    return kind._fields if hasattr(kind, "_fields") else [field.name for field in fields(kind)]


def _parts_fit(parts: Any, kind: Any, where: str) -> bool:
    for key, part in parts:
        check_types(part, kind, f"{where}.{key}")
    return True
