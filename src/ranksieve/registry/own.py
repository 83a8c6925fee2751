"""Selectors and rankers of users, with the interface of published methods."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ranksieve.registry.foreign import (
    changed_from,
    copy_of,
    default_of,
    fit_parameters,
    make_from_record,
    parameters_of,
    record_of,
)
from ranksieve.registry.method import Method

_SEEDED_BY_THEMSELVES = ("lightgbm", "xgboost", "catboost")  # their default seed is fixed


@dataclass(frozen=True)
class OwnMethod(Method):
    """An estimator of a user, under a name of the user's choice.

    ``preset`` has the parameters that differ from the defaults of its class, as plain values.
    """

    estimator: Any = None  # never changed or fitted; if None, it is made from ``recorded``
    # Record in a plan file: ``class``, ``version``, ``parameters``, ``grid``, ``seeds`` and
    # ``nested``. If it has a version, nothing is imported until an estimator is made.
    recorded: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of_record(cls, name: str, record: Mapping[str, Any], adapter: type[Any]) -> OwnMethod:
        """Make a method from its record in a plan file, without importing its class."""
        return cls(
            name,
            record["class"],
            preset=record.get("parameters", {}),
            grid=record.get("grid", {}),
            recorded=record,
            _kind=adapter,
        )

    @property
    def is_recorded(self) -> bool:
        """Whether the method comes from a record, and nothing has been imported for it."""
        return self.estimator is None and "version" in self.recorded

    @cached_property
    def prototype(self) -> Any:
        """The estimator that is copied."""
        return make_from_record(self.recorded) if self.estimator is None else self.estimator

    @cached_property
    def record(self) -> dict[str, Any]:
        """Record for a plan file: everything that results depend on, as JSON values."""
        if self.is_recorded:
            return dict(self.recorded)
        record = record_of(self.prototype)
        # The number of features to select is set for each run.
        record["parameters"].pop(self.kind.number_parameter(self.prototype), None)
        grid = {"grid": {name: list(v) for name, v in self.grid.items()}} if self.grid else {}
        return record | grid | {"seeds": self._find_seeds()}

    @property
    def key(self) -> str:
        """Class and version, which identify the method in a ledger."""
        return f"{self.record['class']}, {self.record['version']}"

    @property
    def seeds(self) -> list[str]:
        """Parameters that take the seed of a run, because the user has not set them."""
        return self.record.get("seeds", [])

    def _find_seeds(self) -> list[str]:
        if not self.draws:
            return []
        own = self.prototype
        deep = own.get_params() if hasattr(own, "get_params") else parameters_of(own)
        found = []
        for name, value in deep.items():
            owner, _, last = name.rpartition("__")
            if last == "random_state" and not _has_own_seed(deep.get(owner) if owner else own):
                is_default = not owner and value == default_of(type(own), "random_state")
                found += [name] if value is None or is_default else []
        return found

    @property
    def is_seeded(self) -> bool:
        """Whether results depend on a seed, so that one run is not enough."""
        return bool(self.seeds)

    @property
    def is_ours(self) -> bool:
        """False, even for classes of this library, because the parameters are the user's."""
        return False

    @property
    def family(self) -> str:
        """Family of the method."""
        return "own"

    @property
    def is_nested(self) -> bool:
        """Whether larger selections start with the smaller ones."""
        recorded = self.record.get("nested")
        return bool(self.make().is_nested) if recorded is None else bool(recorded)

    @property
    def uses_held_out_data(self) -> bool:
        """Whether ``fit`` takes ``eval_set``."""
        return "eval_set" in fit_parameters(self.prototype)

    @property
    def works_on_shards(self) -> bool:
        """Whether the method works on shards in place; other libraries need data in memory."""
        return bool(getattr(self.prototype, "works_on_shards", False))

    @cached_property
    def defaults(self) -> dict[str, Any]:
        """Parameters of the prototype, and those of its adapter."""
        return self._outer | parameters_of(self.prototype)

    @cached_property
    def _outer(self) -> dict[str, Any]:
        """Parameters of the adapter that the prototype does not have itself."""
        own = parameters_of(self.prototype)
        outer = self.kind.outer_parameters(self.prototype)
        return {name: default for name, default in outer.items() if name not in own}

    @property
    def _library(self) -> Any:
        """Library of the prototype, which knows unlisted parameters; None if unknown."""
        return self.kind.library_of(self.prototype)

    @property
    def paths(self) -> list[str]:
        """Names of all settings."""
        more = () if self._library is None else self._library.more_parameters
        return list(dict.fromkeys([*super().paths, *more]))

    def accepts(self, parameter: str) -> bool:
        """Whether there is such a parameter, including those of nested estimators."""
        if parameter in self.paths:
            return True
        deep = self.prototype.get_params() if hasattr(self.prototype, "get_params") else {}
        return parameter in deep or bool(self._library and self._library.accepts(parameter))

    def translate(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Rename parameters from the library's native names to those of the class."""
        return dict(parameters) if self._library is None else self._library.translate(parameters)

    def make(self, **parameters: Any) -> Any:
        """Make a selector or ranker of this library from a copy of the estimator."""
        own = self.translate(self._assemble(parameters))
        outer = {name: own.pop(name) for name in self._outer if name in own}
        adapted = self.kind.adapt(copy_of(self.prototype, **own))
        return adapted.set_params(**outer) if outer else adapted

    def changed(self, estimator: Any) -> dict[str, Any]:
        """Parameters of what :meth:`make` returned that differ from those of the estimator."""
        own = estimator.estimator if isinstance(estimator, self.kind) else estimator
        outer = {name: getattr(estimator, name) for name in self._outer}
        changed = {name: value for name, value in outer.items() if value != self._outer[name]}
        return changed_from(self.prototype, own) | changed


def _has_own_seed(estimator: Any) -> bool:
    homes = [kind.__module__.partition(".")[0] for kind in type(estimator).__mro__]
    return any(home in _SEEDED_BY_THEMSELVES for home in homes)
