"""Parse LETOR / SVMlight text piece by piece, in parallel."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from ranksieve._kernels import text as kernel
from ranksieve.data import DataError
from ranksieve.data.inputs import find_repeated
from ranksieve.io.collecting import check_dtype
from ranksieve.io.files import (
    READ_ERRORS,
    LongLineError,
    explain_os_error,
    line_chunks,
    place_of,
    total_size,
)
from ranksieve.progress import track
from ranksieve.threads import ordered_map

_FEATURE_NAME = re.compile(r"#\s*([0-9]{1,10}):(.*)")
_MAX_DENSE_INDEX = 2**20
_INFINITE_VALUE, _LARGE_VALUE = -1, -2  # errors in addition to those of the kernel

# Limits for any text, and per byte of text, unless n_features is given: bytes of an array, and
# features of a CSR matrix, for each of which methods need some memory.
_DENSE_BYTES, _DENSE_PER_BYTE = 2**26, 256
_SPARSE_FEATURES, _SPARSE_PER_BYTE = 2**20, 64


@dataclass(frozen=True)
class Grammar:
    """Options of parsing: what to accept, and what to build."""

    n_features: int | None
    dtype: np.dtype[Any]
    sparse: bool
    first_index: int

    @classmethod
    def make(cls, n_features: int | None, dtype: Any, sparse: bool, zero_based: bool) -> Grammar:
        """Check the options of a reader."""
        kind = check_dtype(dtype)
        if n_features is not None and not 1 <= n_features <= kernel.MAX_INDEX:
            raise ValueError(f"n_features must be from 1 to {kernel.MAX_INDEX:,}, got {n_features}")
        return cls(n_features, kind, sparse, 0 if zero_based else 1)

    @property
    def last_index(self) -> int:
        """Largest index that a line may use."""
        if self.n_features is not None:
            return self.n_features - 1 + self.first_index
        return kernel.MAX_INDEX if self.sparse else _MAX_DENSE_INDEX

    def check_size(self, n_rows: int, width: int, text_bytes: int) -> None:
        """Raise a DataError if a matrix is out of proportion to the text that it comes from."""
        if self.n_features is not None:
            return
        index = width - 1 + self.first_index
        advice = f"; if this is intended, pass n_features={width}"
        if self.sparse and width > max(_SPARSE_FEATURES, _SPARSE_PER_BYTE * text_bytes):
            raise DataError(
                f"index {index} is out of proportion to the {text_bytes:,} bytes of text{advice}"
            )
        size = n_rows * width * self.dtype.itemsize
        if not self.sparse and size > max(_DENSE_BYTES, _DENSE_PER_BYTE * text_bytes):
            raise DataError(
                f"index {index} makes an array of {size / 1e6:,.0f} MB from {text_bytes:,} bytes "
                f"of text; read with sparse=True{advice}"
            )


@dataclass
class TextBlock:
    """Rows of one piece of text."""

    path: Path
    matrix: Any  # (rows, width) array or CSR matrix
    labels: np.ndarray
    run_ids: list[bytes]  # query ids of runs of equal ids,
    run_lengths: np.ndarray  # the number of rows of each run,
    run_lines: np.ndarray  # and the line of its first row
    doc_ids: list[str] | None
    names: dict[int, str]  # 0-based feature -> name, from header lines
    n_lines: int
    n_bytes: int


class _LineError(Exception):
    """Error in a line, which is counted from the start of its piece."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line = line


def read_blocks(paths: Iterable[Path], grammar: Grammar) -> Iterator[TextBlock]:
    """Parse files piece by piece; the number of pieces in memory depends on the threads."""
    paths = list(paths)
    file_bytes = total_size(paths)
    advance = track("Reading", file_bytes)
    all_rows = all_bytes = width = 0
    for path in paths:
        lines = rows = 0
        try:
            parse = partial(_parse_piece, path=path, grammar=grammar)
            for block in ordered_map(parse, _pieces(path, advance)):
                if rows:
                    block.names = {}  # header lines come before the first row
                block.run_lines += lines
                lines += block.n_lines
                rows += block.labels.size
                all_rows += block.labels.size
                all_bytes += block.n_bytes
                width = max(width, block.matrix.shape[1], max(block.names, default=-1) + 1)
                grammar.check_size(all_rows, width, max(all_bytes, file_bytes))
                yield block
        except _LineError as bad:
            raise DataError(f"{place_of(path, lines + bad.line)}: {bad}") from bad.__cause__
        except DataError as error:
            raise DataError(f"{path}: {error}") from None
        if rows == 0:
            raise DataError(
                f"{place_of(path, lines)}: no rows: the file is empty or has only comments"
            )


def _pieces(path: Path, advance: Callable[[int], None]) -> Iterator[bytes | Exception]:
    """Yield pieces of whole lines; an error of the file is yielded after the lines before it."""
    try:
        yield from line_chunks(path, advance)
    except READ_ERRORS as error:
        yield error


def _parse_piece(piece: bytes | Exception, path: Path, grammar: Grammar) -> TextBlock:
    if isinstance(piece, Exception):
        # An error of reading is reported with the last line that was read.
        raise _LineError(int(isinstance(piece, LongLineError)), explain_os_error(piece)) from piece
    text = np.frombuffer(piece, dtype=np.uint8)
    # The shortest row is "0 qid:0\n" and the shortest entry " 1:1". Memory that is not needed is
    # never touched.
    max_rows, max_entries = text.size // 8 + 1, text.size // 4 + 1
    lines = kernel.ParsedLines(
        labels=np.empty(max_rows),
        row_ptr=np.empty(max_rows + 1, dtype=np.int64),
        names=np.empty_like(text),
        name_ptr=np.empty(max_rows + 1, dtype=np.int64),
        runs=np.empty((max_rows, 4), dtype=np.int64),
        indices=np.empty(max_entries, dtype=np.int32),
        values=np.empty(max_entries),
        hard=kernel.HardNumbers(
            slots=np.empty(max_rows + max_entries, dtype=np.int64),
            starts=np.empty(max_rows + max_entries, dtype=np.int64),
            digits=np.empty_like(text),
            ptr=np.empty(max_rows + max_entries + 1, dtype=np.int64),
        ),
        remarks=np.empty((text.size // 2 + 1, 3), dtype=np.int64),
    )
    bounds = (grammar.first_index, grammar.last_index)
    counts, width, error, at = kernel.parse_lines(text, bounds, lines)
    n_rows, n_runs, n_hard, n_remarks, n_lines = counts
    infinite_labels = _fill_in(lines, n_hard)
    infinite = [(int(start), kernel.INFINITE_LABEL) for start in infinite_labels[:1]]
    infinite += _find_infinite_value(piece, lines, n_rows, grammar)
    if infinite:  # before the error that the kernel found
        at, error = min(infinite)
    _check_piece(piece, error, at, grammar)
    runs = lines.runs[:n_runs]
    return TextBlock(
        path=path,
        matrix=_matrix(lines, (n_rows, width), len(piece), grammar),
        labels=lines.labels[:n_rows].copy(),
        run_ids=[piece[start:end] for start, end in runs[:, 1:3].tolist()],
        run_lengths=np.diff(runs[:, 0], append=n_rows),
        run_lines=runs[:, 3].copy(),
        doc_ids=_document_ids(lines.names, lines.name_ptr[: n_rows + 1]),
        names=_feature_names(piece, lines.remarks[:n_remarks], grammar),
        n_lines=n_lines,
        n_bytes=len(piece),
    )


def _fill_in(lines: kernel.ParsedLines, n_hard: int) -> np.ndarray:
    """Parse the numbers that the kernel left; return the rows of labels that are not finite."""
    hard = lines.hard
    slots = hard.slots[:n_hard]
    if n_hard == 0:
        return slots
    import pyarrow as pa

    texts = [None, pa.py_buffer(hard.ptr[: n_hard + 1]), pa.py_buffer(hard.digits)]
    numbers = pa.Array.from_buffers(pa.large_string(), n_hard, texts).cast(pa.float64())
    # Not to_numpy, which would import pandas.
    values = np.frombuffer(numbers.buffers()[1], dtype=np.float64, count=n_hard)
    are_labels = slots < 0
    lines.values[slots[~are_labels]] = values[~are_labels]
    lines.labels[-1 - slots[are_labels]] = values[are_labels]
    return hard.starts[:n_hard][are_labels & ~np.isfinite(values)]


def _find_infinite_value(
    piece: bytes, lines: kernel.ParsedLines, n_rows: int, grammar: Grammar
) -> list[tuple[int, int]]:
    """Position and error of the first value that is infinite, or too large for the type."""
    row_ptr = lines.row_ptr[: n_rows + 1]
    with np.errstate(over="ignore"):
        is_infinite = np.isinf(lines.values[: row_ptr[-1]].astype(grammar.dtype, copy=False))
    if not is_infinite.any():
        return []
    entry = int(np.argmax(is_infinite))
    error = _INFINITE_VALUE if np.isinf(lines.values[entry]) else _LARGE_VALUE
    rows_before = int(np.searchsorted(row_ptr, entry, side="right")) - 1
    index = b"%d:" % (lines.indices[entry] + grammar.first_index)
    start = 0
    for line in piece.split(b"\n"):
        if line.strip() and not line.lstrip().startswith(b"#"):  # a row
            if rows_before == 0:
                break
            rows_before -= 1
        start += len(line) + 1
    return [(re.compile(rb"\s0*" + index).search(piece, start).end(), error)]  # type: ignore[union-attr]


def _check_piece(piece: bytes, error: int, at: int, grammar: Grammar) -> None:
    """Raise the first error of a piece, if it has one."""
    nul = piece.find(b"\0")
    if nul >= 0 and (error == kernel.NO_ERROR or nul < piece.index(b"\n", at)):
        message = "NUL byte: the file is binary, damaged or in UTF-16"
        raise _LineError(piece.count(b"\n", 0, nul) + 1, message)
    if error != kernel.NO_ERROR:
        token = re.split(rb"[\s#]", piece[at : at + 200], maxsplit=1)[0]
        message = _explain(error, decode(token)[:40], grammar)
        raise _LineError(piece.count(b"\n", 0, at) + 1, message)


def _explain(error: int, token: str, grammar: Grammar) -> str:
    index = token.partition(":")[0].lstrip("0") or "0"
    if grammar.n_features is not None:
        too_large = f"index {index} is beyond n_features={grammar.n_features}"
    elif not grammar.sparse:
        too_large = f"index {index} is too large for a dense array; read with sparse=True"
    else:
        too_large = f"index {index} is too large"
    found = repr(token) if token else "no more text"
    return {
        kernel.BAD_LABEL: f"the label is not a number: {token!r}",
        kernel.INFINITE_LABEL: f"the label must be finite: {token!r}",
        kernel.MISSING_QID: f"expected 'qid:' after the label, found {found}",
        kernel.EMPTY_QID: "the query id is empty",
        kernel.BAD_PAIR: f"expected index:value, found {token!r}",
        kernel.BAD_VALUE: f"the value is not a number: {token!r}",
        _INFINITE_VALUE: f"the value must be finite: {token!r}",
        _LARGE_VALUE: f"the value is too large for {grammar.dtype}: {token!r}",
        kernel.INDEX_TOO_SMALL: "index 0, but indices start at 1; "
        "if they start at 0 in this file, read it with zero_based=True (--zero-based)",
        kernel.INDEX_TOO_LARGE: too_large,
        kernel.INDEX_TWICE: f"index {index} occurs twice",
        kernel.INDEX_ORDER: f"index {index} comes after a larger one; indices must increase",
    }[error]


def _matrix(
    lines: kernel.ParsedLines, shape: tuple[int, int], n_bytes: int, grammar: Grammar
) -> Any:
    row_ptr = lines.row_ptr[: shape[0] + 1]
    if grammar.sparse:
        used = slice(row_ptr[-1])
        values, indices = lines.values[used].astype(grammar.dtype), lines.indices[used].copy()
        return sparse.csr_matrix((values, indices, row_ptr.copy()), shape=shape)
    grammar.check_size(*shape, n_bytes)
    dense = np.zeros(shape, dtype=grammar.dtype)
    kernel.fill_dense(row_ptr, lines.indices, lines.values, dense)
    return dense


def decode(text: bytes) -> str:
    """Decode UTF-8; invalid bytes are escaped, so that they are neither errors nor lost."""
    return text.decode("utf-8", "backslashreplace")


def _document_ids(names: np.ndarray, name_ptr: np.ndarray) -> list[str] | None:
    text, spans = names[: name_ptr[-1]].tobytes(), pairwise(name_ptr.tolist())
    if not text:
        return None
    if text.isascii():  # positions in bytes are positions in the string: decode once
        string = text.decode("ascii")
        return [string[start:end] for start, end in spans]
    return [decode(text[start:end]) for start, end in spans]


def _feature_names(piece: bytes, remarks: np.ndarray, grammar: Grammar) -> dict[int, str]:
    names = {}
    for row, start, end in remarks.tolist():
        match = _FEATURE_NAME.fullmatch(decode(piece[start:end]).strip())
        if row == 0 and match and match[2].strip():
            feature = int(match[1]) - grammar.first_index
            if 0 <= feature <= grammar.last_index - grammar.first_index:
                names[feature] = match[2].strip()
    return names


def header_names(names: dict[int, str], n_features: int, source: Path) -> list[str] | None:
    """Names of all features, numbers if they have no header line; None without header lines."""
    if not names:
        return None
    all_names = [names.get(feature, str(feature + 1)) for feature in range(n_features)]
    for name in find_repeated(all_names):
        raise DataError(f"{source}: the header names two features {name!r}")
    return all_names
