"""A slider along sets of features, whose page shows each one with its script.

All texts are made here, so that a number is the same as in tables and charts. They go into the page
as JSON, in an element that no browser runs.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from markupsafe import Markup

from ranksieve.text import on_one_line

# What could end the element, or begin a comment or another one in it.
_ESCAPED = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&"}


@dataclass(frozen=True)
class Stop:
    """A set of features."""

    facts: Sequence[tuple[str, str, str]]  # name, value, and what to compare it with
    features: Sequence[int]
    remark: str = ""  # what is special about it


@dataclass(frozen=True)
class Slider:
    """Sets of features to move along."""

    label: str
    names: Sequence[str]  # of all features
    stops: Sequence[Stop]
    start: int  # number of the stop at which it begins, and with which others are compared
    start_name: str

    @property
    def data(self) -> Markup:
        r"""JSON for an element of the page.

        >>> print(Slider("Sets", ["</script>"], [Stop([], [0])], 0, "the first set").data[:33])
        {"names": ["\u003c/script\u003e"]
        """
        names = list(map(on_one_line, self.names))
        stops = [asdict(stop) for stop in self.stops]
        whole = {"names": names, "stops": stops, "start": self.start, "startName": self.start_name}
        return Markup(json.dumps(whole, allow_nan=False).translate(_ESCAPED))
