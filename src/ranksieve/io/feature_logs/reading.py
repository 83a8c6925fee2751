"""Read feature logs, files of any number of JSON responses, and join them with judgments."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from ranksieve.data import DataError, RankingData
from ranksieve.io.collecting import check_dtype
from ranksieve.io.feature_logs.judgments import PathLike, as_judgments
from ranksieve.io.feature_logs.responses import SOLR, ResponseReader, SearchEngine
from ranksieve.io.feature_logs.table import LogTable, Unjudged
from ranksieve.io.files import as_paths, read_numbered_lines, total_size
from ranksieve.io.records import locate_errors, parse_records
from ranksieve.progress import track
from ranksieve.text import quantity

Unlisted = Literal["auto", "missing", "zero"]

_LARGEST_VALUE = 2**26  # bytes, as for a line
# JSON strings do not span lines. A string that does not end is an error of the parser.
_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"?')


@dataclass(frozen=True)
class LogSummary:
    """Summary of a feature log: how it was interpreted, and what was left out.

    ``str`` gives a few lines for people.
    """

    engine: str  # search engine of the responses
    qid: str  # field with the id of a query,
    doc_id: str  # and of a document
    judgments: str  # layout of the judgments
    n_logged: int  # documents in the log, counted once for each query
    n_unjudged: int  # documents without a judgment in queries that have some
    n_unjudged_queries: int  # queries without any, whose documents are always dropped
    unjudged: Unjudged  # treatment of unjudged documents
    n_unlogged: int  # judgments of documents that are not in the log
    n_missing: int  # missing values (NaN)
    unlisted: Literal["missing", "zero"]  # value of features that the log does not list

    def __str__(self) -> str:
        lines = [
            f"Log of {self.engine}: query id {self.qid!r}, document id {self.doc_id!r}",
            f"Judgments: {self.judgments}",
        ]
        if self.n_unjudged_queries:
            queries = quantity(self.n_unjudged_queries, "query", "queries")
            lines.append(f"Dropped: {queries} without any judgment")
        if self.n_unjudged:
            done = "Dropped" if self.unjudged == "drop" else "Given grade 0"
            lines.append(f"{done}: {quantity(self.n_unjudged, 'document')} without a judgment")
        if self.n_unlogged:
            lines.append(f"Not in the log: {quantity(self.n_unlogged, 'judged document')}")
        if self.unlisted == "zero":
            lines.append("Features that a document does not list are 0")
        if self.n_missing:
            lines.append(f"Missing: {quantity(self.n_missing, 'feature value')}")
        return "\n".join(lines)


def read_feature_log(
    paths: PathLike | Sequence[PathLike],
    judgments: PathLike | Mapping[Any, Mapping[Any, float]],
    *,
    unjudged: Unjudged = "drop",
    qid: str | None = None,
    doc_id: str | None = None,
    log: str | None = None,
    unlisted: Unlisted = "auto",
    dtype: str = "float64",
    sparse: bool = False,
) -> tuple[RankingData, LogSummary]:
    r"""Read the features that a search engine has logged, and join them with judgments.

    It reads responses of Elasticsearch and OpenSearch with their learning-to-rank plugins
    (``fields._ltrlog`` of each hit), also to a multi-search, and JSON responses of Solr with
    ``fl=id,[features]``. A file has one response per line, or any number of them one after
    another, or in a list. See ``docs/feature-logs.md`` for the requests.

    Parameters
    ----------
    paths : path or list of paths
        Files of JSON; decompressed if they end in ``.gz`` or ``.zst``.
    judgments : path or mapping
        A file of query, document and grade, as :func:`read_judgments` takes it, or
        ``{query: {document: grade}}``.
    unjudged : {"drop", "zero"}
        Whether documents without a judgment are left out, as is usual in training, or get grade 0,
        as is usual in evaluation. Queries without any judgment are left out.
    qid : str, optional
        Field with the query id, such as ``"search_id"`` or ``"fields.qid"``, in the line, the
        response or the document. By default ``qid`` or ``query_id`` in one of these, or ``query``
        or ``keywords`` next to the response; for Solr also in ``responseHeader.params``, and
        finally the parameter ``q`` there.
    doc_id : str, optional
        Field with the document id, such as ``"_source.sku"``; by default ``_id`` in Elasticsearch
        and OpenSearch, ``id`` in Solr.
    log : str, optional
        Name of the log of a hit to use, by default all logs; for Solr the field with the features,
        by default ``[features]``.
    unlisted : {"auto", "missing", "zero"}
        Value of features that a document does not list, but others do: missing, or 0, because
        Solr's sparse format leaves out features with their default value. By default they are 0 if
        Solr was asked for ``format=sparse``, or if the documents of one of its responses list
        different features, else missing.
    dtype, sparse
        As in :func:`read_letor`. Engines compute with float32.

    Returns
    -------
    data : RankingData
        Rows in the order of the log, grouped by query. Features have the order in which they first
        appear. Query ids are integers if all of them are whole numbers, else strings.
    summary : LogSummary
        What was guessed, and what was left out.

    Notes
    -----
    A document that is logged twice for a query with different values is an error. Takes time linear
    in the size of the log, which is read one response at a time; documents that are left out take
    memory only for their ids.

    Examples
    --------
    >>> import json, tempfile, pathlib
    >>> from ranksieve import read_feature_log
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "responses.jsonl"
    >>> hits = [
    ...     {"_id": "7555", "fields": {"_ltrlog": [{"log": [{"name": "title", "value": 9.5}]}]}},
    ...     {"_id": "1370", "fields": {"_ltrlog": [{"log": [{"name": "title"}]}]}},
    ... ]
    >>> _ = path.write_text(json.dumps({"qid": "rambo", "response": {"hits": {"hits": hits}}}))
    >>> data, summary = read_feature_log(path, {"rambo": {"7555": 4, "1370": 3, "1369": 3}})
    >>> data.X.tolist(), data.y.tolist(), data.feature_names.tolist(), data.doc_ids.tolist()
    ([[9.5], [nan]], [4.0, 3.0], ['title'], ['7555', '1370'])
    >>> print(summary)
    Log of Elasticsearch or OpenSearch: query id 'qid', document id '_id'
    Judgments: as passed
    Not in the log: 1 judged document
    Missing: 1 feature value
    """
    _check_choice("unjudged", unjudged, Unjudged)
    _check_choice("unlisted", unlisted, Unlisted)
    kind = check_dtype(dtype)
    files = as_paths(paths)
    judged = as_judgments(judgments)
    reader = ResponseReader(qid, doc_id, log)
    table = LogTable(judged.grades, unjudged)
    engine = _fill(table, reader, files)
    if unlisted == "auto":
        unlisted = "zero" if engine is SOLR and reader.is_sparse else "missing"
    with locate_errors(files[0]):
        data = table.to_data(np.nan if unlisted == "missing" else 0.0, kind, sparse)
    summary = LogSummary(
        engine=engine.name,
        qid=reader.qid or "",
        doc_id=reader.doc_id or "",
        judgments=judged.layout,
        n_logged=table.n_logged,
        n_unjudged=table.n_unjudged,
        n_unjudged_queries=table.n_unjudged_queries,
        unjudged=unjudged,
        n_unlogged=table.n_unlogged,
        n_missing=int(np.isnan(data.X.data if sparse else data.X).sum()),
        unlisted=unlisted,
    )
    return data, summary


def _check_choice(name: str, value: Any, known: Any) -> None:
    if value not in get_args(known):
        choices = " or ".join(repr(choice) for choice in get_args(known))
        raise ValueError(f"{name} must be {choices}, got {value!r}")


def _fill(table: LogTable, reader: ResponseReader, files: list[Path]) -> SearchEngine:
    """Add the documents of all responses to a table, and return the engine that logged them."""
    advance = track("Reading", total_size(files))
    for path in files:
        for line, value in json_values(path, advance):
            for document in reader.read(value, f"{path}:{line}"):
                table.add(document)
    if reader.engine is None:
        raise DataError(f"{files[0]}: no documents in the log")
    return reader.engine


def json_values(path: Path, advance: Callable[[int], None]) -> Iterator[tuple[int, Any]]:
    """Yield the values of a file (also ``.gz``, ``.zst``), each with the line where it begins.

    Programs append responses to a file with and without line breaks, inside of them and between
    them: Solr indents by default, and Elasticsearch does not end a line. ``advance`` is called with
    the number of bytes that were read.
    """
    for line, text in _whole_values(path, advance):
        try:
            for before, value in parse_records(text):
                yield line + before, value
        except json.JSONDecodeError as error:
            raise DataError(f"{path}:{line + error.lineno - 1}: not JSON: {error.msg}") from None
        except UnicodeDecodeError as error:
            line += text.count(b"\n", 0, error.start)
            raise DataError(f"{path}:{line}: not JSON: not UTF-8 text") from None
        except ValueError as error:
            raise DataError(f"{path}:{line}: not JSON: {error}") from None


def _whole_values(path: Path, advance: Callable[[int], None]) -> Iterator[tuple[int, bytes]]:
    """Yield pieces of text that begin and end outside of values, with their first lines."""
    piece: list[bytes] = []
    first, size, depth = 1, 0, 0
    for number, line in read_numbered_lines(path, advance):
        if not piece:
            if not line.strip():
                continue
            first = number
        piece.append(line)
        size += len(line)
        if size > _LARGEST_VALUE:
            raise DataError(
                f"{path}:{first}: the value that begins here has more than {_LARGEST_VALUE:,} "
                "bytes, or does not end; write each response on a separate line"
            )
        depth += _depth_change(line)
        if depth <= 0:
            yield first, b"\n".join(piece)
            piece, size, depth = [], 0, 0
    if piece:
        yield first, b"\n".join(piece)


def _depth_change(line: bytes) -> int:
    """Change of the number of open lists and objects by a line."""
    signs = _STRING.sub(b"", line)
    return signs.count(b"{") + signs.count(b"[") - signs.count(b"}") - signs.count(b"]")
