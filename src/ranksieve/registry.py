"""Registries of selectors and rankers by name, from what each class declares about itself."""

from __future__ import annotations

import inspect
import pkgutil
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from types import ModuleType
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
        assert self._kind is not None, "a method gets its class when it is registered"
        return self._kind

    @property
    def family(self) -> str:
        """Family of the method: ``filters``, ``wrappers``, ..."""
        return self.kind.__module__.split(".")[2] if self._is_ours else "other packages"

    @property
    def _is_ours(self) -> bool:
        return self.kind.__module__.startswith("ranksieve.")

    @cached_property
    def defaults(self) -> dict[str, Any]:
        """Default of each parameter, with the preset."""
        parameters = inspect.signature(self.kind).parameters
        usual = {name: p.default for name, p in parameters.items()}
        return usual | {name: _complete(usual[name], given) for name, given in self.preset.items()}

    @property
    def paths(self) -> list[str]:
        """Names of all settings: parameters, and parts of those that are values."""
        paths = []
        for name, usual in self.defaults.items():
            parts = usual.parts() if isinstance(usual, ParameterValue) else []
            paths += [name, *(f"{name}.{part}" for part in parts)]
        return paths

    @property
    def uses_held_out_data(self) -> bool:
        """Whether ``fit`` takes ``eval_set``."""
        return "eval_set" in inspect.signature(self.kind.fit).parameters

    @property
    def is_seeded(self) -> bool:
        """Whether it draws random numbers, so that one run is not enough."""
        return self.draws and "random_state" in self.defaults

    @property
    def is_nested(self) -> bool:
        """Whether larger selections start with the smaller ones, with default parameters."""
        return bool(self.make().is_nested)

    @property
    def works_on_shards(self) -> bool:
        """Whether it works on shards in place; if not, it reads them into memory."""
        return bool(getattr(self.kind, "works_on_shards", True))

    @property
    def takes_weights(self) -> bool:
        """Whether it takes weights of queries; if not, ``fit`` refuses them and says why."""
        return not getattr(self.kind, "_no_weights", "")

    def make(self, **parameters: Any) -> Any:
        """Make an estimator with the preset and other parameters."""
        preset = {parameter: self.defaults[parameter] for parameter in self.preset}
        return self.kind(**_assemble(self.defaults, preset | parameters))

    def changed(self, estimator: Any) -> dict[str, Any]:
        """Parameters of an estimator that differ from the defaults; only those parts of values."""
        changed: dict[str, Any] = {}
        for name, given in estimator.get_params(deep=False).items():
            usual = self.defaults[name]
            if isinstance(usual, ParameterValue):
                changed |= usual.of(given, usual).changed_from(usual, name)
            elif given != usual:
                changed[name] = given
        return changed


class Registry(Mapping[str, Method]):
    """Methods by name; an unknown name raises a ValueError that lists the known ones.

    Classes of a package that declare ``methods`` are found when the first name is looked up; then
    those that other packages name under the entry points of the same group.

    Parameters
    ----------
    what : str
        What an entry is called: "method" or "ranker".
    package : str
        Package of the classes, and group of the entry points.
    rooms : sequence of str
        Subpackages in the order in which their methods are listed; by default alphabetical.
    """

    def __init__(self, what: str, package: str, rooms: Sequence[str] = ()) -> None:
        self.what = what
        self.package = package
        self.rooms = rooms

    @cached_property
    def _own(self) -> dict[str, Method]:
        """Methods of the package, found without importing other packages."""
        own: dict[str, Method] = {}
        for kind in sorted(_declaring_classes(import_module(self.package)), key=self._place):
            for method in kind.methods:
                self._add(own, method, kind)
        return own

    @cached_property
    def _methods(self) -> dict[str, Method]:
        known = dict(self._own)
        # Known from now on: what other packages define may look up ours.
        self.__dict__["_methods"] = known
        for entry in entry_points(group=self.package):
            self._add_from(entry, known)
        return known

    def _add_from(self, entry: EntryPoint, known: dict[str, Method]) -> None:
        """Add the methods of another package; if that fails, our own methods still work."""
        try:
            kind = entry.load()
            for method in vars(kind).get("methods") or [Method(entry.name, _first_line(kind))]:
                self._add(known, method, kind)
        except Exception as error:
            package = entry.dist.name if entry.dist else entry.value
            warnings.warn(
                f"{entry.name!r}, which the package {package} adds to {entry.group}, cannot be "
                f"used ({error}): repair or uninstall the package",
                stacklevel=2,
            )

    def _place(self, kind: type[Any]) -> int:
        """Place of a class's room in the list; classes of one room stay as they were found."""
        room = kind.__module__.removeprefix(f"{self.package}.").partition(".")[0]
        return self.rooms.index(room) if room in self.rooms else len(self.rooms)

    def _add(self, known: dict[str, Method], method: Method, kind: type[Any]) -> None:
        other = known.get(method.name)
        if other is not None and other.kind is not kind:
            raise ValueError(
                f"{self.what} {method.name!r} is registered twice: by {_path_of(other.kind)} and "
                f"by {_path_of(kind)}"
            )
        known[method.name] = replace(method, _kind=kind)

    def register(self, kind: type[Any], *methods: Method) -> type[Any]:
        """Add a class under the names that it declares, or under others.

        Parameters
        ----------
        kind : class
        *methods : Method
            Methods to add; by default those of its attribute ``methods``.

        Returns
        -------
        class
            The class itself, so that this can be used as a decorator.
        """
        declared = methods or tuple(vars(kind).get("methods", ()))
        if not declared:
            raise ValueError(
                f"{_path_of(kind)} declares no methods: pass Method(name, description)"
            )
        for method in declared:
            self._add(self._methods, method, kind)
        return kind

    @property
    def own_classes(self) -> dict[str, type[Any]]:
        """The classes of the package by their own names, in the order of the methods."""
        return {method.kind.__name__: method.kind for method in self._own.values()}

    @property
    def classes(self) -> dict[str, type[Any]]:
        """All classes by name, including those of other packages."""
        return {method.kind.__name__: method.kind for method in self.values()}

    def __getitem__(self, name: str) -> Method:
        if name not in self._methods:
            raise ValueError(f"unknown {self.what} {name!r}; known are {', '.join(self)}")
        return self._methods[name]

    def __contains__(self, name: object) -> bool:
        return name in self._methods

    def __iter__(self) -> Iterator[str]:
        return iter(self._methods)

    def __len__(self) -> int:
        return len(self._methods)

    def make(self, name: str, **parameters: Any) -> Any:
        """Make an estimator by the name of its method."""
        self.check_parameters(name, parameters)
        return self[name].make(**parameters)

    def check_parameters(self, name: str, parameters: Iterable[str]) -> None:
        """Raise a ValueError that lists the parameters of a method if it lacks one of these."""
        known = self[name].paths
        for parameter in parameters:
            if parameter not in known:
                raise ValueError(
                    f"{self.what} {name!r} has no parameter {parameter!r}; "
                    f"it has {', '.join(known)}"
                )


def _complete(usual: Any, given: Any) -> Any:
    """What is given for a parameter; a value has the parts of the default that are not given."""
    return usual.of(given, usual) if isinstance(usual, ParameterValue) else given


def _assemble(defaults: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters, with the parts that are given put into their values."""
    whole: dict[str, Any] = {name: given[name] for name in given if name in defaults}
    for name, value in whole.items():
        if isinstance(value, Mapping):
            whole[name] = _complete(defaults[name], value)
    for path in given:
        name, dot, part = path.partition(".")
        if not dot:
            continue
        value = _complete(defaults[name], whole.get(name, defaults[name]))
        whole[name] = value.replace(**{part: given[path]})
    return whole


def _declaring_classes(package: ModuleType) -> Iterator[type[Any]]:
    """Classes that declare methods, in the public modules of a package."""
    for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if any(part.startswith("_") for part in found.name.split(".")):
            continue
        module = import_module(found.name)
        for kind in vars(module).values():
            if isinstance(kind, type) and kind.__module__ == found.name and "methods" in vars(kind):
                yield kind


def _path_of(kind: type[Any]) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def _first_line(kind: type[Any]) -> str:
    return (inspect.getdoc(kind) or kind.__name__).splitlines()[0]


def describe(name: str, parameters: Mapping[str, Any]) -> str:
    """Describe a method with its non-default parameters, for people."""
    named = ", ".join(f"{parameter}={value}" for parameter, value in parameters.items())
    return name + (f" ({named})" if named else "")
