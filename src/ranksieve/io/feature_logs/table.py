"""Collect the graded documents of a feature log."""

from __future__ import annotations

import math
from array import array
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from scipy.sparse import csr_matrix

from ranksieve.data import DataError, RankingData
from ranksieve.io.collecting import settle_text_ids
from ranksieve.io.feature_logs.judgments import ways_to_write
from ranksieve.io.feature_logs.responses import LoggedDocument, check_text

Unjudged = Literal["drop", "zero"]

# Memory that any log may use, and memory per byte of its text, with the least number of bytes for a
# document and for a value.
_ARRAY_BYTES, _ARRAY_PER_BYTE = 2**26, 256
_TEXT_OF_ROW, _TEXT_OF_VALUE = 20, 8

_LEFT_OUT = -1


class LogTable:
    """Documents with their features and grades, each once for a query."""

    def __init__(self, grades: Mapping[str, Mapping[str, float]], unjudged: Unjudged) -> None:
        self.n_logged = 0  # documents, counted once for each query
        self.n_unjudged = 0  # those without a grade, in queries that have some
        self._judgments = grades  # by query and document
        # If the judgments have whole numbers, those of the log are written like them.
        self._plain_query, self._plain_document = ways_to_write(grades)
        self._unjudged = unjudged
        self._rows: dict[str, dict[str, int]] = {}  # by query and document
        self._columns: dict[str, int] = {}  # by feature
        self._listings: dict[tuple[str, ...], np.ndarray] = {}  # columns of the same features
        self._columns_of: list[np.ndarray] = []  # each of the following has one entry per row
        self._values: list[array[float]] = []
        self._grades = array("d")
        self._documents: list[str] = []
        self._queries: list[str] = []

    def add(self, logged: LoggedDocument) -> None:
        """Add a document, unless it has no grade or was added before.

        Raises a DataError if it was added with other values.
        """
        query, document = self._plain_query(logged.query), self._plain_document(logged.document)
        documents = self._rows.setdefault(query, {})
        row = documents.get(document)
        if row is not None:
            if row != _LEFT_OUT:
                self._check_same(row, logged)
            return
        self.n_logged += 1
        grade = self._grade(query, document)
        if grade is None:
            documents[document] = _LEFT_OUT
            return
        documents[document] = len(self._values)
        names = tuple(logged.features)
        if names not in self._listings:
            for name in names:
                check_text(name, "the name of a feature", logged.place)
            found = [self._columns.setdefault(name, len(self._columns)) for name in names]
            self._listings[names] = np.array(found, dtype=np.intp)
        self._columns_of.append(self._listings[names])
        self._values.append(array("d", logged.features.values()))
        self._grades.append(grade)
        self._documents.append(document)
        self._queries.append(query)

    def _grade(self, query: str, document: str) -> float | None:
        judged = self._judgments.get(query)
        if not judged:
            return None
        grade = judged.get(document)
        if grade is None:
            self.n_unjudged += 1
            return None if self._unjudged == "drop" else 0.0
        return grade

    def _check_same(self, row: int, logged: LoggedDocument) -> None:
        names = list(self._columns)
        before = {
            names[column]: value
            for column, value in zip(self._columns_of[row], self._values[row], strict=True)
        }
        for name in before | logged.features:
            old, new = before.get(name, math.nan), logged.features.get(name, math.nan)
            if old != new and not (math.isnan(old) and math.isnan(new)):
                raise DataError(
                    f"{logged.place}: document {logged.document!r:.80} is logged twice for query "
                    f"{logged.query!r:.80}, and feature {name!r:.80} is {_show(new)} here but "
                    f"{_show(old)} before; use different query ids for searches at different times"
                )

    @property
    def n_unjudged_queries(self) -> int:
        """Number of queries of the log without any judgment."""
        return sum(not self._judgments.get(query) for query in self._rows)

    @property
    def n_unlogged(self) -> int:
        """Number of judgments of documents that are not in the log."""
        return sum(
            document not in self._rows.get(query, {})
            for query, documents in self._judgments.items()
            for document in documents
        )

    def to_data(self, unlisted: float, dtype: np.dtype[Any], sparse: bool) -> RankingData:
        """Ranking data; ``unlisted`` is the value of features that a document does not list."""
        if not self._values:
            raise DataError(
                f"no logged document is judged: the log has {_first_pair(self._rows)}, and the "
                f"judgments have {_first_pair(self._judgments)}; check that both have the same "
                "kind of ids"
            )
        if not self._columns:
            raise DataError("no feature is logged for any judged document")
        self._check_size(dtype)
        X = np.full((len(self._values), len(self._columns)), unlisted, dtype=dtype)
        with np.errstate(over="ignore"):
            for row, columns in enumerate(self._columns_of):
                X[row, columns] = self._values[row]
        for row, column in np.argwhere(np.isinf(X))[:1]:
            raise DataError(
                f"feature {list(self._columns)[column]!r:.80} of document "
                f"{self._documents[row]!r:.80} for query {self._queries[row]!r:.80} is too large "
                f"for {dtype}"
            )
        return RankingData(
            csr_matrix(X) if sparse else X,
            self._grades,
            settle_text_ids(np.array(self._queries, dtype=object)),
            feature_names=list(self._columns),
            doc_ids=np.array(self._documents, dtype=object),
        )

    def _check_size(self, dtype: np.dtype[Any]) -> None:
        n_rows, n_values = len(self._values), sum(map(len, self._values))
        size = n_rows * len(self._columns) * dtype.itemsize
        text_bytes = _TEXT_OF_ROW * n_rows + _TEXT_OF_VALUE * n_values
        if size > max(_ARRAY_BYTES, _ARRAY_PER_BYTE * text_bytes):
            raise DataError(
                f"{len(self._columns):,} different features make an array of {size / 1e6:,.0f} MB "
                f"from {n_values:,} values; check that all documents log the same features"
            )


def _first_pair(nested: Mapping[str, Mapping[str, Any]]) -> str:
    """Example of ids, for messages."""
    pairs = ((query, document) for query in nested for document in nested[query])
    query, document = next(pairs, ("", ""))
    return f"query {query!r:.80} with document {document!r:.80}"


def _show(value: float) -> str:
    return "missing" if math.isnan(value) else repr(value)
