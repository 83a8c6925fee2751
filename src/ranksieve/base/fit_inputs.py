"""What ``fit`` takes beside the training data: held-out data and weights."""

from __future__ import annotations

from typing import Any

import numpy as np

from ranksieve.data import DataError, RankingData
from ranksieve.engine import Source
from ranksieve.fitted import check_names
from ranksieve.io.shards import Shards


def as_source(eval_set: Any, training: Source) -> Source:
    """Held-out data as a source; a DataError unless it has the features of the training data.

    Parameters
    ----------
    eval_set : tuple (X, y, qid), RankingData or opened shards
    training : RankingData or opened shards
    """
    if isinstance(eval_set, (RankingData, Shards)):
        source: Source = eval_set
    elif isinstance(eval_set, tuple) and len(eval_set) == 3:
        source = RankingData(*eval_set)
    else:
        raise DataError(
            "eval_set must be a tuple (X, y, qid), a RankingData or opened shards; got "
            f"{type(eval_set).__name__}"
        )
    if source.n_features != training.n_features:
        raise DataError(
            f"eval_set has {source.n_features} features, but the training data has "
            f"{training.n_features}"
        )
    check_names(training.feature_names if training.has_feature_names else None, source)
    if isinstance(source, RankingData) and source.has_feature_names != training.has_feature_names:
        # Else parts of both, whose features are named by their numbers, would not match.
        named = training.feature_names if training.has_feature_names else None
        source = source._replace(feature_names=named)
    return source


def query_weights_of(weights: Any, source: Source) -> np.ndarray | None:
    """One weight per query, from one per query or one per row."""
    if weights is None:
        return None
    values = np.asarray(weights, dtype=np.float64)
    if values.shape == (source.n_queries,) and source.n_queries != source.n_rows:
        per_query = values
    elif isinstance(source, RankingData) and values.shape == (source.n_rows,):
        rows = values[source.row_order]
        per_query = rows[source.query_ptr[:-1]]
        if np.any(rows != np.repeat(per_query, source.group_counts)):
            raise DataError("sample_weight must be the same for all rows of a query")
    else:
        raise DataError(
            f"sample_weight has shape {values.shape}, but there are {source.n_queries} queries and "
            f"{source.n_rows} rows"
        )
    if not np.isfinite(per_query).all() or per_query.min() < 0 or per_query.max() == 0:
        raise DataError("sample_weight must be finite, not negative, and not 0 for all queries")
    return per_query
