r"""Drift of values: compare the distribution of each feature with that of earlier data.

:func:`describe_values` keeps, of each feature, the shares of documents in about twenty bins: of its
values, and of its values minus their mean within the query, because a shift of a whole query
changes no ranking. :func:`drift_of_values` counts new documents in the same bins. Missing values
are counted apart.

The size of a drift is the population stability index,

.. math:: \mathrm{PSI} = \sum_b (p_b - q_b) \ln(p_b / q_b),

of the shares p now and q before, of at least half a document. By a common reading, it is moderate
from 0.1 and large from 0.25 on. But documents of a query are alike, so shares of few queries vary
much, and the index is often large by chance. Whether there is a drift at all is therefore a test
over queries: :math:`\sum_b (p_b - q_b)^2 / m_b`, with the means m of both shares, is compared with
its distribution if all queries are from the same source. Its mean and variance follow from the
covariance of the shares between queries, which gives an F distribution (the second-order correction
of Rao and Scott). The p-values are multiplied by the number of tests. Queries are assumed to be
independent of each other.

References
----------
J. N. K. Rao, A. J. Scott. On chi-squared tests for multiway contingency tables with cell
proportions estimated from survey data. The Annals of Statistics 12, 1984.

B. Yurdakul, J. Naranjo. Statistical properties of the population stability index. Journal of Risk
Model Validation 14, 2020.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from scipy import special

from ranksieve._kernels.rows import center_present
from ranksieve.data import Block, DataError
from ranksieve.engine import Source, engine_of
from ranksieve.sums.chunks import CHUNK, chunks, weights_of

MODERATE, LARGE = 0.1, 0.25
"""Indices from which a drift is called moderate, and large."""
FALSE_ALARMS = 0.01
"""Probability that any feature seems to drift if none does."""
MISSING = 0.05
"""A change of the share of missing values that is notable."""
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
"""Quantiles of the values that are kept for readers."""

_BINS = 20
_MOST_CATEGORIES = 50  # that have a bin of their own
_SAMPLED = 2**15  # rows, about, in whole queries, whose values decide where bins end
_DIGITS = 7  # decimals of shares
_LARGEST = np.finfo(np.float32).max
_SIDES: tuple[Literal["left"], Literal["right"]] = ("left", "right")
_LEAST = 1e-9  # statistics that are below differ from 0 by rounding
_GAPS = [0.5]  # the edge between present, 0, and missing, 1


@dataclass(frozen=True)
class Shares:
    """Shares of documents in bins, and how much they vary between queries.

    Attributes
    ----------
    edges : list of float
        Upper ends of all bins but the last, which has the larger values; for categories, the value
        of each bin, and the last bin has all others.
    shares : list of float
        Share of each bin.
    documents, queries : float
        Numbers of documents and of queries that have a value. Weighted queries count as many as
        would be as informative without weights.
    mean, square : float
        Traces of the covariance matrix of the shares, relative to them and for one query, and of
        its square: the mean, and half the variance, of the test statistic if nothing drifts.
    """

    edges: list[float]
    shares: list[float]
    documents: float
    queries: float
    mean: float
    square: float

    def __post_init__(self) -> None:
        if len(self.shares) != len(self.edges) + 1 or self.edges != sorted(self.edges):
            raise DataError("shares should have a rising edge between any two of them")
        sizes = self.documents, self.queries
        if not (min(sizes) > 0 and min(*self.shares, self.mean, self.square) >= 0):
            raise DataError("shares should be numbers of documents and queries, none below 0")

    @classmethod
    def of_sums(cls, edges: Sequence[float], sums: _Sums) -> Shares | None:
        """Make the shares from sums over queries; None if there is no document."""
        total = sums.first.sum()
        if not total > 0:
            return None
        shares = sums.first / total
        queries = sums.weights[0] ** 2 / sums.weights[1]
        # Covariance of the shares as a ratio of sums over queries, by linearization.
        lengths = sums.second.sum(axis=1)
        crossed = np.outer(lengths, shares)
        spread = sums.second - crossed - crossed.T + lengths.sum() * np.outer(shares, shares)
        scale = np.sqrt(np.where(shares > 0, shares, np.inf))
        covariance = spread / np.outer(scale, scale) / total**2
        covariance *= queries**2 / max(queries - 1, 1)
        return cls(
            edges=list(edges),
            shares=shares.round(_DIGITS).tolist(),
            documents=float(sums.weights[2]),
            queries=float(queries),
            mean=float(f"{max(0.0, np.trace(covariance)):.6g}"),
            square=float(f"{np.sum(covariance**2):.6g}"),
        )


@dataclass(frozen=True)
class FeatureValues:
    """The values of a feature, for later comparison.

    Attributes
    ----------
    is_categorical : bool
        Whether values are codes of categories.
    quantiles : list of float
        5, 25, 50, 75 and 95 % quantiles; empty for categories, and if there is no value.
    missing : Shares
        Shares of documents with a value, and without one.
    values : Shares or None
        Shares of values; None if there is none.
    within : Shares or None
        Shares of values minus their mean within the query; None for categories, too.
    """

    is_categorical: bool
    quantiles: list[float]
    missing: Shares
    values: Shares | None
    within: Shares | None

    def __post_init__(self) -> None:
        if len(self.quantiles) not in (0, len(QUANTILES)) or len(self.missing.shares) != 2:
            raise DataError("values should have 5 quantiles, or none, and 2 shares of missing ones")


@dataclass(frozen=True)
class Shift:
    """How far shares have moved.

    Attributes
    ----------
    index : float
        Population stability index.
    p_value : float
        Probability of as much or more by chance, times the number of tests.
    """

    index: float
    p_value: float

    @property
    def is_shown(self) -> bool:
        """Whether it is too much to be due to chance."""
        return self.p_value <= FALSE_ALARMS

    @property
    def size(self) -> Literal["none", "small", "moderate", "large"]:
        """The index in a word; none if it may be due to chance."""
        if not self.is_shown:
            return "none"
        return "large" if self.index >= LARGE else "moderate" if self.index >= MODERATE else "small"

    @property
    def is_notable(self) -> bool:
        """Whether it is shown, and at least moderate."""
        return self.size in ("moderate", "large")


NO_SHIFT = Shift(0.0, 1.0)


@dataclass(frozen=True)
class ValueDrift:
    """Drift of the values of a feature.

    Attributes
    ----------
    before, now : list of float
        5, 25, 50, 75 and 95 % quantiles; empty for categories, and if there is no value.
    values, within : Shift
        Shift of the values, and of the values minus their mean within the query.
    missing : Shift
        Shift of the share of missing values.
    missing_before, missing_now : float
        Shares of documents without a value.
    unknown_before, unknown_now : float or None
        Shares of the values of categories that have no bin of their own; None for numbers.
    """

    before: list[float]
    now: list[float]
    values: Shift
    within: Shift
    missing: Shift
    missing_before: float
    missing_now: float
    unknown_before: float | None
    unknown_now: float | None

    @property
    def misses_otherwise(self) -> bool:
        """Whether the share of missing values has changed by more than chance, and by much."""
        return self.missing.is_shown and abs(self.missing_now - self.missing_before) > MISSING

    @property
    def is_notable(self) -> bool:
        """Whether anything has changed by more than chance, and by much."""
        return self.misses_otherwise or self.values.is_notable or self.within.is_notable

    @property
    def index(self) -> float:
        """The larger index, of values and of values within queries."""
        return max(self.values.index, self.within.index)


def describe_values(source: Source, categorical: Collection[int] = ()) -> list[FeatureValues]:
    """Describe the values of all features, of which some are ``categorical``.

    Examples
    --------
    >>> from ranksieve import make_ranking
    >>> from ranksieve.sums.drift import describe_values, drift_of_values
    >>> data, _ = make_ranking(300, n_informative=1, n_redundant=0, n_noise=0)
    >>> before = describe_values(data.take_queries(range(200)))
    >>> new = data.take_queries(range(200, 300))
    >>> drift_of_values(before, new)[0].values.size
    'none'
    >>> new.X[:] = 2 * new.X + 0.1
    >>> drift_of_values(before, new)[0].values.size
    'large'
    """
    samples = _sample(source)
    plans = [_Bins.of(own, n in categorical) for n, own in enumerate(samples)]
    return _describe(source, samples, plans)


def drift_of_values(before: Sequence[FeatureValues], source: Source) -> list[ValueDrift]:
    """Compare the values of the features of a source, in order, with those of earlier data.

    If both are samples of queries from the same source, the probability that any p-value is at most
    ``FALSE_ALARMS`` is about that.
    """
    if len(before) != source.n_features:
        raise ValueError(f"{len(before)} features were described, not {source.n_features}")
    now = _describe(source, _sample(source), list(map(_Bins.like, before)))
    tested = (one for own in before for one in (own.missing, own.values, own.within))
    n_tests = sum(one is not None for one in tested)
    return [_drift(own, new, n_tests) for own, new in zip(before, now, strict=True)]


def undo_drift(before: FeatureValues, values: np.ndarray) -> np.ndarray:
    """Map the values of a feature to those of the same quantiles before; missing ones stay.

    That undoes a change of the unit, or any other that keeps the order of the values.

    Examples
    --------
    >>> import numpy as np
    >>> from ranksieve import make_ranking
    >>> from ranksieve.sums.drift import describe_values, undo_drift
    >>> data, _ = make_ranking(300, n_informative=1, n_redundant=0, n_noise=0)
    >>> (before,), values = describe_values(data), data.X[:, 0]
    >>> repaired = undo_drift(before, 2 * values + 0.1)
    >>> round(float(np.corrcoef(repaired, values)[0, 1]), 2)
    0.99
    """
    present = ~np.isnan(values)
    if before.values is None or before.is_categorical or not present.any():
        return values
    own = values[present]
    ordered = np.sort(own)
    below, up_to = (np.searchsorted(ordered, own, side=side) for side in _SIDES)
    ends = np.cumsum(before.values.shares[:-1])
    undone = values.copy()
    undone[present] = np.interp((below + up_to) / (2 * len(own)), ends, before.values.edges)
    return undone


def shift_of(before: Shares | None, now: Shares | None, n_tests: int = 1) -> Shift:
    """Compare shares of the same bins; nothing is shown if one has no document.

    The p-value is multiplied by the number of tests.
    """
    if before is None or now is None:
        return NO_SHIFT
    q, p = np.array(before.shares), np.array(now.shares)
    used = p + q > 0
    statistic = float(np.sum((p - q)[used] ** 2 / ((p + q)[used] / 2)))
    least = 0.5 / np.array([max(now.documents, 1), max(before.documents, 1)])
    p_seen, q_seen = np.maximum(p, least[0])[used], np.maximum(q, least[1])[used]
    index = float(np.sum((p_seen - q_seen) * np.log(p_seen / q_seen)))
    # Both covariances estimate the same one if nothing drifts.
    degrees = np.array([max(before.queries - 1, 0), max(now.queries - 1, 0)])
    if not degrees.sum() > 0 or statistic < _LEAST:
        return Shift(index, 1.0)
    own = degrees / degrees.sum()
    between = 1 / before.queries + 1 / now.queries
    mean = between * float(own @ [before.mean, now.mean])
    square = between**2 * float(own @ [before.square, now.square])
    if not mean > 0:
        return Shift(index, 0.0)
    freedom = mean**2 / square
    p_value = float(special.fdtrc(freedom, freedom * degrees.sum(), statistic / mean))
    return Shift(index, min(1.0, n_tests * p_value))


def _drift(before: FeatureValues, now: FeatureValues, n_tests: int) -> ValueDrift:
    unknown: list[float | None] = [None, None]
    if before.is_categorical:
        unknown = [own.values.shares[-1] if own.values else 0.0 for own in (before, now)]
    return ValueDrift(
        before=before.quantiles,
        now=now.quantiles,
        values=shift_of(before.values, now.values, n_tests),
        within=shift_of(before.within, now.within, n_tests),
        missing=shift_of(before.missing, now.missing, n_tests),
        missing_before=before.missing.shares[-1],
        missing_now=now.missing.shares[-1],
        unknown_before=unknown[0],
        unknown_now=unknown[1],
    )


def _describe(
    source: Source, samples: Sequence[_Sample], bins: Sequence[_Bins]
) -> list[FeatureValues]:
    """Describe the values of all features by given bins."""
    described = []
    for sample, own, sums in zip(samples, bins, _count(source, bins), strict=True):
        missing = Shares.of_sums(_GAPS, sums.missing)
        assert missing is not None  # data has rows
        described.append(
            FeatureValues(
                own.is_categorical,
                [] if own.is_categorical else _quantiles(sample.values),
                missing,
                Shares.of_sums(own.values, sums.values),
                None if own.is_categorical else Shares.of_sums(own.within, sums.within),
            )
        )
    return described


class _Sample(NamedTuple):
    """Some values of a feature that are not missing, as float32."""

    values: np.ndarray
    within: np.ndarray  # the same minus their mean within the query


class _Bins(NamedTuple):
    """The edges of the bins of a feature."""

    is_categorical: bool
    values: list[float]
    within: list[float]

    @classmethod
    def of(cls, sample: _Sample, is_categorical: bool) -> _Bins:
        """Choose bins for the values of a sample."""
        if is_categorical:
            return cls(True, _frequent(sample.values), [])
        return cls(False, *map(_edges, sample))

    @classmethod
    def like(cls, described: FeatureValues) -> _Bins:
        """Bins of earlier data; one for everything if it had no value."""
        known = described.values, described.within
        return cls(described.is_categorical, *([] if own is None else own.edges for own in known))


def _edges(values: np.ndarray) -> list[float]:
    """Quantiles, and edges below the smallest value and below each that fills a bin."""
    if not len(values):
        return []
    steps = np.quantile(values, np.linspace(0, 1, _BINS + 1), method="inverted_cdf")
    alone = steps[:-1][steps[:-1] == steps[1:]]
    below = np.nextafter(np.append(steps[:1], alone), np.float32(-np.inf))
    return _to_decimal(np.unique(np.concatenate([below, steps[1:]])))


def _frequent(values: np.ndarray) -> list[float]:
    """Return the most frequent values, sorted."""
    categories, counts = np.unique(values, return_counts=True)
    most = np.argsort(-counts, kind="stable")[:_MOST_CATEGORIES]
    return _to_decimal(np.sort(categories[most]))


def _quantiles(values: np.ndarray) -> list[float]:
    if not len(values):
        return []
    return _to_decimal(np.quantile(values, QUANTILES, method="inverted_cdf"))


def _to_decimal(values: np.ndarray) -> list[float]:
    """Shortest decimal numbers that are these float32 values."""
    return [float(str(value)) for value in values]


def _sample(source: Source) -> list[_Sample]:
    """Values of each feature in evenly spaced queries, to choose bins and for quantiles."""
    step = -(-source.n_rows // _SAMPLED)
    parts = engine_of(source).collect(sample_values, step)
    return [
        _Sample(*map(np.concatenate, zip(*own, strict=True))) for own in zip(*parts, strict=True)
    ]


def sample_values(block: Block, step: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Values of each feature, and values minus their means, in every ``step``-th query."""
    n_queries = len(block.query_ptr) - 1
    numbers = np.arange(block.first_query, block.first_query + n_queries)
    wanted = np.repeat(numbers % step == 0, np.diff(block.query_ptr))
    kept: list[tuple[list[np.ndarray], list[np.ndarray]]]
    kept = [([], []) for _ in range(block.X.shape[1])]
    for part in _values(block):
        own = wanted[part.rows]
        for feature, (values, within) in enumerate(kept):
            is_used = own & part.present[:, feature]
            values.append(part.values[is_used, feature])
            within.append(part.within[is_used, feature])
    return [(np.concatenate(values), np.concatenate(within)) for values, within in kept]


class _Values(NamedTuple):
    """Values of a chunk; arrays of documents and features."""

    values: np.ndarray  # float32
    within: np.ndarray  # float32: minus the mean within the query
    present: np.ndarray  # whether there is a value
    query_ptr: np.ndarray
    rows: slice
    queries: slice


def _values(block: Block) -> Iterator[_Values]:
    """Values of a block in chunks.

    They are rounded to float32, so that the same numbers in a file of another type are the same.
    """
    for chunk in chunks(block, most=CHUNK):
        values = np.clip(chunk.X, -_LARGEST, _LARGEST).astype(np.float32)
        centered, present = np.empty(values.shape), np.empty(values.shape)
        center_present(values, chunk.query_ptr, centered, present)
        within = centered.astype(np.float32)
        yield _Values(values, within, present > 0, chunk.query_ptr, chunk.rows, chunk.queries)


class _Sums(NamedTuple):
    """Sums over queries of the numbers of documents in bins, times the weight of the query."""

    first: np.ndarray  # (bins,)
    second: np.ndarray  # (bins, bins) of products, times the square of the weight
    weights: np.ndarray  # of queries with documents, and of their squares; number of documents


class _SumsOfFeature(NamedTuple):
    missing: _Sums
    values: _Sums
    within: _Sums


def _count(source: Source, bins: Sequence[_Bins]) -> list[_SumsOfFeature]:
    """Count the documents in the bins of each feature."""
    flat = engine_of(source).sum(count_values, bins)
    sums = [_Sums(*flat[start : start + 3]) for start in range(0, len(flat), 3)]
    return [_SumsOfFeature(*sums[start : start + 3]) for start in range(0, len(sums), 3)]


def count_values(block: Block, bins: Sequence[_Bins]) -> tuple[np.ndarray, ...]:
    """Sums of a block: for each feature three of gaps, three of values and three within queries."""
    totals: list[np.ndarray] = []
    weights = weights_of(block)
    for part in _values(block):
        found = list[np.ndarray]()
        for feature, own in enumerate(bins):
            present = part.present[:, feature]
            values, within = part.values[:, feature], part.within[:, feature]
            gaps = (~present).astype(np.intp)
            everywhere = np.ones_like(present)
            find = _find_category if own.is_categorical else _find_bin
            queries = part.query_ptr, weights[part.queries]
            found += _sums(gaps, everywhere, 2, *queries)
            found += _sums(find(own.values, values), present, len(own.values) + 1, *queries)
            found += _sums(_find_bin(own.within, within), present, len(own.within) + 1, *queries)
        totals = [a + b for a, b in zip(totals, found, strict=True)] if totals else found
    return tuple(totals)


def _find_bin(edges: Sequence[float], values: np.ndarray) -> np.ndarray:
    return np.searchsorted(np.array(edges, dtype=np.float32), values, side="left")


def _find_category(categories: Sequence[float], values: np.ndarray) -> np.ndarray:
    """Place of each value among the categories; one more for others."""
    known = np.array(categories, dtype=np.float32)
    places = np.searchsorted(known, values)
    found = np.append(known, np.nan)[places] == values
    return np.where(found, places, len(known))


def _sums(
    bins: np.ndarray,
    is_counted: np.ndarray,
    n_bins: int,
    query_ptr: np.ndarray,
    weights: np.ndarray,
) -> _Sums:
    """Sums over some queries, given the bin of each document and whether it is counted."""
    n_queries = len(weights)
    codes = np.repeat(np.arange(n_queries), np.diff(query_ptr)) * n_bins + bins
    counts = np.bincount(codes[is_counted], minlength=n_queries * n_bins)
    counts = counts.reshape(n_queries, n_bins)
    used = weights * counts.any(axis=1)
    weighted = counts * weights[:, None]
    sizes = np.array([used.sum(), used @ used, counts.sum()])
    return _Sums(weighted.sum(axis=0), weighted.T @ weighted, sizes)
