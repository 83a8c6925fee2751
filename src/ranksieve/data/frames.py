"""Rows of tables (pandas, polars, pyarrow) as arrays for ranking data."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np

from ranksieve.data.categories import NO_CODES, Categories, CategoryCodes, has_few
from ranksieve.data.columns import (
    CATEGORIES,
    TEXT,
    ColumnRoles,
    Columns,
    ColumnsLike,
    check_named,
)
from ranksieve.data.errors import DataError
from ranksieve.data.inputs import is_frame, whole_numbers

T = TypeVar("T", bound=Any)

_FRAME = "the frame"
_log = logging.getLogger("ranksieve")


def read_frame(
    make: Callable[..., T], frame: Any, columns: ColumnsLike = None, aside: Sequence[str] = ()
) -> tuple[T, dict[str, np.ndarray]]:
    """Make data of a frame by ``make`` (RankingData); also return the columns ``aside``."""
    if hasattr(frame, "collect"):
        raise DataError("the frame is lazy: call collect() first")
    if not is_frame(frame):
        raise DataError(
            f"expected a frame of pandas, polars or pyarrow, got {type(frame).__name__}"
        )
    table = arrow_columns(frame)
    held = {
        n: "mixed values" if values is None else kind_of(values.type) for n, values in table.items()
    }
    wanted = Columns.make(columns)

    def has_few_values(name: str) -> bool:
        return has_few(lambda: [table[name]])

    roles = wanted.resolve(held, _FRAME, aside=aside, has_few=has_few_values)
    _log.info("%s", roles)
    for name in (*roles.special.values(), *aside):
        if table[name] is None:
            raise DataError(
                f"{_FRAME}: column {name!r} has values of several types; convert them to one"
            )
    special = special_arrays(table, roles, f"{_FRAME}: row", 0)
    X, categories = _features_of(table, roles.features, roles.categorical)
    with explain_weight_errors(_FRAME, roles.weight):
        names, missing = roles.features, wanted.missing
        data = make(X, **special, feature_names=names, missing=missing, categories=categories)
    data.table_columns = roles.columns
    return data, {name: ids_of(table[name]) for name in aside}


def read_categories(frame: Any, names: Any = None) -> tuple[Any, Categories | None, Any]:
    """Features of a frame with columns of categories: an array, vocabularies, and names.

    A frame without such columns is returned as it is. ``names`` are other names of its columns.
    """
    kinds = getattr(frame, "dtypes", ())
    if not any(_is_categorical(kind) for kind in getattr(kinds, "tolist", lambda: kinds)()):
        return frame, None, names
    table = arrow_columns(frame)
    named = dict(zip(table if names is None else map(str, names), table.values(), strict=True))
    for name, values in named.items():
        held = "values of several types" if values is None else kind_of(values.type)
        if held not in ("", CATEGORIES):
            raise DataError(f"X must contain only numbers: column {name!r} holds {held}")
    categorical = [name for name, values in named.items() if kind_of(values.type)]
    X, categories = _features_of(named, list(named), categorical)
    return X, categories, list(named)


def _is_categorical(kind: Any) -> bool:
    """Whether a type of a column of pandas or polars is one of categories."""
    return type(kind).__name__ in ("CategoricalDtype", "Categorical", "Enum")


def _features_of(
    table: Mapping[str, Any], names: Sequence[str], categorical: Sequence[str]
) -> tuple[np.ndarray, Categories]:
    kind = float_type([table[name].type for name in names if name not in categorical])
    codes = CategoryCodes(categorical)
    X = np.empty((len(table[names[0]]), len(names)), dtype=kind)
    fill_features(X, table, names, f"{_FRAME}: row", 0, codes)
    return X, codes.settle(X, names)


def arrow_columns(frame: Any) -> dict[str, Any]:
    """Columns by name, without a copy if possible; None for values of several types."""
    import pyarrow as pa

    if isinstance(frame, (pa.Table, pa.RecordBatch)):
        names, values = frame.schema.names, frame.columns
    elif hasattr(frame, "to_arrow"):  # polars
        try:
            names, values = frame.columns, frame.to_arrow().columns
        except pa.ArrowInvalid as error:  # integers of 128 bits
            raise DataError(
                f"{_FRAME}: a column has a type that Arrow does not know; cast it ({error})"
            ) from None
    else:
        names = [str(name) for name in frame.columns]
        values = [_arrow_column(frame.iloc[:, index]) for index in range(len(names))]
    check_named(names, _FRAME)
    return dict(zip(names, values, strict=True))


def _arrow_column(series: Any) -> Any:
    import pyarrow as pa

    try:
        if hasattr(series.dtype, "fill_value"):  # sparse
            series = np.asarray(series)
        return pa.array(series, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return None


def kind_of(kind: Any) -> str:
    """Description of the values of an Arrow type, such as "text"; empty for numbers."""
    import pyarrow.types as kinds

    is_number = (kinds.is_floating, kinds.is_integer, kinds.is_boolean, kinds.is_decimal)
    if any(check(kind) for check in is_number) or kinds.is_null(kind):
        return ""
    if kinds.is_dictionary(kind):
        return CATEGORIES
    if kinds.is_temporal(kind):
        return "dates or times"
    text = (kinds.is_string, kinds.is_large_string, kinds.is_string_view)
    return TEXT if any(check(kind) for check in text) else f"values of type {kind}"


def float_type(kinds: Sequence[Any]) -> np.dtype[Any]:
    """Float type for features of these Arrow types: float32 if it is exact, else float64."""
    import pyarrow.types as types

    simple = (types.is_floating, types.is_integer, types.is_boolean)
    if not kinds or not all(any(check(kind) for check in simple) for kind in kinds):
        return np.dtype(np.float64)
    common = np.result_type(*{kind.to_pandas_dtype() for kind in kinds})
    return np.dtype(np.float32 if common in (np.float16, np.float32) else np.float64)


def fill_features(
    X: np.ndarray,
    table: Mapping[str, Any],
    names: Sequence[str],
    place: str,
    first_row: int,
    codes: CategoryCodes = NO_CODES,
) -> None:
    """Fill the columns of X with feature columns of a table; missing values are NaN.

    Raises a DataError for an infinite value, or one that the type of X cannot store. Messages name
    a row by ``place`` and its number, counted from ``first_row``.
    """
    for index, name in enumerate(names):
        if name in codes:
            X[:, index] = codes.of_column(name, table[name])
            continue
        values = numbers_of(table[name])
        with np.errstate(over="ignore"):
            stored = values.astype(X.dtype, copy=False)
        is_infinite = np.isinf(stored)
        if is_infinite.any():
            row = int(np.argmax(is_infinite))
            reason = "values must be finite"
            if np.isfinite(values[row]):
                reason = f"it is too large for {X.dtype}"
            raise DataError(
                f"{place} {first_row + row}: column {name!r} is {values[row]}; {reason}"
            )
        X[:, index] = stored


def numbers_of(column: Any) -> np.ndarray:
    """Arrow column of numbers as floats, or as integers without missing values."""
    import pyarrow as pa
    import pyarrow.types as kinds

    if not (kinds.is_floating(column.type) or kinds.is_integer(column.type)):
        column = column.cast(pa.float64())
    return _to_numpy(column)


def ids_of(column: Any) -> np.ndarray:
    """Arrow column as Python or NumPy values of its type; missing values are None."""
    import pyarrow.types as kinds

    if kinds.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if not column.null_count:
        return _to_numpy(column)
    values = np.empty(len(column), dtype=object)
    values[:] = column.to_pylist()
    return values


def _plain_ids(column: Any) -> np.ndarray:
    """Like :func:`ids_of`, but without the white space around text, and 1 for 1.0."""
    ids = ids_of(column)
    if ids.dtype.kind != "O":
        return whole_numbers(ids)
    plain = [value.strip() if isinstance(value, str) else value for value in ids.tolist()]
    ids = np.empty(len(plain), dtype=object)
    ids[:] = plain
    return ids


def _to_numpy(column: Any) -> np.ndarray:
    import pyarrow as pa

    # Chunked arrays always copy, and older versions do not take the argument.
    whole = isinstance(column, pa.ChunkedArray)
    return column.to_numpy() if whole else column.to_numpy(zero_copy_only=False)


def special_arrays(
    table: Mapping[str, Any],
    roles: ColumnRoles,
    place: str,
    first_row: int,
    *,
    ids_are_text: bool = False,
    ids_are_ours: bool = False,
) -> dict[str, Any]:
    """Checked values of all roles, by their parameter names in RankingData; None without a column.

    Messages name a row by ``place`` and its number, counted from ``first_row``. If ids come from
    text files, empty ones are missing. Ids that others wrote are
    made plain.
    """
    import pyarrow.types as kinds

    for name in (roles.qid, roles.doc_id):
        if name is not None and kinds.is_nested(table[name].type):
            raise DataError(
                f"{place} {first_row}: column {name!r} holds values of type {table[name].type}, "
                "but ids must be numbers or text"
            )
    read_ids = ids_of if ids_are_ours else _plain_ids
    arrays: dict[str, Any] = {
        "qid": read_ids(table[roles.qid]),
        "doc_ids": None if roles.doc_id is None else read_ids(table[roles.doc_id]),
    }
    for argument, name in (
        ("y", roles.label),
        ("sample_weight", roles.weight),
        ("row_weights", roles.row_weight),
        ("positions", roles.position),
    ):
        arrays[argument] = None
        if name is None:
            continue
        values = arrays[argument] = numbers_of(table[name]).astype(np.float64)
        if not np.isfinite(values).all():
            row = int(np.argmin(np.isfinite(values)))
            what = "has no value" if np.isnan(values[row]) else f"is {values[row]}"
            raise DataError(f"{place} {first_row + row}: column {name!r} {what}")
    if roles.label is None:  # only scores are wanted
        arrays["y"] = np.zeros(len(arrays["qid"]))
    queries = [] if arrays["qid"].dtype.kind in "iu" else arrays["qid"].tolist()
    for row, query in enumerate(queries, start=first_row):
        if query is None or query != query or (ids_are_text and query == ""):
            raise DataError(f"{place} {row}: column {roles.qid!r} has no value")
    return arrays


@contextmanager
def explain_weight_errors(place: Any, name: str | None) -> Iterator[None]:
    """Context manager that adds to errors about weights which column they come from."""
    try:
        yield
    except DataError as error:
        if name is None or "sample_weight" not in str(error):
            raise
        raise DataError(
            f"{place}: column {name!r} is used as the weight of queries, but {error}; if it is a "
            "feature, list the features with --features, or leave it out with --ignore"
        ) from None
