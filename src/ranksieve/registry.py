"""Classes by their published names, as the command line and studies use them."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from typing import Any


@dataclass(frozen=True)
class Method:
    """A selector or ranker under its published name.

    Attributes
    ----------
    path : str
        Module and class, such as ``ranksieve.selectors.filters.gas.GAS``.
    description : str
        One line.
    preset : mapping
        Parameters that make the class this method.
    grid : mapping
        Parameter -> values to tune it over on validation data; the number of features is not one
        of them.
    draws : bool
        False if ``random_state`` changes nothing where held-out queries are given, unless other
        parameters ask for it.
    """

    path: str
    description: str
    preset: Mapping[str, Any] = field(default_factory=dict)
    grid: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    draws: bool = True

    @property
    def kind(self) -> type[Any]:
        """The class, imported now."""
        module, name = self.path.rsplit(".", 1)
        return getattr(import_module(module), name)

    @cached_property
    def defaults(self) -> dict[str, Any]:
        """Parameter -> what it is unless somebody says otherwise."""
        parameters = inspect.signature(self.kind).parameters
        return {name: p.default for name, p in parameters.items()} | dict(self.preset)

    @property
    def uses_held_out_data(self) -> bool:
        """Whether ``fit`` takes ``eval_set``."""
        return "eval_set" in inspect.signature(self.kind.fit).parameters

    @property
    def is_seeded(self) -> bool:
        """Whether it draws random numbers, so that one run of it says little."""
        return self.draws and "random_state" in self.defaults

    def changed(self, estimator: Any) -> dict[str, Any]:
        """Parameters of an estimator that are not as by default."""
        usual = self.defaults
        given = estimator.get_params(deep=False)
        return {name: value for name, value in given.items() if value != usual[name]}


class Registry(Mapping[str, Method]):
    """Methods by name; an unknown name is a ValueError that lists the known ones.

    Parameters
    ----------
    what : str
        What the names name: "method" or "ranker".
    methods : dict of str to Method
    """

    def __init__(self, what: str, methods: dict[str, Method]) -> None:
        self.what = what
        self._methods = methods

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

    def check_parameters(self, name: str, parameters: Iterable[str]) -> None:
        """Raise a ValueError that lists the parameters of a method if it lacks one of these."""
        known = [p for p in self[name].defaults if p != "n_features_to_select"]
        for parameter in parameters:
            if parameter not in known:
                raise ValueError(
                    f"{self.what} {name!r} has no parameter {parameter!r}; "
                    f"it has {', '.join(known)}"
                )


def described(name: str, parameters: Mapping[str, Any]) -> str:
    """A method with the parameters worth naming, for people."""
    named = ", ".join(f"{parameter}={value}" for parameter, value in parameters.items())
    return name + (f" ({named})" if named else "")
