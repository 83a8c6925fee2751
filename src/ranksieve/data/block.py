"""Blocks: runs of whole queries, the unit in which data is processed; checks for finite values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from weakref import ref

import numpy as np
from scipy import sparse

from ranksieve.data.errors import HOW_TO_FILL, MissingValueError, NonFiniteError


@dataclass(frozen=True)
class Block:
    """A run of whole queries: the unit in which data is processed."""

    # (rows, features) array or CSR matrix of float32 or float64; an array is in row order, and may
    # be a view or a memory map. May also be a function that returns X; it is called when X is first
    # used.
    X: Any
    y: np.ndarray  # (rows,) float64
    # (queries + 1,) int64: rows of query ``q`` of this block are ``query_ptr[q]:query_ptr[q + 1]``;
    # starts at 0.
    query_ptr: np.ndarray
    first_row: int = 0  # number of rows in the blocks before this one
    first_query: int = 0  # number of queries in the blocks before this one
    query_weights: np.ndarray | None = None  # (queries,) float64; None if each has weight 1
    row_weights: np.ndarray | None = None  # (rows,) float64; None if each has weight 1
    positions: np.ndarray | None = None  # (rows,) int64: where documents were shown, if known
    # Whether NaN in X is a missing value that statistics must accept; otherwise it is refused.
    keeps_missing: bool = False
    # Whether the block keeps X once it is opened. Otherwise X is opened again when it is no longer
    # referenced, because a copy of mapped values may be too large to keep.
    keeps_X: bool = True  # noqa: N815  X is a matrix

    def __post_init__(self) -> None:
        if callable(self.X):
            self.__dict__["_open"] = self.__dict__.pop("X")

    def __getattr__(self, name: str) -> Any:
        if name != "X" or "_open" not in self.__dict__:
            raise AttributeError(f"a block has no {name!r}")
        held = self.__dict__.get("_held")
        X = None if held is None else held()
        if X is None:
            X = self.__dict__["_open"]()
            if self.keeps_X:
                self.__dict__["X"] = X
            else:
                self.__dict__["_held"] = ref(X)
        return X

    @property
    def is_sparse(self) -> bool:
        """Whether X is a CSR matrix."""
        return sparse.issparse(self.X)

    def check_finite(self) -> None:
        """Raise a NonFiniteError for the first infinity in X, or NaN unless it is kept."""
        check_finite(
            self.X,
            lambda row, column: f"row {self.first_row + row}, column {column}",
            allow_missing=self.keeps_missing,
        )


def check_finite(X: Any, place: Callable[[int, int], str], *, allow_missing: bool = False) -> None:
    """Raise a NonFiniteError with the place of the first value that is not finite.

    NaN is such a value unless missing values are allowed.
    """
    is_bad = np.isinf if allow_missing else lambda values: ~np.isfinite(values)
    step = max(1, 2**20 // max(1, X.shape[1]))
    for start in range(0, X.shape[0], step):
        part = X[start : start + step]
        if is_bad(part.data if sparse.issparse(part) else part).any():
            part = part.toarray() if sparse.issparse(part) else part
            row, column = np.argwhere(is_bad(part))[0].tolist()
            where = place(start + row, column)
            if np.isnan(part[row, column]):
                raise MissingValueError(f"X has NaN in {where}; {HOW_TO_FILL}")
            raise NonFiniteError(f"X has infinity in {where}; replace or drop infinite values")
