"""Frames of pandas or polars, for results that people go on to work with in Python."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, Literal, get_args

Library = Literal["pandas", "polars"]


def make_frame(columns: Mapping[str, Sequence[Any]], library: Library | None = None) -> Any:
    """Make a frame of columns of plain values; None is a missing one.

    Parameters
    ----------
    columns : mapping of str to sequence
        Values by name of the column.
    library : {"pandas", "polars"}, optional
        By default polars if the program has imported it, else pandas if it is installed, else
        polars. (That pandas is imported says nothing: LightGBM imports it.)

    Raises
    ------
    ImportError
        If the library, or by default each of them, is not installed.

    Examples
    --------
    >>> frame = make_frame({"feature": ["bm25", "age"], "cost": [1.5, None]}, library="pandas")
    >>> print(frame)
      feature  cost
    0    bm25   1.5
    1     age   NaN
    """
    if library is None:
        is_used = sys.modules.get("polars") is not None
        wanted: Sequence[Library] = ("polars",) if is_used else ("pandas", "polars")
    elif library in get_args(Library):
        wanted = (library,)
    else:
        raise ValueError(f"library must be 'pandas' or 'polars', got {library!r:.60}")
    module = _import_first(wanted)
    values = {name: [_encodable(one) for one in column] for name, column in columns.items()}
    kinds = {name: {type(one) for one in own} for name, own in values.items()}
    unknown = [name for name, found in kinds.items() if found == {type(None)}]
    if module.__name__ == "polars":
        return module.DataFrame(values, schema_overrides=dict.fromkeys(unknown, module.Float64))
    types: dict[str, Any] = dict.fromkeys(unknown, float)
    types |= {name: "Int64" for name, found in kinds.items() if found == {int, type(None)}}
    return module.DataFrame(values).astype(types)


def _encodable(value: Any) -> Any:
    """The value, with surrogates of a text escaped: Arrow, which stores it, refuses them."""
    if isinstance(value, list):
        return list(map(_encodable, value))
    return value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value


def _import_first(names: Sequence[str]) -> Any:
    for name in names:
        try:
            return import_module(name)
        except ModuleNotFoundError as error:
            if error.name != name:  # it is installed, but lacks something
                raise
    needed = " or ".join(names)
    raise ImportError(f"a frame needs {needed}, which is not installed: pip install {names[0]}")
