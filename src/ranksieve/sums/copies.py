"""Features that say the same: exact copies, as different rankers see them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from ranksieve.data import Block, RankingData
from ranksieve.engine import Source, engine_of
from ranksieve.sums.chunks import FeatureColumns
from ranksieve.sums.gram import centered_gram

_SOME = 1_000  # rows of a block by which most features are told apart
_ROUNDING = 1e-6  # share of the largest value, of single precision
_EXACTLY = 1 - 1e-12  # correlation of features that are multiples of each other, up to rounding


def same_order(source: Source, features: Sequence[int]) -> list[list[int]]:
    """Groups of features that order all rows alike, or oppositely: the same splits of trees.

    Missing values must be in the same rows. Groups have two features or more. Takes O(m log m) time
    for m rows and each feature that orders the first rows of each block as another one does, and
    memory for all rows of such a feature.

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
    engine, groups = engine_of(source), []
    some = engine.collect(order_some_rows, features)
    for group in _equal(features, [*zip(*some, strict=True)]):
        columns = np.concatenate(engine.collect(take_columns, group))
        groups += _equal(group, [[orders_of(column)] for column in columns.T])
    place = {feature: place for place, feature in enumerate(features)}
    return sorted(groups, key=lambda group: place[group[0]])


def order_some_rows(block: Block, features: Sequence[int]) -> list[tuple[bytes, bytes]]:
    """The orders of the first rows of a block by each feature."""
    columns = FeatureColumns(block.X[:_SOME])
    return [orders_of(columns[feature]) for feature in features]


def take_columns(block: Block, features: Sequence[int]) -> np.ndarray:
    """Values of some features, (rows, features)."""
    columns = FeatureColumns(block.X)
    return np.column_stack([columns[feature] for feature in features])


def orders_of(values: np.ndarray) -> tuple[bytes, bytes]:
    """Digests of the order of values, and of the opposite order; missing ones have a place."""
    _, ranks = np.unique(values, return_inverse=True, equal_nan=True)
    gaps = np.isnan(values)
    top = ranks[~gaps].max(initial=0)
    one, other = (np.where(gaps, -1, own).astype(np.int64) for own in (ranks, top - ranks))
    return hashlib.sha256(one.tobytes()).digest(), hashlib.sha256(other.tobytes()).digest()


def _equal(
    features: Sequence[int], orders: Sequence[Sequence[tuple[bytes, bytes]]]
) -> list[list[int]]:
    """Groups of features with the same orders in all blocks, or the opposite ones in all."""
    groups: dict[bytes, list[int]] = {}
    for feature, of_blocks in zip(features, orders, strict=True):
        mark = min(b"".join(digests) for digests in zip(*of_blocks, strict=True))
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
        return [
            places[group].tolist() for group in perfectly_correlated(gram / np.outer(scale, scale))
        ]


def perfectly_correlated(correlation: np.ndarray) -> list[list[int]]:
    """Groups of features whose correlation is 1 or -1, up to rounding; NaN is none."""
    alike = np.abs(correlation) >= _EXACTLY
    groups, known = [], np.zeros(len(alike), dtype=bool)
    for feature in np.flatnonzero(alike.diagonal()).tolist():
        if not known[feature]:
            own = np.flatnonzero(alike[feature] & ~known)
            known[own] = True
            if len(own) > 1:
                groups.append(own.tolist())
    return groups


def same_splits(
    source: Source, features: Sequence[int], multiples: Sequence[Sequence[int]]
) -> list[list[int]]:
    """Groups of features that trees split alike: those of :func:`same_order`, and linear copies.

    A linear copy in single precision may order rows otherwise that are nearly equal. It is among
    the ``multiples`` within queries, groups of features without missing values.

    Examples
    --------
    >>> import numpy as np
    >>> from ranksieve import RankingData
    >>> from ranksieve.sums.copies import same_splits
    >>> x = np.array([0.0, 1.0, 2.0, 5.0])
    >>> shifted = x - [0, 0, 3, 3]
    >>> data = RankingData(np.column_stack([x, shifted, 3 - 7 * x]), [0, 1, 0, 1], [1, 1, 2, 2])
    >>> same_splits(data, range(3), [[0, 1, 2]])
    [[0, 2]]
    """
    groups = same_order(source, features)
    for group in multiples:
        rest = [*group]
        while len(rest) > 1:
            columns = np.concatenate(engine_of(source).collect(take_columns, rest))
            own = [rest[place] for place in _linear_in_first(columns)]
            rest = [feature for feature in rest if feature not in own]
            others = [known for known in groups if not set(known).isdisjoint(own)]
            if len(own) > 1:
                joined = sorted(set(own).union(*others))
                groups = [known for known in groups if known not in others] + [joined]
    return sorted(groups)


def _linear_in_first(columns: np.ndarray) -> list[int]:
    """Columns that are linear functions of the first one, up to rounding."""
    own = columns / np.abs(columns).max(axis=0)  # squares of large numbers would be infinite
    own -= own.mean(axis=0)
    slopes = own[:, 0] @ own / (own[:, 0] @ own[:, 0])
    apart = np.abs(own - np.outer(own[:, 0], slopes)).max(axis=0)
    return np.flatnonzero(apart <= _ROUNDING * np.maximum(1.0, np.abs(slopes))).tolist()
