"""Importance of each feature to a trained ranker: weights, gain, permutation, SHAP values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from sklearn.utils import check_random_state

from ranksieve.data import Block, RankingData
from ranksieve.engine import Source, engine_of
from ranksieve.rankers.base import Ranker
from ranksieve.registry.foreign import row_weights
from ranksieve.sums.chunks import CHUNK, FeatureColumns, chunks, weights_of
from ranksieve.threads import limit_threads

Kind = Literal["auto", "coef", "gain", "permutation", "shap"]
_REPEATS = 5


def importances(
    ranker: Ranker,
    kind: Kind,
    train: RankingData,
    data: RankingData,
    judge: Callable[[np.ndarray], np.ndarray],
    random_state: Any = 0,
) -> np.ndarray:
    """Importance of each feature to a trained ranker.

    ``"coef"``: the absolute weight of a linear ranker times the spread of the feature within
    queries of ``train``. ``"gain"``: ``feature_importances_``. ``"auto"``: the first if there are
    weights, else the second. ``"permutation"``: mean decrease of the values that ``judge`` computes
    from scores of ``data``, larger ones being better, if the feature is shuffled within each query.
    ``"shap"``: see :func:`shap_within_queries`.
    """
    coef = getattr(ranker, "coef_", None)
    if kind == "auto":
        kind = "gain" if coef is None else "coef"
    if kind == "permutation":
        return _permutation(ranker, data, judge, random_state)
    if kind == "gain":
        try:
            return np.asarray(ranker.feature_importances_, dtype=np.float64)
        except AttributeError as error:  # raised by an estimator of another library
            raise ValueError(f"{error}; use 'permutation'") from None
    if kind == "shap":
        return shap_within_queries(ranker, data)
    if coef is None:
        raise ValueError(
            f"{type(ranker).__name__} has no weights for importance='coef'; use 'gain'"
        )
    return np.abs(coef) * _spread(train)


def _spread(data: RankingData) -> np.ndarray:
    """Standard deviation of each feature from its mean in the query."""
    starts, counts = data.query_ptr[:-1], data.group_counts
    found, columns = np.empty(data.n_features), FeatureColumns(data.X)
    weights = row_weights(data)
    for feature in range(data.n_features):
        values = columns[feature]
        means = np.add.reduceat(values, starts) / counts
        squares = (values - np.repeat(means, counts)) ** 2
        found[feature] = np.sqrt(np.average(squares, weights=weights))
    return found


def _permutation(
    ranker: Ranker, data: RankingData, judge: Callable[[np.ndarray], np.ndarray], random_state: Any
) -> np.ndarray:
    random = check_random_state(random_state)
    X = data.X.toarray() if data.is_sparse else np.array(data.X)
    whole = np.average(judge(ranker.predict(data)), weights=data.query_weights)
    codes = data.query_codes
    losses = np.zeros(data.n_features)
    for _ in range(_REPEATS):
        # One shuffle serves all features, so that equal features are equally important.
        order = np.lexsort((random.random(data.n_rows), codes))
        for feature in range(data.n_features):
            column = X[:, feature].copy()
            X[:, feature] = column[order]
            shuffled = RankingData(X, data.y, data.qid, feature_names=data.feature_names)
            values = judge(ranker.predict(shuffled))
            losses[feature] += whole - np.average(values, weights=data.query_weights)
            X[:, feature] = column
    return losses / _REPEATS


def shap_within_queries(ranker: Ranker, source: Source) -> np.ndarray:
    """Mean distance of the SHAP values of each feature from their mean in the query.

    :class:`ranksieve.selectors.ShapSelector` has the formula. Queries count by their weights. For a
    linear ranker, a SHAP value is a weight times a value; rankers that are neither linear nor made
    of trees raise a ValueError.
    """
    weight, sums = engine_of(source).sum(sum_distances, ranker)
    return np.asarray(sums / weight)


def sum_distances(block: Block, ranker: Ranker) -> tuple[float, np.ndarray]:
    """Weight of all queries, and the weighted sum of distances from the means of queries."""
    weights = weights_of(block)
    total = np.zeros(block.X.shape[1])
    coef: Any = getattr(ranker, "coef_", None)
    with limit_threads(1):  # each of many blocks has a thread already
        for chunk in chunks(block, CHUNK):
            starts, lengths = chunk.query_ptr[:-1], np.diff(chunk.query_ptr)[:, None]
            parts = ranker._contributions(chunk.X) if coef is None else chunk.X * coef
            means = np.add.reduceat(parts, starts) / lengths
            distances = np.abs(parts - np.repeat(means, lengths[:, 0], axis=0))
            total += weights[chunk.queries] @ (np.add.reduceat(distances, starts) / lengths)
    return float(weights.sum()), total
