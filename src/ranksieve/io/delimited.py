"""CSV and TSV files with one row per document."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Event
from typing import IO, Any

from ranksieve.data import DataError, RankingData
from ranksieve.data.columns import ColumnsLike, check_named
from ranksieve.data.frames import kind_of
from ranksieve.io.files import (
    PathLike,
    as_paths,
    explain_read_errors,
    open_decompressed,
    open_regular,
    total_size,
)
from ranksieve.io.formats import delimiter_of
from ranksieve.io.tables import Tables

_BLOCK = 2**22  # bytes; a row must fit
_PATIENCE = 10.0  # seconds to wait for Arrow to stop reading
_PARSING = re.compile(r"CSV parse error: (?:Row #(\d+): )?(.*)", re.DOTALL)
_CONVERTING = re.compile(
    r"In CSV column #(\d+): (?:Row #(\d+): )?CSV conversion error to (\w+): (.*)", re.DOTALL
)


def read_csv(
    path: PathLike | Sequence[PathLike],
    columns: ColumnsLike = None,
    *,
    dtype: str = "float64",
    sparse: bool = False,
) -> RankingData:
    r"""Read CSV or TSV files with one row per document.

    The first row names the columns. Fields are separated by tabs if the name ends in ``.tsv``
    (``.tsv.gz``, ``.tsv.zst``), else by commas, and may be quoted. Numbers are rounded correctly.
    An empty field, or ``NULL``, ``NA``, ``nan`` and the like, is a missing value of a feature;
    labels, query ids and weights must not be missing. ``true`` and ``false`` are 1 and 0.

    Parameters
    ----------
    path : path or list of paths
        File, or files with the same columns, which are one data set. Names that end in ``.gz`` or
        ``.zst`` are decompressed.
    columns : Columns or path, optional
        Roles of the columns; by default they are recognized by name.
    dtype, sparse
        As in :func:`read_letor`.

    Returns
    -------
    RankingData
        Query ids are integers if all of them are whole numbers, so that 1 and 1.0 are one query,
        else text as it is written, without the white space around it. Document ids are text.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from ranksieve import read_csv
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "clicks.csv"
    >>> _ = path.write_text("query_id,relevance,bm25,price\n7,1,2.5,10\n7,0,,12\n")
    >>> data = read_csv(path)
    >>> data.feature_names.tolist(), data.X.tolist(), data.qid.tolist()
    (['bm25', 'price'], [[2.5, 10.0], [nan, 12.0]], [7, 7])
    """
    tables = Tables(list(map(DelimitedTable, as_paths(path))), columns)
    return tables.read(dtype=dtype, sparse=sparse)[0]


class DelimitedTable:
    """A CSV or TSV file: a :class:`~ranksieve.io.tables.TableFile`, whose size is in bytes.

    Types are determined from the first rows: columns of numbers are read as float64, all others as
    text.
    """

    known: dict[str, str] | None = None
    is_sparse = False
    ids_are_text = True
    first_row = 2  # the header is the first

    def __init__(self, path: Path) -> None:
        self.path = path
        self.size = total_size([path])
        self.schema: dict[str, Any] = {}
        with self._open_reader() as (_, reader):
            names, types = reader.schema.names, reader.schema.types
            start = next(iter(reader), None)
        check_named(names, path)
        if len(names) == 1:
            raise DataError(
                f"{path}: row 1: there is only one column, {names[0]!r}; fields must be separated "
                f"by {'commas' if delimiter_of(path) == ',' else 'tabs'}"
            )
        self.schema = dict(zip(names, types, strict=True))
        self.held = {name: kind_of(kind) for name, kind in self.schema.items()}
        for name, what in self.held.items():
            if what == "text" and start is not None:
                self.held[name] = _example(start[name].to_pylist(), self.first_row)

    def batches(
        self, numbers: Sequence[str], others: Sequence[str], rows: int
    ) -> Iterator[tuple[Any, int]]:
        """Yield batches of some columns, and the number of bytes of the file for each.

        A batch has the rows of a block of the file, whatever their number.
        """
        import pyarrow as pa
        import pyarrow.types as kinds

        types = {
            name: pa.bool_() if kinds.is_boolean(self.schema[name]) else pa.float64()
            for name in numbers
        } | dict.fromkeys(others, pa.string())
        *_, last = self.schema
        kept = {**types, last: types.get(last, pa.string())}
        before, batch = 0, None
        with self._open_reader(kept) as (file, reader):
            for batch in reader:
                if batch.num_rows:
                    position = file.tell()
                    yield batch, position - before
                    before = position
        if batch is None or not batch.num_rows or batch.schema.field(last).type != pa.string():
            return
        # A newline is added at the end of the file. If it is part of the last value, a quotation
        # mark is not closed, and rows before it may also be part of that value.
        if batch[last][-1].as_py().endswith("\n"):
            raise DataError(f"{self.path}: a quotation mark near the end is not closed")

    @contextmanager
    def _open_reader(self, types: dict[str, Any] | None = None) -> Iterator[tuple[IO[bytes], Any]]:
        """Open the file and a reader of its rows, for columns of these types or for all columns."""
        import pyarrow as pa
        import pyarrow.csv as pc

        options = (
            # Errors have row numbers only with a single thread, which is as fast.
            pc.ReadOptions(block_size=_BLOCK, use_threads=False),
            pc.ParseOptions(delimiter=delimiter_of(self.path), newlines_in_values=True),
            pc.ConvertOptions(column_types=types, include_columns=[*(types or ())]),
        )
        try:
            with (
                explain_read_errors(self.path),
                open_regular(self.path) as file,
                closing(_Reader(open_decompressed(file, self.path), *options)) as reader,
            ):
                yield file, reader
        except pa.ArrowException as error:
            raise DataError(f"{self.path}: {self._explain(str(error))}") from None
        except UnicodeDecodeError:
            raise DataError(f"{self.path}: row 1: not UTF-8 text") from None

    def _explain(self, message: str) -> str:
        if "\0" in message:
            return "not UTF-8 text; if it is UTF-16, convert it first"
        if match := _CONVERTING.match(message):
            column, row, kind, problem = match.groups()
            name = [*self.schema][int(column)]
            if kind == "string":
                return f"row {row}: column {name!r}: not UTF-8 text"
            value = problem.removeprefix("invalid value ")[:60]
            return (
                f"row {row}: column {name!r}: {value} is not a number; if the column has no "
                "numbers, leave it out with --ignore"
            )
        if match := _PARSING.match(message):
            row, problem = match.groups()
            place = f"row {row}: " if row else ""
            return f"{place}{problem[:120]}"
        if message.startswith("Empty CSV"):
            return "no rows"
        if "straddling" in message:
            return (
                f"a row is longer than {_BLOCK:,} bytes: a quotation mark is not closed, or this "
                "is not CSV"
            )
        return message


def _example(values: list[str | None], first_row: int) -> str:
    """Description of a column of text, with the first value that is not a number."""
    for row, value in enumerate(values, start=first_row):
        try:
            float(value or "nan")
        except ValueError:
            return f"text, such as {value!r:.60} in row {row}"
    return "text"


class _Reader:
    """Batches of the rows of a stream, for which a thread of Arrow reads ahead.

    If that thread called Python when the interpreter ends, the process would be aborted. So
    :meth:`close` waits until Arrow has released the stream.
    """

    def __init__(self, stream: Any, *options: Any) -> None:
        import pyarrow as pa
        import pyarrow.csv as pc

        self._released = Event()
        try:
            self._batches = pc.open_csv(
                pa.PythonFile(_Handle(_WholeBlocks(stream), self._released), mode="r"), *options
            )
        except BaseException:
            self.close()
            raise
        self.schema = self._batches.schema

    def __iter__(self) -> Iterator[Any]:
        return iter(self._batches)

    def close(self) -> None:
        """Stop reading."""
        self._batches = None
        self._released.wait(_PATIENCE)


class _Handle:
    """What Arrow holds of a stream; sets ``released`` when it is no longer held.

    The stream itself may be held by the traceback of an error in its ``read``.
    """

    def __init__(self, stream: _WholeBlocks, released: Event) -> None:
        self.read, self.closed, self._released = stream.read, False, released

    def __del__(self) -> None:
        self._released.set()

    def close(self) -> None:
        self.closed = True

    def readable(self) -> bool:
        return True


class _WholeBlocks:
    """Stream with full blocks, except for the last, and a final newline."""

    def __init__(self, stream: Any) -> None:
        self._stream, self._rest, self._last = stream, b"", b"\n"

    def read(self, size: int) -> bytes:
        parts = [self._rest]
        missing = size - len(self._rest)
        while missing > 0 and (piece := self._stream.read(missing)):
            parts.append(piece)
            missing -= len(piece)
        block = b"".join(parts)
        self._last = block[-1:] or self._last
        if missing > 0 and self._last != b"\n":
            block, self._last = block + b"\n", b"\n"
        self._rest = block[size:]
        return block[:size]
