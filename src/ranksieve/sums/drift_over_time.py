"""Features whose values have changed between the earlier and the later part of the data."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ranksieve.data import RankingData
from ranksieve.data.times import Times
from ranksieve.sums.drift import ValueDrift, describe_values, drift_of_values

_FEWEST = 50  # queries of each part


class Drifted(NamedTuple):
    """A feature that has drifted."""

    feature: int
    size: float  # population stability index, of values minus their mean if they are numbers
    drift: ValueDrift


def find_drift(data: RankingData, times: Times) -> list[Drifted]:
    """Find the features that rank otherwise in the later part of the queries, the worst first.

    Queries are divided at the median of their first times. A feature has drifted if the
    distribution of its values minus their mean within the query, or the share of missing values,
    has changed notably and by more than chance; see :mod:`ranksieve.sums.drift`.

    Examples
    --------
    >>> import numpy as np
    >>> from ranksieve import RankingData
    >>> from ranksieve.data.times import Times
    >>> query = np.repeat(np.arange(200), 10)
    >>> X = np.random.default_rng(0).normal(size=(2000, 2))
    >>> X[1000:, 1] *= 2
    >>> data = RankingData(X, np.arange(2000) % 2, query)
    >>> [one.feature for one in find_drift(data, Times("day", query // 20))]
    [1]
    """
    first = np.minimum.reduceat(times.values, data.query_ptr[:-1])
    middle = np.sort(first)[len(first) // 2]
    for is_earlier in (first < middle, first <= middle):  # many queries may have the same time
        if _FEWEST <= is_earlier.sum() <= len(first) - _FEWEST:
            break
    else:
        return []
    earlier, later = np.flatnonzero(is_earlier), np.flatnonzero(~is_earlier)
    is_category = data.categorical
    before = describe_values(data.take_queries(earlier), np.flatnonzero(is_category).tolist())
    found = []
    for feature, drift in enumerate(drift_of_values(before, data.take_queries(later))):
        shift = drift.values if is_category[feature] else drift.within
        if shift.is_notable or drift.misses_otherwise:
            found.append(Drifted(feature, shift.index, drift))
    return sorted(found, key=lambda one: (-one.size, one.feature))
