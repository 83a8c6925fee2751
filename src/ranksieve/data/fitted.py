"""Check that rows given to a fitted estimator have the features of its training data."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
from sklearn.utils.validation import assert_all_finite, validate_data

from ranksieve.data.categories import NO_CATEGORIES
from ranksieve.data.errors import DataError
from ranksieve.data.inputs import default_names, is_frame
from ranksieve.data.ranking_data import RankingData
from ranksieve.text import list_names, on_one_line, quantity

_log = logging.getLogger("ranksieve")

SCALE_FIRST = (
    "scale the features first, with ranksieve.preprocessing.QueryMinMaxScaler or "
    "ranksieve convert --scale min-max"
)


def check_features(estimator: Any, data: Any) -> None:
    """Raise a DataError unless data has the same number and names of features as in training."""
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
    for feature in np.flatnonzero(known != data.feature_names)[:1]:
        raise DataError(
            f"feature {feature + 1} is {str(data.feature_names[feature])!r}, but "
            f"{str(known[feature])!r} in training"
        )


def treat_missing_as_in_training(estimator: Any, data: Any) -> Any:
    """Treat the missing values of data that declares nothing as those of the training data."""
    missing = getattr(estimator, "missing_", None)
    return data if missing is None or data.missing is not None else data.with_missing(missing)


def trained_names(estimator: Any) -> np.ndarray:
    """Names of the features of the training data."""
    known = getattr(estimator, "feature_names_in_", None)
    return default_names(estimator.n_features_in_) if known is None else known


def code_categories_as_in_training(estimator: Any, data: RankingData) -> RankingData:
    """Data with the codes of categories in training, or with the numbers that stand for them."""
    data = data.with_categories(getattr(estimator, "categories_", NO_CATEGORIES))
    encoding = getattr(estimator, "encoding_", None)
    if encoding is None or not data.categories:
        return data
    X = encoding.applied_to(data.X, data.feature_names)
    return data._replace(X=X, categories=NO_CATEGORIES)


def tell_unknown_categories(estimator: Any, data: RankingData) -> None:
    """Say which features have categories that were not in training, and in how many rows."""
    known = getattr(estimator, "categories_", NO_CATEGORIES)
    for column, name in enumerate(map(str, data.feature_names)):
        if name not in known or name not in data.categories:
            continue
        own = data.categories[name]
        new = {code for code, category in enumerate(own) if category not in set(known[name])}
        is_new = np.isin(data.X[:, column], list(new))
        if is_new.any():
            there = [own[int(code)] for code in np.unique(data.X[is_new, column])]
            _log.info(
                f"Feature {on_one_line(name)} has categories that were not in training, in "
                f"{quantity(int(is_new.sum()), 'row')}: {list_names(there)}; they count as missing"
            )


def check_rows(estimator: Any, X: Any, *, allow_missing: bool = False) -> Any:
    """Return rows as an array or a CSR matrix with the features an estimator was trained on.

    X may be an array, frame, sparse matrix or RankingData. Values that are not finite, and other
    features, are refused.
    """
    if is_frame(X) and hasattr(estimator, "categories_"):
        X = RankingData(X, np.zeros(len(X)), np.zeros(len(X), dtype=int))
    if isinstance(X, RankingData):
        X = treat_missing_as_in_training(estimator, X)
        check_features(estimator, X)
        X = code_categories_as_in_training(estimator, X)
        if allow_missing:
            assert_all_finite(X.X, allow_nan=True, input_name="X")
        else:
            X.refusing_missing().check_finite()  # raises an error with the row and feature
        return X.X
    encoding = getattr(estimator, "encoding_", None)
    rows = validate_data(
        estimator,
        X,
        reset=False,
        accept_sparse="csr",
        dtype=[np.float64, np.float32],
        ensure_all_finite="allow-nan" if allow_missing or encoding is not None else True,
    )
    if encoding is not None:
        rows = encoding.applied_to(rows, trained_names(estimator))
        assert_all_finite(rows, allow_nan=allow_missing, input_name="X")
    return rows


def check_scores(scores: np.ndarray) -> np.ndarray:
    """Return scores of rows; raise a DataError if one is not finite."""
    for row in np.flatnonzero(~np.isfinite(scores))[:1]:
        raise DataError(f"the score of row {row} is {scores[row]}: {SCALE_FIRST}")
    return scores
