"""Columns of tables as options: lists of names, and commands that say what all columns are."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ranksieve.data.columns import Columns, ColumnsError

_NAME = re.compile(r'\s*"((?:[^"]|"")*)"\s*(?:,|\Z)|([^,]*)(?:,|\Z)')
_ESCAPES = {"\n": r"\n", "\t": r"\t", "\r": r"\r", "\\": r"\\", "'": r"\'"}


def split_names(texts: Iterable[str] | None) -> list[str]:
    """Names in texts, separated by commas; names with commas are in quotation marks, as in CSV.

    Examples
    --------
    >>> split_names(["a,b", '"size, in m",c'])
    ['a', 'b', 'size, in m', 'c']
    """
    found = [pair for text in texts or () for pair in _NAME.findall(text)]
    return [name for quoted, plain in found if (name := quoted.replace('""', '"') or plain)]


def join_names(names: Iterable[str]) -> str:
    """Text that :func:`split_names` divides into these names."""
    return ",".join(
        '"' + name.replace('"', '""') + '"' if {",", '"'} & set(name) else name for name in names
    )


def quote(text: str) -> str:
    r"""Quote a text for a shell; what cannot be seen is escaped, as bash and zsh understand it.

    Examples
    --------
    >>> print(quote("bm25"), quote("it is"), quote("a\nb"))
    bm25 'it is' $'a\nb'
    """
    if text.isprintable():
        return shlex.quote(text)
    return "$'" + "".join(_ESCAPES.get(sign) or _visible(sign) for sign in text) + "'"


def _visible(sign: str) -> str:
    if sign.isprintable():
        return sign
    return "".join(f"\\x{byte:02x}" for byte in sign.encode("utf-8", "surrogateescape"))


def write_option(name: str, value: str | Sequence[str]) -> str:
    """Write an option of columns for a shell."""
    text = value if isinstance(value, str) else join_names(value)
    return f"--{name.replace('_', '-')} {quote(text)}"


def complete_command(words: Sequence[str], given: Columns, complete: Columns) -> str:
    """Command line with the options that it lacks to say what all columns are.

    ``words`` are those after the name of the program; ``given`` is what they say about columns.
    """
    before, added = given.as_dict(), []
    for name, value in complete.as_dict().items():
        if isinstance(value, list):
            value = [column for column in value if column not in before.get(name, ())]
        if value and value != before.get(name):
            added.append(write_option(name, value))
    end = words.index("--") if "--" in words else len(words)
    parts = [*map(quote, words[:end]), *added, *map(quote, words[end:])]
    return " ".join(["ranksieve", *parts])


def explain(error: ColumnsError, words: Sequence[str]) -> str:
    """Say what is not clear about columns, with the command that reads the table."""
    command = complete_command(words, error.given, error.complete)
    hints = [f"{text} {write_option(name, value)}" for text, name, value in error.hints]
    return "\n".join([f"{error.problems}; to read it:", command, *hints])
