"""The embedded demo: a synthetic travel search, its costs, and its log by a search engine."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ranksieve.costs import FeatureCosts
from ranksieve.data import DataError, RankingData
from ranksieve.datasets.feature_plans import FeaturePlan, RankingTruth
from ranksieve.datasets.planted import PlantedRanking
from ranksieve.io.files import make_directory
from ranksieve.io.records import write_text

EngineName = Literal["elasticsearch", "solr"]
_Documents = list[tuple[str, dict[str, float]]]  # id and features of each

_N_QUERIES = 300
_SEED = 2007
_SET = "travel"  # name of the feature set in the engine

_KINDS = ("cheap", "best", "family", "luxury", "quiet", "popular", "weekend", "budget")
_THINGS = (
    "flights", "hotels", "hostels", "restaurants", "museums", "beaches", "car_rental",
    "city_pass", "day_trips", "walking_tours",
)  # fmt: skip
_PLACES = (
    "lisbon", "porto", "kyoto", "osaka", "oslo", "bergen", "hanoi", "lima", "cusco", "tallinn",
    "riga", "seville",
)  # fmt: skip
_SITES = ("tripnotes", "wanderlist", "citymap", "farefinder", "slowtravel", "localguide")


def load_demo() -> tuple[RankingData, RankingTruth]:
    """Load the embedded demo: a synthetic travel search with 43 features.

    It has 300 queries with about 20 documents each and labels 0..4. Nine features determine the
    relevance; small values are good in three of them. The others are copies of these (families per
    field, an exact duplicate, near duplicates) or useless: random, the same for all documents of a
    query, or constant. The data is generated in a fraction of a second and is always the same.

    Query ids are like ``'best_flights_lisbon'``, and features have names.

    Examples
    --------
    >>> from ranksieve.datasets import load_demo
    >>> data, truth = load_demo()
    >>> data
    RankingData(5803 rows, 300 queries, 43 features)
    >>> data.feature_names[truth.direction < 0].tolist()[:3]
    ['url_depth', 'url_slashes', 'url_length']
    """
    plan = _plan(_read_features())
    _, utility = _ranking(plan).queries_with_utility(0, _N_QUERIES)
    return draw_demo(0, _N_QUERIES), plan.truth(utility)


def draw_demo(first: int, last: int) -> RankingData:
    """Queries ``first`` to ``last - 1`` of the demo, which has the first 300 of any number."""
    table = _read_features()
    data = _ranking(_plan(table)).queries(first, last)
    rng = np.random.default_rng([_SEED, *([first] if first else [])])
    every = [f"{k}_{t}_{p}" for k in _KINDS for t in _THINGS for p in _PLACES]
    phrases = rng.choice(np.array(every, dtype=object), last - first, replace=False)
    return RankingData(
        # Rounded to the decimals with which such features are usually logged.
        np.stack(list(map(np.round, data.X.T, table["decimals"].astype(int))), axis=1),
        data.y,
        phrases[data.query_codes],
        feature_names=table["name"],
        doc_ids=_document_ids(phrases[data.query_codes], rng),
    )


def _ranking(plan: FeaturePlan) -> PlantedRanking:
    return PlantedRanking(plan, docs_per_query=(7, 45), noise=0.6, random_state=_SEED)


def demo_costs() -> FeatureCosts:
    """Costs of the features of the embedded demo, in microseconds per document.

    Properties of a document or its address are cheap. Features of text need the postings of a
    field, those of links, clicks and page quality a lookup each, and the embeddings a call of a
    model, which is paid once however many of its features are used. The costs are made up, like the
    demo.

    Examples
    --------
    >>> from ranksieve.datasets import demo_costs, load_demo
    >>> costs, names = demo_costs(), load_demo()[0].feature_names
    >>> costs
    FeatureCosts(43 features, 7 groups)
    >>> round(costs.total(names), 1)
    115.9
    >>> costs.total(["embedding_dot"]), costs.total(["embedding_dot", "embedding_cosine"])
    (40.5, 41.5)
    """
    folder = Path(__file__).parent
    return FeatureCosts.read(folder / "demo_costs.csv", folder / "demo_groups.csv")


def _read_features() -> dict[str, np.ndarray]:
    """Name of a column -> its texts, one for each feature."""
    text = (Path(__file__).parent / "demo.csv").read_text(encoding="ascii")
    header, *rows = csv.reader(text.splitlines())
    return {name: np.array(column) for name, *column in zip(header, *rows, strict=True)}


def _plan(table: dict[str, np.ndarray]) -> FeaturePlan:
    positions = {name: index for index, name in enumerate(table["name"])}
    weights, copy_noise, location, scale = (
        table[name].astype(float) for name in ("weight", "copy_noise", "location", "scale")
    )
    return FeaturePlan(
        kind=table["kind"],
        source=np.array([positions.get(name, -1) for name in table["copies"]]),
        weights=weights / np.linalg.norm(weights),
        copy_noise=copy_noise,
        shape=table["shape"],
        location=location,
        scale=scale,
    )


def _document_ids(queries: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Distinct addresses under reserved domains, each related to its query."""
    sites = rng.choice(_SITES, len(queries))
    numbers = rng.choice(90_000, len(queries), replace=False) + 10_000
    pages = zip(sites, queries, numbers, strict=True)
    ids = [f"{site}.example/{query.split('_')[-1]}/{number}" for site, query, number in pages]
    return np.array(ids, dtype=object)


def write_demo_log(
    directory: str | os.PathLike[str], engine: EngineName = "elasticsearch"
) -> tuple[Path, Path]:
    """Write the embedded demo as a feature log with judgments, and return the paths of these.

    The directory, which is created if necessary, gets ``responses.jsonl``, with the search response
    to each query (5 to 20 MB), ``qrels.txt``, with the grades, and ``featureset.json``, with a
    definition of each feature for the engine. OpenSearch uses the format of Elasticsearch.

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


def _elasticsearch_response(query: Any, documents: _Documents) -> dict[str, Any]:
    hits = [
        {
            "_index": "travel",
            "_id": document,
            "_score": 0.0,
            "fields": {"_ltrlog": [{"log_entry": list(map(_log_entry, features.items()))}]},
            "matched_queries": ["logged_featureset"],
        }
        for document, features in documents
    ]
    total = {"value": len(hits), "relation": "eq"}
    found = {"total": total, "max_score": 0.0, "hits": hits}
    return {"qid": query, "response": {"took": 1, "timed_out": False, "hits": found}}


def _log_entry(feature: tuple[str, float]) -> dict[str, Any]:
    name, value = feature
    return {"name": name} if np.isnan(value) else {"name": name, "value": value}


def _solr_response(query: Any, documents: _Documents) -> dict[str, Any]:
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


def _elasticsearch_feature(name: str) -> dict[str, Any]:
    query = {"match": {name: "{{keywords}}"}}
    return {"name": name, "params": ["keywords"], "template": query}


def _solr_feature(name: str) -> dict[str, Any]:
    kind = "org.apache.solr.ltr.feature.FieldValueFeature"
    return {"store": _SET, "name": name, "class": kind, "params": {"field": name}}


_RESPONSES = {"elasticsearch": _elasticsearch_response, "solr": _solr_response}
_FEATURES = {"elasticsearch": _elasticsearch_feature, "solr": _solr_feature}
