"""Columns that are no features by their names: outcomes, positions, ids and times.

A name accuses a column only if each of its words does. Statistics of the past are features, and
their names say what makes them so: the rate of ``click_rate_30d``, the document of
``url_dwell_time``, the days of ``clicks_30d``. The same holds for ``position_in_title``,
``page_rank`` and ``date_boost``.
"""

from __future__ import annotations

import re
from typing import Literal

Suspect = Literal["outcome", "position", "id", "time"]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")

# What users do with results, and labels.
_OUTCOME = _words(
    "click clicked clicks clickthrough purchase purchased purchases bought buy ordered atc cart "
    "carted basket converted conversion conversions dwell booked booking bookings watched skipped "
    "bounced abandoned downloaded installed applied liked label labels relevance relevant grade "
    "judgment judgement judged qrel qrels"
)
_OUTCOME_PHRASES = ("time on page", "time on site", "watch time", "time spent", "order placed")
_POSITION = _words("position pos rank slot")
_TIME = _words("timestamp timestamps datetime date time ts epoch")
_ID = _words("id ids uid uuid guid sku asin isbn ean gtin upc rownum rowid")
_ID_PHRASES = ("unnamed 0", "row number", "row index", "line number", "level 0", "index")

# Words that change nothing of what the others say.
_EVENT = _words(
    "shown displayed display show presented served logged log event session request search query "
    "result results serp list impression impressions item doc document user at on to"
)
_OF_OUTCOME = _words(
    "is was has did been any no n num count added add to cart time times seconds sec secs s ms "
    "millis minutes user session result item doc document product flag event label target"
)
_UNITS = _words("ms s sec secs seconds millis unix utc epoch local")


def suspect_name(name: str) -> Suspect | None:
    """What a column is by its name, if it can be no feature.

    Examples
    --------
    >>> [suspect_name(name) for name in ("clicked", "addToCart", "dwell_time_ms", "rank_shown")]
    ['outcome', 'outcome', 'outcome', 'position']
    >>> [suspect_name(name) for name in ("product_sku", "shown_at", "click_rate_30d", "bm25")]
    ['id', 'time', None, None]
    """
    words = [word.lower() for word in _WORD.findall(name)]
    phrase = " ".join(words)
    if not words:
        return None
    if phrase in _ID_PHRASES or words[-1] in _ID:
        return "id"
    rest = phrase
    for known in _OUTCOME_PHRASES:
        rest = rest.replace(known, "dwell")
    if _is_made_of(rest.split(), _OUTCOME, _OF_OUTCOME):
        return "outcome"
    if _is_made_of(words, _POSITION, _EVENT - {"at"}):
        return "position"
    if _is_made_of(words, _TIME, _EVENT | _UNITS) or (words[-1] == "at" and set(words) <= _EVENT):
        return "time"
    return None


def _is_made_of(words: list[str], core: frozenset[str], others: frozenset[str]) -> bool:
    """Whether one of the words is in the core, and all others are there or among the others."""
    return not core.isdisjoint(words) and core | others >= set(words)
