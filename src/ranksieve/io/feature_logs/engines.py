"""Formats in which search engines log the features of a document."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from ranksieve.data import DataError

_LTR_LOG = "_ltrlog"
_EXTRA = "extra_logging"  # entry of a log of Elasticsearch that is not a feature
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?", re.ASCII)

SOLR_FIELD = "[features]"


@dataclass(frozen=True)
class Engine:
    """A kind of search engine.

    Attributes
    ----------
    name : str
    document_id : str
        Field of a document with its id.
    features : function
        Maps a document, the name of its log (None: all) and the place for errors to values by
        feature; NaN is missing.
    """

    name: str
    document_id: str
    features: Callable[[dict[str, Any], str | None, str], dict[str, float]]


def _elasticsearch_features(hit: dict[str, Any], log: str | None, place: str) -> dict[str, float]:
    """Features in ``fields._ltrlog``: ``[{log: [{"name": ..., "value": ...}, ...], ...}]``."""
    fields = hit.get("fields")
    logs = fields.get(_LTR_LOG) if isinstance(fields, dict) else None
    if logs is None:
        raise DataError(
            f"{place}: the hit has no features: there is no 'fields.{_LTR_LOG}'; ask for it in the "
            "request with ext.ltr_log"
        )
    features: dict[str, float] = {}
    for entry in _wanted_entries(logs, log, place):
        if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
            raise DataError(
                f"{place}: {_LTR_LOG} should list features with a name, not {entry!r:.60}"
            )
        name, value = entry["name"], entry.get("value")
        if name == _EXTRA and isinstance(value, dict):
            continue
        if value is not None and (isinstance(value, bool) or not isinstance(value, (int, float))):
            raise DataError(f"{place}: feature {name!r:.80} is {value!r:.40}, not a finite number")
        _put(features, name, math.nan if value is None else float(value), place)
    return features


def _wanted_entries(logs: Any, wanted: str | None, place: str) -> Iterator[Any]:
    """Entries of the log named ``wanted``, or of all logs of the hit."""
    parts = logs if isinstance(logs, list) else [logs]
    if not all(isinstance(part, dict) for part in parts):
        raise DataError(f"{place}: {_LTR_LOG} should contain an object of logs, not {logs!r:.60}")
    entries = {name: entries for part in parts for name, entries in part.items()}
    if wanted is not None:
        if wanted not in entries:
            known = ", ".join(repr(name) for name in entries)[:200] or "none"
            raise DataError(f"{place}: there is no log {wanted!r}; logs of the hit: {known}")
        entries = {wanted: entries[wanted]}
    for name, features in entries.items():
        if not isinstance(features, list):
            raise DataError(
                f"{place}: log {name!r:.80} should be a list of features, not {features!r:.60}"
            )
        yield from features


def _solr_features(document: dict[str, Any], field: str | None, place: str) -> dict[str, float]:
    """Features in ``[features]``: ``name=value,name=value``."""
    field = field or SOLR_FIELD
    text = document.get(field)
    if not isinstance(text, str):
        shown = "there is no" if text is None else f"{text!r:.60} is not a text of features in"
        raise DataError(f"{place}: {shown} field {field!r}; ask for it in fl=id,[features]")
    features: dict[str, float] = {}
    for pair in text.split(",") if text else []:
        name, sign, value = pair.rpartition("=")
        if not sign or not name:
            raise DataError(
                f"{place}: {field} has {pair!r:.60}, but name=value is expected, separated by "
                "commas. Other delimiters (csvKeyValueDelimiter, csvFeatureSeparator) and commas "
                "in names are not supported"
            )
        _put(features, name, _solr_number(value, name, place), place)
    return features


def _solr_number(text: str, name: str, place: str) -> float:
    """Parse a float of Java; Solr writes a missing value as NaN."""
    if text == "NaN":
        return math.nan
    value = float(text) if _NUMBER.fullmatch(text) else math.inf
    if not math.isfinite(value):
        raise DataError(f"{place}: feature {name!r:.80} is {text!r:.40}, not a finite number")
    return value


def _put(features: dict[str, float], name: str, value: float, place: str) -> None:
    known = features.setdefault(name, value)
    if known != value and not (math.isnan(known) and math.isnan(value)):
        raise DataError(
            f"{place}: feature {name!r:.80} occurs twice, with the values {known} and {value}; "
            "if the document has several logs, choose one of them (log=)"
        )


ELASTICSEARCH = Engine("Elasticsearch or OpenSearch", "_id", _elasticsearch_features)
SOLR = Engine("Solr", "id", _solr_features)
