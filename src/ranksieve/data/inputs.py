"""Convert matrices, names, labels and query ids of users to arrays for kernels."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from scipy import sparse

from ranksieve._kernels.rows import first_bad_row
from ranksieve.data.errors import DataError


def is_frame(source: Any) -> bool:
    """Whether this is a frame of pandas or polars, or a table of pyarrow."""
    home = type(source).__module__.partition(".")[0]
    return home in ("pandas", "polars", "pyarrow") and hasattr(source, "columns")


def as_matrix(X: Any) -> tuple[Any, list[str] | None]:
    """Convert X to a float array or CSR matrix; also return its column names, or None."""
    if sparse.issparse(X):
        return canonical(sparse.csr_matrix(X, dtype=_float_type(X.dtype))), None
    names = _column_names(X) if hasattr(X, "columns") else None
    try:
        array = np.asarray(X if names is None else polars_to_row_order(X))
    except ValueError:
        raise DataError("X must have the same number of features in each row") from None
    if array.ndim != 2:
        raise DataError(
            f"X must have two dimensions, rows and features, but its shape is {array.shape}"
        )
    dtype = _float_type(array.dtype)
    try:
        if array.dtype.kind == "O" and _home(X) == "pandas":  # columns with missing values
            array = X.to_numpy(dtype=np.float64, na_value=np.nan)
        if np.ma.is_masked(X):  # masked values are missing
            array = X.astype(dtype).filled(np.nan)
        # Row order, for which kernels are compiled; other orders would also be slow.
        return np.ascontiguousarray(array, dtype=dtype), names
    except (TypeError, ValueError, OverflowError) as error:
        raise DataError(f"X must contain only numbers: {error}") from None


def _column_names(X: Any) -> list[str]:
    """Names of the columns of a frame, checked to hold no dates or times."""
    if _home(X) == "pyarrow":
        return list(X.column_names)
    names = [str(column) for column in X.columns]
    for name, kind in zip(names, X.dtypes, strict=True):  # NumPy would count their nanoseconds
        if kind.is_temporal() if _home(X) == "polars" else kind.kind in "mM":
            raise DataError(f"X must contain only numbers: column {name!r} holds dates or times")
    return names


def _home(X: Any) -> str:
    """Name of the package that defines the type of X."""
    return type(X).__module__.partition(".")[0]


def polars_to_row_order(X: Any) -> Any:
    """Convert a polars frame to an array with one copy instead of two; return others unchanged."""
    return X.to_numpy(order="c") if _home(X) == "polars" and hasattr(X, "to_numpy") else X


def canonical(X: Any) -> Any:
    """Sort the features of each row and add up duplicate entries, as kernels require."""
    indptr = X.indptr
    is_safe = len(indptr) == X.shape[0] + 1 and indptr[0] == 0 and indptr[-1] == len(X.indices)
    is_safe = is_safe and bool(np.all(np.diff(indptr) >= 0))
    if is_safe and first_bad_row(X.indptr, X.indices, X.shape[1]) < 0:
        X.has_canonical_format = True
        return X
    try:
        X.check_format(full_check=True)
    except ValueError as error:
        raise DataError(f"X is not a valid sparse matrix: {error}") from None
    X = X.copy()  # it may share its arrays with the input
    X.has_canonical_format = X.has_sorted_indices = False
    X.sum_duplicates()
    return X


def take_columns(X: Any, columns: np.ndarray) -> Any:
    """Columns of an array or CSR matrix, in the order given."""
    # X[:, columns] of an array would be in column order.
    return canonical(X[:, columns]) if sparse.issparse(X) else np.take(X, columns, axis=1)


def widen(X: Any, n_features: int) -> Any:
    """X with columns of zeros appended; X itself if it has this number of features."""
    n_rows, width = X.shape
    if width == n_features:
        return X
    if sparse.issparse(X):
        return sparse.csr_matrix((X.data, X.indices, X.indptr), shape=(n_rows, n_features))
    wide = np.zeros((n_rows, n_features), dtype=X.dtype)
    wide[:, :width] = X
    return wide


def default_names(n_features: int) -> np.ndarray:
    """Default names of features: their 1-based numbers."""
    return _few_names(n_features) if n_features <= _FEW else numbers(range(n_features))


_FEW = 2**16
_EXACT = 2.0**53  # from here on, floats are not all whole numbers


@lru_cache(maxsize=8)
def _few_names(n_features: int) -> np.ndarray:
    names = numbers(range(n_features))
    names.flags.writeable = False
    return names


def numbers(features: Iterable[int]) -> np.ndarray:
    """Default names of some features, given by 0-based index."""
    return np.array([str(feature + 1) for feature in features], dtype=object)


def are_numbers(names: Iterable[str]) -> bool:
    """Whether the names are just the features' numbers."""
    return all(name == str(number) for number, name in enumerate(names, start=1))


def as_names(names: Any, n_features: int) -> np.ndarray | None:
    """Check names and return them as an array; None if they are the default numbers."""
    names = np.array([str(name) for name in names], dtype=object)
    if len(names) != n_features:
        raise DataError(f"there are {len(names)} feature names but {n_features} features")
    for name in find_repeated(names):
        raise DataError(f"two features are named {name!r}")
    return None if are_numbers(names) else names


def find_repeated(values: Iterable[Hashable]) -> Iterator[Any]:
    """Yield values that occurred before."""
    seen: set[Hashable] = set()
    for value in values:
        if value in seen:
            yield value
        seen.add(value)


def _float_type(dtype: Any) -> Any:
    """Type to convert values to; a DataError for those that would become other numbers."""
    if dtype.kind not in "fiubO":
        raise DataError(f"X must contain only numbers: its type is {dtype}")
    return dtype if dtype in (np.float32, np.float64) else np.float64


def as_labels(y: Any, n_rows: int) -> np.ndarray:
    """Labels as float64, checked to be finite."""
    column = as_column(y, "y", n_rows)
    if column.dtype.kind in "cmM":
        raise DataError(f"labels must be numbers, but their type is {column.dtype}")
    try:
        labels = np.ascontiguousarray(column, np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise DataError(f"labels must be numbers: {error}") from None
    bad = np.flatnonzero(~np.isfinite(labels))
    if bad.size:
        raise DataError(f"the label of row {bad[0]} is {labels[bad[0]]}; labels must be finite")
    return labels


def as_query_ids(qid: Any, n_rows: int) -> np.ndarray:
    """Query ids as a one-dimensional array, checked for length and missing values."""
    if qid is None:
        raise DataError(
            "qid is required: one query id per row. If all rows belong to one query, "
            "pass qid=np.zeros(len(y), dtype=int)"
        )
    ids = as_column(qid, "qid", n_rows)
    if ids.dtype.kind == "O":
        is_safe = set(map(type, ids)) <= {str, int}  # as they are read; seen at once
        missing = [] if is_safe else [row for row, query in enumerate(ids) if _is_missing(query)]
    elif ids.dtype.kind in "fMm":
        missing = np.flatnonzero(ids != ids).tolist()
    else:
        missing = []
    if missing:
        raise DataError(f"qid is missing in row {missing[0]}")
    return ids


def _is_missing(value: Any) -> bool:
    if not isinstance(value, Hashable):
        raise DataError(f"a query id must be hashable, unlike {value!r}: convert ids to text")
    try:
        return value is None or bool(value != value)
    except TypeError:  # pandas.NA compares to neither
        return True


def as_column(values: Any, name: str, n_rows: int) -> np.ndarray:
    """Values of the rows as a one-dimensional array of their types, checked for its length."""
    if np.ma.is_masked(values):
        raise DataError(f"{name} has masked values, but it must have one entry per row")
    try:
        column = np.asarray(values)
    except ValueError:
        raise DataError(f"{name} must have one entry per row, but some are sequences") from None
    if column.ndim == 1 and not hasattr(values, "dtype") and column.tolist() != list(values):
        column = np.empty(len(column), dtype=object)  # NumPy would make 1 and "1" equal
        column[:] = values
    if column.ndim != 1:
        raise DataError(f"{name} must have one entry per row, but its shape is {column.shape}")
    if len(column) != n_rows:
        raise DataError(f"{name} has {len(column)} entries but X has {n_rows} rows")
    return column


def join_ids(parts: Sequence[np.ndarray]) -> np.ndarray:
    """Join columns of ids, keeping their types: 1 is not "1"."""
    if len({part.dtype.kind for part in parts}) > 1:
        parts = [part.astype(object) for part in parts]
    return np.concatenate(parts)


def whole_numbers(ids: np.ndarray) -> np.ndarray:
    """Floats as integers if all of them are whole and exact; other ids unchanged."""
    if ids.dtype.kind != "f" or not np.all((np.abs(ids) <= _EXACT) & (ids == np.floor(ids))):
        return ids
    return ids.astype(np.int64)


def join_documents(parts: Sequence[np.ndarray | None], n_rows: Sequence[int]) -> np.ndarray | None:
    """Join document ids of parts with these numbers of rows; None if no part has any."""
    if all(part is None for part in parts):
        return None
    return join_ids(
        [
            np.full(length, "", dtype=object) if part is None else part
            for part, length in zip(parts, n_rows, strict=True)
        ]
    )


def join_weights(parts: Sequence[np.ndarray | None], lengths: Sequence[int]) -> np.ndarray | None:
    """Join weights of parts of these lengths, 1 where a part has none; None if no part has any."""
    if all(part is None for part in parts):
        return None
    pairs = zip(parts, lengths, strict=True)
    return np.concatenate([np.ones(length) if part is None else part for part, length in pairs])


def join_positions(parts: Sequence[np.ndarray | None]) -> np.ndarray | None:
    """Join the positions of parts, of which all must have some, or none."""
    check_all_or_none([part is not None for part in parts], "part")
    found = [part for part in parts if part is not None]
    return np.concatenate(found) if found else None


def check_all_or_none(have: Sequence[bool], what: str) -> None:
    """Raise a DataError if some parts have positions, but others have none."""
    if any(have) and not all(have):
        raise DataError(
            f"{what} {have.index(False) + 1} has no positions, which others have: give all rows "
            "the positions where they were shown, or none"
        )


def group_rows(qid: np.ndarray) -> tuple[np.ndarray | None, np.ndarray]:
    """Group rows by query: the input row of each row (None if they are grouped), and query_ptr.

    Rows of query ``q`` after grouping are ``query_ptr[q]:query_ptr[q + 1]``.
    """
    n_rows = len(qid)
    run_starts = np.flatnonzero(np.concatenate([[True], qid[1:] != qid[:-1]])[:n_rows])
    codes: dict[Any, int] = {}
    run_codes = [codes.setdefault(query, len(codes)) for query in qid[run_starts].tolist()]
    if len(codes) == len(run_codes):
        return None, np.append(run_starts, n_rows).astype(np.int64)
    row_codes = np.repeat(run_codes, np.diff(np.append(run_starts, n_rows)))
    counts = np.bincount(row_codes)
    return np.argsort(row_codes, kind="stable"), np.concatenate([[0], np.cumsum(counts)])


def query_runs(query_ptr: np.ndarray, most_rows: int) -> Iterator[tuple[int, int]]:
    """Runs of whole queries with at most ``most_rows`` rows, as (first, last + 1) positions."""
    first, n_queries = 0, len(query_ptr) - 1
    while first < n_queries:
        end = query_ptr[first] + most_rows
        last = int(np.searchsorted(query_ptr, end, side="right")) - 1
        last = min(max(last, first + 1), n_queries)
        yield first, last
        first = last


def as_query_weights(
    weights: Any, query_ptr: np.ndarray, row_order: np.ndarray, name: str = "sample_weight"
) -> np.ndarray | None:
    """One weight per query, from one per query or one per input row; None stays None.

    Error messages use ``name``.
    """
    values = weights_by_query(weights, query_ptr, row_order, name)
    check_query_weights(values, name)
    return values


def weights_by_query(
    weights: Any, query_ptr: np.ndarray, row_order: np.ndarray, name: str = "sample_weight"
) -> np.ndarray | None:
    """Like :func:`as_query_weights`, for a part of the data, whose weights may all be 0."""
    if weights is None:
        return None
    values = as_weights(weights, name)
    n_queries, n_rows = len(query_ptr) - 1, len(row_order)
    if values.shape == (n_rows,) and (n_rows == 0 or row_order.max() < n_rows):
        rows = values[row_order]
        values = rows[query_ptr[:-1]]
        differs = np.flatnonzero(rows != np.repeat(values, np.diff(query_ptr)))
        if differs.size:
            first = query_ptr[np.searchsorted(query_ptr, differs[0], side="right") - 1]
            raise DataError(
                f"{name} must be the same for all rows of a query; it is "
                f"{rows[first]:g} in row {row_order[first]}, but {rows[differs[0]]:g} in row "
                f"{row_order[differs[0]]}"
            )
    elif values.shape != (n_queries,):
        raise DataError(
            f"{name} has shape {values.shape}, but there are {n_queries} queries and {n_rows} rows"
        )
    return values


def as_weights(weights: Any, name: str = "sample_weight") -> np.ndarray:
    """Copy of weights as an array; raises a DataError unless finite and not negative."""
    if np.ma.is_masked(weights):
        raise DataError(f"{name} must not have masked values")
    try:
        values = np.array(weights, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise DataError(f"{name} must be numbers: {error}") from None
    if values.size and (not np.isfinite(values).all() or values.min() < 0):
        raise DataError(f"{name} must be finite and not negative")
    return values


def as_row_weights(weights: Any, n_rows: int) -> np.ndarray:
    """One weight per row; raises a DataError unless finite and not negative."""
    values = as_weights(weights, "row_weights")
    if values.shape != (n_rows,):
        raise DataError(f"row_weights has shape {values.shape}, but there are {n_rows} rows")
    return values


def as_shown_positions(positions: Any, n_rows: int) -> np.ndarray:
    """Positions where documents were shown, as int64; raises a DataError for other numbers."""
    column = as_column(positions, "positions", n_rows)
    try:
        values = column.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise DataError(f"positions must be whole numbers: {error}") from None
    bad = np.flatnonzero(~((values >= 0) & (values < 2**31) & (values == np.floor(values))))
    if bad.size:
        raise DataError(
            f"positions must be whole numbers from 0 on, but row {bad[0]} has {column[bad[0]]}; "
            "give documents that were not shown a position of their own, after all others"
        )
    return values.astype(np.int64)


def check_query_weights(
    weights: np.ndarray | None, name: str = "sample_weight", of: str = "queries"
) -> None:
    """Raise a DataError if queries, or rows, have weights that are all 0."""
    if weights is not None and weights.size and weights.max() == 0:
        raise DataError(f"{name} must not be 0 for all {of}")


def as_positions(choice: Any) -> np.ndarray:
    """Positions or a mask as an array; an empty list counts as positions."""
    positions = np.asarray(choice)
    return positions if positions.size else positions.astype(np.intp)
