"""Features that separate good from bad documents nearly perfectly alone, which a leak does.

How good is too good depends on the labels: a click that follows graded labels exactly reaches only
part of the NDCG of the ideal ranking, because it has two values. So labels are cut: documents with
a label of at least some grade are good, the others bad, and a feature is measured by the pairs of a
good and a bad document of a query that it orders wrongly, ties counting one half. The least
possible share is 0, for any number of grades and of values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ranksieve.data import Block
from ranksieve.engine import Source, engine_of
from ranksieve.metrics import PairwiseError
from ranksieve.sums.chunks import FeatureColumns, weights_of
from ranksieve.sums.importance import rank_by_features

_MOST_WRONG = 0.02  # share of wrong pairs up to which a feature is nearly perfect, for sure
# Bad documents above a good one, relative to the number of good documents, likewise. If few are
# good, it takes little to put them above nearly all others.
_MOST_ABOVE = 0.1
_GAP = 4.0  # times as many wrong pairs has the best of the other features, at least
_LEAST = 0.01  # share of wrong pairs from which this is counted: perfect ones would win any race
_SURE = 2.0  # standard errors by which the share may be larger
_FEWEST = 20  # queries with such pairs
_FEWEST_OF_ALL = 0.2  # and their share of the queries that have them with any feature
_MOST_TOGETHER = 5  # features that may leak together, and the share of all that they may be
_SHARE_TOGETHER = 0.5
_MOST_QUERIES = 2_000  # that are looked at, evenly spread over the data
_MOST_CUTS = 8


class Leak(NamedTuple):
    """A feature that separates documents with a label of at least ``cut`` nearly perfectly."""

    feature: int
    cut: float
    wrong: float  # mean share of the pairs of a query in the wrong order
    runner_up: int | None  # the best feature that is no leak
    wrong_of_runner_up: float
    n_queries: int


class Separation(NamedTuple):
    """How well features separate documents at one cut; arrays have a column for each feature.

    The rows are three ways to rank: by descending and by ascending value, with missing values last,
    and without the documents that lack the value, in the better direction.
    """

    wrong: np.ndarray  # (3, features): mean share of wrong pairs over the queries that have pairs
    error: np.ndarray  # (3, features): standard error of this mean
    n_queries: np.ndarray  # (3, features): queries that have pairs


def find_leaks(source: Source, labels: Mapping[float, int]) -> list[Leak]:
    """Find the features that are too good to be known before documents are ranked.

    A feature leaks if at some cut of the labels its share of wrong pairs is at most 2 %, two
    standard errors included, on at least 20 queries, while the best of the other features has four
    times as many. The share must be smaller if few documents are good, so that fewer bad ones are
    above a good one than a tenth of the number of good ones. No feature is accused where several
    are that good, as in the search for known items. Up to five features may leak together. Of a
    feature with missing values, the documents that have one may be enough.

    ``labels`` has the number of rows with each label. At most 2,000 queries are looked at, and
    eight cuts. Queries of positive weight count alike.

    Examples
    --------
    >>> import numpy as np
    >>> from ranksieve import RankingData
    >>> from ranksieve.sums.leaks import find_leaks
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 3, 400)
    >>> X = np.column_stack([y > 0, y + rng.normal(size=400)])
    >>> data = RankingData(X, y, np.arange(400) // 10)
    >>> [(leak.feature, leak.cut, leak.wrong) for leak in find_leaks(data, {0: 1, 1: 1, 2: 1})]
    [(0, 1, 0.0)]
    """
    cuts = choose_cuts(labels)
    if not cuts:
        return []
    n = source.n_queries
    looked_at = np.zeros(n, dtype=bool)
    looked_at[np.unique(np.linspace(0, n - 1, min(n, _MOST_QUERIES)).astype(np.intp))] = True
    sums = engine_of(source).sum(separate_documents, cuts, looked_at)
    found: dict[int, Leak] = {}
    for place, cut in enumerate(cuts):
        good = sum(number for label, number in labels.items() if label >= cut)
        most = min(_MOST_WRONG, _MOST_ABOVE * good / (sum(labels.values()) - good))
        for leak in _too_good(_separation(sums[place]), cut, most):
            known = found.get(leak.feature)
            if known is None or leak.wrong < known.wrong:
                found[leak.feature] = leak
    return sorted(found.values(), key=lambda leak: (leak.wrong, leak.feature))


def choose_cuts(labels: Mapping[float, int]) -> list[float]:
    """Labels from which on documents count as good: all but the least, or evenly many rows apart.

    Examples
    --------
    >>> choose_cuts({0.0: 70, 1.0: 20, 2.0: 10}), choose_cuts({3.0: 5})
    ([1.0, 2.0], [])
    """
    others = sorted(labels)[1:]
    if len(others) <= _MOST_CUTS:
        return others
    rows = np.cumsum([labels[label] for label in others])
    places = np.searchsorted(rows, rows[-1] * np.arange(_MOST_CUTS) / _MOST_CUTS, side="right")
    return [others[place] for place in sorted(set(places.tolist()))]


def separate_documents(block: Block, cuts: Sequence[float], queries: np.ndarray) -> np.ndarray:
    """Sums over queries, (cuts, 3, 3, features): of wrong pairs, their squares, and the number.

    The second axis has the three ways to rank of :class:`Separation`.
    """
    weights = weights_of(block, queries)
    counted = (weights > 0).astype(float)
    block = replace(block, query_weights=counted, row_weights=None, keeps_missing=True)
    gaps = _gaps(block)
    sums = np.zeros((len(cuts), 3, 3, block.X.shape[1]))
    for own, cut in zip(sums, cuts, strict=True):
        at_cut = replace(block, y=(block.y >= cut).astype(float))
        n, values, squares, _ = rank_by_features(at_cut, PairwiseError(), "standard")
        own[0, :2], own[1, :2], own[2] = values, squares, n
        own[:, 2] = own[:, 0]
        for feature, part in gaps:
            present = replace(part, y=(part.y >= cut).astype(float))
            n, values, squares, _ = rank_by_features(present, PairwiseError(), "standard")
            own[:, 2, feature] = values[0, 0], squares[0, 0], n
    return sums


def _gaps(block: Block) -> list[tuple[int, Block]]:
    """For each feature that lacks some values: the documents that have one, as a block."""
    return (
        [*_present(block)] if np.isnan(block.X.data if block.is_sparse else block.X).any() else []
    )


def _present(block: Block) -> Iterator[tuple[int, Block]]:
    assert block.query_weights is not None
    columns, query_of = (
        FeatureColumns(block.X),
        np.repeat(np.arange(len(block.query_ptr) - 1), np.diff(block.query_ptr)),
    )
    counted = block.query_weights[query_of] > 0
    for feature in range(block.X.shape[1]):
        values = columns[feature]
        rows = ~np.isnan(values) & counted
        if rows.all() or not rows.any():
            continue
        lengths = np.bincount(query_of[rows])
        ptr = np.concatenate([[0], np.cumsum(lengths[lengths > 0])])
        yield feature, Block(values[rows][:, None], block.y[rows], ptr)


def _separation(sums: np.ndarray) -> Separation:
    """Means of what :func:`separate_documents` has added up at one cut."""
    totals, squares, n = sums
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = totals / n
        variance = np.maximum(0.0, squares / n - mean**2) / (n - 1)
    # The other direction has the other pairs wrong.
    mean[2] = np.minimum(mean[2], 1 - mean[2])
    return Separation(mean, np.sqrt(variance), n)


def _too_good(found: Separation, cut: float, most_wrong: float) -> Iterator[Leak]:
    """Yield the features that are far better at a cut than all others, best first."""
    at_all = found.n_queries[0].max(initial=0)
    is_enough = found.n_queries >= max(_FEWEST, _FEWEST_OF_ALL * at_all)
    surely = np.where(is_enough, found.wrong + _SURE * found.error, np.inf)
    way, features = surely.argmin(axis=0), np.arange(surely.shape[1])
    nearly = surely[way, features] <= most_wrong
    ways = np.where(nearly, way, np.nan_to_num(found.wrong[:2], nan=0.5).argmin(axis=0))
    wrong = np.nan_to_num(found.wrong[ways, features], nan=0.5)
    order = np.lexsort((features, wrong, ~nearly))
    most = min(_MOST_TOGETHER, max(1, int(_SHARE_TOGETHER * len(order))))
    for size in range(1, min(most, int(nearly.sum())) + 1):
        worst = max(_LEAST, wrong[order[size - 1]])
        others = order[size:]
        runner_up = int(others[wrong[others].argmin()]) if len(others) else None
        next_wrong = 0.5 if runner_up is None else float(wrong[runner_up])
        if next_wrong >= _GAP * worst:
            for feature in order[:size].tolist():
                n = int(found.n_queries[ways[feature], feature])
                yield Leak(feature, cut, float(wrong[feature]), runner_up, next_wrong, n)
            return
