"""Parameters as values: those that group what several methods share, and those of files."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np

from ranksieve.metrics import Convention, Measure, get_convention

_DEEPEST = 8  # lists in lists that a parameter may be


@dataclass(frozen=True, repr=False)
class ParameterValue:
    """A parameter with parts of its own, of which the first one alone may stand for the whole.

    A subclass is a frozen dataclass whose parts have defaults, except for the first one. It checks
    them in ``__post_init__``. It is callable: so scikit-learn accepts it as the default of a
    parameter.
    """

    @classmethod
    def parts(cls) -> list[str]:
        """Names of the parts."""
        return [part.name for part in fields(cls)]

    @classmethod
    def of(cls, given: Any, usual: Any = None) -> Self:
        """Make a value of what a user gives.

        Parameters
        ----------
        given : value, mapping or anything else
            A value is returned as it is. A mapping has some of the parts. Anything else is the
            first part.
        usual : value or its first part, optional
            Has the parts that are not given.
        """
        if isinstance(given, cls):
            return given
        parts = given if isinstance(given, Mapping) else {cls.parts()[0]: given}
        if usual is None:
            return cls(**parts)
        return cls.of(usual).replace(**parts)

    @classmethod
    def given_to(cls, estimator: Any) -> Self:
        """The parameter of this name of an estimator, completed by the default of its class."""
        name = cls.__name__.lower()
        usual = inspect.signature(type(estimator)).parameters[name].default
        return cls.of(getattr(estimator, name), usual)

    def replace(self, **parts: Any) -> Self:
        """The same value with other parts; a ValueError if it has no such part."""
        for part in parts:
            if part not in self.parts():
                raise ValueError(
                    f"{type(self).__name__.lower()} has no part {part!r}; it has "
                    f"{', '.join(self.parts())}"
                )
        return replace(self, **parts)

    def changed_from(self, usual: Self, name: str) -> dict[str, Any]:
        """Parts that are not as usual, by the names under which a parameter takes them."""
        first = self.parts()[0]
        return {
            name if part == first else f"{name}.{part}": getattr(self, part)
            for part in self.parts()
            if getattr(self, part) != getattr(usual, part)
        }

    def __repr__(self) -> str:
        first, *others = fields(self)
        told = [repr(getattr(self, first.name))]
        for part in others:
            value = getattr(self, part.name)
            if value != part.default:
                told.append(f"{part.name}={value!r}")
        return f"{type(self).__name__}({', '.join(told)})"


def check_choice(name: str, value: Any, choices: Iterable[str]) -> None:
    """Raise a ValueError unless a part is one of some texts."""
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(choices)}, got {value!r:.60}")


def check_boolean(name: str, value: Any) -> None:
    """Raise a ValueError unless a part is true or false."""
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name} must be True or False, got {value!r:.60}")


def plain_value(value: Any, otherwise: Callable[[Any], Any], depth: int = _DEEPEST) -> Any:
    """A parameter in a form that JSON holds, and of which the same method can be made again.

    Parameters
    ----------
    value : parameter
    otherwise : callable
        Called with whatever has no such form; returns something else, or raises an error.
    depth : int
        Lists in lists that are looked into.
    """
    if isinstance(value, (np.ndarray, np.generic)):
        value = value.tolist()
    if isinstance(value, ParameterValue):
        value = {part: getattr(value, part) for part in value.parts()}
    if depth and isinstance(value, (list, tuple)):
        return [plain_value(item, otherwise, depth - 1) for item in value]
    if depth and isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {key: plain_value(item, otherwise, depth - 1) for key, item in value.items()}
    if isinstance(value, Measure) or (isinstance(value, Convention) and _is_known(value)):
        return value.name
    is_number = isinstance(value, float) and math.isfinite(value)
    return (
        value if value is None or is_number or isinstance(value, (int, str)) else otherwise(value)
    )


def _is_known(convention: Convention) -> bool:
    """Whether its name gives the same convention again."""
    try:
        return get_convention(convention.name) == convention
    except ValueError:
        return False
