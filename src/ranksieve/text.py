"""Names and numbers in text, whatever characters the names contain.

Names come from files: features, queries, folds, and the files themselves. Printed unchanged, they
could move the cursor, change the direction of writing or end a line. Each output format escapes
further characters that are special in it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any


def printable(text: str) -> str:
    r"""The text with invisible characters escaped as in Python; line breaks stay.

    Examples
    --------
    >>> print(printable("a\x1b[31mred"), printable("\u202ecba"))
    a\x1b[31mred \u202ecba
    """
    if text.isprintable():
        return text
    return "".join(
        sign if sign.isprintable() or sign == "\n" else ascii(sign)[1:-1] for sign in text
    )


def on_one_line(text: str) -> str:
    r"""The text as :func:`printable`, with each run of white space replaced by one space.

    Examples
    --------
    >>> on_one_line(" two\n lines\t")
    'two lines'
    """
    return printable(" ".join(text.split()))


def shorten(text: str, longest: int, width_of: Callable[[str], int] = len) -> str:
    """The text with its middle left out if it is wider than ``longest``.

    Examples
    --------
    >>> shorten("one_two_three_four", 11), shorten("short", 11)
    ('one_...four', 'short')
    """
    if width_of(text) <= longest:
        return text
    half = (longest - 3) // 2
    if half < 1:
        return _start(text, longest, width_of)
    return f"{_start(text, half, width_of)}...{_start(text[::-1], half, width_of)[::-1]}"


def _start(text: str, longest: int, width_of: Callable[[str], int]) -> str:
    """First characters of a text that fit; a character is at most two wide."""
    while width_of(text) > longest:
        text = text[: max(len(text) - (width_of(text) - longest + 1) // 2, 0)]
    return text


def file_stem(text: str) -> str:
    """Part of a file name that is valid on any system: lowercase letters, digits, ``.`` and ``-``.

    Other letters become their code points; texts that differ only by case or punctuation have the
    same stem.

    Examples
    --------
    >>> file_stem("My ranker (a/b)"), file_stem("NDCG@10"), file_stem("\u5c0f")
    ('myrankerab', 'ndcg10', 'u5c0f')
    """
    signs = (f"u{ord(sign):x}" if not sign.isascii() and sign.isalnum() else sign for sign in text)
    return re.sub(r"[^a-z0-9.-]+", "", "".join(signs).lower()).strip(".-")


def quantity(number: int, what: str, several: str = "") -> str:
    """A number of things; ``several`` is their plural if that is not ``what`` with an s.

    Examples
    --------
    >>> quantity(1, "query", "queries"), quantity(1200, "query", "queries"), quantity(0, "row")
    ('1 query', '1,200 queries', '0 rows')
    """
    return f"{number:,} {what if number == 1 else several or what + 's'}"


def list_names(names: Sequence[str], most: int = 8) -> str:
    """The first of some names, and the number of the others.

    Examples
    --------
    >>> list_names(["bm25", "two words"]), list_names(["a", "b", "c", "d"], 2)
    ('bm25, two words', 'a, b and 2 more')
    """
    shown = ", ".join(
        name if name == on_one_line(name) else repr(name)  # white space would be invisible
        for name in names[:most]
    )
    more = len(names) - most
    return f"{shown} and {more:,} more" if more > 0 else shown


def every(number: int, what: str) -> str:
    """Phrase for all of a number of things.

    Examples
    --------
    >>> every(1, "random order"), every(20, "random order")
    ('the one random order', 'all 20 random orders')
    """
    return f"the one {what}" if number == 1 else f"all {quantity(number, what)}"


def describe(name: str, parameters: Mapping[str, Any]) -> str:
    """Describe a method with its non-default parameters, for people."""
    named = ", ".join(f"{parameter}={value}" for parameter, value in parameters.items())
    return name + (f" ({named})" if named else "")


def nearest_name(name: object, known: Iterable[str]) -> str:
    """Question for the end of a message: was this known name meant? Empty if none is near.

    Examples
    --------
    >>> print("unknown method 'GAS_E'" + nearest_name("GAS_E", ["gas-e", "gas-l", "ig"]))
    unknown method 'GAS_E'. Did you mean gas-e?
    >>> nearest_name("svm", ["gas-e", "gas-l", "ig"])
    ''
    """
    from difflib import get_close_matches

    forms = {other.lower().replace("_", "-"): other for other in known}
    near = get_close_matches(str(name).lower().replace("_", "-"), forms, n=1, cutoff=0.7)
    return f". Did you mean {forms[near[0]]}?" if near else ""


def parse_number(text: str) -> float | None:
    """Parse a number as in data files; None if it is not one.

    Underscores between digits, which ``float`` accepts, are not part of a number.

    Examples
    --------
    >>> parse_number("-1e3"), parse_number("1_000"), parse_number("nan")
    (-1000.0, None, nan)
    """
    try:
        return None if "_" in text else float(text)
    except ValueError:
        return None
