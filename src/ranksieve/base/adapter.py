"""Base of the adapters around estimators of other libraries and of users."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any, ClassVar

from ranksieve.base.estimator import RankEstimator
from ranksieve.registry.foreign import copy_unfitted, copy_with, fit_parameters, parameters_of


class Adapter(RankEstimator):
    """An estimator around another, whose parameters are set by name as if they were its own.

    A subclass has the parameter ``estimator``, and a static method ``adapt`` that returns
    estimators of this library as they are and adapts others.
    """

    works_on_shards = False
    _copy_adapted: ClassVar[Callable[..., Any]] = staticmethod(copy_unfitted)

    estimator: Any

    @property
    def _adapted(self) -> Any:
        return self.estimator

    @property
    def _uses_held_out_data(self) -> bool:
        return "eval_set" in fit_parameters(self.estimator)

    def _outer(self) -> list[str]:
        """Parameters of the adapter itself that can be set by name; the estimator's come first."""
        return []

    def _settings(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self._outer()} | parameters_of(self.estimator)

    def _accepts(self, parameter: str) -> bool:
        if not hasattr(self.estimator, "get_params"):
            return False
        return parameter in self.estimator.get_params()

    def _with_settings(self, settings: Mapping[str, Any]) -> Any:
        own = self._translate(settings)
        outer = {name: own.pop(name) for name in self._outer() if name in own}
        return self._around(copy_with(self.estimator, **own)).set_params(**outer)

    def _around(self, estimator: Any) -> Any:
        """Unfitted adapter of another estimator, with the same metadata requests."""
        copied = type(self)(**self.get_params(deep=False) | {"estimator": estimator})
        if hasattr(self, "_metadata_request"):
            copied._metadata_request = deepcopy(self._metadata_request)
        return copied

    def __sklearn_clone__(self) -> Any:
        return self._around(self._copy_adapted(self.estimator))
