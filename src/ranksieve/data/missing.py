"""Treatment of missing values (NaN): kept, unless the data declares how to fill them in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from ranksieve._kernels.rows import QUERY_MEDIAN, QUERY_MIN, ZERO, fill_queries
from ranksieve.data.errors import HOW_TO_FILL, DataError
from ranksieve.data.inputs import query_runs
from ranksieve.threads import over_queries

_FILLINGS = {"query-min": QUERY_MIN, "query-median": QUERY_MEDIAN, "zero": ZERO}
POLICIES = ("keep", *_FILLINGS)
_INDICATORS = "+indicators"
FILLING = "query-median"
"""The policy for methods that take no missing values, beside others that do."""
_CHUNK = 2**20  # numbers at a time


@dataclass(frozen=True, repr=False)
class Missing:
    """Treatment of missing values (NaN); a string such as ``"query-min"`` is also accepted.

    Parameters
    ----------
    policy : {"keep", "query-min", "query-median", "zero"}
        - ``"keep"``: they stay, as in data that declares nothing. Rankers and selectors that take
          NaN get it: LightGBM, XGBoost, CatBoost and what is built on their trees. Filters rank a
          document without a value last, whichever direction of the feature is good, and tied with
          all others without one. Linear models, networks and other methods that can do neither
          refuse the data before they start.
        - ``"query-min"``: the smallest value of the feature within the query.
        - ``"query-median"``: the median of the values of the feature within the query.
        - ``"zero"``: 0.

        A query that has no value of the feature at all gets 0.
    indicators : bool or sequence of int
        Whether to append a feature with 1 where a value is missing and 0 elsewhere, for each
        feature with missing values in the training data; or the 0-based indices of these features.
        ``policy`` may say so as well: ``"query-min+indicators"``.

    Notes
    -----
    Values are filled in from rows of the same query only, so nothing leaks between training,
    validation and test queries. Only the features that get indicators are learned from training
    data: :meth:`ranksieve.RankingData.with_missing` stores them in ``missing`` of the new data,
    which is to be applied to validation and test data.

    Examples
    --------
    >>> from ranksieve import RankingData
    >>> nan = float("nan")
    >>> X = [[3.0, nan], [nan, 5.0], [1.0, 4.0], [nan, 2.0]]
    >>> train = RankingData(X, y=[0, 1, 2, 0], qid=[1, 1, 1, 2], missing="query-min+indicators")
    >>> train.X.tolist()
    [[3.0, 4.0, 0.0, 1.0], [1.0, 5.0, 1.0, 0.0], [1.0, 4.0, 0.0, 0.0], [0.0, 2.0, 1.0, 0.0]]
    >>> train.feature_names.tolist()
    ['1', '2', '1 is missing', '2 is missing']
    >>> train.missing, train.missing.indicators
    (query-min+indicators, (0, 1))
    >>> test = RankingData([[nan, 7.0]], y=[1], qid=[3]).with_missing(train.missing)
    >>> test.X.tolist()
    [[0.0, 7.0, 1.0, 0.0]]
    """

    policy: str
    indicators: bool | tuple[int, ...] = False

    def __post_init__(self) -> None:
        policy, indicators = self.policy, self.indicators
        if isinstance(policy, str) and policy.endswith(_INDICATORS):
            policy, indicators = policy.removesuffix(_INDICATORS), indicators or True
        if not isinstance(policy, str) or policy not in POLICIES:
            raise ValueError(
                f"missing must be one of {', '.join(POLICIES)}, each also with {_INDICATORS}; got "
                f"{self.policy!r:.60}"
            )
        is_flag = isinstance(indicators, (bool, np.bool_))
        indicators = bool(indicators) if is_flag else _as_indices(indicators)
        object.__setattr__(self, "policy", policy)
        object.__setattr__(self, "indicators", indicators)

    @classmethod
    def make(cls, value: Any) -> Missing | None:
        """Make a value from a string or another value; None stays None."""
        return value if value is None or isinstance(value, Missing) else cls(value)

    @property
    def name(self) -> str:
        """Text form, without the list of features with indicators."""
        has_indicators = self.indicators is True or bool(self.indicators)
        return self.policy + (_INDICATORS if has_indicators else "")

    def __repr__(self) -> str:
        return self.name

    @property
    def keeps(self) -> bool:
        """Whether missing values stay."""
        return self.policy == "keep"

    @property
    def indicated(self) -> tuple[int, ...]:
        """Features with indicators, once they are known."""
        return self.indicators if isinstance(self.indicators, tuple) else ()

    def check_learned(self) -> None:
        """Raise a ValueError if it is not known yet which features get indicators."""
        if self.indicators is True:
            raise ValueError("'missing' should list the features with indicators")

    def learned(self, count: Callable[[], np.ndarray]) -> Missing:
        """The same with indicators of the features for which ``count()`` is above 0."""
        if self.indicators is not True:
            return self
        return replace(self, indicators=tuple(np.flatnonzero(count()).tolist()))

    def check_fits(self, n_features: int) -> None:
        """Raise a ValueError if an indicator refers to a feature that does not exist."""
        if self.indicated and self.indicated[-1] >= n_features:
            raise ValueError(
                f"missing has an indicator of feature {self.indicated[-1]}, but there are only "
                f"{n_features} features, numbered from 0"
            )

    def applied_to(self, X: Any, query_ptr: np.ndarray) -> Any:
        """Fill an array or CSR matrix and append indicators; return X itself if nothing changes."""
        fills = not self.keeps and has_missing(X)
        if not fills and not self.indicated:
            return X
        if sparse.issparse(X):
            filled = _fill_csr(X, query_ptr, _FILLINGS[self.policy]) if fills else X
            return _append_indicators_csr(filled, X, self.indicated)
        treated = np.empty((X.shape[0], X.shape[1] + len(self.indicated)), dtype=X.dtype)
        treated[:, : X.shape[1]] = X
        for column, feature in enumerate(self.indicated, start=X.shape[1]):
            treated[:, column] = np.isnan(X[:, feature])
        if fills:
            over_queries(fill_queries, query_ptr, treated, query_ptr, _FILLINGS[self.policy])
        return treated

    def names(self, names: Sequence[str] | np.ndarray) -> np.ndarray:
        """Names of all features: the given names, and those of the indicators."""
        known = [str(name) for name in names]
        taken = set(known)
        for feature in self.indicated:
            name = f"{names[feature]} is missing"
            number = 2
            while name in taken:
                name = f"{names[feature]} is missing ({number})"
                number += 1
            known.append(name)
            taken.add(name)
        return np.array(known, dtype=object)


def _as_indices(features: Any) -> tuple[int, ...]:
    try:
        found = sorted({int(feature) for feature in features})
    except (TypeError, ValueError):
        raise ValueError(
            f"indicators must be True, False or a list of 0-based features, got {features!r:.60}"
        ) from None
    if found and found[0] < 0:
        raise ValueError(f"indicators must be 0-based indices of features, got {found[0]}")
    return tuple(found)


def has_missing(X: Any) -> bool:
    """Whether an array or CSR matrix has NaN."""
    return any(np.isnan(part).any() for part in _parts(X.data if sparse.issparse(X) else X))


def count_missing(X: Any) -> np.ndarray:
    """Number of missing values of each column of an array or CSR matrix."""
    if sparse.issparse(X):
        return np.bincount(X.indices[np.isnan(X.data)], minlength=X.shape[1])
    counts = np.zeros(X.shape[1], dtype=np.int64)
    for part in _parts(X):
        counts += np.isnan(part).sum(axis=0)
    return counts


def check_taken(unable: Sequence[str], place: str = "") -> None:
    """Raise a DataError that names the methods that cannot use the missing values there are."""
    if unable:
        raise DataError(
            f"{place}there are missing values (NaN), which {' and '.join(unable)} cannot use: "
            f"{HOW_TO_FILL}, or choose other methods"
        )


def _parts(values: np.ndarray) -> list[np.ndarray]:
    """Slices of rows, so that temporary arrays stay small."""
    width = values.shape[1] if values.ndim == 2 else 1
    step = max(1, _CHUNK // max(1, width))
    return [values[start : start + step] for start in range(0, len(values), step)]


def _fill_csr(X: Any, query_ptr: np.ndarray, filling: int) -> Any:
    """Fill stored NaN; entries that are not stored count as zeros."""
    filled = X.copy()
    columns = np.unique(X.indices[np.isnan(X.data)])
    for first, last in query_runs(query_ptr, _CHUNK // len(columns)):
        start, end = query_ptr[first], query_ptr[last]
        values = X[start:end][:, columns].toarray()
        fill_queries(values, query_ptr[first : last + 1] - start, filling, 0, last - first)
        entries = slice(X.indptr[start], X.indptr[end])
        lengths = np.diff(X.indptr[start : end + 1])
        gaps = np.flatnonzero(np.isnan(X.data[entries]))
        rows = np.repeat(np.arange(end - start), lengths)[gaps]
        positions = np.searchsorted(columns, X.indices[entries][gaps])
        filled.data[entries][gaps] = values[rows, positions]
    return filled


def _append_indicators_csr(filled: Any, X: Any, features: tuple[int, ...]) -> Any:
    if not features:
        return filled
    chosen = X[:, list(features)].tocsr()
    marks = sparse.csr_matrix(
        (np.isnan(chosen.data).astype(X.dtype), chosen.indices, chosen.indptr), shape=chosen.shape
    )
    marks.eliminate_zeros()
    return sparse.hstack([filled, marks], format="csr", dtype=X.dtype)
