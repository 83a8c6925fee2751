"""Measures of ranking quality as values, under the conventions of the programs people compare with.

Examples
--------
>>> from ranksieve.metrics import MAP, NDCG, evaluate
>>> result = evaluate(
...     y=[0, 2, 1, 0, 1], scores=[3.0, 2.0, 1.0, 0.5, 0.1], qid=[1, 1, 1, 2, 2],
...     measures=[NDCG(10), "map"], convention="standard",
... )
>>> {name: round(value, 4) for name, value in result.mean.items()}
{'NDCG@10': 0.645, 'MAP': 0.5417}
>>> result.per_query["MAP"].round(4).tolist()
[0.5833, 0.5]
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal

import numpy as np

from ranksieve._kernels import measures as kernel
from ranksieve._kernels.ranking import rank_queries
from ranksieve.conventions import CONVENTIONS, Convention, get_convention
from ranksieve.data import DataError, as_query_ids, group_rows
from ranksieve.threads import over_queries

__all__ = [
    "NDCG",
    "MAP",
    "P",
    "MeanNDCG",
    "ERR",
    "MRR",
    "PairwiseError",
    "Convention",
    "CONVENTIONS",
    "Evaluation",
    "evaluate",
    "make_query_scorer",
    "parse_measure",
]

_NO_CUTOFF = np.iinfo(np.int64).max


@dataclass(frozen=True)
class Ranking:
    """Documents of each query in ranked order.

    ``order`` (rows,) holds rows, best first within each query; ``tie_end`` (rows,) the rank
    after each rank's block of equal scores, counted within the query. ``average_ties`` says
    whether to average over the orders of a block or to take its documents as they are.
    """

    query_ptr: np.ndarray
    order: np.ndarray
    tie_end: np.ndarray
    average_ties: bool

    @property
    def has_ties(self) -> bool:
        """Whether any query has equal scores."""
        lengths = np.diff(self.query_ptr)
        # Without ties the blocks of n documents end at 1, 2, ..., n; with ties at more.
        return bool(self.tie_end.sum() > (lengths * (lengths + 1) // 2).sum())

    @classmethod
    def of(cls, scores: np.ndarray, query_ptr: np.ndarray, *, average_ties: bool) -> Ranking:
        """Rank by descending score, equal scores in row order."""
        order, tie_end = np.empty((2, len(scores)), dtype=np.int64)
        over_queries(rank_queries, query_ptr, scores, query_ptr, order, tie_end)
        return cls(query_ptr, order, tie_end, average_ties)


@dataclass(frozen=True)
class Prepared:
    """A measure with all that depends on the labels alone; ranks of any score can follow.

    ``worth`` (rows,) is what each document counts; ``norm`` divides the sum of a query, with
    one entry per query or, for MeanNDCG, one per row; see ``_kernels.measures.measure_list``.
    """

    kind: int
    worth: np.ndarray
    norm: np.ndarray
    norm_ptr: np.ndarray
    discounts: np.ndarray
    cutoff: int
    empty: float

    def per_query(self, ranking: Ranking) -> np.ndarray:
        """Value of each query."""
        out = np.empty(len(ranking.query_ptr) - 1)
        over_queries(
            kernel.measure_queries,
            ranking.query_ptr,
            self.kind,
            self.worth,
            ranking.order,
            ranking.tie_end,
            ranking.average_ties,
            self.discounts,
            self.norm,
            self.norm_ptr,
            self.cutoff,
            self.empty,
            ranking.query_ptr,
            out,
        )
        return out


@dataclass(frozen=True)
class _Labels:
    """Labels of grouped rows, as the measures need them."""

    y: np.ndarray
    query_ptr: np.ndarray

    @property
    def lengths(self) -> np.ndarray:
        return np.diff(self.query_ptr)

    def sums(self, values: np.ndarray) -> np.ndarray:
        """Sum per query."""
        return np.add.reduceat(values, self.query_ptr[:-1])

    def prepared(
        self,
        kind: int,
        worth: np.ndarray,
        norm: np.ndarray,
        *,
        discounts: np.ndarray | None = None,
        cutoff: int | None = None,
        empty: float = 0.0,
    ) -> Prepared:
        per_row = kind == kernel.MEAN_NDCG
        norm_ptr = self.query_ptr if per_row else np.arange(len(self.query_ptr))
        if discounts is None:
            discounts = np.ones(self.lengths.max())
        cutoff = _NO_CUTOFF if cutoff is None else cutoff
        return Prepared(kind, worth, norm, norm_ptr, discounts, cutoff, float(empty))


@dataclass(frozen=True, repr=False)
class Measure(ABC):
    """A measure of ranking quality; its ``repr`` is its name.

    Parameters
    ----------
    cutoff : int, optional
        Ranks that count; all of them by default.
    """

    cutoff: int | None = None

    label: ClassVar[str]
    greater_is_better: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.cutoff is not None and (self.cutoff < 1 or self.cutoff != int(self.cutoff)):
            raise ValueError(f"{self.label}: the cutoff must be a positive integer")

    @property
    def name(self) -> str:
        """Name such as ``NDCG@10``; :func:`parse_measure` reads it back."""
        changed = [
            f"{field.name}={getattr(self, field.name):g}"
            for field in fields(self)
            if field.name != "cutoff" and getattr(self, field.name) != field.default
        ]
        options = f"({','.join(changed)})" if changed else ""
        return self.label + options + ("" if self.cutoff is None else f"@{self.cutoff}")

    def __repr__(self) -> str:
        return self.name

    def prepare(
        self, y: np.ndarray, query_ptr: np.ndarray, convention: str | Convention = "standard"
    ) -> Prepared:
        """Compute what depends on the labels alone, for rows grouped by query."""
        convention = get_convention(convention)
        if self.label in convention.undefined:
            raise ValueError(f"convention {convention.name!r} has no {self.label}")
        return self._prepare(_Labels(y, query_ptr), convention)

    @abstractmethod
    def _prepare(self, labels: _Labels, convention: Convention) -> Prepared: ...


@dataclass(frozen=True, repr=False)
class NDCG(Measure):
    r"""Normalized discounted cumulative gain, DCG@k over the DCG@k of the best order.

    .. math:: DCG@k = \sum_{r \le k} g(l_r) d(r)

    Gain g and discount d are set by the convention.

    Parameters
    ----------
    cutoff : int, optional
        k; by default the whole list.
    empty : float, optional
        Value of a query without relevant documents, if not the convention's. XGBoost's names
        that end in ``-``, such as ``ndcg@10-``, mean 0.

    References
    ----------
    Jarvelin and Kekalainen, Cumulated gain-based evaluation of IR techniques, TOIS 2002.
    """

    empty: float | None = None
    label: ClassVar[str] = "NDCG"

    def _prepare(self, labels: _Labels, convention: Convention) -> Prepared:
        gains = convention.gains(labels.y)
        discounts = convention.discounts(labels.lengths.max())
        cutoff = _NO_CUTOFF if self.cutoff is None else self.cutoff
        ideal = np.empty(len(labels.lengths))
        over_queries(
            kernel.ideal_dcg, labels.query_ptr, gains, discounts, cutoff, labels.query_ptr, ideal
        )
        if self.cutoff is not None and convention.short_list == "zero":
            ideal[labels.lengths < self.cutoff] = np.inf
        empty = convention.empty if self.empty is None else self.empty
        return labels.prepared(
            kernel.DCG, gains, ideal, discounts=discounts, cutoff=cutoff, empty=empty
        )


@dataclass(frozen=True, repr=False)
class MeanNDCG(Measure):
    """Mean over k = 1..n of NDCG@k, where n is the length of the list (LETOR 4.0)."""

    label: ClassVar[str] = "MeanNDCG"

    def __post_init__(self) -> None:
        if self.cutoff is not None:
            raise ValueError("MeanNDCG has no cutoff: it is the mean over all of them")

    def _prepare(self, labels: _Labels, convention: Convention) -> Prepared:
        gains = convention.gains(labels.y)
        discounts = convention.discounts(labels.lengths.max())
        ideal = np.empty(len(gains))
        over_queries(
            kernel.ideal_curve, labels.query_ptr, gains, discounts, labels.query_ptr, ideal
        )
        return labels.prepared(
            kernel.MEAN_NDCG, gains, ideal, discounts=discounts, empty=convention.empty
        )


@dataclass(frozen=True, repr=False)
class _BinaryMeasure(Measure):
    """A measure that only asks whether a document is relevant."""

    rel: float | None = None

    def _relevant(self, labels: _Labels, convention: Convention) -> np.ndarray:
        smallest = convention.relevance if self.rel is None else self.rel
        return (labels.y >= smallest).astype(np.float64)


@dataclass(frozen=True, repr=False)
class MAP(_BinaryMeasure):
    r"""Average precision; its mean over queries is the mean average precision.

    .. math:: AP = \frac{1}{R} \sum_r P@r \, rel(r)

    with R relevant documents in the list.

    Parameters
    ----------
    cutoff : int, optional
        AP@k: the sum stops at k.
    rel : float, optional
        Smallest relevant label, if not the convention's.
    empty : float, optional
        Value of a query without relevant documents, if not the convention's.
    """

    empty: float | None = None
    label: ClassVar[str] = "MAP"

    def _prepare(self, labels: _Labels, convention: Convention) -> Prepared:
        relevant = self._relevant(labels, convention)
        norm = labels.sums(relevant)
        cutoff = None if convention.average_precision == "whole" else self.cutoff
        if cutoff is not None and convention.average_precision == "cutoff":
            norm = np.minimum(norm, cutoff)
        empty = convention.empty if self.empty is None else self.empty
        return labels.prepared(kernel.PRECISION_SUM, relevant, norm, cutoff=cutoff, empty=empty)


@dataclass(frozen=True, repr=False)
class P(_BinaryMeasure):
    """Precision at k: the share of relevant documents among the first k.

    Parameters
    ----------
    cutoff : int
        k.
    rel : float, optional
        Smallest relevant label, if not the convention's.
    """

    label: ClassVar[str] = "P"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.cutoff is None:
            raise ValueError("precision needs a cutoff, such as P(10) or 'p@10'")

    def _prepare(self, labels: _Labels, convention: Convention) -> Prepared:
        assert self.cutoff is not None
        norm = np.full(len(labels.lengths), float(self.cutoff))
        if convention.precision == "list":
            norm = np.minimum(norm, labels.lengths)
        elif convention.precision == "zero":
            norm[labels.lengths < self.cutoff] = np.inf
        relevant = self._relevant(labels, convention)
        return labels.prepared(kernel.DCG, relevant, norm, cutoff=self.cutoff)


@dataclass(frozen=True, repr=False)
class MRR(_BinaryMeasure):
    """Reciprocal rank of the first relevant document, 0 if there is none before the cutoff.

    Parameters
    ----------
    cutoff : int, optional
        Ranks to look at.
    rel : float, optional
        Smallest relevant label, if not the convention's.
    """

    label: ClassVar[str] = "MRR"

    def _prepare(self, labels: _Labels, convention: Convention) -> Prepared:
        relevant = self._relevant(labels, convention)
        norm = np.ones(len(labels.lengths))
        return labels.prepared(kernel.RECIPROCAL_RANK, relevant, norm, cutoff=self.cutoff)


@dataclass(frozen=True, repr=False)
class ERR(Measure):
    r"""Expected reciprocal rank.

    .. math:: ERR@k = \sum_{r \le k} \frac{R_r}{r} \prod_{i < r} (1 - R_i),
              \qquad R_r = \frac{2^{l_r} - 1}{2^{l_{max}}}

    Parameters
    ----------
    cutoff : int, optional
        k; by default the whole list.
    max_grade : int
        The largest grade of the scale (not of the data at hand, which would make values of two
        data sets incomparable): 4 on MSLR, Yahoo and Istella, 2 on MQ2007 and MQ2008.

    References
    ----------
    Chapelle, Metlzer, Zhang and Grinspan, Expected reciprocal rank for graded relevance,
    CIKM 2009.
    """

    max_grade: int = 4
    label: ClassVar[str] = "ERR"

    def _prepare(self, labels: _Labels, convention: Convention) -> Prepared:
        if labels.y.min() < 0 or labels.y.max() > self.max_grade:
            raise DataError(
                f"ERR needs labels from 0 to max_grade={self.max_grade}, "
                f"but there is {labels.y.min():g} to {labels.y.max():g}"
            )
        satisfies = (np.exp2(labels.y) - 1) / 2.0**self.max_grade
        norm = np.ones(len(labels.lengths))
        return labels.prepared(kernel.CASCADE, satisfies, norm, cutoff=self.cutoff)


@dataclass(frozen=True, repr=False)
class PairwiseError(Measure):
    """Share of document pairs with different labels that are in the wrong order.

    Pairs with equal scores count one half, under every convention. A query whose labels are all
    equal has no such pair and no error: 0. Smaller is better.
    """

    label: ClassVar[str] = "PairwiseError"
    greater_is_better: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.cutoff is not None:
            raise ValueError("PairwiseError has no cutoff: it counts all pairs")

    def _prepare(self, labels: _Labels, convention: Convention) -> Prepared:
        ranks, n_pairs = np.empty(len(labels.y)), np.zeros(len(labels.lengths))
        over_queries(
            kernel.dense_ranks, labels.query_ptr, labels.y, labels.query_ptr, ranks, n_pairs
        )
        return labels.prepared(kernel.PAIR_ERRORS, ranks, n_pairs)


MEASURES: dict[str, type[Measure]] = {
    "ndcg": NDCG,
    "map": MAP,
    "ap": MAP,
    "p": P,
    "precision": P,
    "mean-ndcg": MeanNDCG,
    "meanndcg": MeanNDCG,
    "err": ERR,
    "mrr": MRR,
    "rr": MRR,
    "pairwise-error": PairwiseError,
    "pairwiseerror": PairwiseError,
}

_MEASURE_NAME = re.compile(r"([a-z-]+?)(?:\(([^)]*)\))?(?:@(\d+))?(-?)")


def parse_measure(measure: str | Measure | type[Measure]) -> Measure:
    """Read a measure's name.

    Examples
    --------
    >>> from ranksieve.metrics import parse_measure
    >>> parse_measure("ndcg@10"), parse_measure("mean-ndcg"), parse_measure("P(rel=2)@5")
    (NDCG@10, MeanNDCG, P(rel=2)@5)
    """
    if isinstance(measure, Measure):
        return measure
    if isinstance(measure, type) and issubclass(measure, Measure):
        return measure()
    match = _MEASURE_NAME.fullmatch(measure.strip().lower())
    if match is None or match[1] not in MEASURES:
        raise ValueError(f"unknown measure {measure!r}; known are {', '.join(MEASURES)} with @k")
    kind = MEASURES[match[1]]
    options: dict[str, Any] = {}
    allowed = {field.name for field in fields(kind)} - {"cutoff"}
    for option in filter(None, (match[2] or "").split(",")):
        key, _, value = option.partition("=")
        if key.strip() not in allowed:
            raise ValueError(f"measure {measure!r}: {kind.label} has no option {key.strip()!r}")
        options[key.strip()] = _number(value, measure)
    if match[4]:
        if "empty" not in allowed:
            raise ValueError(f"measure {measure!r}: {kind.label} has no variant with '-'")
        options["empty"] = 0.0
    return kind(None if match[3] is None else int(match[3]), **options)


def _number(text: str, measure: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"measure {measure!r}: {text!r} is not a number") from None


@dataclass(frozen=True)
class Evaluation:
    """Values of one or more measures.

    Attributes
    ----------
    per_query : dict of str to array
        Measure name to one value per query, queries in order of first appearance.
    mean : dict of str to float
        Measure name to the mean over all queries.
    query_ids : array
        Query of each value.
    convention : str
        Name of the convention that was used.
    """

    per_query: dict[str, np.ndarray]
    mean: dict[str, float]
    query_ids: np.ndarray
    convention: str


def evaluate(
    y: Any,
    scores: Any,
    qid: Any,
    measures: str | Measure | Iterable[str | Measure],
    convention: str | Convention = "standard",
    *,
    ties: Literal["stable", "average"] | None = None,
    doc_ids: Any = None,
) -> Evaluation:
    """Measure how well scores rank the documents of each query.

    Parameters
    ----------
    y : array of shape (rows,)
        Labels; larger is more relevant.
    scores : array of shape (rows,)
        Documents are ranked by descending score.
    qid : array of shape (rows,)
        Query of each row; rows of a query need not be adjacent.
    measures : measure, name, or several of them
        Such as ``NDCG(10)`` or ``"ndcg@10"``.
    convention : str or Convention
        One of ``CONVENTIONS``: what to do where programs differ.
    ties : {"stable", "average"}, optional
        What to do with equal scores, if not what the convention does: keep the order of the
        rows, or average over all orders of the tied documents.
    doc_ids : array of shape (rows,), optional
        Needed by convention "trec", which orders equal scores by descending document id.

    Returns
    -------
    Evaluation

    Notes
    -----
    Every query counts in the mean. O(m log n) for m rows in queries of n documents, in parallel
    over queries.
    """
    convention = get_convention(convention)
    if isinstance(measures, (str, Measure, type)):
        measures = [measures]
    parsed = [parse_measure(measure) for measure in measures]
    labels = _finite_column(y, "y")
    values = _finite_column(scores, "scores")
    if len(values) != len(labels):
        raise DataError(f"there are {len(values)} scores for {len(labels)} labels")
    if not len(labels):
        raise DataError("there is nothing to evaluate: no rows")
    if convention.single_precision:
        values = values.astype(np.float32).astype(np.float64)
    ids = as_query_ids(qid, len(labels))
    order, query_ptr = group_rows(ids)
    if order is not None:
        labels, values, ids = labels[order], values[order], ids[order]
    rule = ties or convention.ties
    if rule not in ("stable", "average", "document"):
        raise ValueError(f"ties must be 'stable' or 'average', got {rule!r}")
    if rule == "document" and doc_ids is not None:
        documents = _document_column(doc_ids, len(labels))
        documents = documents if order is None else documents[order]
        by_document = _by_descending_document(documents, query_ptr)
        labels, values = labels[by_document], values[by_document]
    ranking = Ranking.of(values, query_ptr, average_ties=rule == "average")
    if rule == "document" and doc_ids is None and ranking.has_ties:
        raise DataError(
            f"convention {convention.name!r} orders equal scores by document id, and there are "
            "equal scores: pass doc_ids, or ties='stable' or 'average'"
        )
    per_query = {
        measure.name: measure.prepare(labels, query_ptr, convention).per_query(ranking)
        for measure in parsed
    }
    mean = {name: float(np.mean(value)) for name, value in per_query.items()}
    return Evaluation(per_query, mean, ids[query_ptr[:-1]], convention.name)


def _finite_column(values: Any, name: str) -> np.ndarray:
    column = np.asarray(values, dtype=np.float64)
    if column.ndim != 1:
        raise DataError(f"{name} must have one entry per row, but its shape is {column.shape}")
    bad = np.flatnonzero(~np.isfinite(column))
    if bad.size:
        raise DataError(f"{name} has {column[bad[0]]} in row {bad[0]}")
    return column


def _document_column(doc_ids: Any, n_rows: int) -> np.ndarray:
    documents = np.asarray(doc_ids, dtype=str)
    if len(documents) != n_rows:
        raise DataError(f"there are {len(documents)} doc_ids for {n_rows} rows")
    return documents


def _by_descending_document(documents: np.ndarray, query_ptr: np.ndarray) -> np.ndarray:
    """Rows of each query by descending document id, which a stable sort by score then keeps."""
    codes = np.repeat(np.arange(len(query_ptr) - 1), np.diff(query_ptr))
    _, ranks = np.unique(documents, return_inverse=True)
    return np.lexsort((-ranks, codes))


class QueryScorer:
    """A scikit-learn scorer of one measure: ``scorer(estimator, X, y, qid=qid)``.

    Requests ``qid`` through metadata routing, so that ``cross_validate`` and ``GridSearchCV``
    pass it on once routing is enabled.
    """

    def __init__(self, measure: Measure, convention: Convention) -> None:
        self.measure = measure
        self.convention = convention

    def __repr__(self) -> str:
        return f"make_query_scorer({self.measure.name!r}, {self.convention.name!r})"

    def __call__(self, estimator: Any, X: Any, y: Any, qid: Any = None) -> float:
        """Mean of the measure, negated if smaller is better."""
        if qid is None:
            raise DataError(
                "this scorer needs qid: enable it with sklearn.set_config("
                "enable_metadata_routing=True) and pass params={'qid': qid}"
            )
        result = evaluate(y, estimator.predict(X), qid, self.measure, self.convention)
        value = result.mean[self.measure.name]
        return value if self.measure.greater_is_better else -value

    def get_metadata_routing(self) -> Any:
        """Routing request: ``qid``."""
        from sklearn.utils.metadata_routing import MetadataRequest

        request = MetadataRequest(owner=self)
        request.score.add_request(param="qid", alias=True)
        return request


def make_query_scorer(
    measure: str | Measure, convention: str | Convention = "standard"
) -> QueryScorer:
    """Make a scikit-learn scorer of a measure.

    Examples
    --------
    >>> from ranksieve.metrics import make_query_scorer
    >>> make_query_scorer("ndcg@10")
    make_query_scorer('NDCG@10', 'standard')
    """
    return QueryScorer(parse_measure(measure), get_convention(convention))
