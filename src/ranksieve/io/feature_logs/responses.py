"""Find documents in search responses, however these were saved, and their logged features.

:class:`ResponseReader` finds documents; each :class:`SearchEngine` has its own form of features.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from ranksieve.data import DataError
from ranksieve.data.inputs import find_repeated
from ranksieve.text import quantity

_LTR_LOG = "_ltrlog"  # field of Elasticsearch with the features,
_EXTRA = "extra_logging"  # and an entry of it that is not a feature
_SOLR_FIELD = "[features]"
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?", re.ASCII)
_SEVERAL = re.compile(rf"=(?:NaN|{_NUMBER.pattern})\W", re.ASCII)  # a=1 and the next pair

_QUERY_NAMES = ("qid", "query_id", "queryId", "query-id")
_PARENT_NAMES = (*_QUERY_NAMES, "query", "keywords")
_PARENT_PATHS = (*_PARENT_NAMES, *(f"responseHeader.params.{name}" for name in _PARENT_NAMES))
# Only next to the response: documents may have their own keywords.
_DOCUMENT_PATHS = tuple(
    f"{part}{name}" for part in ("", "fields.", "_source.") for name in _QUERY_NAMES
)


class LoggedDocument(NamedTuple):
    """A document of a response: ids as text, and values by feature, NaN if missing."""

    query: str
    document: str
    features: dict[str, float]
    place: str


@dataclass(frozen=True)
class SearchEngine:
    """A kind of search engine."""

    name: str
    document_id: str  # field of a document with its id
    # Maps a document, the name of its log (None: all) and the place for errors to values by
    # feature; NaN is missing.
    features: Callable[[dict[str, Any], str | None, str], dict[str, float]]


# Features of a document


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
    entries = [(name, entries) for part in parts for name, entries in part.items()]
    if wanted is not None:
        known = ", ".join(repr(name) for name, _ in entries)[:200] or "none"
        entries = [(name, features) for name, features in entries if name == wanted]
        if not entries:
            raise DataError(f"{place}: there is no log {wanted!r}; logs of the hit: {known}")
    for name in find_repeated(name for name, _ in entries):
        numbers = [str(n) for n, part in enumerate(parts, start=1) if name in part]
        raise DataError(
            f"{place}: several logs are named {name!r:.80}, in entries {' and '.join(numbers)} of "
            f"{_LTR_LOG}; give each log of a request a name of its own"
        )
    for name, features in entries:
        if not isinstance(features, list):
            raise DataError(
                f"{place}: log {name!r:.80} should be a list of features, not {features!r:.60}"
            )
        yield from features


def _solr_features(document: dict[str, Any], field: str | None, place: str) -> dict[str, float]:
    """Features in ``[features]``: ``name=value,name=value``."""
    field = field or _SOLR_FIELD
    text = document.get(field)
    if not isinstance(text, str):
        shown = "there is no" if text is None else f"{text!r:.60} is not a text of features in"
        raise DataError(f"{place}: {shown} field {field!r}; ask for it in fl=id,[features]")
    features: dict[str, float] = {}
    for pair in text.split(",") if text else []:
        name, sign, value = pair.rpartition("=")
        if not sign or not name or _SEVERAL.search(name):
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


ELASTICSEARCH = SearchEngine("Elasticsearch or OpenSearch", "_id", _elasticsearch_features)
SOLR = SearchEngine("Solr", "id", _solr_features)


# Documents of responses


class ResponseReader:
    """Find documents in the responses of one log, all of one engine.

    The parameters are those of :func:`read_feature_log`. Those that are None are set at the first
    document, except ``log``.
    """

    def __init__(self, qid: str | None, doc_id: str | None, log: str | None) -> None:
        self.engine: SearchEngine | None = None  # that of the first document
        self.qid = qid
        self.doc_id = doc_id
        self.is_sparse = False  # whether Solr leaves features out, as far as the responses show
        self._log = log

    def read(
        self, value: Any, place: str, parents: tuple[Any, ...] = ()
    ) -> Iterator[LoggedDocument]:
        """Yield the documents of a JSON value: a response, or several of them in any nesting."""
        if isinstance(value, list):
            for part in value:
                yield from self.read(part, place, parents)
            return
        if not isinstance(value, dict):
            raise DataError(f"{place}: expected a search response, found {value!r:.60}")
        engine = _engine_of_document(value, self._log)
        if engine is not None:
            yield self._document(value, parents, engine, place)
        elif isinstance(value.get("response"), (dict, list)):
            yield from self.read(value["response"], place, (*parents, value))
        elif isinstance(value.get("responses"), list):
            yield from self._read_several(value["responses"], (*parents, value), place)
        elif isinstance(value.get("docs"), list):
            yield from self._documents(value["docs"], (*parents, value), SOLR, place)
        elif "hits" in value:
            yield from self._hits(value["hits"], (*parents, value), place)
        else:
            raise DataError(f"{place}: {_explain(value)}")

    def _read_several(
        self, responses: list[Any], parents: tuple[Any, ...], place: str
    ) -> Iterator[LoggedDocument]:
        """Documents of a multi-search; an outer list of the same length has an entry for each."""
        known = {key: value for scope in parents for key, value in scope.items()}
        key = self.qid or next(filter(known.__contains__, _PARENT_NAMES), "")
        if isinstance(known.get(key), list) and len(known[key]) != len(responses):
            ids = quantity(len(known[key]), "query id")
            raise DataError(f"{place}: {key!r} has {ids}, but there are {len(responses)} responses")
        for number, response in enumerate(responses):
            own = tuple(_take_entries(scope, number, len(responses)) for scope in parents)
            yield from self.read(response, f"{place}: response {number + 1}", own)

    def _hits(self, hits: Any, parents: tuple[Any, ...], place: str) -> Iterator[LoggedDocument]:
        found = hits.get("hits") if isinstance(hits, dict) else hits
        if not isinstance(found, list):
            raise DataError(f"{place}: 'hits' should have a list of hits, not {hits!r:.60}")
        return self._documents(found, parents, ELASTICSEARCH, place)

    def _documents(
        self, documents: list[Any], parents: tuple[Any, ...], engine: SearchEngine, place: str
    ) -> Iterator[LoggedDocument]:
        listed = None
        fields = str(_find_first(parents, "responseHeader.params.fl"))
        self.is_sparse |= engine is SOLR and "format=sparse" in fields
        for number, document in enumerate(documents, start=1):
            where = f"{place}: {'hit' if engine is ELASTICSEARCH else 'document'} {number}"
            if not isinstance(document, dict):
                raise DataError(f"{where}: expected an object, found {document!r:.60}")
            read = self._document(document, parents, engine, where)
            listed = read.features.keys() if listed is None else listed
            # A dense log of Solr has the same features for all documents of a response.
            self.is_sparse |= engine is SOLR and listed != read.features.keys()
            yield read

    def _document(
        self, document: dict[str, Any], parents: tuple[Any, ...], engine: SearchEngine, place: str
    ) -> LoggedDocument:
        if self.engine is None:
            self.engine = engine
            self.doc_id = self.doc_id or engine.document_id
        if engine is not self.engine:
            raise DataError(
                f"{place}: this is a document of {engine.name}, but the log began with "
                f"{self.engine.name}; read the logs of each engine separately"
            )
        scopes = tuple(reversed(parents))
        if self.qid is None:
            self.qid = _guess_query(document, scopes, place)
        assert self.doc_id is not None
        return LoggedDocument(
            _id_at(self.qid, (*scopes, document), "query id", place),
            _id_at(self.doc_id, (document,), "document id", place),
            engine.features(document, self._log, place),
            place,
        )


def _take_entries(scope: dict[str, Any], number: int, count: int) -> dict[str, Any]:
    return {
        key: value[number] if isinstance(value, list) and len(value) == count else value
        for key, value in scope.items()
    }


def _engine_of_document(value: dict[str, Any], log: str | None) -> SearchEngine | None:
    """Engine of a document that was saved without its response; None for anything else."""
    if "_id" in value and isinstance(value.get("fields"), dict):
        return ELASTICSEARCH
    return SOLR if isinstance(value.get(log or _SOLR_FIELD), str) else None


def _explain(value: dict[str, Any]) -> str:
    """Why an object is not a response."""
    error = value.get("error")
    if error is not None:
        if isinstance(error, dict):
            error = error.get("reason") or error.get("msg") or error
        return f"the engine answered with an error: {error!r:.200}"
    if "grouped" in value:
        return "grouped results of Solr are not supported; request them with group.main=true"
    keys = ", ".join(repr(key) for key in value)[:100]
    return (
        "expected a search response: 'hits' (Elasticsearch, OpenSearch) or 'response' with 'docs' "
        f"(Solr); found an object with {keys or 'nothing'}"
    )


def _guess_query(document: dict[str, Any], parents: tuple[Any, ...], place: str) -> str:
    guesses = (
        *((path, parents) for path in _PARENT_PATHS),
        *((path, (document,)) for path in _DOCUMENT_PATHS),
        ("responseHeader.params.q", parents),
    )
    for path, scopes in guesses:
        if _is_id(_find_first(scopes, path)):
            return path
    raise DataError(
        f"{place}: the response has no query id; save each response with its query id, "
        'as in {"qid": "q1", "response": {...}}, or name the field that has it (qid=)'
    )


def _find_first(scopes: tuple[Any, ...], path: str) -> Any:
    """Value at a path of the first object that has one; None if there is none."""
    found = (_find(scope, path) for scope in scopes)
    return next((value for value in found if value is not None), None)


def _find(node: Any, path: str) -> Any:
    """Value at a path such as ``fields.qid``; keys may contain dots."""
    if not isinstance(node, dict):
        return None
    if path in node:
        return node[path]
    head, _, rest = path.partition(".")
    return _find(node.get(head), rest) if rest else None


def _is_id(value: Any) -> bool:
    if isinstance(value, list) and len(value) == 1:  # as Elasticsearch writes all of its fields
        value = value[0]
    return (
        isinstance(value, (str, int)) and not isinstance(value, bool) and str(value).strip() != ""
    )


def _id_at(path: str, scopes: tuple[Any, ...], what: str, place: str) -> str:
    """Id at a path of the first object that has one, as text."""
    value = _find_first(scopes, path)
    if value is None:
        raise DataError(f"{place}: there is no {path!r}, which should have the {what}")
    if not _is_id(value):
        raise DataError(
            f"{place}: {what} {path!r} should be a text or a whole number, not {value!r:.60}"
        )
    text = str(value[0] if isinstance(value, list) else value).strip()
    check_text(text, f"{what} {path!r}", place)
    return text


def check_text(text: str, what: str, place: str) -> None:
    """Raise a DataError if a text cannot be encoded: JSON may contain lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise DataError(f"{place}: {what} is not text: {text!a:.60}") from None
