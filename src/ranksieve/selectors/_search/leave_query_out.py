"""Selection by leave-query-out errors of least squares: the bases of its selectors."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ranksieve.base import Choices, Predictor, RankSelector
from ranksieve.selectors._search.searches import AnyFit, best_fit, changes_with_bars, path_steps
from ranksieve.sums.held_out import linear_scores


class LeaveQueryOutSelector(Predictor, RankSelector):
    """A selector whose search makes a path of models, each with a leave-query-out error.

    Or with the value of a measure, of which larger values may be better.
    """

    with_include = "The search starts with them, and never removes them."
    _is_nested = True

    max_features: int | None

    @property
    def _greater_is_better(self) -> bool:
        """Whether larger scores of the path are better."""
        return False

    def reasons(self) -> list[str]:
        """For each selected feature, the change of the error or measure, and a bar."""
        check_is_fitted(self)
        scores = [step.score for step in self.path_]
        steps = pairwise(scores)
        changes = [f"{(now - old) / old:+.2%}" if old else "" for old, now in steps]
        return changes_with_bars(changes, scores)

    def _number_to_select(self, n: int) -> int:
        if isinstance(self.n_features_to_select, str):
            return min(n, self.max_features or n)
        return super()._number_to_select(n)

    def _position_on(self, path: Sequence[AnyFit], choices: Choices) -> int:
        """Position of the model to use: the last one, or the one that a rule chooses."""
        if isinstance(self.n_features_to_select, str):
            least, greater = max(1, len(choices.start)), self._greater_is_better
            return best_fit(path, self.n_features_to_select, least, greater_is_better=greater)
        return len(path) - 1


class LinearPathSelector(LeaveQueryOutSelector):
    """A selector whose path has linear models of 1, 2, ... features."""

    coef_: np.ndarray
    fits_: Sequence[AnyFit]

    def at(self, k: int) -> Self:
        """Return the selector for ``k`` features, from the path, without fitting again.

        With ``groups``, it is the selector for ``k`` groups.
        """
        check_is_fitted(self)
        if not 1 <= k <= len(self.fits_):
            what = "features" if self.groups is None else "groups"
            raise ValueError(f"k={k}, but the path has models of 1 to {len(self.fits_)} {what}")
        return self._copy_of_size(k)

    def _copy_of_size(self, k: int) -> Self:
        """Fitted copy that selects ``k`` features or groups."""
        smaller = type(self)(**self.get_params(deep=False))
        smaller.__dict__.update(self.__dict__)
        smaller.selected_ = np.array(smaller._use_size(k), dtype=np.intp)
        smaller.n_features_to_select = k if self.count == "groups" else len(smaller.selected_)
        smaller.support_ = np.isin(np.arange(self.n_features_in_), smaller.selected_)
        return smaller

    def _use_size(self, k: int) -> list[int]:
        """Use the model of a size, once fitted: set its attributes, and return its features."""
        return self._use_model(k - 1, self.n_features_in_)

    def _use_model(self, position: int, n_features: int) -> list[int]:
        """Use a model of the path: set its attributes, and return its features."""
        fit = self.fits_[position]
        self.coef_ = np.zeros(n_features)
        self.coef_[list(fit.features)] = fit.coef
        self.path_ = path_steps(self.fits_, position)
        return list(fit.features)

    def _scores(self, X: Any) -> np.ndarray:
        return linear_scores(X, self.coef_)
