"""Collect rows that are read piece by piece, and group them by query without a second copy.

Ids in text have no types: what they are is decided once for all ids of a column.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy.sparse import vstack

from ranksieve._kernels.rows import permute_rows
from ranksieve.data import RankingData
from ranksieve.data.categories import NO_CODES, CategoryCodes
from ranksieve.data.inputs import group_rows

# Without leading zeros, which identifiers may have, and without a fraction other than 0: 1.10 may
# be the tenth part of something, and 1.1 the first.
_WHOLE = re.compile(r"(0|-?[1-9][0-9]*)(?:\.0+)?")
_DIGITS = 18  # that fit into an integer


def check_dtype(dtype: Any) -> np.dtype[Any]:
    """Return a type of feature values; raise a ValueError unless it is float64 or float32."""
    for known in (np.dtype(np.float32), np.dtype(np.float64)):
        if dtype == known:
            return known
    raise ValueError(f"dtype must be float64 or float32, got {dtype!r}")


def rows_for(dtype: np.dtype[Any], sparse: bool, total: int) -> DenseRows | SparseRows:
    """Make an empty growing matrix, dense or sparse; ``total`` is the amount to read."""
    return SparseRows() if sparse else DenseRows(dtype, total)


def group_by_query(
    rows: DenseRows | SparseRows,
    n_features: int,
    y: np.ndarray,
    qid: np.ndarray,
    *,
    doc_ids: np.ndarray | None = None,
    sample_weight: np.ndarray | None = None,
    row_weights: np.ndarray | None = None,
    positions: np.ndarray | None = None,
    feature_names: Any = None,
    codes: CategoryCodes = NO_CODES,
) -> RankingData:
    """Group collected rows by query; other arguments are in the order of the rows."""
    order, _ = group_rows(qid)
    X = rows.finish(n_features, order)
    categories = codes.settle(X, feature_names or ())
    if order is not None:
        y, qid = y[order], qid[order]
        doc_ids = None if doc_ids is None else doc_ids[order]
    data = RankingData(
        X, y, qid, feature_names=feature_names, doc_ids=doc_ids, categories=categories
    )
    if order is not None:
        data.row_order = order
    data = data.with_weights(sample_weight).with_row_weights(row_weights)
    return data.with_positions(positions)


class DenseRows:
    """An array that grows at the bottom, and to the right if a block is wider.

    Blocks are copied as they arrive, so that there is never a second copy of all of them. Space for
    further rows is estimated from the amount still to be read; memory that is not needed in the end
    is never touched.
    """

    def __init__(self, dtype: np.dtype[Any], total: int) -> None:
        self.width = 0
        self._n_rows = 0
        self._X = np.empty((0, 0), dtype=dtype)
        self._total = total
        self._done = 0

    @classmethod
    def from_array(cls, X: np.ndarray) -> DenseRows:
        """Rows of an existing array, which is used without a copy."""
        rows = cls(X.dtype, 0)
        rows._X, rows._n_rows, rows.width = X, *X.shape
        return rows

    def append(self, block: np.ndarray, amount: int) -> None:
        """Add rows at the bottom, for which ``amount`` of the total was read."""
        self._done += amount
        end = self._n_rows + len(block)
        if block.shape[1] > self.width:
            self._reallocate(self._capacity(end), block.shape[1])
        elif end > len(self._X):
            # In place if the system can do that; there are no other references to the array yet.
            self._X.resize((self._capacity(end), self.width), refcheck=False)
        self._X[self._n_rows : end, : block.shape[1]] = block
        self._X[self._n_rows : end, block.shape[1] :] = 0
        self._n_rows = end

    def _capacity(self, n_rows: int) -> int:
        still_to_read = self._total / max(1, self._done)
        return int(n_rows * max(1.05 * still_to_read, 1.25))

    def _reallocate(self, n_rows: int, width: int) -> None:
        """Reserve space for more rows or columns; new columns are zero."""
        wider = np.empty((n_rows, width), dtype=self._X.dtype)
        wider[: self._n_rows, : self.width] = self._X[: self._n_rows]
        wider[: self._n_rows, self.width :] = 0
        self._X, self.width = wider, width

    def finish(self, n_features: int, order: np.ndarray | None) -> np.ndarray:
        """Return the array with ``n_features`` columns and its rows in the given order."""
        if n_features > self.width:
            self._reallocate(self._n_rows, n_features)
        self._X.resize((self._n_rows, n_features), refcheck=False)
        if order is not None:
            permute_rows(self._X, order)
        return self._X


class SparseRows:
    """CSR matrices to be joined."""

    def __init__(self) -> None:
        self.width = 0
        self._parts: list[Any] = []

    def append(self, block: Any, amount: int) -> None:
        """Add rows at the bottom."""
        self.width = max(self.width, block.shape[1])
        self._parts.append(block)

    def finish(self, n_features: int, order: np.ndarray | None) -> Any:
        """Return the matrix with ``n_features`` columns and its rows in the given order."""
        for part in self._parts:
            part.resize(part.shape[0], n_features)
        X = vstack(self._parts, format="csr")
        return X if order is None else X[order]


def are_whole_numbers(ids: Iterable[str]) -> bool:
    """Whether all ids are whole numbers, with or without zeros after a decimal point."""
    return all(map(_WHOLE.fullmatch, ids))


def whole_number(text: str) -> str:
    """Write a whole number without a decimal point; return other text unchanged."""
    found = _WHOLE.fullmatch(text)
    return text if found is None or found[0] == found[1] else found[1]


def settle_text_ids(ids: np.ndarray) -> np.ndarray:
    """Integers if all ids of a column are whole numbers, else the text as it is.

    So 1 and 1.0 are one id, but 1 and 01 are two. If numbers have too many digits for integers,
    they stay text, without zeros after a decimal point.

    Examples
    --------
    >>> import numpy as np
    >>> from ranksieve.io.collecting import settle_text_ids
    >>> for texts in (["1", "1.0", "2"], ["1", "1.0", "02"], ["1.0", "9" * 20]):
    ...     print(settle_text_ids(np.array(texts, dtype=object)).tolist())
    [1, 1, 2]
    ['1', '1.0', '02']
    ['1', '99999999999999999999']
    """
    distinct = set(ids.tolist())
    if not are_whole_numbers(distinct):
        return ids
    numbers = {text: whole_number(text) for text in distinct}
    settled = np.array([numbers[text] for text in ids.tolist()], dtype=object)
    fit = all(len(number.lstrip("-")) <= _DIGITS for number in numbers.values())
    return settled.astype(np.int64) if fit else settled
