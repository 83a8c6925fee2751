"""Selectors and rankers under a name: published ones, and those of users."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ranksieve.registry.foreign import (
    changes,
    copy_of,
    defaults_of,
    fit_parameters,
    make_from_record,
    parameters_of,
    record_of,
)
from ranksieve.values import ParameterValue

_SEEDED_BY_THEMSELVES = ("lightgbm", "xgboost", "catboost")  # their default seed is fixed


@dataclass(frozen=True)
class Method:
    """A published name of a selector or ranker, as its class declares it in ``methods``."""

    name: str  # in lower case, as on the command line
    description: str  # one line that says how it works
    preset: Mapping[str, Any] = field(default_factory=dict)  # turns the class into this method
    # Parameter -> values to tune it over on validation data, except for the number of features.
    grid: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    # False if ``random_state`` has no effect when held-out queries are given, unless other
    # parameters make it random.
    draws: bool = True
    # Parameters that make it quick, for checks of every method on small data.
    trial: Mapping[str, Any] = field(default_factory=dict)
    _kind: type[Any] | None = None

    @property
    def kind(self) -> type[Any]:
        """The class."""
        assert self._kind is not None, "the method is not registered"
        return self._kind

    @property
    def family(self) -> str:
        """Family of the method, such as ``filters`` or ``wrappers``."""
        return self.kind.__module__.split(".")[2] if self.is_ours else "other packages"

    @property
    def is_ours(self) -> bool:
        """Whether the class belongs to this library."""
        return self.kind.__module__.startswith("ranksieve.")

    @property
    def key(self) -> str:
        """Identifier of the method in a ledger, besides its parameters."""
        return self.name

    @cached_property
    def defaults(self) -> dict[str, Any]:
        """Default of each parameter, including the preset."""
        parameters = inspect.signature(self.kind).parameters
        defaults = {name: p.default for name, p in parameters.items()}
        preset = {name: _complete(defaults[name], given) for name, given in self.preset.items()}
        return defaults | preset

    @property
    def paths(self) -> list[str]:
        """Names of all settings: parameters, and fields of those that are values."""
        paths = []
        for name, default in self.defaults.items():
            parts = default.parts() if isinstance(default, ParameterValue) else []
            paths += [name, *(f"{name}.{part}" for part in parts)]
        return paths

    @property
    def uses_held_out_data(self) -> bool:
        """Whether ``fit`` takes ``eval_set``."""
        return "eval_set" in inspect.signature(self.kind.fit).parameters

    @property
    def seeds(self) -> list[str]:
        """Parameters that take the seed of a run."""
        return ["random_state"] if self.draws and "random_state" in self.defaults else []

    @property
    def is_seeded(self) -> bool:
        """Whether results depend on a seed, so that one run is not enough."""
        return bool(self.seeds)

    @property
    def is_nested(self) -> bool:
        """Whether larger selections start with the smaller ones, with default parameters."""
        return bool(self.make().is_nested)

    @property
    def takes_missing(self) -> bool:
        """Whether the method takes missing values that the data keeps, with default parameters.

        Methods around a ranker take them if the ranker does.
        """
        return bool(getattr(self.make(), "takes_missing", False))

    @property
    def works_on_shards(self) -> bool:
        """Whether the method works on shards in place; if not, it reads them into memory."""
        return bool(getattr(self.make(), "works_on_shards", True))

    @property
    def steps_in_python(self) -> bool:
        """Whether it takes many short steps with Python between them; False if that depends."""
        return getattr(self.kind, "steps_in_python", False) is True

    @property
    def no_include(self) -> str:
        """Why a selector cannot start with given features; empty if it can."""
        return str(getattr(self.kind, "no_include", ""))

    @property
    def no_groups(self) -> str:
        """Why a selector cannot select groups of features; empty if it can."""
        return str(getattr(self.kind, "no_groups", ""))

    @property
    def no_weights(self) -> str:
        """Why the method takes no weights of queries; empty if it does."""
        return str(getattr(self.kind, "no_weights", ""))

    @property
    def takes_costs(self) -> bool:
        """Whether a selector takes costs of features."""
        return "costs" in self.defaults

    def make(self, **parameters: Any) -> Any:
        """Make an estimator with the preset and further parameters."""
        preset = {parameter: self.defaults[parameter] for parameter in self.preset}
        return self.kind(**self._assemble(preset | parameters))

    def accepts(self, parameter: str) -> bool:
        """Whether there is such a parameter, or field of a parameter."""
        return parameter in self.paths

    def translate(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Parameters under the names of the class."""
        return dict(parameters)

    def _assemble(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Combine given fields, such as ``importance.ties``, into values of parameters."""
        whole = {name: value for name, value in given.items() if "." not in name}
        for name, value in whole.items():
            if isinstance(value, Mapping):
                whole[name] = _complete(self.defaults.get(name), value)
        for path in given:
            name, dot, part = path.partition(".")
            if not dot:
                continue
            value = _complete(self.defaults[name], whole.get(name, self.defaults[name]))
            whole[name] = value.replace(**{part: given[path]})
        return whole

    def changed(self, estimator: Any) -> dict[str, Any]:
        """Parameters, and fields of values, of an estimator that differ from the defaults."""
        changed: dict[str, Any] = {}
        for name, given in estimator.get_params(deep=False).items():
            default = self.defaults[name]
            if isinstance(default, ParameterValue):
                changed |= default.of(given, default).changed_from(default, name)
            elif given != default:
                changed[name] = given
        return changed


@dataclass(frozen=True)
class OwnMethod(Method):
    """An estimator of a user, under a name of the user's choice.

    ``preset`` has the parameters that differ from the defaults of its class, as plain values.
    """

    estimator: Any = None  # never changed or fitted; if None, it is made from ``declared``
    # ``class`` and ``parameters`` of the estimator, which is imported when it is first needed.
    declared: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def prototype(self) -> Any:
        """The estimator that is copied."""
        return make_from_record(self.declared) if self.estimator is None else self.estimator

    @cached_property
    def record(self) -> dict[str, Any]:
        """Record for a plan file: everything that results depend on, as JSON values."""
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
                is_default = not owner and value == defaults_of(type(own)).get(name)
                found += [name] if value is None or is_default else []
        return found

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
        return changes(parameters_of(self.prototype), parameters_of(own)) | changed


@dataclass(frozen=True)
class RecordedMethod(Method):
    """A method without a published name, as the files of a finished study record it.

    It has what results need: names and settings, but no class. Nothing is imported for it, and it
    makes no estimator.
    """

    # In a plan file: ``class``, ``version``, ``parameters``, ``grid``, ``seeds`` and ``nested``.
    record: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, name: str, record: Mapping[str, Any]) -> RecordedMethod:
        """Make it from its record; raise a ValueError if that is incomplete."""
        if "version" not in record:
            raise ValueError(f"own: {name} has no version, which a study records")
        preset, grid = record.get("parameters", {}), record.get("grid", {})
        return cls(name, record["class"], preset, grid, record=record)

    @property
    def key(self) -> str:
        """Class and version, which identify the method in a ledger."""
        return f"{self.record['class']}, {self.record['version']}"

    @property
    def seeds(self) -> list[str]:
        """Parameters that take the seed of a run."""
        return list(self.record.get("seeds", []))

    @property
    def is_ours(self) -> bool:
        """False: its class is not known to this library."""
        return False

    @property
    def family(self) -> str:
        """Family of the method."""
        return "own"


def _has_own_seed(estimator: Any) -> bool:
    homes = [kind.__module__.partition(".")[0] for kind in type(estimator).__mro__]
    return any(home in _SEEDED_BY_THEMSELVES for home in homes)


def _complete(default: Any, given: Any) -> Any:
    """Given value of a parameter, whose missing fields are those of the default."""
    return default.of(given, default) if isinstance(default, ParameterValue) else given
