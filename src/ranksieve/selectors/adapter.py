"""Use selectors of scikit-learn, or your own, wherever this library takes a selector."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from ranksieve.base import Choices, RankSelector
from ranksieve.base.adapter import Adapter
from ranksieve.base.selector import ChoiceParameters
from ranksieve.data import DataError
from ranksieve.engine import Source, in_memory
from ranksieve.parameters import FeatureCount
from ranksieve.rankers.base import Ranker
from ranksieve.rankers.libraries import is_of_library
from ranksieve.registry.foreign import (
    copy_with,
    fit_foreign,
    parameters_of,
    tags_of,
    takes_missing,
    why_no_positions,
    why_no_row_weights,
)
from ranksieve.selectors._search.held_out import HeldOutSelector
from ranksieve.text import quantity

_NUMBERS = ("n_features_to_select", "k", "max_features")


def as_selector(estimator: Any) -> RankSelector:
    """Make a selector from one of scikit-learn, or from your own.

    Parameters
    ----------
    estimator : estimator
        A selector of this library, a selector of scikit-learn such as ``SelectKBest``, or any
        object with ``fit(X, y, qid=...)``, ``fit(X, y)`` or ``fit(data)`` that then has
        ``selected_`` (the features in order), ``get_support()`` or ``support_``. It is never
        changed. Anything else raises a TypeError.

    Returns
    -------
    RankSelector
        A selector of this library is returned as it is; others are wrapped in a
        :class:`SelectorAdapter`.

    Examples
    --------
    >>> from sklearn.feature_selection import SelectKBest, f_regression
    >>> from ranksieve import make_ranking
    >>> from ranksieve.selectors import as_selector
    >>> data, truth = make_ranking(100, n_informative=2, noise=0.1, random_state=0)
    >>> as_selector(SelectKBest(f_regression, k=2)).fit(data).selected_.shape
    (2,)
    """
    if isinstance(estimator, RankSelector):
        return estimator
    _check(estimator)
    return SelectorAdapter(estimator)


def _check(estimator: Any) -> None:
    accepted = (
        "a selector of ranksieve or scikit-learn, or an object with fit(X, y, qid=...), fit(X, y) "
        "or fit(data) that then has selected_, get_support() or support_"
    )
    name = type(estimator).__name__
    if isinstance(estimator, type):
        raise TypeError(
            f"expected {accepted}; got the class {estimator.__name__}: pass an instance"
        )
    if not callable(getattr(estimator, "fit", None)):
        raise TypeError(f"expected {accepted}; got {name}")
    what = getattr(tags_of(estimator), "estimator_type", None)
    if hasattr(estimator, "get_support"):  # such as RFE, which also predicts
        what = None
    if isinstance(estimator, Ranker) or what is not None or is_of_library(estimator):
        raise TypeError(f"expected {accepted}; got {name}, which predicts; is it a ranker?")


@dataclass(eq=False, repr=False)
class SelectorAdapter(Adapter, HeldOutSelector):
    """A selector of scikit-learn, or your own, with the interface of this library.

    Parameters
    ----------
    estimator : estimator
        See :func:`as_selector`. Copies of it are fitted; it is not changed.
    n_features_to_select : int, float or None
        Number of features, or a fraction of them if below 1: the estimator's parameter
        ``n_features_to_select``, ``k`` or ``max_features``, the first of these that it has. None
        leaves it as it is.
    include, exclude, groups, count, progress
        As in :class:`RankSelector`.

    Attributes
    ----------
    estimator_ : estimator
        The fitted copy.
    scores_ : array of shape (features,)
        Only if the estimator has it.

    Notes
    -----
    If ``fit`` has a parameter ``y``, it gets X and y, with rows grouped by query, and what it has
    parameters for: ``qid`` (the query of each row), ``group`` (the number of rows of each query),
    ``groups`` (the query of each row as a number, as in scikit-learn), ``sample_weight`` and
    ``eval_set`` (a tuple (X, y, qid)). Else it gets a :class:`~ranksieve.RankingData`. Nothing is
    held out without an ``eval_set``, and weights are refused if ``fit`` has no ``sample_weight``.

    The selected features are those of ``selected_``, in that order, or else those of
    ``get_support()`` or ``support_``, by descending ``scores_`` if there are any. An estimator
    whose attribute ``is_nested`` is true promises that larger selections start with the smaller
    ones. Estimators of scikit-learn get missing values only if their tags say that they accept
    them. Shards are read into memory.
    """

    _copy_adapted = staticmethod(copy_with)  # a selector may be prefit
    no_include = "the estimator chooses all features itself."
    no_groups = "the estimator knows only single features."
    _uses_labels = False  # the estimator checks them itself

    estimator: Any
    n_features_to_select: FeatureCount | None = None

    adapt = staticmethod(as_selector)

    @property
    def _number_parameter(self) -> str | None:  # type: ignore[override]
        parameters = parameters_of(self.estimator)
        return next((name for name in _NUMBERS if name in parameters), None)

    def _outer(self) -> list[str]:
        number = [] if self._number_parameter is None else ["n_features_to_select"]
        choices = [choice.name for choice in fields(ChoiceParameters)]
        own = parameters_of(self.estimator)
        return [name for name in number + choices if name not in own]

    @property
    def takes_missing(self) -> bool:  # type: ignore[override]
        """Whether the estimator may get missing values."""
        return takes_missing(self.estimator)

    @property
    def no_row_weights(self) -> str:  # type: ignore[override]
        """Why the estimator takes no weights of rows; empty if it does."""
        return why_no_row_weights(self.estimator)

    @property
    def no_positions(self) -> str:  # type: ignore[override]
        """Why the estimator takes no positions; empty if it does."""
        return why_no_positions(self.estimator)

    @property
    def is_nested(self) -> bool:
        """Whether the estimator's attribute ``is_nested`` is true."""
        return getattr(self.estimator, "is_nested", False) is True

    def _choose(self, source: Source, choices: Choices, vali: Source | None = None) -> np.ndarray:
        data, vali = in_memory(source), None
        if vali is not None:
            vali = in_memory(vali)
        if not self.takes_missing:
            data.check_finite()
        copied = copy_with(self.estimator, **self._number(choices.k))
        fit_foreign(copied, data, vali)
        self.estimator_ = copied
        self.__dict__.pop("scores_", None)  # from an earlier fit
        scores = np.asarray(getattr(copied, "scores_", None))
        if scores.shape == (data.n_features,) and scores.dtype.kind == "f":
            self.scores_ = scores
        return self._selection_of(copied, data.n_features)

    def _number(self, k: int) -> dict[str, int]:
        if self.n_features_to_select is None:
            return {}
        name = self._number_parameter
        if name is None:
            raise ValueError(
                f"{type(self.estimator).__name__} takes no number of features: it has no parameter "
                f"{', '.join(_NUMBERS[:-1])} or {_NUMBERS[-1]}"
            )
        return {name: k}

    def _selection_of(self, fitted: Any, n_features: int) -> np.ndarray:
        """Features that a fitted estimator selected, checked to be features."""
        name = type(fitted).__name__
        if getattr(fitted, "selected_", None) is not None:
            chosen = np.asarray(fitted.selected_)
        else:
            chosen = np.flatnonzero(_support(fitted, n_features))
            if hasattr(self, "scores_"):
                by_score = np.argsort(-np.nan_to_num(self.scores_[chosen]), kind="stable")
                chosen = chosen[by_score]
        if chosen.ndim != 1 or chosen.dtype.kind not in "iu":
            raise DataError(f"{name}: selected_ should be a list of indices of features")
        for feature in chosen[(chosen < 0) | (chosen >= n_features)][:1]:
            has = quantity(n_features, "feature")
            raise DataError(
                f"{name} selected feature {feature}, but there are {has}, numbered from 0"
            )
        if len(np.unique(chosen)) != len(chosen):
            raise DataError(f"{name} selected a feature twice")
        if not len(chosen):
            raise DataError(f"{name} selected no feature")
        return chosen


def _support(fitted: Any, n_features: int) -> np.ndarray:
    """Mask of the features that a fitted estimator selected."""
    name = type(fitted).__name__
    if callable(getattr(fitted, "get_support", None)):
        support = fitted.get_support()
    elif hasattr(fitted, "support_"):
        support = fitted.support_
    else:
        raise DataError(f"{name} has no selected_, get_support() or support_ after fit")
    found = np.asarray(support)
    if found.shape != (n_features,) or found.dtype != bool:
        raise DataError(f"{name}: its support should be true or false for each feature")
    return found
