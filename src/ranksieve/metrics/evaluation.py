"""Evaluate scores: one value per query and the mean, also as a scikit-learn scorer."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ranksieve.data import DataError
from ranksieve.data.inputs import (
    as_query_ids,
    as_query_weights,
    as_row_weights,
    group_rows,
)
from ranksieve.metrics.conventions import Convention, get_convention
from ranksieve.metrics.measures import Measure, parse_measure
from ranksieve.metrics.ranking import Ranking


@dataclass(frozen=True)
class Evaluation:
    """Values of one or more measures, by their names."""

    # A value per query, queries in order of first appearance; NaN where a measure is not defined,
    # which is so only for the pairwise error of a query with equal labels.
    per_query: dict[str, np.ndarray]
    mean: dict[str, float]  # over the queries with a value, weighted if queries have weights
    query_ids: np.ndarray  # query of each value
    convention: str  # name of the convention that was used
    query_weights: np.ndarray | None = None  # of each query in the means; None if all are equal
    is_row_weighted: bool = False  # whether each document counts by a weight


def evaluate(
    y: Any,
    scores: Any,
    qid: Any,
    measures: str | Measure | Iterable[str | Measure],
    convention: str | Convention = "standard",
    *,
    ties: Literal["stable", "average"] | None = None,
    doc_ids: Any = None,
    query_weights: Any = None,
    row_weights: Any = None,
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
        How to compute measures where programs differ: one of ``CONVENTIONS``, or ``NAME:LABEL``.
    ties : {"stable", "average"}, optional
        How to treat equal scores, by default as the convention does: keep the order of the rows,
        which reveals the labels in some collections, or average over all orders of the tied
        documents (exactly, in closed form).
    doc_ids : array of shape (rows,), optional
        Needed by convention "trec", which orders equal scores by descending document id.
    query_weights : array of shape (queries,) or (rows,), optional
        Weight of each query in the means, in order of first appearance, or of each row. Values of
        single queries do not depend on it.
    row_weights : array of shape (rows,), optional
        Weight of each document in the values of its query, such as the inverse probability that a
        clicked document was examined. DCG, NDCG, MeanNDCG and P take them: they multiply gains, or
        relevance, and NDCG is normalized by the best order of the products. Other measures raise a
        DataError.

    Returns
    -------
    Evaluation

    Notes
    -----
    Every query counts in the mean, equally or by its weight; only the pairwise error is a mean over
    the queries with different labels, and NaN if there are none. Takes O(m log n) time for m rows
    in queries of n documents, in parallel over queries.
    """
    convention = get_convention(convention)
    if isinstance(measures, (str, Measure, type)):
        measures = [measures]
    parsed = [parse_measure(measure) for measure in measures]
    if not parsed:
        raise ValueError("there is no measure to evaluate")
    labels = _finite_column(y, "y")
    values = _finite_column(scores, "scores")
    if len(values) != len(labels):
        raise DataError(f"scores has length {len(values)}, but y has length {len(labels)}")
    if not len(labels):
        raise DataError("cannot evaluate: the data has no rows")
    if convention.single_precision:
        values = values.astype(np.float32).astype(np.float64)
    ids = as_query_ids(qid, len(labels))
    each = None if row_weights is None else as_row_weights(row_weights, len(labels))
    order, query_ptr = group_rows(ids)
    if order is not None:
        labels, values, ids = labels[order], values[order], ids[order]
        each = None if each is None else each[order]
    rule = ties or convention.ties
    if rule not in ("stable", "average", "document"):
        raise ValueError(f"ties must be 'stable' or 'average', got {rule!r}")
    if rule == "document" and doc_ids is not None:
        documents = np.asarray(doc_ids, dtype=str)
        if len(documents) != len(labels):
            raise DataError(f"doc_ids has length {len(documents)}, but y has length {len(labels)}")
        documents = documents if order is None else documents[order]
        by_document = _by_descending_document(documents, query_ptr)
        labels, values = labels[by_document], values[by_document]
        each = None if each is None else each[by_document]
    ranking = Ranking.of(values, query_ptr, average_ties=rule == "average")
    if rule == "document" and doc_ids is None and ranking.has_ties:
        raise DataError(
            f"convention {convention.name!r} orders equal scores by document id, and there are "
            "equal scores: pass doc_ids, or ties='stable' or 'average'"
        )
    per_query = {}
    for measure in parsed:
        prepared = measure.prepare(labels, query_ptr, convention, each)
        values = prepared.per_query(ranking)
        per_query[measure.name] = np.where(prepared.is_defined, values, np.nan)
    row_order = np.arange(len(labels)) if order is None else order
    weights = as_query_weights(query_weights, query_ptr, row_order, "query_weights")
    mean = {name: mean_of_defined(v, weights) for name, v in per_query.items()}
    queries = ids[query_ptr[:-1]]
    return Evaluation(per_query, mean, queries, convention.name, weights, each is not None)


def mean_of_defined(values: np.ndarray, weights: np.ndarray | None = None) -> float:
    """Weighted mean of values of queries, without those that are NaN; NaN if nothing is left."""
    defined = ~np.isnan(values)
    left = defined if weights is None else weights * defined
    return float(np.average(values[defined], weights=left[defined])) if left.any() else math.nan


def _finite_column(values: Any, name: str) -> np.ndarray:
    array = np.asarray(values)
    if np.ma.is_masked(values) or array.dtype.kind in "cmM":  # NumPy would use other numbers
        what = "masked values" if np.ma.is_masked(values) else f"values of type {array.dtype}"
        raise DataError(f"{name} must be numbers, but it has {what}")
    try:
        column = array.astype(np.float64, copy=False)
    except (TypeError, ValueError, OverflowError) as error:
        raise DataError(f"{name} must be numbers: {error}") from None
    if column.ndim != 1:
        raise DataError(f"{name} must have one entry per row, but its shape is {column.shape}")
    bad = np.flatnonzero(~np.isfinite(column))
    if bad.size:
        raise DataError(f"{name} must be finite, but row {bad[0]} has {column[bad[0]]}")
    return column


def _by_descending_document(documents: np.ndarray, query_ptr: np.ndarray) -> np.ndarray:
    """Rows of each query by descending document id, which a stable sort by score then keeps."""
    codes = np.repeat(np.arange(len(query_ptr) - 1), np.diff(query_ptr))
    _, ranks = np.unique(documents, return_inverse=True)
    return np.lexsort((-ranks, codes))


class QueryScorer:
    """A scikit-learn scorer for one measure: ``scorer(estimator, X, y, qid=qid)``.

    Requests ``qid`` and ``sample_weight`` through metadata routing, so that ``cross_validate`` and
    ``GridSearchCV`` pass them on once routing is enabled. Without weights every query counts the
    same.
    """

    def __init__(self, measure: Measure, convention: Convention) -> None:
        self.measure = measure
        self.convention = convention

    def __repr__(self) -> str:
        return f"make_query_scorer({self.measure.name!r}, {self.convention.name!r})"

    def __call__(
        self, estimator: Any, X: Any, y: Any, qid: Any = None, sample_weight: Any = None
    ) -> float:
        """Mean of the measure, negated if smaller is better.

        ``sample_weight`` has a weight for each query or for each row, as in ``fit``.
        """
        if qid is None:
            raise DataError(
                "this scorer needs qid: call sklearn.set_config(enable_metadata_routing=True) "
                "and pass params={'qid': qid}"
            )
        scores = estimator.predict(X)
        result = evaluate(
            y, scores, qid, self.measure, self.convention, query_weights=sample_weight
        )
        value = result.mean[self.measure.name]
        return value if self.measure.greater_is_better else -value

    def get_metadata_routing(self) -> Any:
        """Routing request: ``qid`` and ``sample_weight``."""
        from sklearn.utils.metadata_routing import MetadataRequest

        request = MetadataRequest(owner=self)
        for name in ("qid", "sample_weight"):
            request.score.add_request(param=name, alias=True)
        return request


def make_query_scorer(
    measure: str | Measure, convention: str | Convention = "standard"
) -> QueryScorer:
    """Make a scikit-learn scorer from a measure.

    Examples
    --------
    >>> from ranksieve.metrics import make_query_scorer
    >>> make_query_scorer("ndcg@10")
    make_query_scorer('NDCG@10', 'standard')
    """
    return QueryScorer(parse_measure(measure), get_convention(convention))
