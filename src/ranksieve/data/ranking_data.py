"""Ranking data: feature vectors, graded labels and query ids, grouped by query."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from ranksieve.data.block import check_finite
from ranksieve.data.categories import NO_CATEGORIES, Categories, as_categories, recode
from ranksieve.data.columns import Columns, ColumnsLike
from ranksieve.data.errors import DataError
from ranksieve.data.frames import read_categories, read_frame
from ranksieve.data.inputs import (
    are_numbers,
    as_column,
    as_labels,
    as_matrix,
    as_names,
    as_positions,
    as_query_ids,
    as_query_weights,
    as_row_weights,
    as_shown_positions,
    default_names,
    group_rows,
    is_frame,
    numbers,
    take_columns,
)
from ranksieve.data.missing import Missing, count_missing, has_missing

# What there is of each row besides its features; None where the data has no such thing.
OF_ROWS = ("row_weights", "positions")
PER_ROW = ("y", "qid", "doc_ids", *OF_ROWS)


class RankingData:
    """Query-document feature vectors with graded labels, grouped by query.

    Rows of one query need not be adjacent in the input. They are grouped: queries in order of
    first appearance, rows in their order within a query. Input that is already grouped (and, if it
    is an array, in row order) is not copied.

    Parameters
    ----------
    X : array, scipy.sparse matrix, pandas or polars frame of shape (rows, features)
        Feature values. float32 and float64 are kept, other numbers become float64.
    y : array of shape (rows,)
        Labels; larger is more relevant.
    qid : array of shape (rows,)
        Query of each row: integers, strings or anything hashable.
    feature_names : sequence of str, optional
        Taken from the frame's columns if there are any, else ``"1"``, ``"2"``, ...: the
        numbers that LETOR files use.
    doc_ids : array of shape (rows,), optional
        Document of each row.
    sample_weight : array of shape (rows,) or (queries,), optional
        Weights of queries: one for each row, the same for all rows of a query; or one for each
        query in order of first appearance.
    row_weights : array of shape (rows,), optional
        Weight of each document in measures and in the training of rankers that take it, such as the
        inverse of the probability that the document was seen; see :mod:`ranksieve.datasets.clicks`.
    positions : array of shape (rows,), optional
        Where each document was shown: whole numbers, for rankers that estimate the bias of clicks.
    missing : str or Missing, optional
        How to treat missing values (NaN); see :class:`ranksieve.Missing`. By default they are
        kept: methods that take them get them, and others refuse the data.
    categories : mapping of str to sequence of str, optional
        Feature -> its categories, if it is not a number: X then has the position of the category
        of each row, or NaN. Columns of a frame with a categorical type need not be declared.

    Attributes
    ----------
    X, y, qid, doc_ids, row_weights, positions, feature_names, missing
        As given, grouped by query; sparse input is CSR, and missing values are treated.
    query_ptr : int64 array of shape (queries + 1,)
        Rows of query ``q`` are ``query_ptr[q]:query_ptr[q + 1]``.
    row_order : int64 array of shape (rows,)
        ``row_order[i]`` is the input row that became row ``i``.
    query_weights : float64 array of shape (queries,) or None
        Weight of each query; None if each has weight 1.
    table_columns : Columns or None
        What the columns of the table were that the data was read from, without any guess; None if
        it was not read from a table that leaves something to say about them.
    categories : dict of str to tuple of str
        The categories of features that are not numbers; empty if all are.

    Examples
    --------
    >>> import numpy as np
    >>> from ranksieve import RankingData
    >>> data = RankingData(np.arange(8.0).reshape(4, 2), y=[1, 0, 0, 2], qid=["b", "a", "b", "a"])
    >>> data
    RankingData(4 rows, 2 queries, 2 features)
    >>> data.query_ids.tolist(), data.query_ptr.tolist(), data.row_order.tolist()
    (['b', 'a'], [0, 2, 4], [0, 2, 1, 3])
    """

    X: Any  # np.ndarray or scipy.sparse.csr_matrix, of which only common methods are used
    y: np.ndarray
    qid: np.ndarray
    query_ptr: np.ndarray
    row_order: np.ndarray
    doc_ids: np.ndarray | None
    row_weights: np.ndarray | None
    positions: np.ndarray | None
    query_weights: np.ndarray | None
    missing: Missing | None = None
    keeps_missing: bool = True  # whether methods may get NaN in X, which is a missing value
    table_columns: Columns | None = None
    categories: Categories = NO_CATEGORIES
    _names: np.ndarray | None  # None if they are the numbers of the features
    _refusing: RankingData | None = None  # the copy that refuses missing values, if it is known

    def __init__(
        self,
        X: Any,
        y: Any,
        qid: Any,
        *,
        feature_names: Sequence[str] | np.ndarray | None = None,
        doc_ids: Any = None,
        sample_weight: Any = None,
        row_weights: Any = None,
        positions: Any = None,
        missing: str | Missing | None = None,
        categories: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        if is_frame(X) and categories is None:
            X, categories, feature_names = read_categories(X, feature_names)
        matrix, columns = as_matrix(X)
        n_rows, n_features = matrix.shape
        names = columns if feature_names is None else feature_names
        self._names = None if names is None else as_names(names, n_features)
        if categories:
            known = default_names(n_features) if self._names is None else self._names
            self.categories = as_categories(categories, matrix, known)
        self.X, self.y, self.qid = matrix, as_labels(y, n_rows), as_query_ids(qid, n_rows)
        self.doc_ids = None if doc_ids is None else as_column(doc_ids, "doc_ids", n_rows)
        self.row_weights = None if row_weights is None else as_row_weights(row_weights, n_rows)
        self.positions = None if positions is None else as_shown_positions(positions, n_rows)
        order, self.query_ptr = group_rows(self.qid)
        if order is None:
            self.row_order = np.arange(n_rows)
        else:
            self.row_order = order
            self.__dict__.update(self._of_rows(order), X=matrix[order])
        self.query_weights = None
        if sample_weight is not None:
            self.query_weights = as_query_weights(sample_weight, self.query_ptr, self.row_order)
        if missing is not None:
            self.__dict__.update(vars(self.with_missing(missing)))

    @classmethod
    def from_group_counts(cls, X: Any, y: Any, counts: Any, **options: Any) -> RankingData:
        """Build from LightGBM's ``group``: the number of rows of each query, in row order.

        Query ids become 0, 1, 2, ... Data with the integer ``qid`` of XGBoost or the
        ``group_id`` of CatBoost needs no conversion: pass them as ``qid``.
        """
        counts = np.asarray(counts)
        if counts.ndim != 1 or not np.issubdtype(counts.dtype, np.integer) or np.any(counts < 1):
            raise DataError("group counts must be a list of positive integers, one per query")
        n_rows = X.shape[0]
        if counts.sum() != n_rows:
            raise DataError(f"group counts add up to {counts.sum()} rows but X has {n_rows}")
        return cls(X, y, np.repeat(np.arange(len(counts)), counts), **options)

    @classmethod
    def from_frame(cls, frame: Any, columns: ColumnsLike = None) -> RankingData:
        """Build from a frame of pandas or polars, or a table of pyarrow, with all columns in it.

        ``columns`` sets which columns are label, query, document, weight and features, also as the
        path of a file; by default they are recognized by name. See :class:`ranksieve.Columns`.

        Examples
        --------
        >>> import polars
        >>> from ranksieve import Columns, RankingData
        >>> table = {"query": ["a", "a"], "clicked": [1, 0], "bm25": [2.5, None], "shop_id": [3, 4]}
        >>> columns = Columns(label="clicked", ignore=["shop_id"])
        >>> data = RankingData.from_frame(polars.DataFrame(table), columns)
        >>> data.X.tolist(), data.feature_names.tolist()
        ([[2.5], [nan]], ['bm25'])
        """
        return read_frame(cls, frame, columns)[0]

    def __repr__(self) -> str:
        return (
            f"RankingData({self.n_rows} rows, {self.n_queries} queries, {self.n_features} features)"
        )

    @property
    def n_rows(self) -> int:
        """Number of rows (documents)."""
        return len(self.y)

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return len(self.query_ptr) - 1

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.X.shape[1])

    @property
    def is_sparse(self) -> bool:
        """Whether X is a CSR matrix."""
        return sparse.issparse(self.X)

    @property
    def feature_names(self) -> np.ndarray:
        """Names of the features; object array of shape (features,)."""
        return default_names(self.n_features) if self._names is None else self._names

    @property
    def has_feature_names(self) -> bool:
        """Whether the features have names other than their numbers."""
        return self._names is not None

    @property
    def of_rows(self) -> frozenset[str]:
        """Which of ``row_weights`` and ``positions`` the rows have."""
        return frozenset(name for name in OF_ROWS if getattr(self, name) is not None)

    @property
    def query_ids(self) -> np.ndarray:
        """Query id of each query, in order of first appearance."""
        return self.qid[self.query_ptr[:-1]]

    @property
    def group_counts(self) -> np.ndarray:
        """Number of rows of each query: LightGBM's ``group``."""
        return np.diff(self.query_ptr)

    @property
    def query_codes(self) -> np.ndarray:
        """0-based number of each row's query.

        Non-decreasing integers, as XGBoost's ``qid`` requires, and contiguous groups, as
        CatBoost's ``group_id`` does.
        """
        return np.repeat(np.arange(self.n_queries), self.group_counts)

    def to_input_order(self, values: np.ndarray) -> np.ndarray:
        """Return one value per row, such as a score, in the order of the input rows."""
        values = np.asarray(values)
        if len(values) != self.n_rows:
            raise DataError(f"got {len(values)} values for {self.n_rows} rows")
        restored = np.empty_like(values)
        restored[self._input_rows()] = values
        return restored

    def _input_rows(self) -> np.ndarray:
        """Input row of each row, if the data is all of its input."""
        if self.n_rows and self.row_order.max() >= self.n_rows:
            raise DataError("this data is part of a larger input, whose row order is not known")
        return self.row_order

    def with_weights(self, sample_weight: Any) -> RankingData:
        """Return the same data with other weights of queries, given per query or per input row."""
        weights = as_query_weights(sample_weight, self.query_ptr, self.row_order)
        return self._replace(query_weights=weights)

    def with_row_weights(self, row_weights: Any) -> RankingData:
        """Return the same data with other weights of rows, in input order; None removes them."""
        if row_weights is not None:
            row_weights = as_row_weights(row_weights, self.n_rows)[self._input_rows()]
        return self._replace(row_weights=row_weights)

    def with_positions(self, positions: Any) -> RankingData:
        """Return the same data shown at other positions, in input order; None removes them."""
        if positions is not None:
            positions = as_shown_positions(positions, self.n_rows)[self._input_rows()]
        return self._replace(positions=positions)

    def without(self, names: Iterable[str]) -> RankingData:
        """Return the same data without its ``row_weights``, ``positions`` or both."""
        return self._replace(**dict.fromkeys(names)) if names else self

    def with_missing(self, missing: str | Missing) -> RankingData:
        """Return the same data with its missing values treated as in :class:`ranksieve.Missing`.

        Indicators are of the features with missing values in this data, which is meant to be
        training data; its ``missing`` gives validation and test data the same features.
        """
        how = Missing(missing) if isinstance(missing, str) else missing
        categorical = self.categorical
        how = how.learned(lambda: np.where(categorical, 0, count_missing(self.X)))
        how.check_fits(self.n_features)
        X = how.applied_to(self.X, self.query_ptr)
        if X is not self.X and categorical.any():
            columns = np.flatnonzero(categorical)
            X[:, columns] = self.X[:, columns]
        return self._replace(
            X=X,
            feature_names=how.names(self.feature_names) if how.indicated else self._names,
            missing=how,
            keeps_missing=how.keeps or bool(categorical.any()),
        )

    @property
    def categorical(self) -> np.ndarray:
        """Mask of the features that have categories."""
        return np.array([name in self.categories for name in self.feature_names], dtype=bool)

    @property
    def lacks_numbers(self) -> bool:
        """Whether a feature that is a number has missing values."""
        if not self.categories:
            return has_missing(self.X)
        return has_missing(self.X[:, ~self.categorical])

    def with_categories(self, categories: Categories) -> RankingData:
        """Return the same data with the codes of other vocabularies, such as those of training.

        A category that the vocabulary of its feature lacks becomes a missing value. Vocabularies
        of other features than those of this data are ignored.
        """
        if self.categories == categories:
            return self
        known = {str(n): categories[n] for n in self.feature_names if n in categories}
        for name in known.keys() ^ self.categories.keys():
            if name in known:
                raise DataError(
                    f"feature {name!r} had categories in training, but holds numbers here: declare "
                    f"it with --categorical {name} (in Python, Columns(categorical=[{name!r}]))"
                )
            raise DataError(f"feature {name!r} has categories, but was a number in training")
        X = None
        for column, name in enumerate(map(str, self.feature_names)):
            if name in known and known[name] != self.categories[name]:
                X = np.array(self.X) if X is None else X
                X[:, column] = recode(X[:, column], self.categories[name], known[name])
        return self._replace(X=self.X if X is None else X, categories=known)

    def with_observed_categories(self) -> RankingData:
        """Return the same data, whose vocabularies have only the categories that occur."""
        observed = {}
        for column, name in enumerate(map(str, self.feature_names)):
            if name in self.categories:
                codes = self.X[:, column]
                seen = np.unique(codes[~np.isnan(codes)]).astype(np.intp).tolist()
                observed[name] = tuple(self.categories[name][code] for code in seen)
        return self.with_categories(observed)

    def refusing_missing(self) -> RankingData:
        """Return the same data for a method that takes no missing values: NaN is an error."""
        if not self.keeps_missing or not has_missing(self.X):
            return self
        if self._refusing is None:  # always the same copy, so that fits share what it tells
            self._refusing = self._replace(keeps_missing=False)
        return self._refusing

    def take_features(self, features: Any) -> RankingData:
        """Keep some features: 0-based indices (in the given order), names, or a boolean mask."""
        features = as_positions(features)
        if features.dtype.kind in "UO":
            features = self._feature_indices(features.tolist())
        columns = np.arange(self.n_features)[features]
        names = numbers(columns) if self._names is None else self._names[columns]
        kept = {name: self.categories[name] for name in names if name in self.categories}
        return self._replace(X=take_columns(self.X, columns), feature_names=names, categories=kept)

    def with_values(self, values: Mapping[int, np.ndarray]) -> RankingData:
        """Replace the values of some features, by their 0-based indices."""
        X = self.X.tolil() if self.is_sparse else self.X.copy()
        for feature, own in values.items():
            X[:, [feature]] = own[:, None]
        return self._replace(X=X.tocsr() if self.is_sparse else X)

    def take_queries(self, queries: Any) -> RankingData:
        """Keep some queries: 0-based positions (in the given order) or a boolean mask.

        A run of adjacent queries is a view, not a copy.
        """
        queries = as_positions(queries)
        if queries.dtype == bool:
            if len(queries) != self.n_queries:
                raise DataError(f"the mask has {len(queries)} entries for {self.n_queries} queries")
            queries = np.flatnonzero(queries)
        queries = np.arange(self.n_queries)[queries]  # checks bounds, allows negative positions
        if len(np.unique(queries)) != len(queries):
            raise DataError("queries contains the same query twice; take each query only once")
        counts = self.group_counts[queries]
        query_ptr = np.concatenate([[0], np.cumsum(counts)])
        rows: Any
        if len(queries) and np.all(np.diff(queries) == 1):
            rows = slice(self.query_ptr[queries[0]], self.query_ptr[queries[-1] + 1])
            X = self.X[rows]
        else:
            starts = self.query_ptr[queries] - query_ptr[:-1]
            rows = np.arange(query_ptr[-1]) + np.repeat(starts, counts)
            # For few columns, X[rows] would take several times as long.
            X = self.X[rows] if self.is_sparse else np.take(self.X, rows, axis=0)
        return self._replace(
            X=X,
            **self._of_rows(rows),
            row_order=self.row_order[rows],
            query_ptr=query_ptr,
            query_weights=None if self.query_weights is None else self.query_weights[queries],
        )

    def check_finite(self, *, allow_missing: bool = False) -> None:
        """Raise a NonFiniteError for the first infinity in X, or NaN unless it is kept.

        With ``allow_missing``, NaN is accepted in any case.
        """
        check_finite(
            self.X,
            lambda row, column: (
                f"row {self.row_order[row]}, feature {self.feature_names[column]!r} "
                f"(column {column})"
            ),
            allow_missing=allow_missing or self.keeps_missing,
        )

    def _feature_indices(self, names: list[str]) -> np.ndarray:
        position = {name: index for index, name in enumerate(self.feature_names)}
        unknown = [name for name in names if name not in position]
        if unknown:
            raise DataError(f"no feature named {unknown[0]!r}; there are {len(position)} features")
        return np.array([position[name] for name in names], dtype=np.intp)

    def _of_rows(self, rows: Any) -> dict[str, Any]:
        """What there is of some rows besides their features, by attribute."""
        parts = {name: getattr(self, name) for name in PER_ROW}
        return {name: None if part is None else part[rows] for name, part in parts.items()}

    def _replace(self, **changes: Any) -> RankingData:
        """Copy with some attributes replaced; they must be consistent, and are not checked."""
        names = changes.pop("feature_names", self._names)
        if names is not None and are_numbers(names):
            names = None
        copy = object.__new__(RankingData)
        copy.__dict__.update(self.__dict__ | changes | {"_names": names, "_refusing": None})
        return copy


def fingerprint(*sources: RankingData) -> str:
    """Short text that identifies data: features, labels, queries, weights and positions."""
    digest = hashlib.sha256()
    for data in sources:
        parts = [data.X.data, data.X.indices, data.X.indptr] if data.is_sparse else [data.X]
        for part in (*parts, data.y, data.query_ptr):
            digest.update(np.ascontiguousarray(part).data)
        further = {
            "weights": data.query_weights,
            "row weights": data.row_weights,
            "positions": data.positions,
        }
        for name, part in further.items():
            if part is not None:
                digest.update(name.encode())
                digest.update(np.ascontiguousarray(part).data)
        if data.categories:
            digest.update(repr(sorted(data.categories.items())).encode(errors="replace"))
    return digest.hexdigest()[:16]
