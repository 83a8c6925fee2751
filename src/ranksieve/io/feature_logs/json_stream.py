"""Read consecutive JSON values from a file: one per line, or spread over lines."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ranksieve.data import DataError
from ranksieve.io.files import read_numbered_lines
from ranksieve.io.records import parse_records

_LARGEST_VALUE = 2**26  # bytes, as for a line

# JSON strings do not span lines. A string that does not end is an error of the parser.
_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"?')


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
