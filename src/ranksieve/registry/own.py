"""Selectors and rankers that users bring, with the interface of those that have published names."""

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
    make_recorded,
    parameters_of,
    record_of,
)
from ranksieve.registry.method import Method

_SEEDED_BY_THEMSELVES = ("lightgbm", "xgboost", "catboost")  # the same trees in every run


@dataclass(frozen=True)
class OwnMethod(Method):
    """An estimator under a name of its user's choice.

    ``preset`` has those of its parameters that differ from the defaults of its class, as plain
    values.

    Attributes
    ----------
    estimator : estimator, optional
        It is never changed or fitted. If there is none, it is made from ``recorded``.
    recorded : mapping, optional
        What a plan file has of it: ``class``, ``version``, ``parameters``, ``grid``, ``seeds`` and
        ``nested``. With a version, nothing is imported until the method is made.
    """

    estimator: Any = None
    recorded: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of_record(cls, name: str, record: Mapping[str, Any], adapter: type[Any]) -> OwnMethod:
        """Make a method from what a plan file has of it; its class is not imported yet."""
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
        """Whether it is known from a file alone, and nothing has been imported for it."""
        return self.estimator is None and "version" in self.recorded

    @cached_property
    def prototype(self) -> Any:
        """The estimator that is copied."""
        return make_recorded(self.recorded) if self.estimator is None else self.estimator

    @cached_property
    def record(self) -> dict[str, Any]:
        """What makes the method again, and what its results depend on, as values of JSON."""
        if self.is_recorded:
            return dict(self.recorded)
        record = record_of(self.prototype)
        # How many features to select is told anew each time.
        record["parameters"].pop(self.kind.number_parameter(self.prototype), None)
        grid = {"grid": {name: list(v) for name, v in self.grid.items()}} if self.grid else {}
        return record | grid | {"seeds": self._find_seeds()}

    @property
    def key(self) -> str:
        """Class and version, by which a ledger knows the method again."""
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
                is_usual = not owner and value == default_of(type(own), "random_state")
                found += [name] if value is None or is_usual else []
        return found

    @property
    def is_seeded(self) -> bool:
        """Whether one run is not enough."""
        return bool(self.seeds)

    @property
    def is_ours(self) -> bool:
        """False, also for classes of this library: their parameters are the user's."""
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
        """Whether it works on shards in place; estimators of others need data in memory."""
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
        return {name: usual for name, usual in outer.items() if name not in own}

    @property
    def _library(self) -> Any:
        """What is known about parameters that the prototype does not list; None if nothing."""
        return self.kind.library_of(self.prototype)

    @property
    def paths(self) -> list[str]:
        """Names of all settings."""
        more = () if self._library is None else self._library.more_parameters
        return list(dict.fromkeys([*super().paths, *more]))

    def accepts(self, parameter: str) -> bool:
        """Whether there is such a parameter, also one of an estimator inside the estimator."""
        if parameter in self.paths:
            return True
        deep = self.prototype.get_params() if hasattr(self.prototype, "get_params") else {}
        return parameter in deep or bool(self._library and self._library.accepts(parameter))

    def translate(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Parameters under the names of the class, from those that its library uses elsewhere."""
        return dict(parameters) if self._library is None else self._library.translate(parameters)

    def make(self, **parameters: Any) -> Any:
        """Make a selector or ranker of this library from a copy of the estimator."""
        own = self.translate(self._assemble(parameters))
        outer = {name: own.pop(name) for name in self._outer if name in own}
        made = self.kind.adapt(copy_of(self.prototype, **own))
        return made.set_params(**outer) if outer else made

    def changed(self, estimator: Any) -> dict[str, Any]:
        """Parameters of what :meth:`make` returned that differ from those of the estimator."""
        is_adapted = isinstance(estimator, self.kind)
        own = estimator.estimator if is_adapted else estimator
        outer = {name: getattr(estimator, name) for name in self._outer}
        changed = {name: value for name, value in outer.items() if value != self._outer[name]}
        return changed_from(self.prototype, own) | changed


def _has_own_seed(estimator: Any) -> bool:
    homes = [kind.__module__.partition(".")[0] for kind in type(estimator).__mro__]
    return any(home in _SEEDED_BY_THEMSELVES for home in homes)
