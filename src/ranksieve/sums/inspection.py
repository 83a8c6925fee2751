"""Describe ranking data: its size, its labels, and how well each feature ranks alone."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from ranksieve.data import Block, RankingData
from ranksieve.data.encoding import encode_categories
from ranksieve.data.missing import count_missing
from ranksieve.data.times import Times
from ranksieve.engine import Source, engine_of
from ranksieve.frames import Library, make_frame
from ranksieve.metrics import Convention, get_convention, parse_measure
from ranksieve.progress import progress_bar
from ranksieve.reported import Reported
from ranksieve.sums.checks import smallest_and_largest
from ranksieve.sums.copies import perfectly_correlated, same_splits
from ranksieve.sums.file_order import FileOrder, file_order
from ranksieve.sums.gram import centered_gram, present_correlation
from ranksieve.sums.importance import Importance, feature_importance
from ranksieve.sums.suspicions import Suspicion, find_suspicions
from ranksieve.sums.varying import varying_columns
from ranksieve.text import quantity

_NEARLY = 0.99
_LARGE = 1e100  # beyond this, and below its inverse, sums of squares may leave the range of floats
MOST_FEATURES_TO_PAIR = 2_000


@dataclass(frozen=True)
class Overview:
    """Facts about one block or about all blocks."""

    labels: Counter[float]  # number of rows with each label
    lengths: np.ndarray  # documents of each query
    n_without_relevant: int  # queries without a relevant document
    n_missing: np.ndarray  # (features,): values that are NaN
    n_infinite: int  # values that are infinite
    n_nonzero: int  # values that are neither 0 nor missing
    low: np.ndarray  # (features,): smallest value
    high: np.ndarray  # (features,): largest value
    flat: np.ndarray | None  # (features,): constant within every query of positive weight, or None
    digests: list[bytes]  # one per feature; those of equal columns are equal

    @property
    def constant(self) -> np.ndarray:
        """Whether each feature has one value everywhere, or none."""
        is_missing = self.n_missing == self.lengths.sum()
        return is_missing | ((self.low == self.high) & (self.n_missing == 0))

    @property
    def duplicates(self) -> list[list[int]]:
        """Groups of features with equal values everywhere, except constant features."""
        groups: dict[bytes, list[int]] = defaultdict(list)
        for feature in np.flatnonzero(~self.constant).tolist():
            groups[self.digests[feature]].append(feature)
        return [group for group in groups.values() if len(group) > 1]

    def join(self, other: Overview) -> Overview:
        """Facts about this block and the next."""
        flat = None if self.flat is None or other.flat is None else self.flat & other.flat
        pairs = zip(self.digests, other.digests, strict=True)
        return Overview(
            labels=self.labels + other.labels,
            lengths=np.concatenate([self.lengths, other.lengths]),
            n_without_relevant=self.n_without_relevant + other.n_without_relevant,
            n_missing=self.n_missing + other.n_missing,
            n_infinite=self.n_infinite + other.n_infinite,
            n_nonzero=self.n_nonzero + other.n_nonzero,
            low=np.fmin(self.low, other.low),
            high=np.fmax(self.high, other.high),
            flat=flat,
            digests=[hashlib.blake2b(a + b).digest() for a, b in pairs],
        )


def describe_block(block: Block, relevance: float) -> Overview:
    """All facts about a block."""
    block = replace(block, keeps_missing=True)
    X, y, starts = block.X, block.y, block.query_ptr[:-1]
    values = X.data if block.is_sparse else X
    few = X.shape[1] <= MOST_FEATURES_TO_PAIR
    low, high = smallest_and_largest(block)
    n_missing = count_missing(X)
    return Overview(
        labels=Counter(y.tolist()),
        lengths=np.diff(block.query_ptr),
        n_without_relevant=int(np.sum(np.add.reduceat(y >= relevance, starts) == 0)),
        n_missing=n_missing,
        n_infinite=int(np.isinf(values).sum()),
        n_nonzero=int(np.count_nonzero(values) - n_missing.sum()),
        low=low,
        high=high,
        flat=~varying_columns(block) if few else None,
        digests=[hashlib.blake2b(column).digest() for column in _columns(block)],
    )


def _columns(block: Block) -> Iterator[bytes]:
    """Bytes of each column."""
    if not block.is_sparse:
        for column in block.X.T:
            yield _unify_nan_bits(column).tobytes()
        return
    matrix = block.X.tocsc()
    matrix.data = _unify_nan_bits(matrix.data)
    for start, end in zip(matrix.indptr[:-1], matrix.indptr[1:], strict=True):
        yield matrix.indices[start:end].tobytes() + matrix.data[start:end].tobytes()


def _unify_nan_bits(values: np.ndarray) -> np.ndarray:
    """The same values, with the same bits for all missing ones."""
    gaps = np.isnan(values)
    return np.where(gaps, np.nan, values) if gaps.any() else values


def overview(source: Source, relevance: float) -> Overview:
    """Facts about all blocks of a source; labels of at least ``relevance`` are relevant."""
    first, *others = engine_of(source).collect(describe_block, relevance)
    for other in others:
        first = first.join(other)
    return first


@dataclass(frozen=True)
class SingleFeature:
    """A feature and how well it ranks alone, in its better direction and in the other one."""

    name: str
    direction: str  # "descending" or "ascending": which end of its values is better
    value: float
    reverse: float


@dataclass(frozen=True)
class NearPair:
    """Two features that move together within queries."""

    first: str
    second: str
    correlation: float


class Lengths(NamedTuple):
    """Number of queries with ``least`` to ``most`` documents."""

    least: int
    most: int
    queries: int


@dataclass(frozen=True, eq=False)
class Correlation:
    """Correlation of all pairs of features within queries; 0 where a feature does not vary."""

    names: list[str]
    values: np.ndarray


@dataclass(frozen=True, repr=False)
class Inspection(Reported):
    """Result of :func:`inspect`. Queries count by their weights in means, but not in counts."""

    n_rows: int
    n_queries: int
    n_features: int
    feature_names: list[str]
    query_weights: dict[str, float] | None  # min, mean and max; None if each query counts once
    density: float  # share of feature values that are neither zero nor missing
    n_missing: int  # feature values that are missing (NaN)
    missing: dict[str, int]  # missing values of each feature that has any, largest number first
    # Feature values that are infinite. If there are any, nothing that compares values is computed:
    # near_duplicates, best_features and correlation are None.
    n_infinite: int
    labels: dict[float, int]  # number of rows with each label
    documents_per_query: dict[str, float]  # min, median, mean and max
    lengths: list[Lengths]  # queries by number of documents, in at most twenty ranges
    n_single: int  # queries with one document
    n_without_relevant: int  # queries without a relevant document
    constant: list[str]  # features with one value everywhere, or without any
    # Other features that are constant within every query: they cannot rank. None, like
    # near_duplicates, if there are more than 2,000 features.
    constant_in_queries: list[str] | None
    # Groups of features with equal values everywhere, missing in the same rows, except constant
    # features.
    duplicates: list[list[str]]
    # Other pairs whose correlation within queries, over the documents that have both values, is at
    # least 0.99 in absolute value, strongest first.
    near_duplicates: list[NearPair] | None
    measure: str  # measure and convention of file_order and best_features
    convention: str
    # How well documents rank in the order of the data, compared with a random order. If that is
    # better than chance, a convention that keeps this order for equal scores overrates weak models.
    file_order: FileOrder
    best_features: list[SingleFeature] | None  # all, best first; missing values rank last
    # Why features should perhaps not be used, the worst first. If there are more than 2,000
    # features, copies are not looked for.
    suspicions: list[Suspicion]
    # Correlations from which near_duplicates were found; None if these were not computed.
    correlation: Correlation | None = field(default=None, compare=False, repr=False)

    _figure = "alone"

    @property
    def in_short(self) -> str:
        """Size of the data and what may be wrong with it, in one sentence."""
        n_constant = len(self.constant) + len(self.constant_in_queries or [])
        n_copies = sum(len(group) - 1 for group in self.duplicates)
        return (
            f"{quantity(self.n_rows, 'row')} of {quantity(self.n_queries, 'query', 'queries')} "
            f"with {quantity(self.n_features, 'feature')}; {n_constant:,} constant, "
            f"{n_copies:,} duplicated, {quantity(self.n_missing, 'missing value')}"
        )

    def to_frame(self, *, library: Library | None = None) -> Any:
        """Return what is known of each feature as a frame of pandas or polars.

        Features are in the order of the data. ``constant`` is ``everywhere`` or ``within queries``;
        ``copy_of`` is the first feature with the same values; ``value`` is the measure if the
        feature alone ranks in its better ``direction``, and ``reverse`` that in the other one.

        Parameters
        ----------
        library : {"pandas", "polars"}, optional
            See :func:`ranksieve.frames.make_frame`.
        """
        constant = dict.fromkeys(self.constant, "everywhere")
        constant |= dict.fromkeys(self.constant_in_queries or [], "within queries")
        copies = {copy: first for first, *others in self.duplicates for copy in others}
        alone = {one.name: one for one in self.best_features or []}
        names = self.feature_names
        columns: dict[str, list[Any]] = {
            "feature": names,
            "missing": [self.missing.get(name, 0) for name in names],
            "constant": [constant.get(name) for name in names],
            "copy_of": [copies.get(name) for name in names],
        }
        for field_name in ("direction", "value", "reverse"):
            columns[field_name] = [getattr(alone.get(name), field_name, None) for name in names]
        return make_frame(columns, library)

    def to_record(self) -> dict[str, Any]:
        """Everything except the correlation of all pairs, as JSON values."""
        record = asdict(replace(self, correlation=None))
        del record["correlation"]
        record["lengths"] = [one._asdict() for one in self.lengths]
        return record


def inspect(
    source: Source,
    measure: str = "ndcg@10",
    convention: str | Convention = "standard",
    *,
    times: Times | None = None,
    progress: bool = True,
) -> Inspection:
    """Describe ranking data, in which values may be missing.

    Parameters
    ----------
    source : RankingData or opened shards
    measure : str
        Measure by which single features are compared.
    convention : str or Convention
    times : Times, optional
        Times of the rows of data in memory, to look for drift.
    progress : bool
        Whether to show progress in a terminal or a notebook.

    Examples
    --------
    >>> import numpy as np
    >>> from ranksieve import RankingData
    >>> from ranksieve.sums.inspection import inspect
    >>> X = np.array([[1.0, 5, 2], [2.0, 5, 4], [3.0, 5, 6]])
    >>> found = inspect(RankingData(X, y=[0, 1, 2], qid=[7, 7, 7]))
    >>> found.constant, found.best_features[0].name, found.best_features[0].value
    (['2'], '1', 1.0)
    """
    with progress_bar(progress, "inspect"):
        return _inspect(source, measure, get_convention(convention), times)


def _inspect(
    source: Source, measure: str, convention: Convention, times: Times | None
) -> Inspection:
    facts = overview(source, convention.relevance)
    if isinstance(source, RankingData):
        source = encode_categories(source)[0]  # what follows compares numbers
    comparable = facts.n_infinite == 0
    few = source.n_features <= MOST_FEATURES_TO_PAIR
    names = source.feature_names
    counts = facts.lengths
    flat = facts.flat if facts.flat is not None else facts.constant
    related = _correlation(source, facts) if few and comparable else None
    copies = {} if related is None else _copies(source, facts, related)
    return Inspection(
        n_rows=source.n_rows,
        n_queries=source.n_queries,
        n_features=source.n_features,
        feature_names=names.tolist(),
        query_weights=_extent(source.query_weights),
        density=facts.n_nonzero / max(1, source.n_rows * source.n_features),
        n_missing=int(facts.n_missing.sum()),
        missing={
            str(names[feature]): int(facts.n_missing[feature])
            for feature in np.argsort(-facts.n_missing, kind="stable")
            if facts.n_missing[feature]
        },
        n_infinite=facts.n_infinite,
        labels=dict(sorted(facts.labels.items())),
        documents_per_query={
            "min": int(counts.min()),
            "median": float(np.median(counts)),
            "mean": float(counts.mean()),
            "max": int(counts.max()),
        },
        lengths=_histogram(counts),
        n_single=int(np.sum(counts == 1)),
        n_without_relevant=facts.n_without_relevant,
        constant=names[facts.constant].tolist(),
        constant_in_queries=names[flat & ~facts.constant].tolist() if few else None,
        duplicates=[names[group].tolist() for group in facts.duplicates],
        near_duplicates=None if related is None else _near_duplicates(related, facts),
        measure=parse_measure(measure).name,
        convention=convention.name,
        file_order=file_order(source, measure, convention),
        best_features=_by_quality(source, measure, convention) if comparable else None,
        suspicions=find_suspicions(
            source,
            facts.labels,
            names[flat].tolist(),
            copies,
            comparable=comparable,
            times=times,
        ),
        correlation=related,
    )


def _extent(weights: np.ndarray | None) -> dict[str, float] | None:
    if weights is None:
        return None
    return {"min": float(weights.min()), "mean": float(weights.mean()), "max": float(weights.max())}


def _histogram(counts: np.ndarray, most: int = 20) -> list[Lengths]:
    """Queries by number of documents, in ranges of equal width."""
    least = int(counts.min())
    width = -(-(int(counts.max()) - least + 1) // most)  # rounded up
    found = np.bincount((counts - least) // width)
    return [
        Lengths(least + position * width, least + (position + 1) * width - 1, int(queries))
        for position, queries in enumerate(found.tolist())
    ]


def _near_duplicates(related: Correlation, facts: Overview) -> list[NearPair]:
    names, correlation = related.names, np.triu(related.values, k=1)
    for group in facts.duplicates:
        correlation[np.ix_(group, group)] = 0.0
    pairs = [
        NearPair(names[i], names[j], float(np.clip(correlation[i, j], -1, 1)))
        for i, j in np.argwhere(np.abs(correlation) >= _NEARLY).tolist()
    ]
    return sorted(pairs, key=lambda pair: -abs(pair.correlation))


def _copies(source: Source, facts: Overview, related: Correlation) -> dict[str, str]:
    """Features that order all rows as another one does, and the first such feature."""
    assert facts.flat is not None
    names, full = related.names, np.flatnonzero(~facts.flat & (facts.n_missing == 0))
    alike = perfectly_correlated(related.values[np.ix_(full, full)])
    groups = same_splits(
        source, np.flatnonzero(~facts.flat).tolist(), [full[own].tolist() for own in alike]
    )
    return {names[copy]: names[first] for first, *others in groups for copy in others}


def _correlation(source: Source, facts: Overview) -> Correlation:
    assert facts.flat is not None
    names, factors = source.feature_names.tolist(), _factors(facts)
    if facts.n_missing.any():
        return Correlation(names, present_correlation(source, factors))
    gram = centered_gram(source, factors).xx
    scale = np.sqrt(np.where(facts.flat, np.inf, np.diag(gram)))
    return Correlation(names, gram / np.outer(scale, scale))


def _factors(facts: Overview) -> np.ndarray | None:
    """Powers of two that bring features to a size whose squares are floats; None if all are."""
    size = np.fmax(np.abs(facts.low), np.abs(facts.high)).astype(np.float64)
    is_extreme = (size > _LARGE) | ((size < 1 / _LARGE) & (size > 0))
    exponents = np.where(is_extreme, -np.clip(np.frexp(size)[1], -1000, 1000), 0)
    return np.ldexp(1.0, exponents) if is_extreme.any() else None


def _by_quality(source: Source, measure: str, convention: Convention) -> list[SingleFeature]:
    importance = feature_importance(source, Importance(measure, convention))
    if not parse_measure(measure).greater_is_better:
        importance = -importance
    best = importance.max(axis=0)
    order = np.argsort(-best, kind="stable")
    return [
        SingleFeature(
            name=source.feature_names[feature],
            direction=("descending", "ascending")[int(importance[:, feature].argmax())],
            value=float(abs(best[feature])),
            reverse=float(abs(importance[:, feature].min())),
        )
        for feature in order
    ]
