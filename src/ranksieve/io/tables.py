"""Files of tables, Parquet or CSV: several files with the same columns are one data set."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy.sparse import csr_matrix

from ranksieve.data import DataError, RankingData, categories
from ranksieve.data.categories import NO_CODES, CategoryCodes
from ranksieve.data.columns import ROLES_OF_NUMBERS, ColumnRoles, Columns, ColumnsLike
from ranksieve.data.frames import (
    explain_weight_errors,
    fill_features,
    float_type,
    ids_of,
    special_arrays,
)
from ranksieve.data.inputs import join_ids
from ranksieve.io.collecting import (
    DenseRows,
    are_whole_numbers,
    group_by_query,
    rows_for,
    settle_text_ids,
)
from ranksieve.progress import track

_ROWS, _BATCH_BYTES = 65_536, 2**25  # the most of a batch
# What Arrow reads as a missing number in CSV.
MISSING_IN_TEXT = ("NULL", "null", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "-NaN", "-nan")
_log = logging.getLogger("ranksieve")


class TableFile(Protocol):
    """A file of one table."""

    path: Path
    schema: dict[str, Any]  # names of the columns and their types of pyarrow
    held: dict[str, str]  # what the columns hold, in words; empty for numbers
    known: dict[str, str] | None  # columns of label, query, document, weight, if the file says so
    is_sparse: bool  # whether the file says that most values are zero
    ids_are_text: bool  # whether ids are read as text, which may be that of integers
    size: int  # how much there is to read: rows, or bytes
    first_row: int  # its number in messages

    def batches(
        self, numbers: Sequence[str], others: Sequence[str], rows: int
    ) -> Iterator[tuple[Any, int]]:
        """Yield batches of Arrow with some columns, and what of the size each took.

        ``numbers`` and ``others`` are columns of numbers, and of other values; ``rows`` is the most
        that a batch should have.
        """


class TableBatch(NamedTuple):
    """Some rows of a file."""

    file: TableFile
    row: int  # number of the first row in messages
    amount: int  # what of the size of the file they took
    X: np.ndarray
    special: dict[str, Any]  # what is no feature, as RankingData calls it
    aside: dict[str, np.ndarray]


class Tables:
    """Files with the same columns, which are one data set; their rows are not read yet.

    ``aside`` names columns to read beside the data, such as those of a split.
    """

    def __init__(
        self, files: Sequence[TableFile], columns: ColumnsLike = None, aside: Sequence[str] = ()
    ) -> None:
        if not files:
            raise DataError("no file to read")
        self.files, self.aside = files, tuple(aside)
        wanted = Columns.make(columns)
        has_few = cache(self._has_few)
        found = [
            wanted.resolve(f.held, f.path, known=f.known, aside=aside, has_few=has_few)
            for f in files
        ]
        self.roles = found[0]
        for file, roles in zip(files[1:], found[1:], strict=True):
            _check_agreement(file, roles, files[0], self.roles)
        numbers = [name for name in self.roles.features if name not in self.roles.categorical]
        kinds = [file.schema[name] for file in files for name in numbers]
        self.dtype = float_type(kinds)
        self.missing = wanted.missing
        self.columns = None  # what they are, if not all files say it
        is_guess = any(file.known is None for file in files)
        if wanted or is_guess:
            self.columns = self.roles.columns
        if is_guess:
            _log.info("%s", self.roles)

    def _has_few(self, name: str) -> bool:
        """Whether a column of text has few values in all files together."""

        def read() -> Iterator[Any]:
            for file in self.files:
                for batch, _ in file.batches([], [name], _ROWS):
                    yield batch[name]

        return all(name in file.held for file in self.files) and categories.has_few(read)

    def category_codes(self) -> CategoryCodes:
        """Codes of the categories, before any row is read."""
        is_text = any(file.ids_are_text for file in self.files)
        return CategoryCodes(self.roles.categorical, MISSING_IN_TEXT if is_text else ())

    @property
    def is_sparse(self) -> bool:
        """Whether all files say that most values are zero."""
        return all(file.is_sparse for file in self.files)

    def read(
        self,
        files: Sequence[TableFile] | None = None,
        *,
        sparse: bool | None = None,
        dtype: str | None = None,
        treat: bool = True,
    ) -> tuple[RankingData, dict[str, np.ndarray]]:
        """Read the rows of all files, or of some, and the columns aside in the order of files.

        ``treat`` says whether missing values are treated as the columns say.
        """
        chosen = self.files if files is None else files
        as_csr = self.is_sparse if sparse is None else sparse
        if as_csr and self.roles.categorical:
            raise DataError(
                f"{chosen[0].path}: column {self.roles.categorical[0]!r} has categories, which a "
                "sparse matrix cannot hold"
            )
        codes = self.category_codes()
        kind = np.dtype(dtype or self.dtype)
        by_columns = not as_csr and all(hasattr(file, "fill") for file in chosen)
        matrix = rows_for(kind, as_csr, sum(f.size for f in chosen))
        kept: list[TableBatch] = []
        features = () if by_columns else self.roles.features
        for batch in self.batches(chosen, features=features, dtype=kind, codes=codes):
            matrix.append(csr_matrix(batch.X) if as_csr else batch.X, batch.amount)
            kept.append(batch._replace(X=None))  # type: ignore[arg-type]
        if by_columns:
            matrix = DenseRows.from_array(self._read_columns(chosen, kind, codes))
        special = {name: [b.special[name] for b in kept] for name in kept[0].special}
        ids: dict[str, Any] = {"qid": _join_query_ids(kept), "doc_ids": None}
        if self.roles.doc_id is not None:
            ids["doc_ids"] = join_ids(special["doc_ids"])
        numbers: dict[str, Any] = {
            name: None if parts[0] is None else np.concatenate(parts)
            for name, parts in special.items()
            if name not in ids
        }
        with explain_weight_errors(kept[0].file.path, self.roles.weight):
            data = group_by_query(
                matrix,
                len(self.roles.features),
                feature_names=self.roles.features,
                codes=codes,
                **ids,
                **numbers,
            )
        data.table_columns = self.columns
        if treat and self.missing is not None:
            data = data.with_missing(self.missing)
        return data, {n: join_ids([b.aside[n] for b in kept]) for n in self.aside}

    def _read_columns(
        self, files: Sequence[Any], dtype: np.dtype[Any], codes: CategoryCodes
    ) -> np.ndarray:
        """Feature values of files that are read by columns, whose size is in rows."""
        names = self.roles.features
        X = np.empty((sum(file.size for file in files), len(names)), dtype=dtype)
        advance = track("Reading features", len(names) * len(files))
        first = 0
        for file in files:
            for n_columns in file.fill(names, X[first : first + file.size], codes):
                advance(n_columns)
            first += file.size
        return X

    def batches(
        self,
        files: Sequence[TableFile] | None = None,
        batch_bytes: int = _BATCH_BYTES,
        features: Sequence[str] | None = None,
        dtype: np.dtype[Any] | None = None,
        codes: CategoryCodes = NO_CODES,
    ) -> Iterator[TableBatch]:
        """Yield the rows of all files, or of some, a batch at a time.

        ``batch_bytes`` bounds the feature values of a batch; ``features`` are those to read, by
        default all; ``dtype`` is the type of their values, by default that of the files; ``codes``
        are those of categories.
        """
        chosen = self.files if files is None else files
        names = self.roles.features if features is None else features
        rows = max(1, min(_ROWS, batch_bytes // (8 * len(self.roles.features) + 8)))
        advance = track("Reading", sum(file.size for file in chosen))
        special = self.roles.special
        texts = [special[role] for role in ("qid", "doc_id") if role in special]
        texts += [name for name in names if name in codes]
        numbers = [special[role] for role in ROLES_OF_NUMBERS if role in special]
        for file in chosen:
            row = file.first_row
            values = [*numbers, *(name for name in names if name not in codes)]
            for batch, amount in file.batches(values, [*texts, *self.aside], rows):
                columns = dict(zip(batch.schema.names, batch.columns, strict=True))
                place = f"{file.path}: row"
                X = np.empty((batch.num_rows, len(names)), dtype=dtype or self.dtype)
                fill_features(X, columns, names, place, row, codes)
                arrays = special_arrays(
                    columns,
                    self.roles,
                    place,
                    row,
                    ids_are_text=file.ids_are_text,
                    ids_are_ours=file.known is not None,
                )
                aside = {name: ids_of(columns[name]) for name in self.aside}
                yield TableBatch(file, row, amount, X, arrays, aside)
                row += batch.num_rows
                advance(amount)
            if row == file.first_row:
                raise DataError(f"{file.path}: no rows")


def _join_query_ids(batches: Sequence[TableBatch]) -> np.ndarray:
    """Query ids of all rows; those of text files are settled together."""
    ids = [batch.special["qid"] for batch in batches]
    texts = [n for n, batch in enumerate(batches) if batch.file.ids_are_text]
    if texts:
        text = np.concatenate([ids[n] for n in texts])
        settled = settle_text_ids(text)
        _tell_type(set(text.tolist()))
        ends = np.cumsum([len(ids[n]) for n in texts])[:-1]
        for number, part in zip(texts, np.split(settled, ends), strict=True):
            ids[number] = part
    return join_ids(ids)


def _tell_type(ids: set[str]) -> None:
    """Say how ids that look like numbers were read, if they could be read in another way."""
    others = [text for text in ids if not are_whole_numbers([text])]
    if not others and any("." in text for text in ids):
        _log.info("All query ids are whole numbers, so 1.0 is the same query as 1")
    elif 0 < len(others) < len(ids):
        _log.info(
            f"Query ids are text, because {min(others)!r:.60} is not a plain whole number: 1 and "
            "1.0 are two queries"
        )


def _check_agreement(
    file: TableFile, roles: ColumnRoles, first: TableFile, expected: ColumnRoles
) -> None:
    """Raise a DataError that names a file whose columns are not those of the first one."""
    if roles.special != expected.special:
        raise DataError(
            f"{file.path}: its columns are not those of {first.path}: "
            f"{_describe_roles(roles)}, but there {_describe_roles(expected)}"
        )
    for name in {*roles.categorical} ^ {*expected.categorical}:
        raise DataError(
            f"{file.path}: its columns are not those of {first.path}: only one of them has "
            f"categories in {name!r}; declare it with --categorical (categorical= of Columns)"
        )
    for one, other, word in ((expected, roles, "lacks"), (roles, expected, "has, in addition,")):
        known = set(other.features)
        for name in one.features:
            if name not in known:
                raise DataError(
                    f"{file.path}: its columns are not those of {first.path}: it {word} {name!r}"
                )


def _describe_roles(roles: ColumnRoles) -> str:
    return ", ".join(f"{role} is {name!r}" for role, name in roles.special.items())
