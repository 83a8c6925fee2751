"""The embedded demo: a synthetic travel search with features that search engineers will know."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ranksieve.data import RankingData
from ranksieve.datasets.planted import PlantedRanking
from ranksieve.datasets.planting import FeaturePlan, RankingTruth

_N_QUERIES = 300
_SEED = 2007


class _Feature(NamedTuple):
    """Name, shape, location, scale and decimals of a feature, and what role it plays."""

    name: str
    shape: str
    location: float
    scale: float
    decimals: int
    weight: float = 0.0
    copies: str = ""
    copy_noise: float = 0.0
    useless: str = "noise"  # kind of a feature that neither has a weight nor copies another

    @property
    def kind(self) -> str:
        if self.weight:
            return "informative"
        if self.copies:
            return "redundant" if self.copy_noise else "duplicate"
        return self.useless


_FEATURES = (
    # Matches between query and document: families across the scoring functions of a field.
    _Feature("bm25_title", "plain", 11.0, 2.4, 3, weight=0.45),
    _Feature("tf_idf_title", "plain", 8.5, 1.3, 3, copies="bm25_title", copy_noise=0.3),
    _Feature("lm_dir_title", "plain", -8.2, 1.1, 3, copies="bm25_title", copy_noise=0.4),
    _Feature("lm_jm_title", "plain", -9.0, 1.3, 3, copies="bm25_title", copy_noise=0.45),
    _Feature("matched_terms_title", "tied", 0.0, 1.0, 0, copies="bm25_title", copy_noise=0.5),
    _Feature("bm25_body", "plain", 17.0, 3.5, 3, weight=0.55),
    _Feature("tf_idf_body", "skewed", 0.0, 14.0, 2, copies="bm25_body", copy_noise=0.35),
    _Feature("lm_dir_body", "plain", -6.4, 0.9, 3, copies="bm25_body", copy_noise=0.15),
    _Feature("lm_jm_body", "plain", -7.1, 1.0, 3, copies="bm25_body", copy_noise=0.25),
    _Feature("lm_abs_body", "plain", -6.8, 1.0, 3, copies="bm25_body", copy_noise=0.3),
    _Feature("bm25f_all_fields", "plain", 21.0, 4.0, 3, copies="bm25_body", copy_noise=0.08),
    _Feature("term_count_body", "tied", 0.0, 3.0, 0, copies="bm25_body", copy_noise=0.6),
    _Feature("bm25_anchor", "tied", 0.0, 2.75, 2, weight=0.35),
    _Feature("tf_idf_anchor", "tied", 0.0, 1.9, 2, copies="bm25_anchor", copy_noise=0.3),
    _Feature("lm_dir_anchor", "plain", -11.0, 0.7, 3, copies="bm25_anchor", copy_noise=0.4),
    _Feature("bm25_url", "tied", 0.0, 1.5, 2),
    _Feature("embedding_cosine", "share", 0.3, 0.6, 4, weight=0.4),
    _Feature("embedding_dot", "plain", 31.0, 6.0, 2, copies="embedding_cosine", copy_noise=0.05),
    # Popularity of the document.
    _Feature("pagerank", "skewed", 0.0, 0.0004, 7, weight=0.3),
    _Feature("inlinks", "skewed", 0.0, 35.0, 0, copies="pagerank", copy_noise=0.35),
    _Feature("inlink_domains", "skewed", 0.0, 9.0, 0, copies="pagerank", copy_noise=0.45),
    _Feature("site_rank", "skewed", 0.0, 0.002, 6, copies="pagerank", copy_noise=0.9),
    _Feature("click_rate_30d", "share", -1.6, 0.45, 4, weight=0.5),
    _Feature("click_rate_7d", "share", -1.6, 0.5, 4, copies="click_rate_30d", copy_noise=0.3),
    _Feature("clicks_30d", "skewed", 0.0, 22.0, 0, copies="click_rate_30d", copy_noise=0.5),
    _Feature("dwell_seconds", "skewed", 0.0, 48.0, 1, copies="click_rate_30d", copy_noise=0.7),
    # Small is good.
    _Feature("url_depth", "tied", 1.0, 1.0, 0, weight=-0.2),
    _Feature("url_slashes", "tied", 1.0, 1.0, 0, copies="url_depth"),
    _Feature("url_length", "plain", 64.0, 11.0, 0, copies="url_depth", copy_noise=0.5),
    _Feature("freshness_days", "skewed", 0.0, 120.0, 0, weight=-0.25),
    _Feature("last_crawl_days", "skewed", 0.0, 14.0, 1, copies="freshness_days", copy_noise=0.6),
    _Feature("spam_score", "share", -0.8, 0.6, 4, weight=-0.3),
    _Feature("ad_density", "share", -1.2, 0.5, 4, copies="spam_score", copy_noise=0.5),
    # Of no use for ranking.
    _Feature("title_length", "plain", 52.0, 12.0, 0),
    _Feature("body_length", "skewed", 0.0, 900.0, 0),
    _Feature("image_count", "tied", 0.0, 2.0, 0),
    _Feature("outlinks", "skewed", 0.0, 20.0, 0),
    _Feature("load_ms", "skewed", 0.0, 310.0, 0),
    _Feature("readability", "plain", 58.0, 9.0, 1),
    _Feature("query_idf_sum", "plain", 14.0, 3.0, 3, useless="query"),
    _Feature("query_frequency", "skewed", 0.0, 700.0, 0, useless="query"),
    _Feature("language_match", "plain", 1.0, 0.0, 0, useless="constant"),
    _Feature("index_tier", "plain", 2.0, 0.0, 0, useless="constant"),
)

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
    plan = _plan()
    ranking = PlantedRanking(plan, docs_per_query=(7, 45), noise=0.6, random_state=_SEED)
    data, utility = ranking.queries_with_utility(0, _N_QUERIES)
    rng = np.random.default_rng(_SEED)
    phrases = _phrases(rng)
    named = RankingData(
        _round_as_logged(data.X),
        data.y,
        phrases[data.query_codes],
        feature_names=[feature.name for feature in _FEATURES],
        doc_ids=_document_ids(phrases[data.query_codes], rng),
    )
    return named, plan.truth(utility)


def _plan() -> FeaturePlan:
    position = {feature.name: index for index, feature in enumerate(_FEATURES)}
    weights = np.array([feature.weight for feature in _FEATURES])
    return FeaturePlan(
        kind=np.array([feature.kind for feature in _FEATURES]),
        source=np.array([position.get(feature.copies, -1) for feature in _FEATURES]),
        weights=weights / np.linalg.norm(weights),
        copy_noise=np.array([feature.copy_noise for feature in _FEATURES]),
        shape=np.array([feature.shape for feature in _FEATURES]),
        location=np.array([feature.location for feature in _FEATURES]),
        scale=np.array([feature.scale for feature in _FEATURES]),
    )


def _round_as_logged(X: np.ndarray) -> np.ndarray:
    """Values with the number of decimals that such features are logged with."""
    columns = zip(X.T, _FEATURES, strict=True)
    return np.stack([np.round(column, feature.decimals) for column, feature in columns], axis=1)


def _phrases(rng: np.random.Generator) -> np.ndarray:
    """Distinct query ids, one per query."""
    every = [f"{k}_{t}_{p}" for k in _KINDS for t in _THINGS for p in _PLACES]
    return rng.choice(np.array(every, dtype=object), _N_QUERIES, replace=False)


def _document_ids(queries: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Distinct addresses under reserved domains, each about the place of its query."""
    sites = rng.choice(_SITES, len(queries))
    numbers = rng.choice(90_000, len(queries), replace=False) + 10_000
    pages = zip(sites, queries, numbers, strict=True)
    ids = [f"{site}.example/{query.split('_')[-1]}/{number}" for site, query, number in pages]
    return np.array(ids, dtype=object)
