"""Access to single features."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse


class Columns:
    """Single features of an array or CSR matrix, as float64.

    A CSR matrix is converted to CSC once, to find them quickly.
    """

    def __init__(self, X: Any) -> None:
        self._is_sparse = sparse.issparse(X)
        self._X = X.tocsc() if self._is_sparse else X

    def __getitem__(self, feature: int) -> np.ndarray:
        column = self._X[:, [feature]].toarray()[:, 0] if self._is_sparse else self._X[:, feature]
        return np.ascontiguousarray(column, dtype=np.float64)
