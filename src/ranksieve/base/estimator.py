"""Base of selectors and rankers: data with query ids in any form."""

from __future__ import annotations

from functools import cache
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import _check_feature_names, validate_data

from ranksieve.base.fit_inputs import with_sample_weight
from ranksieve.data import DataError, RankingData
from ranksieve.data.inputs import polars_to_row_order
from ranksieve.data.missing import Missing
from ranksieve.engine import Source
from ranksieve.io.shards import Shards
from ranksieve.parameters import Constraints

# Entry that replaces {verbose} in docstrings.
_VERBOSE = """
    verbose : bool
        Whether to show progress on a terminal.
"""


class RankEstimator(BaseEstimator):
    """Base of selectors and rankers: accepts data with query ids in any form.

    A subclass is a dataclass whose fields are its parameters; see :mod:`ranksieve.parameters`.
    """

    _parameter_constraints: ClassVar[Any] = Constraints()
    _shared_docs: ClassVar[dict[str, str]] = {"verbose": _VERBOSE}

    # Routes these to fit once metadata routing is enabled; without it, pass them by name.
    __metadata_request__fit: ClassVar[dict[str, Any]] = {"qid": True, "sample_weight": True}

    no_weights: ClassVar[str] = ""  # why it takes no weights of queries: a sentence, or empty
    takes_missing: ClassVar[bool] = False  # whether it takes missing values that the data keeps
    _allows_missing: ClassVar[bool] = False  # whether it takes NaN in arrays

    # Whether it works in many short steps with Python between them. On few rows, several of them at
    # a time take longer than one after the other: only one thread can run Python.
    steps_in_python: ClassVar[bool] = False

    verbose: bool

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for kind in cls.__mro__:
            for name, text in vars(kind).get("_shared_docs", {}).items():
                cls.__doc__ = cls.__doc__ and cls.__doc__.replace(f"{{{name}}}", text.strip())

    @classmethod
    @cache  # scikit-learn inspects the signature anew in each call: of copies, checks and searches
    def _get_param_names(cls) -> list[str]:
        return super()._get_param_names()

    def _source(self, X: Any, y: Any, qid: Any, sample_weight: Any = None) -> Source:
        """Training data, with the weights of its queries."""
        source = with_sample_weight(self._open(X, y, qid), sample_weight)
        if source.n_features == 0:
            raise DataError("the data has no features")
        if self.no_weights and source.query_weights is not None:
            raise DataError(
                f"{type(self).__name__} takes no weights of queries: {self.no_weights} Remove "
                "them with data.with_weights(None)"
            )
        return source

    def _open(self, X: Any, y: Any, qid: Any) -> Source:
        if isinstance(X, (RankingData, Shards)):
            if y is not None or qid is not None:
                raise DataError("the data has its own labels and query ids: leave out y and qid")
            self._remember_features(X)
            return X if self.takes_missing else X.refusing_missing()
        self._remember_missing(None)
        if y is None:
            name = type(self).__name__
            raise DataError(f"{name} requires y to be passed, but the target y is None")
        names, frame = getattr(X, "columns", None), X
        X, y = validate_data(
            self,
            polars_to_row_order(X),
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
        self._remember_missing(source.missing)
        self.n_features_in_ = source.n_features
        if source.has_feature_names:
            self.feature_names_in_ = source.feature_names
        elif hasattr(self, "feature_names_in_"):  # from an earlier fit
            del self.feature_names_in_

    def _remember_missing(self, missing: Missing | None) -> None:
        """Store the treatment of missing values, to apply it to later data."""
        self.__dict__.pop("missing_", None)  # from an earlier fit
        if missing is not None:
            self.missing_ = missing

    def _name_of(self, feature: int) -> str:
        """Name of a feature for people: its name, or its 1-based number."""
        names = getattr(self, "feature_names_in_", None)
        return str(feature + 1) if names is None else str(names[feature])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        # For a wrapper it is a property, which depends on the ranker.
        kept = getattr(self, "missing_", None)
        tags.input_tags.allow_nan = type(self)._allows_missing is True or (
            kept is not None and kept.keeps
        )
        tags.target_tags.required = True
        return tags
