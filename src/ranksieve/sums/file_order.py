"""Whether the order of the documents in the data reveals their labels.

Many collections list relevant documents first. If equal scores keep the order of the file, a model
that cannot distinguish documents then ranks well.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from ranksieve.data import Block, RankingData
from ranksieve.engine import Source, engine_of
from ranksieve.metrics import Convention, Measure, Ranking, mean_of_defined, parse_measure
from ranksieve.significance import paired_t_test

_LEVEL = 0.01
_FEWEST = 10  # queries for a test


@dataclass(frozen=True)
class FileOrder:
    """How well the documents of each query rank in the order of the data."""

    value: float  # mean over queries, by their weights, of the measure in this order
    by_chance: float  # the same of the measure's expectation over all orders
    p_value: float  # of a paired one-sided t-test over queries; 1 if there are fewer than ten
    better_than_chance: bool  # whether the p-value is below 0.01


def file_order(source: Source, measure: str | Measure, convention: Convention | str) -> FileOrder:
    """Compare the order of the documents in the data with a random order.

    Examples
    --------
    >>> import numpy as np
    >>> from ranksieve import RankingData
    >>> from ranksieve.sums.file_order import file_order
    >>> labels, qid = np.tile([2, 1, 0, 0], 10), np.repeat(np.arange(10), 4)
    >>> found = file_order(RankingData(np.zeros((40, 1)), labels, qid), "mrr", "standard")
    >>> found.value, round(found.by_chance, 4), found.better_than_chance
    (1.0, 0.7222, True)
    """
    measure = parse_measure(measure)
    values = engine_of(source).collect(order_values, measure, convention)
    in_order, by_chance = np.concatenate(values, axis=1)
    greater = measure.greater_is_better
    return compare_with_chance(in_order, by_chance, source.query_weights, greater_is_better=greater)


def random_order(source: Source, measure: str | Measure, convention: Convention | str) -> float:
    """Mean over queries of the measure's expectation over all orders of their documents.

    That is what a feature with equal values everywhere reaches alone. It is 0 if no query has a
    value.

    Examples
    --------
    >>> import numpy as np
    >>> from ranksieve import RankingData
    >>> from ranksieve.sums.file_order import random_order
    >>> random_order(RankingData(np.zeros((2, 1)), [1, 0], [7, 7]), "mrr", "standard")
    0.75
    """
    found = file_order(source, measure, convention).by_chance
    return found if math.isfinite(found) else 0.0


def compare_with_chance(
    in_order: np.ndarray,
    by_chance: np.ndarray,
    weights: np.ndarray | None = None,
    *,
    greater_is_better: bool = True,
) -> FileOrder:
    """Test the values of queries in the order of the data against their expectations."""
    defined = ~np.isnan(in_order)
    in_order, by_chance = in_order[defined], by_chance[defined]
    weights = weights if weights is None else weights[defined]
    p_value = 1.0
    if len(in_order) >= _FEWEST:
        better: Literal["greater", "less"] = "greater" if greater_is_better else "less"
        p_value = paired_t_test(in_order, by_chance, better, weights).p_value
    value, chance = (mean_of_defined(v, weights) for v in (in_order, by_chance))
    return FileOrder(value, chance, p_value, p_value < _LEVEL)


def order_values(
    data: Block | RankingData, measure: Measure, convention: Convention | str
) -> np.ndarray:
    """Value of each query in the order of the data, and its expectation: (2, queries), or NaN."""
    query_ptr = data.query_ptr
    prepared = measure.prepare(data.y, query_ptr, convention, data.row_weights)
    lengths, rows = np.diff(query_ptr), np.arange(len(data.y))
    all_tied = Ranking(query_ptr, rows, np.repeat(lengths, lengths), average_ties=True)
    in_order = replace(all_tied, tie_end=all_tied.each_alone)
    values = np.array([prepared.per_query(in_order), prepared.per_query(all_tied)])
    return np.where(prepared.is_defined, values, np.nan)
