"""Check that rows given to a fitted estimator have the features of its training data."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.utils.validation import assert_all_finite, validate_data

from ranksieve.data.errors import DataError, NonFiniteError
from ranksieve.data.ranking_data import RankingData

SCALE_FIRST = (
    "scale the features first, with ranksieve.preprocessing.QueryMinMaxScaler or "
    "ranksieve convert --scale min-max"
)


def check_features(estimator: Any, data: Any) -> None:
    """Raise a DataError unless data has the same number and names of features as in training.

    Parameters
    ----------
    estimator : estimator
        With ``n_features_in_``, and ``feature_names_in_`` if the features have names.
    data : RankingData or opened shards
    """
    n_features = getattr(estimator, "n_features_in_", data.n_features)
    if data.n_features != n_features:
        raise DataError(
            f"X has {data.n_features} features, but {type(estimator).__name__} is expecting "
            f"{n_features} features as input"
        )
    check_names(getattr(estimator, "feature_names_in_", None), data)


def check_names(known: np.ndarray | None, data: Any) -> None:
    """Raise a DataError if both have feature names and they differ from those in training."""
    if known is None or not data.has_feature_names:
        return
    for place in np.flatnonzero(known != data.feature_names)[:1]:
        raise DataError(
            f"feature {place + 1} is {str(data.feature_names[place])!r}, but "
            f"{str(known[place])!r} in training"
        )


def as_in_training(estimator: Any, data: Any) -> Any:
    """Treat the missing values of data that declares nothing as those of the training data.

    Parameters
    ----------
    estimator : estimator
        With ``missing_`` if its training data declared what is done with missing values.
    data : RankingData or opened shards
    """
    missing = getattr(estimator, "missing_", None)
    return data if missing is None or data.missing is not None else data.with_missing(missing)


@contextmanager
def refusals(estimator: Any, data: Any) -> Iterator[None]:
    """Say in the errors of a ``with`` block that a method takes no missing values.

    Whoever has declared to keep them would not understand that they are to be declared.
    """
    try:
        yield
    except NonFiniteError as error:
        if estimator.takes_missing or not getattr(data, "keeps_missing", False):
            raise
        name = getattr(estimator, "_name_in_errors", type(estimator).__name__)
        raise NonFiniteError(f"{name} cannot use missing values: {error}") from error


def checked_rows(estimator: Any, X: Any, *, allow_missing: bool = False) -> Any:
    """Return rows as an array or a CSR matrix with the features an estimator was trained on.

    Parameters
    ----------
    estimator : estimator
    X : array, frame, sparse matrix or RankingData
        Anything other than finite values of these features is refused.
    allow_missing : bool
        Whether NaN is allowed.
    """
    if isinstance(X, RankingData):
        X = as_in_training(estimator, X)
        check_features(estimator, X)
        if allow_missing:
            assert_all_finite(X.X, allow_nan=True, input_name="X")
        else:
            X.refusing_missing().check_finite()  # says where
        return X.X
    return validate_data(
        estimator,
        X,
        reset=False,
        accept_sparse="csr",
        dtype=[np.float64, np.float32],
        ensure_all_finite="allow-nan" if allow_missing else True,
    )


def checked_scores(scores: np.ndarray) -> np.ndarray:
    """Return scores of rows; raise a DataError if one is not finite."""
    for row in np.flatnonzero(~np.isfinite(scores))[:1]:
        raise DataError(f"the score of row {row} is {scores[row]}: {SCALE_FIRST}")
    return scores
