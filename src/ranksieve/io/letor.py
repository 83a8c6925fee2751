"""LETOR / SVMlight text, ``label qid:ID index:value ... # comment``, and scores of its lines."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ranksieve.data import DataError, RankingData
from ranksieve.data.categories import refuse_categories
from ranksieve.io.collecting import group_by_query, rows_for, settle_text_ids
from ranksieve.io.files import (
    PathLike,
    as_paths,
    compressed_writer,
    place_of,
    read_numbered_lines,
    replace_on_success,
    total_size,
)
from ranksieve.io.letor_blocks import Grammar, TextBlock, decode, header_names, read_blocks
from ranksieve.text import parse_number

_QUERY_ID = re.compile(r"[^\s#\0]+")
_ONE_LINE = re.compile(r"[^\s\0]([^\n\0]*[^\s\0])?")


def read_letor(
    path: PathLike | Sequence[PathLike],
    *,
    n_features: int | None = None,
    dtype: str = "float64",
    sparse: bool = False,
    zero_based: bool = False,
) -> RankingData:
    r"""Read LETOR / SVMlight text, in parallel on all cores.

    A line is ``label qid:ID index:value index:value ... # comment``. Indices increase and start
    at 1; those left out are zero. Numbers are rounded correctly: the result has the same bits as
    Python's ``float``; LETOR 3's ``NULL`` is NaN, and infinity is refused. Blank lines and lines
    that start with ``#`` are skipped, except that ``#1:name`` before the first row names feature 1
    (Terrier's header).

    Parameters
    ----------
    path : path or list of paths
        File, or files that are joined in this order, such as the parts of a fold. Names that
        end in ``.gz`` or ``.zst`` are decompressed.
    n_features : int, optional
        Number of features; by default the largest index found, which is an error if it makes the
        matrix far too large for the text.
    dtype : {"float64", "float32"}
        Type of the feature values.
    sparse : bool
        Whether to build a CSR matrix (without its zeros) instead of an array.
    zero_based : bool
        Whether indices start at 0.

    Returns
    -------
    RankingData
        ``doc_ids`` are the comments (only X of LETOR's ``docid = X inc = ...``), or None if no
        row has one. Query ids are integers if all of them are whole numbers, else strings.

    Notes
    -----
    Takes time linear in the size of the text, which is read in pieces of about a megabyte. In
    addition to a few pieces and the document ids, an array needs little more than its own memory,
    and a CSR matrix twice its own.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from ranksieve import read_letor
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "train.txt"
    >>> _ = path.write_text("2 qid:10 1:0.5 3:1e-3 # docid = GX1\n0 qid:10 2:1 # docid = GX2\n")
    >>> data = read_letor(path)
    >>> data.X.tolist(), data.y.tolist(), data.qid.tolist(), data.doc_ids.tolist()
    ([[0.5, 0.0, 0.001], [0.0, 1.0, 0.0]], [2.0, 0.0], [10, 10], ['GX1', 'GX2'])
    """
    paths = as_paths(path)
    grammar = Grammar.make(n_features, dtype, sparse, zero_based)
    matrix = rows_for(grammar.dtype, sparse, total_size(paths))
    names: dict[int, str] = {}
    kept: list[TextBlock] = []
    for block in read_blocks(paths, grammar):
        names.update(block.names)
        matrix.append(block.matrix, block.n_bytes)
        block.matrix = None
        kept.append(block)
    width = n_features or max(max(names, default=-1) + 1, matrix.width)
    return group_by_query(
        matrix,
        width,
        np.concatenate([block.labels for block in kept]),
        _query_ids(kept),
        doc_ids=_join_document_ids(kept),
        feature_names=header_names(names, width, paths[0]),
    )


def _query_ids(blocks: list[TextBlock]) -> np.ndarray:
    ids = [query for block in blocks for query in block.run_ids]
    lengths = np.concatenate([block.run_lengths for block in blocks])
    texts = np.array([decode(query) for query in ids], dtype=object)
    return np.repeat(settle_text_ids(texts), lengths)


def _join_document_ids(blocks: list[TextBlock]) -> np.ndarray | None:
    if all(block.doc_ids is None for block in blocks):
        return None
    joined: list[str] = []
    for block in blocks:
        joined.extend(block.doc_ids or [""] * block.labels.size)
        block.doc_ids = None
    return np.array(joined, dtype=object)


def write_letor(data: RankingData, path: PathLike, *, zero_based: bool = False) -> None:
    """Write LETOR / SVMlight text that :func:`read_letor` reads back to the same bits.

    Parameters
    ----------
    data : RankingData
        Dense rows are written in full, sparse rows without their zeros. Feature names become
        header lines ``#1:name``, document ids comments ``#docid = X``.
    path : path
        Compressed if it ends in ``.gz`` or ``.zst``. An old file is replaced only when the new one
        is complete.
    zero_based : bool
        Whether indices start at 0.

    Notes
    -----
    Ids and names that cannot be distinguished from the text around them are refused, as are weights
    of queries, which the format cannot store, and infinite feature values.
    """
    target = Path(path)
    refuse_categories(data.categories, path, "files of LETOR text")
    beyond = {
        "weights of queries": (data.query_weights, "with_weights"),
        "weights of rows": (data.row_weights, "with_row_weights"),
        "positions of documents": (data.positions, "with_positions"),
    }
    for what, (values, drop) in beyond.items():
        if values is not None:
            raise DataError(
                f"{path}: LETOR text cannot store the {what}: write Parquet (.parquet) or "
                f"shards, or drop them first (data.{drop}(None), --ignore)"
            )
    data.check_finite(allow_missing=True)
    first = 0 if zero_based else 1
    queries = [_check_writable(query, _QUERY_ID, "query id") for query in data.query_ids.tolist()]
    with replace_on_success(target) as temporary, compressed_writer(temporary) as file:
        if data.has_feature_names:
            for index, name in enumerate(data.feature_names, start=first):
                name = _check_writable(name, _ONE_LINE, "feature name")
                file.write(f"#{index}:{name}\n".encode())
        for query, start, end in zip(queries, data.query_ptr[:-1], data.query_ptr[1:], strict=True):
            file.write("".join(_lines(data, query, start, end, first)).encode())


def _check_writable(value: Any, allowed: re.Pattern[str], what: str) -> str:
    text = str(value)
    if not allowed.fullmatch(text):
        raise DataError(f"{what} {text!r} cannot be written to LETOR text")
    return text


def _lines(data: RankingData, query: str, start: int, end: int, first: int) -> Iterator[str]:
    """Lines of one query."""
    labels = data.y[start:end].tolist()
    rows = data.X[start:end]
    # The largest index sets the number of features, but sparse rows may leave it out.
    show_width = start == 0 and data.is_sparse and data.n_features
    for offset, label in enumerate(labels):
        row = rows[offset]
        if data.is_sparse:
            pairs = list(zip((row.indices + first).tolist(), row.data.tolist(), strict=True))
            last = data.n_features - 1 + first
            if show_width and offset == 0 and (not pairs or pairs[-1][0] < last):
                pairs.append((last, 0.0))
        else:
            pairs = list(enumerate(row.tolist(), start=first))
        words = [repr(int(label) if label.is_integer() else label), f"qid:{query}"]
        words += [f"{index}:{value!r}" for index, value in pairs]
        document = "" if data.doc_ids is None else str(data.doc_ids[start + offset])
        if document:
            if " inc =" in document:
                raise DataError(f"document id {document!r} cannot be written to LETOR text")
            words.append("#docid = " + _check_writable(document, _ONE_LINE, "document id"))
        yield " ".join(words) + "\n"


def read_scores(path: PathLike) -> np.ndarray:
    """Read one score per line, in the order of the data's lines.

    A line is a number (svm_rank) or ends with it after query and document (RankLib). Empty lines
    are skipped; ``.gz`` and ``.zst`` are decompressed.
    """
    path = Path(path)
    scores: list[float] = []
    number = 0
    for number, line in read_numbered_lines(path):
        words = line.split()
        if words:
            scores.append(_parse_score(words, f"{path}:{number}"))
    if not scores:
        raise DataError(f"{place_of(path, number)}: no scores")
    return np.array(scores)


def _parse_score(words: list[bytes], place: str) -> float:
    if len(words) not in (1, 3):
        raise DataError(f"{place}: expected one score per line, found {len(words)} words")
    text = words[-1].decode("utf-8", "backslashreplace")
    score = parse_number(text)
    if score is None:
        raise DataError(f"{place}: the score is not a number: {text[:40]!r}")
    if not np.isfinite(score):
        raise DataError(f"{place}: the score must be finite: {text[:40]!r}")
    return score


def write_scores(scores: np.ndarray, path: PathLike) -> None:
    """Write one score per line with all digits; an old file is replaced when this is complete.

    The text is compressed if the name ends in ``.gz`` or ``.zst``.
    """
    path = Path(path)
    lines = "".join(f"{score!r}\n" for score in np.asarray(scores, dtype=np.float64).tolist())
    with replace_on_success(path) as temporary, compressed_writer(temporary) as stream:
        stream.write(lines.encode())
