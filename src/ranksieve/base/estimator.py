"""Base of selectors and rankers: estimators of data with query ids, and those that predict.

The functions after them add what ``fit`` and ``score`` take besides rows and labels: weights, query
ids, and held-out data (:func:`as_source`).
"""

from __future__ import annotations

import inspect
from abc import abstractmethod
from collections.abc import Collection, Mapping
from functools import cache
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import _check_feature_names, check_is_fitted, validate_data

from ranksieve.base.docstrings import complete_docstring
from ranksieve.data import DataError, RankingData
from ranksieve.data.encoding import encode_categories
from ranksieve.data.fitted import (
    check_names,
    check_rows,
    check_scores,
    code_categories_as_in_training,
    treat_missing_as_in_training,
)
from ranksieve.data.inputs import check_query_weights, is_frame, polars_to_row_order
from ranksieve.engine import Source, in_memory
from ranksieve.io.shards import Shards
from ranksieve.metrics import evaluate
from ranksieve.parameters import Constraints
from ranksieve.registry.foreign import copy_with, fit_parameters

_OF_ROWS = {
    "row_weights": ("weights of rows", "--row-weight"),
    "positions": ("positions", "--position"),
}
"""Attribute of data -> what it is, and the option of the command line that gives it."""


# What an estimator knows of its training data, besides the names of features.
_OF_DATA = ("missing_", "columns_", "categories_", "encoding_")


class RankEstimator(BaseEstimator):
    """Base of selectors and rankers: accepts data with query ids in any form.

    A subclass is a dataclass whose fields are its parameters; see :mod:`ranksieve.parameters`.
    """

    _parameter_constraints: ClassVar[Any] = Constraints()
    _shared_docs: ClassVar[dict[str, str]] = {}  # texts that replace their names in docstrings

    # Routes these to fit once metadata routing is enabled; without it, pass them by name.
    __metadata_request__fit: ClassVar[dict[str, Any]] = {"qid": True, "sample_weight": True}

    no_weights: ClassVar[str] = ""  # why it takes no weights of queries: a sentence, or empty
    # Why it takes no weights of rows, and no positions of documents; empty if it does.
    no_row_weights: ClassVar[str] = "its definition has none."
    no_positions: ClassVar[str] = "it has no model of the bias of positions."
    takes_missing: ClassVar[bool] = False  # whether it takes missing values (NaN)
    takes_categories: ClassVar[bool] = False  # else it gets numbers for them, from labels

    # Whether it works in many short steps with Python between them. On few rows, several of them at
    # a time take longer than one after the other: only one thread can run Python.
    steps_in_python: ClassVar[bool] = False

    works_on_shards: ClassVar[bool] = True  # else it reads them into memory

    _source_doc: ClassVar[str] = ""  # the docstring, before shared entries are written out

    progress: bool = True  # whether ``fit`` shows it

    # How the registry describes and makes an estimator; adapters answer for what they adapt.
    _number_parameter: str | None = None  # parameter for the number of features to select
    _more_settings: Collection[str] = ()  # parameters that ``_settings`` does not list

    @property
    def _adapted(self) -> Any:
        """The estimator that has the parameters."""
        return self

    @property
    def _name_in_errors(self) -> str:
        return type(self).__name__

    @property
    def _uses_held_out_data(self) -> bool:
        return "eval_set" in fit_parameters(self)

    def _settings(self) -> dict[str, Any]:
        """Parameters that can be set by name, in the order of the constructor."""
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    def _accepts(self, parameter: str) -> bool:
        """Whether there is such a parameter, including those of nested estimators."""
        return parameter in self.get_params()

    def _translate(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Rename parameters from native names of a library to those of the class."""
        return dict(parameters)

    def _with_settings(self, settings: Mapping[str, Any]) -> Any:
        """Unfitted copy with other parameters."""
        return copy_with(self, **settings)

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls._source_doc = vars(cls).get("__doc__") or ""
        if cls._source_doc:
            cls.__doc__ = complete_docstring(cls)

    @classmethod
    @cache  # scikit-learn inspects the signature anew in each call: of copies, checks and searches
    def _get_param_names(cls) -> list[str]:
        return super()._get_param_names()

    def _source(self, X: Any, y: Any, qid: Any, sample_weight: Any = None) -> Source:
        """Training data, with the weights of its queries; remembers its features."""
        source: Source
        if not isinstance(X, (RankingData, Shards)):
            source = self._validate_arrays(X, y, qid)
            source = source if self.takes_missing else source.refusing_missing()
        elif y is not None or qid is not None:
            raise DataError("the data has its own labels and query ids: leave out y and qid")
        else:
            if isinstance(X, RankingData):
                X = X.with_observed_categories()
            self._remember_features(X)
            source = X if self.takes_missing else X.refusing_missing()
        if sample_weight is not None:
            if source.query_weights is not None:
                raise DataError(
                    "the data has its own weights: leave out sample_weight, or pass the data with "
                    "data.with_weights(None)"
                )
            source = source.with_weights(sample_weight)
        elif source.query_weights is not None:
            check_query_weights(source.query_weights)  # the weights of a part may all be 0
        if source.n_features == 0:
            raise DataError("the data has no features")
        if self.no_weights and source.query_weights is not None:
            raise DataError(
                f"{type(self).__name__} takes no weights of queries: {self.no_weights} Remove "
                "them with data.with_weights(None)"
            )
        self.check_of_rows(source)
        if isinstance(source, RankingData) and source.row_weights is not None:
            check_query_weights(source.row_weights, "row_weights", "rows")
        if isinstance(source, RankingData) and source.categories and not self.takes_categories:
            source, self.encoding_ = encode_categories(source)
        return source

    def not_taken(self, source: Source) -> dict[str, str]:
        """What the rows of the data have but the estimator cannot use, and why, by attribute."""
        reasons = {"row_weights": self.no_row_weights, "positions": self.no_positions}
        return {name: why for name, why in reasons.items() if why and name in source.of_rows}

    def check_of_rows(self, source: Source) -> None:
        """Raise a DataError for weights of rows, or positions, that the estimator cannot use."""
        for name, why in self.not_taken(source).items():
            what, option = _OF_ROWS[name]
            raise DataError(
                f"{self._name_in_errors} takes no {what}: {why} Leave out {option}, or remove "
                f"them with data.with_{name}(None)"
            )

    def _validate_arrays(self, X: Any, y: Any, qid: Any) -> RankingData:
        """Data from what scikit-learn's estimators take, and query ids."""
        for attribute in _OF_DATA:  # from an earlier fit
            self.__dict__.pop(attribute, None)
        if is_frame(X) and y is not None and qid is not None:
            data = RankingData(X, y, qid)
            if data.categories:
                data = data.with_observed_categories()
                self._remember_features(data)
                return data
        if y is None:
            name = type(self).__name__
            raise DataError(f"{name} requires y to be passed, but the target y is None")
        names, frame = getattr(X, "columns", None), X
        X, y = validate_data(
            self,
            X if names is None else polars_to_row_order(X),
            y,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            ensure_all_finite=False,  # our own check names the row and feature
            y_numeric=True,
            ensure_min_samples=2,  # a single document cannot be ranked
        )
        _check_feature_names(self, frame, reset=True)
        return RankingData(X, y, qid, feature_names=names)

    def _remember_features(self, source: Source) -> None:
        """Store the features of training data, and how its missing values are treated."""
        for attribute in (*_OF_DATA, "feature_names_in_"):  # from an earlier fit
            self.__dict__.pop(attribute, None)
        self.n_features_in_ = source.n_features
        if source.has_feature_names:
            self.feature_names_in_ = source.feature_names
        if source.missing is not None:
            self.missing_ = source.missing
        columns = getattr(source, "table_columns", None)
        if columns is not None:
            self.columns_ = columns
        if isinstance(source, RankingData) and source.categories:
            self.categories_ = dict(source.categories)

    def _name_of(self, feature: int) -> str:
        """Name of a feature for people: its name, or its 1-based number."""
        names = getattr(self, "feature_names_in_", None)
        return str(feature + 1) if names is None else str(names[feature])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = bool(self.takes_missing)
        tags.target_tags.required = True
        return tags


class Predictor(RankEstimator):
    """Base of estimators that score documents: rankers, and selectors with a model.

    A subclass implements :meth:`_scores`.
    """

    __metadata_request__score: ClassVar[dict[str, Any]] = {"qid": True, "sample_weight": True}

    @abstractmethod
    def _scores(self, X: Any) -> np.ndarray:
        """Score rows, which are an array or a CSR matrix with all features."""

    def _rows(self, X: Any) -> Any:
        """Rows as an array or a CSR matrix, checked to have the features of the training data."""
        return check_rows(self, X, allow_missing=self.takes_missing)

    def predict(self, X: Any) -> np.ndarray:
        """Score documents, given all features; larger is better.

        Scores of a RankingData are in its row order. Shards are read one at a time.

        Parameters
        ----------
        X : array, frame, sparse matrix, RankingData or opened shards
        """
        check_is_fitted(self)
        if isinstance(X, Shards):
            X = treat_missing_as_in_training(self, X)
            return np.concatenate([self.predict(X.read_shard(i)) for i in range(X.n_shards)])
        return check_scores(self._scores(self._rows(X)))

    def score(self, X: Any, y: Any = None, qid: Any = None, sample_weight: Any = None) -> float:
        """Mean NDCG@10 over queries of the ranking by :meth:`predict`.

        Parameters
        ----------
        X, y, qid
            As in ``fit``.
        sample_weight : array, optional
            A weight for each query in the mean, or for each row, as in ``fit``.
        """
        data = in_memory(X) if isinstance(X, (RankingData, Shards)) else _require_queries(X, y, qid)
        if sample_weight is not None:
            data = data.with_weights(sample_weight)
        found = evaluate(
            data.y,
            self.predict(data),
            data.qid,
            "ndcg@10",
            query_weights=data.query_weights,
            row_weights=data.row_weights,
        )
        return found.mean["NDCG@10"]


def _require_queries(X: Any, y: Any, qid: Any) -> RankingData:
    """Data for ``score``; raises an error that explains metadata routing if qid is missing."""
    if qid is None:
        raise DataError(
            "score needs qid, the query of each row; in cross-validation and grid searches, call "
            "sklearn.set_config(enable_metadata_routing=True), and pass params={'qid': qid} or "
            "fit(X, y, qid=qid)"
        )
    return RankingData(X, y, qid)


def as_source(
    eval_set: Any,
    training: Source,
    eval_qid: Any = None,
    eval_group: Any = None,
    estimator: Any = None,
) -> Source | None:
    """Open held-out data; raise a DataError unless it has the features of the training data.

    Its missing values are treated as those of the training data, unless it declares otherwise; its
    categories get the codes, or the numbers, that the ``estimator`` has learned. ``eval_set`` is a
    tuple (X, y, qid), a RankingData, shards, or a list of one pair (X, y), with the query of each
    row (``eval_qid``) or the number of rows of each query (``eval_group``).
    """
    if eval_set is None:
        for name, value in (("eval_qid", eval_qid), ("eval_group", eval_group)):
            if value is not None:
                raise DataError(f"{name} is given without an eval_set")
        return None
    source = _open_eval_set(eval_set, eval_qid, eval_group)
    if source.missing is None and training.missing is not None:
        source = source.with_missing(training.missing)
    if isinstance(source, RankingData):
        source = code_categories_as_in_training(estimator, source)
    if not (training.keeps_missing and getattr(estimator, "takes_missing", True)):
        source = source.refusing_missing()
    if source.n_features != training.n_features:
        raise DataError(
            f"eval_set has {source.n_features} features, but the training data has "
            f"{training.n_features}"
        )
    check_names(training.feature_names if training.has_feature_names else None, source)
    check_query_weights(source.query_weights, "the weights of eval_set")
    if isinstance(source, RankingData) and source.has_feature_names != training.has_feature_names:
        # Otherwise parts of both, whose features are named by numbers, would not match.
        named = training.feature_names if training.has_feature_names else None
        source = source._replace(feature_names=named)
    return source


def _open_eval_set(eval_set: Any, eval_qid: Any, eval_group: Any) -> Source:
    """Open held-out data in any of the accepted forms."""
    if isinstance(eval_set, list):
        if len(eval_set) != 1:
            raise DataError(f"eval_set must be one data set, but there are {len(eval_set)}")
        eval_set = eval_set[0]
    is_pair = isinstance(eval_set, tuple) and len(eval_set) == 2
    if eval_qid is not None or eval_group is not None:
        if not is_pair or (eval_qid is not None and eval_group is not None):
            raise DataError(
                "eval_set=[(X, y)] takes either eval_qid or eval_group, other forms take neither"
            )
        X, y = eval_set
        if eval_qid is not None:
            return RankingData(X, y, _single_array(eval_qid))
        return RankingData.from_group_counts(X, y, _single_array(eval_group))
    if isinstance(eval_set, (RankingData, Shards)):
        return eval_set
    if isinstance(eval_set, tuple) and len(eval_set) == 3:
        return RankingData(*eval_set)
    if is_pair:
        raise DataError("eval_set has no queries: pass (X, y, qid), or also eval_qid or eval_group")
    raise DataError(
        "eval_set must be a tuple (X, y, qid), a RankingData, opened shards, or a list [(X, y)] "
        f"with eval_qid or eval_group; got {type(eval_set).__name__}"
    )


def _single_array(arrays: Any) -> Any:
    """The array in a list of one array, or the array itself."""
    is_list = isinstance(arrays, (list, tuple)) and len(arrays) == 1 and np.ndim(arrays[0]) == 1
    return arrays[0] if is_list else arrays
