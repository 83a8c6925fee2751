"""The embedded demo: a synthetic travel search with typical features of search engines."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from ranksieve.costs import FeatureCosts
from ranksieve.data import RankingData
from ranksieve.datasets.planted import PlantedRanking
from ranksieve.datasets.planting import FeaturePlan, RankingTruth

_N_QUERIES = 300
_SEED = 2007


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

    Returns
    -------
    data : RankingData
        With feature names, document ids and query ids such as ``'best_flights_lisbon'``.
    truth : RankingTruth

    Examples
    --------
    >>> from ranksieve.datasets import load_demo
    >>> data, truth = load_demo()
    >>> data
    RankingData(5803 rows, 300 queries, 43 features)
    >>> data.feature_names[truth.direction < 0].tolist()[:3]
    ['url_depth', 'url_slashes', 'url_length']
    """
    table = _read_features()
    plan = _plan(table)
    ranking = PlantedRanking(plan, docs_per_query=(7, 45), noise=0.6, random_state=_SEED)
    data, utility = ranking.queries_with_utility(0, _N_QUERIES)
    rng = np.random.default_rng(_SEED)
    phrases = _phrases(rng)
    named = RankingData(
        # Rounded to the decimals with which such features are usually logged.
        np.stack(list(map(np.round, data.X.T, table["decimals"].astype(int))), axis=1),
        data.y,
        phrases[data.query_codes],
        feature_names=table["name"],
        doc_ids=_document_ids(phrases[data.query_codes], rng),
    )
    return named, plan.truth(utility)


def demo_costs() -> FeatureCosts:
    """Costs of the features of the embedded demo, in microseconds per document.

    Properties of a document or its address are cheap. Features of text need the postings of a
    field, those of links, clicks and page quality a lookup each, and the embeddings a call of a
    model, which is paid once however many of its features are used. The costs are made up, like the
    demo.

    Returns
    -------
    FeatureCosts

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


def _phrases(rng: np.random.Generator) -> np.ndarray:
    """Distinct query ids, one per query."""
    every = [f"{k}_{t}_{p}" for k in _KINDS for t in _THINGS for p in _PLACES]
    return rng.choice(np.array(every, dtype=object), _N_QUERIES, replace=False)


def _document_ids(queries: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Distinct addresses under reserved domains, each related to its query."""
    sites = rng.choice(_SITES, len(queries))
    numbers = rng.choice(90_000, len(queries), replace=False) + 10_000
    pages = zip(sites, queries, numbers, strict=True)
    ids = [f"{site}.example/{query.split('_')[-1]}/{number}" for site, query, number in pages]
    return np.array(ids, dtype=object)
