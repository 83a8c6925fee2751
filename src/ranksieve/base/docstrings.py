"""Docstrings of estimators: parameters that a base class documents are written out in each class.

In the source, a class lists the parameters and attributes that it shares with a base::

    include, exclude, groups, count, progress
        As in :class:`RankSelector`.

When the class is made, the entries of the base class take their place, so that ``help`` shows them.
Names in braces stand for texts of ``_shared_docs``, such as examples and references, and for
sentences about a class.
"""

from __future__ import annotations

import re
from functools import cache
from textwrap import wrap
from typing import Any

_NAMES = r"\w+(?:,\s+\w+)*"
_LISTED = re.compile(rf"(?<=\n)    ({_NAMES})\n        As in :class:`[~\w.]*?(\w+)`\.(?=\n)")
_HEADING = re.compile(r"\n\n    (\w+)\n    -+\n")
_ENTRY = re.compile(rf"^    ({_NAMES})(?: : .*)?(?:\n+        .*)*", re.MULTILINE)
_SENTENCES = {"with_include": "no_include", "with_groups": "no_groups"}


def complete_docstring(kind: type[Any]) -> str:
    """Return the docstring of a class with the entries of its bases and the shared texts."""
    bases = {base.__name__: vars(base).get("_source_doc", "") for base in kind.__mro__[1:]}

    def write_out(listed: re.Match[str]) -> str:
        if listed[2] not in bases:  # a reference to another class, as numpydoc has them
            return listed[0]
        entries = _entries(bases[listed[2]])
        return "\n".join(dict.fromkeys(entries[name] for name in re.findall(r"\w+", listed[1])))

    text, before = vars(kind)["_source_doc"], ""
    while text != before:  # an entry of a base may refer to its own bases
        before, text = text, _LISTED.sub(write_out, text)
    for base in kind.__mro__:
        for name, shared in vars(base).get("_shared_docs", {}).items():
            text = text.replace(f"{{{name}}}", shared.strip())
    for name, why_not in _SENTENCES.items():
        if f"{{{name}}}" in text:
            reason = getattr(kind, why_not)
            sentence = f"Not supported: {reason}" if reason else getattr(kind, name)
            text = text.replace(f"{{{name}}}", ("\n" + 8 * " ").join(wrap(sentence, 92)))
    return text.replace("{class}", kind.__name__)


@cache
def _entries(text: str) -> dict[str, str]:
    """Entry of each parameter and attribute of a docstring."""
    _, *parts = _HEADING.split(text)
    return {
        name: entry[0]
        for heading, section in zip(parts[::2], parts[1::2], strict=True)
        if heading in ("Parameters", "Attributes")
        for entry in _ENTRY.finditer(section)
        for name in re.findall(r"\w+", entry[1])
    }
