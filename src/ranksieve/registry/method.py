"""Selectors and rankers under a name: published ones, and those of users."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ranksieve.parameters import ParameterValue
from ranksieve.registry.foreign import differ, find_seeds, record_of
from ranksieve.registry.own_code import import_object


@dataclass(frozen=True)
class Method:
    """A selector or ranker under a name: what it is, and how it is made.

    A published method has the name, class and ``preset`` that its class declares in ``methods``. An
    estimator of a user or of another library has a ``record``, which identifies it, and in
    ``preset`` the parameters that differ from the defaults of its class. Of a method of a finished
    study only the record is known: nothing is imported or made for it. What a method can do is said
    by its ``prototype``, an estimator of this library or an adapter around another.
    """

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
    # Estimator to adapt, which is copied and never changed; or ``module:class``, which is imported
    # when it is first needed. None for the class itself.
    estimator: Any = None
    # In a plan file: ``class``, ``version``, ``parameters``, ``grid``, ``seeds`` and ``nested``.
    recorded: Mapping[str, Any] | None = None
    _kind: type[Any] | None = None

    @classmethod
    def from_record(cls, name: str, record: Mapping[str, Any]) -> Method:
        """Method of a finished study; raises a ValueError if its record is incomplete."""
        if "version" not in record:
            raise ValueError(f"own: {name} has no version, which a study records")
        preset, grid = record.get("parameters", {}), record.get("grid", {})
        return cls(name, record["class"], preset, grid, recorded=record)

    @property
    def kind(self) -> type[Any]:
        """The class; the adapter for estimators of other libraries and of users."""
        assert self._kind is not None, "the method is not registered"
        return self._kind

    @property
    def has_record(self) -> bool:
        """Whether it is an estimator of a user or of another library, which a record identifies."""
        return self.estimator is not None or self.recorded is not None

    @property
    def is_ours(self) -> bool:
        """Whether it is a published method of this library, which its name identifies."""
        return not self.has_record and self.kind.__module__.startswith("ranksieve.")

    @property
    def family(self) -> str:
        """Family of the method, such as ``filters`` or ``wrappers``."""
        if self.has_record:
            return "own"
        return self.kind.__module__.split(".")[2] if self.is_ours else "other packages"

    @cached_property
    def record(self) -> Mapping[str, Any]:
        """What the results of an adapted method depend on, as JSON values for a plan file."""
        if self.recorded is not None:
            return self.recorded
        record = record_of(self.prototype._adapted)
        # The number of features to select is set for each run.
        record["parameters"].pop(self.prototype._number_parameter, None)
        grid = {"grid": {name: list(v) for name, v in self.grid.items()}} if self.grid else {}
        return record | grid | {"seeds": self.seeds}

    @property
    def key(self) -> str:
        """Identifier in a ledger, besides parameters: the published name, or class and version."""
        return f"{self.record['class']}, {self.record['version']}" if self.has_record else self.name

    @cached_property
    def seeds(self) -> list[str]:
        """Parameters that take the seed of a run; those that a user has set do not."""
        if self.recorded is not None:
            return list(self.recorded.get("seeds", []))
        return find_seeds(self.prototype._adapted) if self.draws else []

    @property
    def is_seeded(self) -> bool:
        """Whether results depend on a seed, so that one run is not enough."""
        return bool(self.seeds)

    @cached_property
    def prototype(self) -> Any:
        """Estimator of this library that is copied, and never fitted."""
        if self.estimator is not None:
            named = isinstance(self.estimator, str)
            estimator = import_object(self.estimator)() if named else self.estimator
            return self.kind.adapt(estimator)
        parameters = inspect.signature(self.kind).parameters
        preset = {name: _complete(parameters[name].default, v) for name, v in self.preset.items()}
        return self.kind(**preset)

    @cached_property
    def defaults(self) -> dict[str, Any]:
        """Default of each parameter, including the preset."""
        return dict(self.prototype._settings())

    @property
    def paths(self) -> list[str]:
        """Names of all settings: parameters, and fields of those that are values."""
        paths = []
        for name, default in self.defaults.items():
            parts = default.parts() if isinstance(default, ParameterValue) else []
            paths += [name, *(f"{name}.{part}" for part in parts)]
        return list(dict.fromkeys([*paths, *self.prototype._more_settings]))

    def accepts(self, parameter: str) -> bool:
        """Whether there is such a parameter, field of a parameter, or nested parameter."""
        return parameter in self.paths or bool(self.prototype._accepts(parameter))

    @property
    def uses_held_out_data(self) -> bool:
        """Whether ``fit`` uses held-out queries."""
        return bool(self.prototype._uses_held_out_data)

    @property
    def is_nested(self) -> bool:
        """Whether larger selections start with the smaller ones, with default parameters."""
        return bool(self.prototype.is_nested)

    @property
    def takes_missing(self) -> bool:
        """Whether the method takes missing values that the data keeps, with default parameters.

        Methods around a ranker take them if the ranker does.
        """
        return bool(self.prototype.takes_missing)

    @property
    def works_on_shards(self) -> bool:
        """Whether the method works on shards in place; if not, it reads them into memory."""
        return bool(self.prototype.works_on_shards)

    @property
    def steps_in_python(self) -> bool:
        """Whether it takes many short steps with Python between them; False if that depends."""
        return self.kind.steps_in_python is True

    @property
    def no_include(self) -> str:
        """Why a selector cannot start with given features; empty if it can."""
        return str(getattr(self.prototype, "no_include", ""))

    @property
    def no_groups(self) -> str:
        """Why a selector cannot select groups of features; empty if it can."""
        return str(getattr(self.prototype, "no_groups", ""))

    @property
    def no_weights(self) -> str:
        """Why the method takes no weights of queries; empty if it does."""
        return str(self.prototype.no_weights)

    @property
    def takes_row_weights(self) -> bool:
        """Whether the method takes weights of rows, with default parameters."""
        return not self.prototype.no_row_weights

    @property
    def takes_positions(self) -> bool:
        """Whether the method takes positions of documents, with default parameters."""
        return not self.prototype.no_positions

    @property
    def takes_costs(self) -> bool:
        """Whether a selector takes costs of features."""
        return "costs" in self.defaults

    def translate(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Parameters under the names of the class, from those of its library."""
        return dict(self.prototype._translate(parameters))

    def make(self, **parameters: Any) -> Any:
        """Make an estimator of this library with the preset and further parameters.

        Fields, such as ``importance.ties``, are combined into values of parameters.
        """
        whole = {name: value for name, value in parameters.items() if "." not in name}
        for name, value in whole.items():
            if isinstance(value, Mapping):
                whole[name] = _complete(self.defaults.get(name), value)
        for path, value in parameters.items():
            name, dot, part = path.partition(".")
            if dot:
                before = _complete(self.defaults[name], whole.get(name, self.defaults[name]))
                whole[name] = before.replace(**{part: value})
        return self.prototype._with_settings(whole)

    def changed(self, estimator: Any) -> dict[str, Any]:
        """Parameters, and fields of values, of an estimator that differ from the defaults."""
        changed: dict[str, Any] = {}
        for name, value in estimator._settings().items():
            default = self.defaults.get(name)
            if isinstance(default, ParameterValue):
                changed |= default.make(value, default).changed_from(default, name)
            elif name not in self.defaults or (
                differ(value, default) and not _are_equal_numbers(value, default)
            ):
                changed[name] = value
        return changed


def _are_equal_numbers(value: Any, default: Any) -> bool:
    """Whether both are numbers and equal, such as 1 and 1.0."""
    return all(isinstance(number, (int, float)) for number in (value, default)) and value == default


def _complete(default: Any, value: Any) -> Any:
    """Value of a parameter, whose missing fields are those of the default."""
    return default.make(value, default) if isinstance(default, ParameterValue) else value
