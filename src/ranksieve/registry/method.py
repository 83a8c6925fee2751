"""A selector or ranker under a published name, as its class declares it."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ranksieve.values import ParameterValue


@dataclass(frozen=True)
class Method:
    """A published name of a selector or ranker, as its class declares it in ``methods``.

    Attributes
    ----------
    name : str
        Name in lower case, as on the command line.
    description : str
        One line that says how it works.
    preset : mapping
        Parameters that turn the class into this method.
    grid : mapping
        Parameter -> values to tune it over on validation data, except for the number of features.
    draws : bool
        False if ``random_state`` has no effect when held-out queries are given, unless other
        parameters make it random.
    trial : mapping
        Parameters that make it quick, for checks of every method on small data.
    """

    name: str
    description: str
    preset: Mapping[str, Any] = field(default_factory=dict)
    grid: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    draws: bool = True
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
    def is_seeded(self) -> bool:
        """Whether the method draws random numbers, so that one run is not enough."""
        return self.draws and "random_state" in self.defaults

    @property
    def seeds(self) -> list[str]:
        """Parameters that take the seed of a run."""
        return ["random_state"] if self.is_seeded else []

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
    def takes_weights(self) -> bool:
        """Whether the method takes weights of queries."""
        return not self.no_weights

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


def _complete(default: Any, given: Any) -> Any:
    """Given value of a parameter, whose missing fields are those of the default."""
    return default.of(given, default) if isinstance(default, ParameterValue) else given


def describe(name: str, parameters: Mapping[str, Any]) -> str:
    """Describe a method with its non-default parameters, for people."""
    named = ", ".join(f"{parameter}={value}" for parameter, value in parameters.items())
    return name + (f" ({named})" if named else "")
