"""Features that say the same: exact copies, as different rankers see them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from ranksieve.data import RankingData
from ranksieve.sums.chunks import FeatureColumns
from ranksieve.sums.gram import centered_gram

_EXACTLY = 1 - 1e-12  # correlation of features that are multiples of each other, up to rounding


def same_order(data: RankingData, features: Sequence[int]) -> list[list[int]]:
    """Groups of features that order all rows alike, or oppositely: the same splits of trees.

    Missing values must be in the same rows. Groups have two features or more. Takes O(m log m) time
    for m rows and each feature.

    Examples
    --------
    >>> import numpy as np
    >>> from ranksieve import RankingData
    >>> from ranksieve.sums.copies import same_order
    >>> x = np.array([0.0, 1.0, 2.0, 5.0])
    >>> data = RankingData(np.column_stack([x, -(x**2), x > 1]), [0, 1, 0, 1], [1, 1, 2, 2])
    >>> same_order(data, range(3))
    [[0, 1]]
    """
    columns, groups = FeatureColumns(data.X), dict[bytes, list[int]]()
    for feature in features:
        _, ranks = np.unique(columns[feature], return_inverse=True, equal_nan=True)
        gaps = np.isnan(columns[feature])
        top = ranks[~gaps].max(initial=0)
        both = (np.where(gaps, -1, own).astype(np.int64) for own in (ranks, top - ranks))
        mark = min(hashlib.sha256(own.tobytes()).digest() for own in both)
        groups.setdefault(mark, []).append(feature)
    return [group for group in groups.values() if len(group) > 1]


def multiples(data: RankingData, features: Sequence[int]) -> list[list[int]]:
    """Groups of features that are multiples of each other within queries, up to rounding.

    Linear rankers cannot tell them apart, but for their scale. Takes O(m f^2) time for m rows and f
    features.

    Examples
    --------
    >>> import numpy as np
    >>> from ranksieve import RankingData
    >>> from ranksieve.sums.copies import multiples
    >>> x = np.array([0.0, 1.0, 2.0, 5.0])
    >>> data = RankingData(np.column_stack([x, x**2, 3 - 7 * x]), [0, 1, 0, 1], [1, 1, 2, 2])
    >>> multiples(data, range(3))
    [[0, 2]]
    """
    places = np.asarray(features, dtype=np.intp)
    gram = centered_gram(data.take_features(places)).xx
    scale = np.sqrt(np.diag(gram))
    with np.errstate(divide="ignore", invalid="ignore"):
        alike = np.abs(gram / np.outer(scale, scale)) >= _EXACTLY
    groups, known = [], np.zeros(len(places), dtype=bool)
    for place in np.flatnonzero(scale > 0).tolist():
        if not known[place]:
            own = np.flatnonzero(alike[place] & ~known)
            known[own] = True
            if len(own) > 1:
                groups.append(places[own].tolist())
    return groups
