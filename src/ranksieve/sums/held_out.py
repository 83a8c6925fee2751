"""Scores by linear models, and how well they or other scores rank held-out queries."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np
from scipy import sparse

from ranksieve._kernels.rows import score_models
from ranksieve.data import Block, DataError
from ranksieve.engine import Source, engine_of
from ranksieve.metrics import Convention, Measure, Ranking, get_convention, parse_measure
from ranksieve.metrics.ranking import ColumnSums
from ranksieve.sums.chunks import CHUNK, chunks, take_queries, weights_of

Values = TypeVar("Values", float, np.ndarray)


class Measured:
    """Statistic: values of queries, given scores of documents; larger is better.

    If smaller values of a measure are better, 1 minus the value is used. Statistics that measure a
    model inherit from this class.

    ``queries`` is a mask over the queries of all blocks; by default all are used. A block may have
    none of them. A query without a value, such as the pairwise error of equal labels, has weight 0.
    """

    title = "Validation"

    def __init__(
        self,
        block: Block,
        measure: Measure,
        convention: Convention | str,
        queries: np.ndarray | None = None,
    ) -> None:
        self.block = take_queries(block, queries)
        self.weights = weights_of(self.block)
        self.average_ties = get_convention(convention).averages_ties
        self.measure = measure
        self.is_empty = len(self.block.y) == 0
        if not self.is_empty:
            own = self.block
            self.prepared = measure.prepare(own.y, own.query_ptr, convention, own.row_weights)
            self.weights *= self.prepared.is_defined

    def ranking(self, scores: np.ndarray) -> Ranking:
        """Documents of each query by descending score."""
        return Ranking.of(scores, self.block.query_ptr, average_ties=self.average_ties)

    def values(self, ranking: Ranking) -> np.ndarray:
        """Value of each query."""
        return orient(self.prepared.per_query(ranking), self.measure)

    def total(self, scores: np.ndarray) -> tuple[float, float]:
        """Weight of the queries, and the weighted sum of their values."""
        values = self.values(self.ranking(scores))
        return float(self.weights.sum()), float((self.weights * values).sum())


def check_any_value(weight: float) -> None:
    """Raise a DataError if the queries with a value have no weight: there is nothing to average."""
    if weight == 0:
        raise DataError(
            "a pairwise error needs documents with different labels in a query, and no held-out "
            "query has them: hold out other queries, or use another measure"
        )


def orient(values: Values, measure: Measure) -> Values:
    """Convert values so that larger is better, or back: 1 - value if smaller is better."""
    return values if measure.greater_is_better else 1 - values


def linear_scores(X: Any, coef: np.ndarray) -> np.ndarray:
    """Weighted sum of the features of each row of an array or a CSR matrix.

    ``coef`` (features,), or (features, models) for several sums. Equal rows get equal scores
    wherever they are; a matrix product does not guarantee that, and rounding would break ties.
    """
    if sparse.issparse(X):
        return np.asarray(X @ coef)
    if X.shape[1] != len(coef):  # the kernel does not check
        raise ValueError(f"X has {X.shape[1]} features, but there are {len(coef)} weights")
    models = coef.reshape(len(coef), -1)
    used = np.flatnonzero(models.any(axis=1))
    scores = np.empty((len(X), models.shape[1]))
    score_models(np.ascontiguousarray(X), used, models[used], scores)
    return scores.reshape(len(X), *coef.shape[1:])


class MeasuredModels(Measured):
    """Statistic: sums over queries of a measure of rankings by linear models."""

    def sums(self, features: np.ndarray, coefs: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Weight of queries, and sums over them of each model's value and of its square.

        ``coefs`` (features, models) are the weights of ``features``.
        """
        block, n_models = self.block, coefs.shape[1]
        if self.is_empty:
            return 0.0, np.zeros(n_models), np.zeros(n_models)
        if block.is_sparse:  # only these columns need to become dense
            block = replace(block, X=block.X[:, features])
            features = np.arange(len(features))
        sums = ColumnSums(n_models)
        all_finite = True
        for chunk in chunks(block, most=CHUNK * block.X.shape[1] // n_models):
            scores = np.empty((len(chunk.X), n_models))
            score_models(chunk.X, features, coefs, scores)
            all_finite &= self.prepared.add_columns(
                scores,
                chunk.query_ptr,
                sums,
                self.weights[chunk.queries],
                first_query=chunk.queries.start,
                first_row=chunk.rows.start,
            )
        if not all_finite:
            self.block.check_finite()
        return float(self.weights.sum()), sums.values[0], sums.squares[0]


class ModelValues(NamedTuple):
    """Values of models on held-out queries."""

    mean: np.ndarray  # (models,): weighted mean over queries
    deviation: np.ndarray  # (models,): standard error of the mean, from its spread over queries


def measure_models(
    source: Source,
    models: Iterable[tuple[np.ndarray, np.ndarray]],
    measure: str | Measure = "map",
    convention: str | Convention = "standard",
    *,
    ties: Literal["stable", "average"] | None = None,
) -> list[ModelValues]:
    """Evaluate linear models on all queries of a source, group by group.

    A group is the indices of the features that its models use, and an array (features, models) of
    their weights. The other parameters are as in :func:`ranksieve.metrics.evaluate`. Takes
    O(m p (f + log n)) time for m rows in queries of n documents and p models of f features.

    Examples
    --------
    >>> import numpy as np
    >>> from ranksieve import RankingData
    >>> from ranksieve.sums.held_out import measure_models
    >>> data = RankingData([[1.0, 9.0], [2.0, 5.0], [3.0, 7.0]], y=[0, 0, 1], qid=[4, 4, 4])
    >>> coefs = np.array([[1.0, 0.0], [0.0, 1.0]])  # one model for each feature alone
    >>> measure_models(data, [(np.array([0, 1]), coefs)], "mrr")[0].mean.tolist()
    [1.0, 0.5]
    """
    found = []
    parameters = parse_measure(measure), get_convention(convention, ties)
    with engine_of(source).start(MeasuredModels, *parameters) as workers:
        for features, coefs in models:
            if not np.isin(features, np.arange(source.n_features)).all():  # kernels do not check
                raise ValueError(
                    f"models use features that are not in 0 to {source.n_features - 1}"
                )
            n, values, squares = workers.sum(MeasuredModels.sums, features, coefs)
            check_any_value(n)
            mean = values / n
            spread = np.maximum(0.0, squares / n - mean**2)
            found.append(ModelValues(mean, np.sqrt(spread / max(1, n - 1))))
    return found
