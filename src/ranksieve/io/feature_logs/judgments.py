"""Read judgments: relevance grades of documents for queries."""

from __future__ import annotations

import csv
import math
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from ranksieve.data import DataError
from ranksieve.io.collecting import are_whole_numbers, whole_number
from ranksieve.io.files import PathLike, read_numbered_lines
from ranksieve.text import parse_number

_HEADERS = {
    "query": ("qid", "queryid", "query", "keywords", "querytext", "q", "topic", "topicid"),
    "document": (
        "docid", "documentid", "docno", "doc", "document", "corpusid", "id", "productid", "itemid",
    ),
    "grade": ("grade", "rating", "judgment", "judgement", "label", "relevance", "rel", "score"),
}  # fmt: skip


class Judgments(NamedTuple):
    """Grades by query and document, both as text, and the layout of the file."""

    grades: Mapping[str, Mapping[str, float]]
    layout: str


class _FileLayout(NamedTuple):
    delimiter: str | None  # None: white space
    columns: tuple[int, int, int]  # query, document, grade
    width: int
    has_header: bool
    description: str


def read_judgments(path: PathLike) -> Judgments:
    r"""Read judgments: query, document and grade on each line.

    The layout is guessed from the first line:

    - TREC qrels: ``query 0 document grade``, separated by white space or tabs;
    - comma-, semicolon- or tab-separated values with a header, such as ``grade,keywords,docId``;
      other columns are ignored;
    - the same, or words, without a header: query, document, grade.

    A document with two grades for a query is an error. Files whose names end in ``.gz`` or ``.zst``
    are decompressed.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from ranksieve.io.feature_logs import read_judgments
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "judgments.csv"
    >>> _ = path.write_text("grade,keywords,docId\n4,rambo,7555\n3,rambo,1370\n")
    >>> judgments = read_judgments(path)
    >>> judgments.grades, judgments.layout
    ({'rambo': {'7555': 4.0, '1370': 3.0}}, "columns 'keywords', 'docId', 'grade'")
    """
    path = Path(path)
    lines = _lines(path)
    first = next(lines, None)
    if first is None:
        raise DataError(f"{path}: no judgments: the file is empty")
    layout = _guess_layout(first[1], f"{path}:{first[0]}")
    grades = _collect(_rows(chain([first], lines), layout, path))
    if not grades:
        raise DataError(f"{path}: no judgments: there is only a header")
    return Judgments(grades, layout.description)


def as_judgments(judgments: PathLike | Mapping[Any, Mapping[Any, float]]) -> Judgments:
    """Judgments from a file or from a mapping ``{query: {document: grade}}``."""
    if isinstance(judgments, (str, os.PathLike)):
        return read_judgments(judgments)
    is_nested = isinstance(judgments, Mapping)
    if not is_nested or not all(isinstance(part, Mapping) for part in judgments.values()):
        raise DataError("judgments must be a path or {query: {document: grade}}")
    rows = (
        (f"judgments: query {query!r:.80}", (str(query).strip(), str(document).strip(), str(grade)))
        for query, documents in judgments.items()
        for document, grade in documents.items()
    )
    return Judgments(_collect(rows), "as passed")


def _collect(rows: Iterable[tuple[str, tuple[str, str, str]]]) -> dict[str, dict[str, float]]:
    """Grades by query and document; ids that are whole numbers are written without a point."""
    grades: dict[str, dict[str, float]] = {}
    for place, (query, document, text) in rows:
        if not query or not document:
            raise DataError(f"{place}: the {'document' if query else 'query'} is missing")
        _add(grades, query, document, _grade(text, place), place)
    plain_query, plain_document = ways_to_write(grades)
    plain: dict[str, dict[str, float]] = {}
    for query, documents in grades.items():
        for document, grade in documents.items():
            _add(
                plain,
                plain_query(query),
                plain_document(document),
                grade,
                f"judgments: query {query!r:.80}",
            )
    return plain


def _add(
    grades: dict[str, dict[str, float]], query: str, document: str, grade: float, place: str
) -> None:
    known = grades.setdefault(query, {}).setdefault(document, grade)
    if known != grade:
        raise DataError(
            f"{place}: document {document!r:.80} has the grade {grade:g} for query "
            f"{query!r:.80}, but {known:g} earlier"
        )


def ways_to_write(
    grades: Mapping[str, Mapping[str, float]],
) -> tuple[Callable[[str], str], Callable[[str], str]]:
    """Functions that write ids of queries and documents: as they are, or as whole numbers."""
    documents = {document for judged in grades.values() for document in judged}
    query, document = (
        whole_number if are_whole_numbers(ids) else str for ids in (grades, documents)
    )
    return query, document


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Lines that are not blank, numbered."""
    for number, line in read_numbered_lines(path):
        try:
            if line.strip():
                yield number, line.decode()
        except UnicodeDecodeError:
            raise DataError(f"{path}:{number}: not UTF-8") from None


def _guess_layout(line: str, place: str) -> _FileLayout:
    delimiter = _guess_delimiter(line)
    cells = _split(line, delimiter, place)
    if all(parse_number(cell) is None for cell in cells):
        return _layout_of_header(delimiter, cells, place)
    known = {3: ((0, 1, 2), "query, document, grade"), 4: ((0, 2, 3), "TREC qrels")}
    if len(cells) not in known:
        raise DataError(
            f"{place}: expected query, document and grade (or query, 0, document and grade), or "
            f"a header with their names, but found {len(cells)} columns"
        )
    columns, description = known[len(cells)]
    return _FileLayout(delimiter, columns, len(cells), False, description)


def _guess_delimiter(line: str) -> str | None:
    if "\t" in line:
        return "\t"
    words = line.split()
    if (
        len(words) == 4 and parse_number(words[3]) is not None
    ):  # qrels, whatever characters ids have
        return None
    return next((sign for sign in ",;" if sign in line), None)


def _layout_of_header(delimiter: str | None, cells: list[str], place: str) -> _FileLayout:
    names = [re.sub(r"[\W_]", "", cell.lower()) for cell in cells]
    columns = []
    for what, known in _HEADERS.items():
        found = [names.index(name) for name in known if name in names]
        if not found:
            raise DataError(
                f"{place}: no column for the {what} among {', '.join(cells)[:200]!r}; name it "
                f"{known[0]!r}, or leave out the header and write query, document, grade"
            )
        columns.append(found[0])
    query, document, grade = columns
    described = "columns " + ", ".join(repr(cells[column])[:80] for column in columns)
    return _FileLayout(delimiter, (query, document, grade), len(cells), True, described)


def _split(line: str, delimiter: str | None, place: str) -> list[str]:
    """Cells of a line, without the spaces around them."""
    if delimiter is None:
        return line.split()
    try:
        (cells,) = csv.reader([line], delimiter=delimiter, strict=True, skipinitialspace=True)
    except csv.Error as error:
        raise DataError(f"{place}: {error}") from None
    return [cell.strip() for cell in cells]


def _rows(
    lines: Iterator[tuple[int, str]], layout: _FileLayout, path: Path
) -> Iterator[tuple[str, tuple[str, str, str]]]:
    """Query, document and grade of each line below the header, with their place."""
    if layout.has_header:
        next(lines)
    for number, line in lines:
        place = f"{path}:{number}"
        cells = _split(line, layout.delimiter, place)
        if len(cells) != layout.width:
            raise DataError(
                f"{place}: expected {layout.width} columns ({layout.description}), found "
                f"{len(cells)}"
            )
        query, document, grade = (cells[column] for column in layout.columns)
        yield place, (query, document, grade)


def _grade(text: str, place: str) -> float:
    grade = parse_number(text)
    if grade is None or not math.isfinite(grade):
        raise DataError(f"{place}: the grade should be a finite number, not {text!r:.40}")
    return grade
