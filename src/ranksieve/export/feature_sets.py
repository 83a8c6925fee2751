"""Feature sets of search engines, reduced to the features that a model needs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from ranksieve.data import DataError
from ranksieve.io.records import PathLike, read_record

# The plugin of Elasticsearch and OpenSearch, Solr, or Elasticsearch's own learning to rank.
Kind = Literal["plugin", "solr", "elasticsearch"]

_EXPECTED = {
    "plugin": "the JSON of a feature set of the learning-to-rank plugin, with a list 'features'",
    "solr": "the JSON of Solr's feature store, a list of features",
    "elasticsearch": "JSON with a list 'feature_extractors', as in 'learning_to_rank'",
}
# A reference to a feature is its name with no word character next to it, and no dot before it. So
# it begins with a whole word, which is empty if the name begins with another character.
_WORD = re.compile(r"(?<![A-Za-z0-9_.])[A-Za-z0-9_]*", re.ASCII)
_FIRST_WORD = re.compile(r"[A-Za-z0-9_]*", re.ASCII)


@dataclass(frozen=True)
class FeatureSet:
    """Features of an engine, as its JSON defines them."""

    kind: Kind
    path: str  # file from which it was read
    name: str  # of the set or store; may be empty
    entries: dict[str, dict[str, Any]]  # by name: its unchanged definition, in the file's order

    def prune(self, needed: Sequence[str]) -> dict[str, dict[str, Any]]:
        """Return the definitions of needed features and of those that they refer to, in order."""
        lacking = [name for name in needed if name not in self.entries]
        if lacking:
            raise DataError(
                f"{self.path}: the feature set lacks {quote_some(lacking)}, which the model uses"
            )
        kept, waiting = set(needed), list(needed)
        while waiting:
            new = set(self._references(self.entries[waiting.pop()])) - kept
            kept |= new
            waiting += new
        return {name: entry for name, entry in self.entries.items() if name in kept}

    @cached_property
    def _names_by_word(self) -> dict[str, list[str]]:
        """Names of the features by their first words."""
        names: dict[str, list[str]] = {}
        for name in self.entries:
            names.setdefault(_FIRST_WORD.match(name)[0], []).append(name)  # type: ignore[index]
        return names

    def _references(self, entry: dict[str, Any]) -> Iterator[str]:
        """Yield the names of other features that the definition of a feature refers to."""
        own_name = _name_of(entry, self.kind)
        for text in _referring_texts(entry, self.kind):
            for word in _WORD.finditer(text):
                for name in self._names_by_word.get(word[0], ()):
                    end = word.start() + len(name)
                    is_whole = not _FIRST_WORD.match(text, end)[0]  # type: ignore[index]
                    if text.startswith(name, word.start()) and is_whole and name != own_name:
                        yield name


def _referring_texts(entry: dict[str, Any], kind: Kind) -> Iterator[str]:
    """Yield the texts of a definition that may refer to other features by name.

    In the plugin, these are derived expressions and scripts with a feature vector; everything else
    is a query, whose words are fields. In Solr, these are parameters that refer to features.
    """
    if kind == "plugin" and entry.get("template_language") in (
        "derived_expression",
        "script_feature",
    ):
        yield from _texts(entry.get("template"))
    elif kind == "solr":
        for key, value in (entry.get("params") or {}).items():
            if "feature" in key.lower():
                yield from _texts(value)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (dict, list)):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _texts(part)


def read_feature_set(path: PathLike, kind: Kind) -> FeatureSet:
    """Read a feature set from the user's JSON, as uploaded to the engine or in its response."""
    record = read_record(path)
    definitions, set_name = _find_list(record, kind)
    if not isinstance(definitions, list) or not all(isinstance(d, dict) for d in definitions):
        raise DataError(f"{path}: expected {_EXPECTED[kind]}")
    entries: dict[str, dict[str, Any]] = {}
    for number, entry in enumerate(definitions, start=1):
        name = _name_of(entry, kind)
        if not isinstance(name, str):
            raise DataError(f"{path}: feature {number} of the list has no name")
        if kind == "solr" and not isinstance(entry.get("params") or {}, dict):
            raise DataError(f"{path}: 'params' of feature {name!r} should be an object")
        if name in entries:
            raise DataError(f"{path}: two features are named {name!r}")
        entries[name] = entry
    return FeatureSet(kind, str(path), set_name, entries)


def _find_list(record: Any, kind: Kind) -> tuple[Any, str]:
    """Find the list of features in the JSON of an engine, and the name of the set."""
    if kind == "solr":
        features = record.get("features") if isinstance(record, dict) else record
        known = features if isinstance(features, list) else []
        stores = {str(e["store"]) for e in known if isinstance(e, dict) and "store" in e}
        return features, stores.pop() if len(stores) == 1 else ""
    keys = (
        ("_source", "featureset") if kind == "plugin" else ("inference_config", "learning_to_rank")
    )
    for key in keys:
        if isinstance(record, dict) and isinstance(record.get(key), dict):
            record = record[key]
    if isinstance(record, dict):
        list_key = "features" if kind == "plugin" else "feature_extractors"
        return record.get(list_key), str(record.get("name") or "")
    return record, ""


def _name_of(entry: dict[str, Any], kind: Kind) -> Any:
    if kind == "elasticsearch":
        extractor = entry.get("query_extractor")
        return extractor.get("feature_name") if isinstance(extractor, dict) else None
    return entry.get("name")


def quote_some(names: Sequence[str]) -> str:
    """Quote at most five names, and say how many more there are."""
    shown = ", ".join(repr(name) for name in names[:5])
    return f"{shown} and {len(names) - 5} more" if len(names) > 5 else shown
