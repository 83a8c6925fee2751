"""Read and write scores, one number per line."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from ranksieve.data import DataError
from ranksieve.io.files import compressed_writer, place_of, read_numbered_lines, replace_on_success
from ranksieve.text import parse_number


def read_scores(path: str | os.PathLike[str]) -> np.ndarray:
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
            scores.append(_score(words, f"{path}:{number}"))
    if not scores:
        raise DataError(f"{place_of(path, number)}: no scores")
    return np.array(scores)


def _score(words: list[bytes], place: str) -> float:
    if len(words) not in (1, 3):
        raise DataError(f"{place}: expected one score per line, found {len(words)} words")
    text = words[-1].decode("utf-8", "backslashreplace")
    score = parse_number(text)
    if score is None:
        raise DataError(f"{place}: the score is not a number: {text[:40]!r}")
    if not np.isfinite(score):
        raise DataError(f"{place}: the score must be finite: {text[:40]!r}")
    return score


def write_scores(scores: np.ndarray, path: str | os.PathLike[str]) -> None:
    """Write one score per line with all digits; an old file is replaced when this is complete.

    The text is compressed if the name ends in ``.gz`` or ``.zst``.
    """
    path = Path(path)
    lines = "".join(f"{score!r}\n" for score in np.asarray(scores, dtype=np.float64).tolist())
    with replace_on_success(path) as temporary, compressed_writer(temporary) as stream:
        stream.write(lines.encode())
