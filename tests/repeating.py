"""Data whose queries are there several times, which weights must equal."""

import numpy as np

from ranksieve import RankingData


def repeat_queries(data, counts):
    """Each query as often as it counts, copies next to each other, with ids 0, 1, 2, ..."""
    counts = np.asarray(counts).astype(int)
    queries = np.repeat(np.arange(data.n_queries), counts)
    rows = [np.arange(data.query_ptr[q], data.query_ptr[q + 1]) for q in queries.tolist()]
    names = data.feature_names if data.has_feature_names else None
    taken = np.concatenate(rows)
    return RankingData(
        data.X[taken],
        data.y[taken],
        np.repeat(np.arange(len(queries)), data.group_counts[queries]),
        feature_names=names,
    )
