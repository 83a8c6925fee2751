"""Write the embedded demo as a log of a search engine."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ranksieve.data import DataError, RankingData
from ranksieve.datasets.demo import load_demo
from ranksieve.io.files import make_directory
from ranksieve.io.records import write_text

EngineName = Literal["elasticsearch", "solr"]
_SET = "travel"


def write_demo_log(
    directory: str | os.PathLike[str], engine: EngineName = "elasticsearch"
) -> tuple[Path, Path]:
    """Write the embedded demo as a feature log with judgments.

    Parameters
    ----------
    directory : path
        Directory to write to; created if necessary. It gets ``responses.jsonl``, with the search
        response to each query (5 to 20 MB), ``qrels.txt``, with the grades, and
        ``featureset.json``, with a definition of each feature for the engine.
    engine : {"elasticsearch", "solr"}
        Format of the responses; OpenSearch uses that of Elasticsearch.

    Returns
    -------
    log, judgments : Path

    Examples
    --------
    >>> import tempfile
    >>> from ranksieve.datasets import write_demo_log
    >>> from ranksieve import read_feature_log
    >>> log, judgments = write_demo_log(tempfile.mkdtemp(), "solr")
    >>> data, _ = read_feature_log(log, judgments)
    >>> data
    RankingData(5803 rows, 300 queries, 43 features)
    """
    folder = make_directory(Path(directory))
    data, _ = load_demo()
    log, judgments = folder / "responses.jsonl", folder / "qrels.txt"
    write_text("".join(f"{json.dumps(line)}\n" for line in render_responses(data, engine)), log)
    write_text("".join(f"{line}\n" for line in render_qrels(data)), judgments)
    features = [_FEATURES[engine](name) for name in data.feature_names.tolist()]
    content = features if engine == "solr" else {"featureset": {"name": _SET, "features": features}}
    write_text(json.dumps(content, indent=1) + "\n", folder / "featureset.json")
    return log, judgments


def render_responses(data: RankingData, engine: EngineName) -> Iterator[dict[str, Any]]:
    """The response of an engine to each query, with all features; missing values are NaN."""
    if engine not in _RESPONSES:
        raise ValueError(f"engine must be {' or '.join(map(repr, _RESPONSES))}, got {engine!r}")
    if data.doc_ids is None:
        raise DataError("responses need data with document ids")
    names = data.feature_names.tolist()
    for number, query in enumerate(data.query_ids.tolist()):
        rows = slice(data.query_ptr[number], data.query_ptr[number + 1])
        documents = [
            (str(document), dict(zip(names, values.tolist(), strict=True)))
            for document, values in zip(data.doc_ids[rows], data.X[rows], strict=True)
        ]
        yield _RESPONSES[engine](query, documents)


def render_qrels(data: RankingData) -> Iterator[str]:
    """Lines of TREC qrels, for ids without white space."""
    assert data.doc_ids is not None
    for query, document, grade in zip(data.qid, data.doc_ids, data.y, strict=True):
        yield f"{query} 0 {document} {grade:g}"


def _elasticsearch(query: Any, documents: list[tuple[str, dict[str, float]]]) -> dict[str, Any]:
    hits = [
        {
            "_index": "travel",
            "_id": document,
            "_score": 0.0,
            "fields": {"_ltrlog": [{"log_entry": list(map(_entry, features.items()))}]},
            "matched_queries": ["logged_featureset"],
        }
        for document, features in documents
    ]
    total = {"value": len(hits), "relation": "eq"}
    found = {"total": total, "max_score": 0.0, "hits": hits}
    return {"qid": query, "response": {"took": 1, "timed_out": False, "hits": found}}


def _entry(feature: tuple[str, float]) -> dict[str, Any]:
    name, value = feature
    return {"name": name} if np.isnan(value) else {"name": name, "value": value}


def _solr(query: Any, documents: list[tuple[str, dict[str, float]]]) -> dict[str, Any]:
    docs = [
        {
            "id": document,
            "[features]": ",".join(
                f"{name}={'NaN' if np.isnan(value) else value}" for name, value in features.items()
            ),
        }
        for document, features in documents
    ]
    params = {"q": "*:*", "qid": str(query), "fl": "id,[features store=travel]"}
    return {
        "responseHeader": {"status": 0, "QTime": 1, "params": params},
        "response": {"numFound": len(docs), "start": 0, "docs": docs},
    }


def _template(name: str) -> dict[str, Any]:
    query = {"match": {name: "{{keywords}}"}}
    return {"name": name, "params": ["keywords"], "template": query}


def _solr_feature(name: str) -> dict[str, Any]:
    kind = "org.apache.solr.ltr.feature.FieldValueFeature"
    return {"store": _SET, "name": name, "class": kind, "params": {"field": name}}


_RESPONSES = {"elasticsearch": _elasticsearch, "solr": _solr}
_FEATURES = {"elasticsearch": _template, "solr": _solr_feature}
