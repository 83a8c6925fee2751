"""Verify that the files of an export rank as the trained model does."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from ranksieve.data import DataError, RankingData
from ranksieve.data.fitted import check_scores
from ranksieve.export.forms import LinearModel, zero_for_missing
from ranksieve.export.reading import TrainedRanker
from ranksieve.export.targets.target import Job, MissingRule, Target
from ranksieve.metrics import evaluate

MEASURE = "NDCG@10"


@dataclass(frozen=True)
class Verification:
    """Comparison of the files of an export with the model itself, on some data.

    Attributes
    ----------
    n_rows, n_queries : int
    largest_difference : float
        Largest absolute difference of the scores.
    n_changed : int
        Number of queries in which two documents swap or become tied although their scores differ by
        more than the rounding of the target.
    n_tied : int
        Number of other queries with such documents, whose scores are ties for the target.
    n_strayed : int
        Number of rows whose score differs by more than rounding.
    before, after : float
        NDCG@10 of the model and of the files, with missing values as served.
    as_trained : float or None
        NDCG@10 of the model with missing values as in training, if they are served differently.
    """

    n_rows: int
    n_queries: int
    largest_difference: float
    n_changed: int
    n_tied: int
    n_strayed: int
    before: float
    after: float
    as_trained: float | None = None


@dataclass(frozen=True)
class Rows:
    """Data for verification, with the features of the ranker."""

    data: RankingData  # labels and queries
    as_trained: np.ndarray  # (rows, features), with missing values as in training
    raw: np.ndarray  # (rows, features), before missing values were filled in

    def served(self, missing: MissingRule) -> np.ndarray:
        """Return the rows as served under a rule for missing values."""
        return zero_for_missing(self.raw) if missing == "zero" else self.raw


def rows_of(trained: TrainedRanker, data: RankingData) -> Rows:
    """Take the ranker's features from data that has all features or only those."""
    if not data.n_rows:
        raise DataError("cannot verify: the data has no rows")
    ranker = trained.ranker
    as_trained = raw = _dense(ranker._rows(data), trained)
    rule = trained.missing
    if rule is not None and not rule.keeps and not rule.indicated and data.missing is None:
        selection = getattr(ranker, "selection_", None)
        raw = _dense((data if selection is None else selection.applied_to(data)).X, trained)
    return Rows(data, as_trained, raw)


def _dense(X: Any, trained: TrainedRanker) -> np.ndarray:
    if not sparse.issparse(X):
        return np.asarray(X, dtype=np.float64)
    if trained.library != "xgboost":
        return X.toarray().astype(np.float64)
    dense = np.full(X.shape, np.nan)  # XGBoost treats values that are not stored as missing
    coordinates = X.tocoo()
    dense[coordinates.row, coordinates.col] = coordinates.data
    return dense


def scores_of(trained: TrainedRanker, rows: np.ndarray) -> np.ndarray:
    """Compute the scores of the ranker itself."""
    return check_scores(trained.ranker._scores(rows))


def measure(data: RankingData, scores: np.ndarray) -> float:
    """Compute NDCG@10 of scores."""
    values = evaluate(data.y, scores, data.qid, MEASURE, query_weights=data.query_weights)
    return values.mean[MEASURE]


def verify_files(target: Target, directory: Path, job: Job, rows: Rows) -> Verification:
    """Score rows with the written files and compare them with the scores of the model."""
    served = rows.served(job.missing)
    reference = scores_of(job.trained, served)
    if isinstance(job.model, LinearModel):  # engines leave out the intercept
        assert isinstance(job.trained.model, LinearModel)
        reference = reference - (job.trained.model.intercept - job.model.intercept)
    scores = _scores_of_files(target, directory, job, rows)
    bound = _bound(target, job, served, reference)
    differences = np.abs(scores - reference)
    query_ptr = rows.data.query_ptr
    changed = _changed_queries(reference, bound, scores, query_ptr)
    tied = _changed_queries(reference, np.zeros_like(bound), scores, query_ptr)
    as_trained = None
    if job.missing == "zero" and not np.array_equal(rows.as_trained, served, equal_nan=True):
        as_trained = measure(rows.data, scores_of(job.trained, rows.as_trained))
    return Verification(
        n_rows=len(scores),
        n_queries=rows.data.n_queries,
        largest_difference=float(differences.max(initial=0.0)),
        n_changed=int(changed.sum()),
        n_tied=int((tied & ~changed).sum()),
        n_strayed=int((differences > bound).sum()),
        before=measure(rows.data, reference),
        after=measure(rows.data, scores),
        as_trained=as_trained,
    )


def _scores_of_files(target: Target, directory: Path, job: Job, rows: Rows) -> np.ndarray:
    """Score rows with the files; engines get NaN for missing values and treat it themselves."""
    X = rows.raw if target.is_engine else rows.served(job.missing)
    if job.trained.library != target.name:  # the file of a library has a column for each feature
        X = X[:, _columns(job)]
    return target.scores(directory, X, job.names)


def _columns(job: Job) -> list[int]:
    """Return the columns of the ranker that the exported model uses."""
    columns = {name: column for column, name in enumerate(job.trained.names)}
    return [columns[name] for name in job.names]


def _bound(target: Target, job: Job, served: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """Bound the change of each row's score by rounding, in the model and in the target."""
    X, model = served[:, _columns(job)], job.model
    sums = model.rounding(X, target.unit) + model.rounding(X, model.unit)
    return sums + (target.result_unit + model.unit) * np.abs(reference)


def _changed_queries(
    reference: np.ndarray, bound: np.ndarray, scores: np.ndarray, query_ptr: np.ndarray
) -> np.ndarray:
    """Return for each query whether documents swap that differ by more than the bound.

    Document i was certainly above j if ``reference - bound`` of i exceeds ``reference + bound`` of
    j; then i must still have a larger score.
    """
    lower, upper = reference - bound, reference + bound
    changed = np.zeros(len(query_ptr) - 1, dtype=bool)
    for query, (start, end) in enumerate(pairwise(query_ptr.tolist())):
        order = start + np.argsort(-scores[start:end], kind="stable")
        descending = -scores[order]
        lowest = np.concatenate([[np.inf], np.minimum.accumulate(upper[order])])
        above = np.searchsorted(descending, descending, side="right")  # not below it now
        changed[query] = bool((lower[order] > lowest[above]).any())
    return changed
