"""A first look at ranking data: its size, its labels, and what its features are worth alone."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from ranksieve.conventions import Convention, get_convention
from ranksieve.data import RankingData
from ranksieve.metrics import parse_measure
from ranksieve.statistics import centered_gram, dense_blocks, feature_importance

_MOST_FEATURES_TO_PAIR = 2_000
_NEARLY = 0.99


@dataclass(frozen=True)
class SingleFeature:
    """A feature and how well it ranks alone."""

    name: str
    direction: str  # "descending" or "ascending": which end of its values is better
    value: float


@dataclass(frozen=True)
class NearPair:
    """Two features that move together within queries."""

    first: str
    second: str
    correlation: float


@dataclass(frozen=True)
class Inspection:
    """What :func:`inspect` found.

    Attributes
    ----------
    n_rows, n_queries, n_features : int
    density : float
        Share of feature values that are not zero.
    n_missing : int
        Feature values that are NaN or infinite. If there are any, nothing that compares
        values is computed: ``near_duplicates`` and ``best_features`` are None.
    labels : dict of float to int
        Number of rows with each label.
    documents_per_query : dict of str to float
        Minimum, median, mean and maximum.
    n_single : int
        Queries with one document.
    n_without_relevant : int
        Queries without a relevant document.
    constant : list of str
        Features with one value everywhere.
    constant_in_queries : list of str or None
        Other features that are constant within every query: they cannot rank. None, like
        ``near_duplicates``, if there are more than 2,000 features.
    duplicates : list of list of str
        Groups of features with equal values everywhere, other than constant ones.
    near_duplicates : list of NearPair or None
        Other pairs whose correlation within queries is at least 0.99 in absolute value,
        strongest first.
    measure, convention : str
        How ``best_features`` was measured.
    best_features : list of SingleFeature or None
        All features by quality, best first.
    """

    n_rows: int
    n_queries: int
    n_features: int
    density: float
    n_missing: int
    labels: dict[float, int]
    documents_per_query: dict[str, float]
    n_single: int
    n_without_relevant: int
    constant: list[str]
    constant_in_queries: list[str] | None
    duplicates: list[list[str]]
    near_duplicates: list[NearPair] | None
    measure: str
    convention: str
    best_features: list[SingleFeature] | None


def inspect(
    data: RankingData, measure: str = "ndcg@10", convention: str | Convention = "standard"
) -> Inspection:
    """Look at ranking data.

    Examples
    --------
    >>> import numpy as np
    >>> from ranksieve import RankingData
    >>> from ranksieve.inspection import inspect
    >>> X = np.array([[1.0, 5, 2], [2.0, 5, 4], [3.0, 5, 6]])
    >>> found = inspect(RankingData(X, y=[0, 1, 2], qid=[7, 7, 7]))
    >>> found.constant, found.best_features[0]
    (['2'], SingleFeature(name='1', direction='descending', value=1.0))
    """
    convention = get_convention(convention)
    counts = data.group_counts
    relevant = np.add.reduceat(data.y >= convention.relevance, data.query_ptr[:-1])
    values = data.X.data if data.is_sparse else data.X
    n_missing = int(values.size - np.isfinite(values).sum())
    labels, label_counts = np.unique(data.y, return_counts=True)
    comparable = n_missing == 0
    few = data.n_features <= _MOST_FEATURES_TO_PAIR
    constant = _is_constant(data)
    flat = _is_constant_in_queries(data) if few else constant
    duplicates = _duplicates(data, constant)
    return Inspection(
        n_rows=data.n_rows,
        n_queries=data.n_queries,
        n_features=data.n_features,
        density=float(np.count_nonzero(values)) / max(1, data.n_rows * data.n_features),
        n_missing=n_missing,
        labels=dict(zip(labels.tolist(), label_counts.tolist(), strict=True)),
        documents_per_query={
            "min": int(counts.min()),
            "median": float(np.median(counts)),
            "mean": float(counts.mean()),
            "max": int(counts.max()),
        },
        n_single=int(np.sum(counts == 1)),
        n_without_relevant=int(np.sum(relevant == 0)),
        constant=data.feature_names[constant].tolist(),
        constant_in_queries=data.feature_names[flat & ~constant].tolist() if few else None,
        duplicates=duplicates,
        near_duplicates=_near_duplicates(data, flat, duplicates) if few and comparable else None,
        measure=parse_measure(measure).name,
        convention=convention.name,
        best_features=_by_quality(data, measure, convention) if comparable else None,
    )


def _is_constant(data: RankingData) -> np.ndarray:
    if data.is_sparse:
        smallest, largest = data.X.min(axis=0), data.X.max(axis=0)
        return smallest.toarray().ravel() == largest.toarray().ravel()
    return np.all(data.X[0] == data.X, axis=0)


def _is_constant_in_queries(data: RankingData) -> np.ndarray:
    flat = np.ones(data.n_features, dtype=bool)
    for block, starts in dense_blocks(data):
        smallest = np.minimum.reduceat(block, starts, axis=0)
        flat &= np.all(smallest == np.maximum.reduceat(block, starts, axis=0), axis=0)
    return flat


def _duplicates(data: RankingData, constant: np.ndarray) -> list[list[str]]:
    """Groups of features with the same bytes, other than constant ones."""
    groups: dict[tuple[bytes, ...], list[str]] = defaultdict(list)
    matrix = data.X.tocsc() if data.is_sparse else data.X
    for feature in np.flatnonzero(~constant):
        if data.is_sparse:
            entries = slice(matrix.indptr[feature], matrix.indptr[feature + 1])
            parts = [matrix.indices[entries], matrix.data[entries]]
        else:
            parts = [matrix[:, feature]]
        digest = tuple(hashlib.sha256(part.tobytes()).digest() for part in parts)
        groups[digest].append(data.feature_names[feature])
    return [group for group in groups.values() if len(group) > 1]


def _near_duplicates(
    data: RankingData, flat: np.ndarray, duplicates: list[list[str]]
) -> list[NearPair]:
    gram = centered_gram(data)
    scale = np.sqrt(np.where(flat, np.inf, np.diag(gram)))
    correlation = np.triu(gram / np.outer(scale, scale), k=1)
    group_of = {name: number for number, group in enumerate(duplicates) for name in group}
    pairs = []
    for i, j in np.argwhere(np.abs(correlation) >= _NEARLY).tolist():
        first, second = data.feature_names[[i, j]]
        if group_of.get(first, -1) != group_of.get(second, -2):
            pairs.append(NearPair(first, second, float(np.clip(correlation[i, j], -1, 1))))
    return sorted(pairs, key=lambda pair: -abs(pair.correlation))


def _by_quality(data: RankingData, measure: str, convention: Convention) -> list[SingleFeature]:
    importance = feature_importance(data, measure, convention)
    if not parse_measure(measure).greater_is_better:
        importance = -importance
    best = importance.max(axis=0)
    order = np.argsort(-best, kind="stable")
    return [
        SingleFeature(
            name=data.feature_names[feature],
            direction=("descending", "ascending")[int(importance[:, feature].argmax())],
            value=float(abs(best[feature])),
        )
        for feature in order
    ]
