"""Format names for figures, and choose the features that a figure shows."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from unicodedata import east_asian_width

from ranksieve.data import DataError
from ranksieve.text import on_one_line

LONGEST = 24
"""Longest name in characters, so that enough of the fixed width remains for the figure."""
_NO_GLYPH = ("Glyph .* missing from", "Matplotlib currently does not support .* natively")


def format_name(name: str, longest: int = LONGEST) -> str:
    r"""Format a name for matplotlib: without formulas, on one line, its middle left out if long.

    Examples
    --------
    >>> print(format_name("$5 or $6"), format_name("abc\x1b"))
    \$5 or \$6 abc\x1b
    >>> format_name("one_two_three_four", 11)
    'one_...four'
    """
    return _shorten(on_one_line(name), longest).replace("$", r"\$")


def names_of(names: Sequence[str] | None, n_features: int, longest: int = LONGEST) -> list[str]:
    """Names of features to draw, by default numbers; raises a DataError for a wrong number."""
    if names is None:
        return [str(number) for number in range(1, n_features + 1)]
    if len(names) != n_features:
        raise DataError(f"there are {len(names)} names but {n_features} features")
    return [format_name(str(name), longest) for name in names]


def check_shown(n_shown: int | None) -> None:
    """Raise a ValueError unless there are features to show."""
    if n_shown is not None and n_shown < 1:
        raise ValueError(f"n_shown must be at least 1, got {n_shown}")


def width_of(name: str) -> int:
    """Width of a drawn name in characters; wide ones, as of East Asian scripts, count twice."""
    seen = name.replace(r"\$", "$")
    return sum(2 if east_asian_width(sign) in "WF" else 1 for sign in seen)


def _shorten(name: str, longest: int) -> str:
    if width_of(name) <= longest:
        return name
    half = (longest - 3) // 2
    return f"{_start(name, half)}...{_start(name[::-1], half)[::-1]}"


def _start(name: str, longest: int) -> str:
    """First characters of a name that fit."""
    while width_of(name) > longest:
        name = name[: max(len(name) - (width_of(name) - longest + 1) // 2, 0)]
    return name


@contextmanager
def tolerate_missing_glyphs() -> Iterator[None]:
    """Context manager that silences warnings about glyphs that the font lacks."""
    with warnings.catch_warnings():
        for message in _NO_GLYPH:
            warnings.filterwarnings("ignore", message)
        yield
