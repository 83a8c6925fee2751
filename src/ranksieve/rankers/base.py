"""Bases of rankers: training with query ids, validation data and weights; model files.

:class:`Ranker` is the base of all rankers, :class:`LinearRanker` of those with one weight per
feature.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from copy import deepcopy
from functools import partial
from typing import Any, NoReturn

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ranksieve._version import __version__
from ranksieve.base import Predictor, as_source
from ranksieve.data import DataError, RankingData
from ranksieve.data.fitted import trained_names, treat_missing_as_in_training
from ranksieve.engine import Source
from ranksieve.io.model import SavedModel, TrainedOn, write_model
from ranksieve.io.records import get_numbers
from ranksieve.io.selection import PathLike, Selection
from ranksieve.parameters import plain_value
from ranksieve.progress import progress_bar
from ranksieve.sums.checks import check_labels_differ, explain_failures
from ranksieve.sums.held_out import linear_scores
from ranksieve.threads import limit_threads_for


class Ranker(Predictor):
    """Base of all rankers: scikit-learn estimators that score documents.

    A subclass declares its parameters and implements :meth:`_train` and :meth:`_scores`, and
    :meth:`_learned` and :meth:`_relearn` for files. A ranker that was saved with a selection takes
    rows with all features or with the selected ones.
    """

    selection_: Selection  # how features were selected; only if it was saved with a selection

    @abstractmethod
    def _train(self, source: Source, vali: Source | None) -> None:
        """Train on a source, whose queries count by their weights."""

    def _contributions(self, X: Any) -> np.ndarray:
        """SHAP value of each feature in each row's score."""
        raise ValueError(f"{type(self).__name__} has no SHAP values")

    def _for_features(self, features: Sequence[int], n_features: int) -> Any:
        """Untrained copy for some of ``n_features`` features, with its own random numbers."""
        return deepcopy(self)

    def _refits(self, data: RankingData) -> Refits:
        """Make an object that trains copies of the ranker on subsets of the features."""
        return Refits(self, data)

    def _saved_parameters(self) -> dict[str, Any]:
        """Parameters for a file, from which :meth:`_from_saved` makes a ranker."""
        return self.get_params(deep=False)

    @classmethod
    def _from_saved(cls, parameters: dict[str, Any]) -> Any:
        """Make an untrained ranker; raise a TypeError or ValueError for wrong parameters."""
        return cls(**parameters)

    @abstractmethod
    def _learned(self) -> dict[str, Any]:
        """Result of training that predictions need, as JSON values."""

    @abstractmethod
    def _relearn(self, learned: dict[str, Any]) -> None:
        """Restore what :meth:`_learned` returned; raise a DataError for anything else."""

    def fit(
        self,
        X: Any,
        y: Any = None,
        qid: Any = None,
        eval_set: Any = None,
        sample_weight: Any = None,
        *,
        eval_qid: Any = None,
        eval_group: Any = None,
    ) -> Any:
        """Train the ranker.

        Parameters
        ----------
        X, y, qid, sample_weight
            As in :meth:`ranksieve.base.RankSelector.fit`.
        eval_set : tuple (X, y, qid), RankingData, opened shards, or list [(X, y)], optional
            Validation data, for rankers that use it to stop early or to choose a model. If it has
            weights, its queries count by them.
        eval_qid, eval_group : list of one array, optional
            For a list [(X, y)], as LightGBM and XGBoost take it: the query of each row of X, or the
            number of rows of each query, one after the other.
        """
        self._validate_params()
        source = self._source(X, y, qid, sample_weight)
        vali = as_source(eval_set, source, eval_qid, eval_group, self)
        if vali is not None:
            self.check_of_rows(vali)
        for attribute in ("selection_", "trained_on_"):  # from an earlier fit
            if hasattr(self, attribute):
                delattr(self, attribute)
        with progress_bar(self.progress, type(self).__name__), explain_failures(self, source, X):
            check_labels_differ(source)
            with limit_threads_for(source.n_rows):
                self._train(source, vali)
        return self

    def _rows(self, X: Any) -> Any:
        """Check rows, and keep the selected features if rows have all features."""
        if isinstance(X, RankingData):
            X = treat_missing_as_in_training(self, X)
        if hasattr(self, "selection_"):
            X = self.selection_.applied_to(X)
        return super()._rows(X)

    def check_savable(self) -> None:
        """Raise a ValueError if :meth:`save_model` cannot write such a ranker, trained or not."""
        self._plain_parameters()

    def _plain_parameters(self) -> dict[str, Any]:
        saved = self._saved_parameters().items()
        return {name: plain_value(value, partial(_refuse, name)) for name, value in saved}

    def save_model(
        self,
        path: PathLike,
        *,
        selection: Selection | None = None,
        trained_on: TrainedOn | None = None,
    ) -> None:
        """Write the trained ranker to a file, for :func:`ranksieve.rankers.load_model`.

        The file is JSON, with trees in the format of their library, a ``selection`` that says how
        the features were selected, and ``trained_on``, the queries that trained the ranker. It is
        read back, and replaces an older file only if the ranker that was read gives the same
        scores.
        """
        check_is_fitted(self)
        self.check_savable()
        selection = selection or getattr(self, "selection_", None)
        if selection is not None and len(selection.features) != self.n_features_in_:
            raise DataError(
                f"the selection has {len(selection.features)} features, but the ranker was trained "
                f"on {self.n_features_in_}"
            )
        names = getattr(self, "feature_names_in_", None)
        model = SavedModel(
            ranker=type(self).__name__,
            parameters=self._plain_parameters(),
            n_features_in=int(self.n_features_in_),
            feature_names=None if names is None else [str(name) for name in names],
            selection=selection,
            missing=getattr(self, "missing_", None),
            columns=getattr(self, "columns_", None),
            categories=getattr(self, "categories_", None),
            encoding=getattr(self, "encoding_", None),
            learned=self._learned(),
            ranksieve=__version__,
            trained_on=trained_on or getattr(self, "trained_on_", None),
        )
        write_model(model, path, self._check_read_back)

    @classmethod
    def _restore(cls, model: SavedModel) -> Any:
        """Trained ranker of this class from a file; raises a DataError if it has other contents."""
        try:
            ranker = cls._from_saved(model.parameters)
            ranker._validate_params()
        except (TypeError, ValueError) as error:
            raise DataError(f"the parameters are not those of {model.ranker}: {error}") from None
        ranker.n_features_in_ = model.n_features_in
        if model.feature_names is not None:
            ranker.feature_names_in_ = np.array(model.feature_names, dtype=object)
        if model.selection is not None:
            ranker.selection_ = model.selection
        for attribute in ("missing", "columns", "categories", "encoding"):
            if getattr(model, attribute) is not None:
                setattr(ranker, f"{attribute}_", getattr(model, attribute))
        if model.trained_on is not None:
            ranker.trained_on_ = model.trained_on
        ranker._relearn(model.learned)
        return ranker

    def _check_read_back(self, model: SavedModel) -> None:
        """Raise a DataError unless the model of a file gives some rows the scores of this one."""
        restored = self._restore(model)
        scales = np.array([0, 1e-3, 1, 1, 1e3])
        rows = scales[:, None] * np.random.default_rng(0).normal(size=(5, self.n_features_in_))
        if self.takes_categories and hasattr(self, "categories_"):
            for column, name in enumerate(trained_names(self)):
                if name in self.categories_:
                    rows[:, column] = np.arange(5) % max(1, len(self.categories_[name]))
        kinds = [rows, np.full_like(rows, np.nan)] if self.takes_missing else [rows]
        for X in kinds:
            if not np.array_equal(restored._scores(X), self._scores(X), equal_nan=True):
                raise DataError("the ranker in the file gives other scores")


class LinearRanker(Ranker):
    """A ranker whose score is a weighted sum of features; ``_train`` sets the weights."""

    coef_: np.ndarray  # (features,)

    @property
    def feature_importances_(self) -> np.ndarray:
        """Absolute weights, which are comparable only if features have similar scales."""
        check_is_fitted(self)
        return np.abs(self.coef_)

    def _scores(self, X: Any) -> np.ndarray:
        return linear_scores(X, self.coef_)

    def _learned(self) -> dict[str, Any]:
        return {"coef": self.coef_.tolist()}

    def _relearn(self, learned: dict[str, Any]) -> None:
        self.coef_ = get_numbers(learned, "coef", self.n_features_in_)


class Refits:
    """Copies of an untrained ranker, each trained on some features of the same data."""

    # Whether removing features that a trained ranker does not use leaves its model unchanged.
    ignores_unused = False

    def __init__(self, ranker: Any, data: RankingData) -> None:
        self.ranker, self.data = ranker, data

    def fit(self, features: Sequence[int]) -> Any:
        """Train a copy of the ranker on some features."""
        copy = self.ranker._for_features(features, self.data.n_features)
        return copy.fit(self.data.take_features(list(features)))


def is_repeatable(ranker: Any) -> bool:
    """Whether another training gives the same model; other libraries use their default seed."""
    return not isinstance(ranker, Ranker) or getattr(ranker, "random_state", 0) is not None


def _refuse(name: str, value: Any) -> NoReturn:
    raise ValueError(
        f"parameter {name}={value!r} cannot be written to a file; set it to a name or a number "
        f"with set_params({name}=...)"
    )
