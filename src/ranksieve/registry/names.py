"""Registries of selectors and rankers by name, from the declarations of their classes."""

from __future__ import annotations

import inspect
import pkgutil
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from types import ModuleType
from typing import Any

from ranksieve.registry.foreign import copy_unfitted, make_from_record
from ranksieve.registry.method import Method
from ranksieve.registry.own_code import class_path, import_object
from ranksieve.text import nearest_name


class Registry(Mapping[str, Method]):
    """Methods by name; an unknown name raises a ValueError that lists the known ones.

    Classes of a package that declare ``methods`` are found when the first name is looked up,
    followed by those that other packages declare as entry points of the same group.
    """

    def __init__(
        self, what: str, package: str, rooms: Sequence[str] = (), adapter: str = ""
    ) -> None:
        self.what = what  # what an entry is called: "method" or "ranker"
        self.package = package  # of the classes; also the group of the entry points
        self.rooms = (
            rooms  # modules and subpackages in the order of their methods; else alphabetical
        )
        self._adapter = adapter  # ``module:class``, for estimators of other packages

    @cached_property
    def built_in(self) -> dict[str, Method]:
        """Methods of the package, found without importing other packages."""
        built_in: dict[str, Method] = {}
        for kind in sorted(_declaring_classes(import_module(self.package)), key=self._position):
            for method in kind.methods:
                self._add(built_in, method, kind)
        return built_in

    @cached_property
    def _methods(self) -> dict[str, Method]:
        known = dict(self.built_in)
        # Set before entry points are loaded, because other packages may look up our methods.
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

    def _position(self, kind: type[Any]) -> int:
        """Position of a class's subpackage in the list.

        Estimators of other libraries come last.
        """
        if kind.methods[0].has_record:
            return len(self.rooms) + 1
        room = kind.__module__.removeprefix(f"{self.package}.").partition(".")[0]
        return self.rooms.index(room) if room in self.rooms else len(self.rooms)

    def _add(self, known: dict[str, Method], method: Method, kind: type[Any]) -> None:
        other = known.get(method.name)
        if other is not None and other.kind is not kind:
            raise ValueError(
                f"{self.what} {method.name!r} is registered twice: by {class_path(other.kind)} and "
                f"by {class_path(kind)}"
            )
        known[method.name] = replace(method, _kind=kind)

    def register(self, kind: type[Any], *methods: Method) -> type[Any]:
        """Add a class under the names that it declares in ``methods``, or under others.

        Returns the class, so that this can be used as a decorator.
        """
        declared = methods or tuple(vars(kind).get("methods", ()))
        if not declared:
            raise ValueError(
                f"{class_path(kind)} declares no methods: pass Method(name, description)"
            )
        for method in declared:
            self._add(self._methods, method, kind)
        return kind

    @property
    def own_classes(self) -> dict[str, type[Any]]:
        """Classes of the package by class name, in the order of the methods."""
        return {method.kind.__name__: method.kind for method in self.built_in.values()}

    @property
    def classes(self) -> dict[str, type[Any]]:
        """All classes by name, including those of other packages."""
        return {method.kind.__name__: method.kind for method in self.values()}

    def __getitem__(self, name: str) -> Method:
        if name not in self._methods:
            known = f"{', '.join(self)}{nearest_name(name, self)}"
            raise ValueError(f"unknown {self.what} {name!r}; choose from {known}")
        return self._methods[name]

    def __contains__(self, name: object) -> bool:
        return name in self._methods

    def __iter__(self) -> Iterator[str]:
        return iter(self._methods)

    def __len__(self) -> int:
        return len(self._methods)

    def make(self, name: str, **parameters: Any) -> Any:
        """Make an estimator by the name of its method, or by ``module:object``."""
        method = self.find(name)
        self.check_parameters(method, parameters)
        return method.make(**parameters)

    def check_parameters(self, method: Method, parameters: Iterable[str]) -> None:
        """Raise a ValueError that lists the parameters of a method if one of these is unknown."""
        for parameter in parameters:
            if not method.accepts(parameter):
                raise ValueError(
                    f"{self.what} {method.name!r} has no parameter {parameter!r}; it has "
                    f"{', '.join(method.paths)}{nearest_name(parameter, method.paths)}"
                )

    def find(self, entry: Any) -> Method:
        """Find the method that a user means: a string, estimator, class, or pair (name, of these).

        A string is a name, ``module:object`` or ``name=module:object``. A class stands for an
        estimator with default parameters. Estimators without a name have that of their class.
        """
        if isinstance(entry, str):
            name, _, path = entry.rpartition("=")
            if entry in self or ":" not in path:
                return self[entry]
            own_name = path.rpartition(":")[2].rpartition(".")[2]
            return self._adopt(import_object(path), name or own_name)
        if isinstance(entry, (tuple, list)) and len(entry) == 2 and isinstance(entry[0], str):
            name, own = entry
            return replace(self.with_record(self.find(own)), name=name)
        return self._adopt(entry)

    def with_record(self, method: Method) -> Method:
        """The same method, identified by class, version and parameters."""
        if method.has_record:
            return method
        return self._adopt(method.make(), method.name, method.grid, method.draws)

    def from_record(self, name: str, record: Mapping[str, Any]) -> Method:
        """Method of a plan that is run; its class is imported, in the version that is installed."""
        return self._adopt(make_from_record(record), name, record.get("grid"))

    @property
    def adapter(self) -> type[Any]:
        """Adapter class for estimators of other packages."""
        home, _, name = self._adapter.partition(":")
        found: type[Any] = getattr(import_module(home), name)
        return found

    def _adopt(
        self,
        own: Any,
        name: str = "",
        grid: Mapping[str, Sequence[Any]] | None = None,
        draws: bool = True,
    ) -> Method:
        """Method around an estimator of a user, or a class that has defaults."""
        estimator = _make_default(own) if isinstance(own, type) else own
        if isinstance(estimator, self.adapter):
            estimator = estimator.estimator
        kind = type(estimator)
        try:
            self.adapter.adapt(estimator)
        except TypeError as error:
            raise ValueError(f"{own!r:.60} is not a {_WORDS[self.what]}: {error}") from None
        own = copy_unfitted(estimator)
        known = [method.draws for method in self._methods.values() if method.kind is kind]
        method = Method(
            name or kind.__name__,
            _first_line(kind),
            grid=grid or {},
            draws=draws and all(known),
            estimator=own,
            _kind=self.adapter,
        )
        return replace(method, preset=method.record["parameters"])


_WORDS = {"method": "selector", "ranker": "ranker"}


def _make_default(kind: type[Any]) -> Any:
    try:
        return kind()
    except TypeError as error:
        raise ValueError(
            f"{class_path(kind)} is a class that cannot be created without arguments ({error}): "
            f"pass an instance, {kind.__name__}(...)"
        ) from None


def _declaring_classes(package: ModuleType) -> Iterator[type[Any]]:
    """Classes that declare methods, in the public modules of a package."""
    for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if any(part.startswith("_") for part in found.name.split(".")):
            continue
        module = import_module(found.name)
        for kind in vars(module).values():
            if isinstance(kind, type) and kind.__module__ == found.name and "methods" in vars(kind):
                yield kind


def _first_line(kind: type[Any]) -> str:
    return (inspect.getdoc(kind) or kind.__name__).splitlines()[0]
