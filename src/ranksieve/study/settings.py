"""Check the types of the settings of a plan, whether they come from a file or from Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date, time
from typing import Any, NoReturn

import numpy as np

from ranksieve.data.columns import Columns
from ranksieve.data.missing import Missing
from ranksieve.datasets.split_rules import SplitByColumn, SplitByTime, SplitRule
from ranksieve.io.toml import NULL
from ranksieve.metrics import Measure
from ranksieve.parameters import plain_value

_MOST_SEEDS = 10_000
_MOST_RESAMPLES = 1_000
_LARGEST_SEED = 2**31 - 1 - _MOST_SEEDS  # LightGBM refuses larger seeds

Kind = Callable[[str, Any], Any]
"""Returns a value under some name; raises a ValueError with the name if its type is wrong."""


def check_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings; raise a ValueError that names a setting of the wrong type.

    Names of methods, measures and parameters are not checked here.
    """
    return {name: _KINDS[name](name, value) for name, value in settings.items()}


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{name} must be a string, got {value!r:.60}")
    return str(value)


def _truth(name: str, value: Any) -> bool:
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name} must be true or false, got {value!r:.60}")
    return bool(value)


def _whole(low: int, high: int) -> Kind:
    def check(name: str, value: Any) -> int:
        if not _is_whole(value) or not low <= value <= high:
            raise ValueError(
                f"{name} must be a whole number from {low} to {high:,}, got {value!r:.60}"
            )
        return int(value)

    return check


def _is_whole(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _list(name: str, value: Any) -> list[Any]:
    if isinstance(value, (str, bytes)) or not isinstance(value, (Sequence, np.ndarray)):
        raise ValueError(f"{name} must be a list, got {value!r:.60}")
    return list(value)


def _list_of(kind: Kind) -> Kind:
    return lambda name, value: [kind(f"{name}: each", item) for item in _list(name, value)]


def _table(name: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise ValueError(f"{name} must be a table of names, got {value!r:.60}")
    return dict(value)


def _table_of(kind: Kind, link: str = ": ") -> Kind:
    return lambda name, value: {
        key: kind(f"{name}{link}{key}", own) for key, own in _table(name, value).items()
    }


def _paths(name: str, value: Any) -> str | list[str]:
    checked: str | list[str] = (_text if isinstance(value, str) else _list_of(_text))(name, value)
    return checked


def _split(name: str, value: Any) -> SplitRule:
    """Rule that divides queries by a column: its name, and a time if it divides by time."""
    rule = _table(name, value)
    for key in rule:
        if key not in ("column", "after"):
            raise ValueError(f"{name} has no {key!r}; choose from column and after")
    column = _text(f"{name}: column", rule.get("column"))
    return SplitByTime(column, rule["after"]) if "after" in rule else SplitByColumn(column)


def _entries(name: str, value: Any) -> list[Any]:
    entries = _list(name, value)
    plain = (type(None), int, float, bytes, list, tuple, dict, date, time, np.generic)  # as in TOML
    for entry in entries:
        is_pair = isinstance(entry, (list, tuple)) and len(entry) == 2
        is_plain = is_pair or isinstance(entry, plain)
        if is_plain and not isinstance(entry[0] if is_pair else entry, str):
            raise ValueError(
                f"{name}: each must be a string, got {entry!r:.60}; estimators, and pairs "
                "(name, estimator), are also accepted"
            )
    return entries


def _measure(name: str, value: Any) -> Any:
    is_measure = isinstance(value, type) and issubclass(value, Measure)
    return value if is_measure or isinstance(value, Measure) else _text(name, value)


def _missing(name: str, value: Any) -> str:
    if isinstance(value, Missing) and not value.indicated:  # folds determine the indicators
        return value.name
    return _text(name, value)


def _ks(name: str, value: Any) -> list[int | str]:
    ks = _list(name, value)
    for k in ks:
        if not (isinstance(k, str) and k == "all") and (not _is_whole(k) or k < 1):
            raise ValueError(f"ks must be whole numbers of at least 1, or 'all', got {k!r:.60}")
    return [k if isinstance(k, str) else int(k) for k in ks]


def _features(name: str, value: Any) -> list[int | str]:
    """Features by name or 0-based index; a single feature becomes a list of one."""
    listed = [value] if isinstance(value, str) or _is_whole(value) else _list(name, value)
    for item in listed:
        if not isinstance(item, str) and not _is_whole(item):
            raise ValueError(f"{name} must be names or indices of features, got {item!r:.60}")
    return [str(item) if isinstance(item, str) else int(item) for item in listed]


def _groups(name: str, value: Any) -> dict[str, list[int | str]]:
    """Lists of features by the name of their group."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        value = {str(number): own for number, own in enumerate(_list(name, value), start=1)}
    groups: dict[str, list[int | str]] = _table_of(_features)(name, value)
    return groups


def _plain(name: str, value: Any) -> Any:
    """Convert to a value that JSON and TOML can store."""

    def refuse(found: Any) -> NoReturn:
        raise ValueError(
            f"{name} must be a finite number, a string, true or false, or a list of these, got "
            f"{found!r:.60}"
        )

    return _with_nulls(plain_value(value, refuse))


def _with_nulls(value: Any) -> Any:
    """Replace the string that stands for None by None."""
    if isinstance(value, list):
        return [_with_nulls(item) for item in value]
    if isinstance(value, dict):
        return {key: _with_nulls(item) for key, item in value.items()}
    return None if value == NULL else value


def _grids(name: str, value: Any) -> dict[str, dict[str, list[Any]]]:
    found: dict[str, dict[str, list[Any]]] = _PARAMETERS(name, value)
    for method, grid in found.items():
        for parameter, values in grid.items():
            if not isinstance(values, list) or not values:
                raise ValueError(f"grid of {method}: {parameter} needs a list of values")
    return found


def _record(name: str, value: Any) -> dict[str, Any]:
    """Record of an estimator in a plan: its class, parameters and further facts."""
    record = _table(name, value)
    for key in record:
        if key not in _RECORD_KINDS:
            known = ", ".join(_RECORD_KINDS)
            raise ValueError(f"{name}: unknown setting {key!r}; choose from {known}")
    if "class" not in record:
        raise ValueError(f"{name} needs a class, such as class = 'my_package.ranking:MyRanker'")
    return {key: _RECORD_KINDS[key](f"{name}: {key}", own) for key, own in record.items()}


_PARAMETERS = _table_of(_table_of(_plain), " of ")
_RECORD_KINDS: dict[str, Kind] = {
    "class": _text,
    "version": _text,
    "parameters": _table_of(_plain),
    "grid": _table_of(lambda name, value: _list(name, _plain(name, value))),
    "seeds": _list_of(_text),
    "nested": _truth,
}
_KINDS: dict[str, Kind] = {
    "selectors": _entries,
    "rankers": _entries,
    "ks": _ks,
    "measures": _list_of(_measure),
    "tune": _measure,
    "convention": _text,
    "scale": _text,
    "missing": _missing,
    "seeds": _whole(1, _MOST_SEEDS),
    "seed": _whole(0, _LARGEST_SEED),
    "choose": _text,
    "baselines": _truth,
    "parameters": _PARAMETERS,
    "grids": _grids,
    "include": _features,
    "exclude": _features,
    "groups": _groups,
    "own": _table_of(_record),
    "title": _text,
    "protocol": _text,
    "data": _paths,
    "vali": _paths,
    "test": _paths,
    "pool": _truth,
    "columns": lambda name, value: (
        Columns.load(value) if isinstance(value, str) else Columns.from_dict(_table(name, value))
    ),
    "split": _split,
    "resamples": _whole(0, _MOST_RESAMPLES),
}
