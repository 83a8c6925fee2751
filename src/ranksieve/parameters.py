"""Parameters of methods: their types, values of several parts, and their form in files.

An estimator is a dataclass whose fields are its parameters::

    radius: Positive = 1.0
    away_steps: bool = True
    penalty: Literal["l1", "mcp"] = "l1"

``__init__`` and the checks follow from that: a ``Literal`` must be one of its strings, an object
must be an instance of its class, and ``Annotated`` has constraints of scikit-learn itself. A
:class:`ParameterValue` groups what several methods share.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    ClassVar,
    Literal,
    Self,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from ranksieve.costs import FeatureCosts
from ranksieve.metrics import Measure
from ranksieve.metrics.conventions import CONVENTIONS, Convention, get_convention, known_names

_DEEPEST = 8  # most levels of nested lists in a parameter


class _ConventionName(StrOptions):
    """Constraint: a name that :func:`get_convention` accepts."""

    def __init__(self) -> None:
        super().__init__(set(CONVENTIONS))

    def is_satisfied_by(self, val: Any) -> bool:
        """Whether a value is the name of a convention."""
        try:
            return isinstance(val, str) and bool(get_convention(val))
        except ValueError:
            return False

    def __str__(self) -> str:
        return f"the name of a convention ({known_names()})"


Count = Annotated[int, Interval(Integral, 1, None, closed="left")]
AtLeastTwo = Annotated[int, Interval(Integral, 2, None, closed="left")]
Positive = Annotated[float, Interval(Real, 0, None, closed="neither")]
NotNegative = Annotated[float, Interval(Real, 0, None, closed="left")]
Share = Annotated[float, Interval(Real, 0, 1, closed="neither")]  # a fraction, without 0 and 1
Weight = Annotated[float, Interval(Real, 0, 1, closed="both")]  # a fraction, including 0 and 1
FeatureCount = Annotated[
    Any, Interval(Integral, 1, None, closed="left"), Interval(Real, 0, 1, closed="neither")
]  # a number of features or a fraction of them; Any, because some selectors also take words
Features = Annotated[Sequence[int | str] | int | str, "array-like", Integral, str]
Costs = Annotated[Any, FeatureCosts, Mapping, "array-like", None]
# Forms that FeatureCosts.make takes, except paths: parameters must contain their values.
Lambdas = Annotated[Sequence[float], "array-like", Real]
ConventionChoice = Annotated[str | Convention, _ConventionName(), Convention]
Ties = Literal["average", "stable"]
Seed = Annotated[int | np.random.RandomState | None, "random_state"]


class Constraints:
    """Descriptor that derives scikit-learn's parameter constraints from the fields of a class."""

    def __get__(self, instance: Any, kind: type) -> dict[str, Any]:
        return _constraints_of(kind)


@cache
def _constraints_of(kind: type) -> dict[str, Any]:
    return {
        name: _constraints(hint)
        for name, hint in get_type_hints(kind, include_extras=True).items()
        if not name.startswith("_") and not name.endswith("_") and get_origin(hint) is not ClassVar
    }


def _constraints(hint: Any) -> Any:
    """Constraints for values of a type."""
    if hint is Any:
        return "no_validation"
    if hint is bool:
        return ["boolean"]
    origin = get_origin(hint)
    if origin is Annotated:
        return list(hint.__metadata__)
    if origin is Literal:
        return [StrOptions(set(get_args(hint)))]
    if origin in (Union, UnionType):
        return [constraint for part in get_args(hint) for constraint in _constraints(part)]
    return [None if hint is NoneType else origin or hint]


@dataclass(frozen=True, repr=False)
class ParameterValue:
    """A parameter with several fields (parts); the first part alone may stand for the whole.

    A subclass is a frozen dataclass whose parts, except for the first, have defaults. It checks
    them in ``__post_init__``. It is callable so that scikit-learn accepts it as the default of a
    parameter.
    """

    @classmethod
    def parts(cls) -> list[str]:
        """Names of the parts."""
        return [part.name for part in fields(cls)]

    @classmethod
    def make(cls, value: Any, default: Any = None) -> Self:
        """Make a value from what a user gives: a value, a mapping of some parts, or the first part.

        ``default``, a value or its first part, provides the parts that are not given.
        """
        if isinstance(value, cls):
            return value
        parts = value if isinstance(value, Mapping) else {cls.parts()[0]: value}
        if default is None:
            return cls(**parts)
        return cls.make(default).replace(**parts)

    @classmethod
    def from_estimator(cls, estimator: Any) -> Self:
        """Return an estimator's parameter of this name, completed by the default of its class."""
        name = cls.__name__.lower()
        default = inspect.signature(type(estimator)).parameters[name].default
        return cls.make(getattr(estimator, name), default)

    def replace(self, **parts: Any) -> Self:
        """Return a copy with other parts; raise a ValueError if there is no such part."""
        for part in parts:
            if part not in self.parts():
                raise ValueError(
                    f"{type(self).__name__.lower()} has no part {part!r}; it has "
                    f"{', '.join(self.parts())}"
                )
        return replace(self, **parts)

    def changed_from(self, default: Self, name: str) -> dict[str, Any]:
        """Parts that differ from the default ones, by the names of their parameters."""
        first = self.parts()[0]
        return {
            name if part == first else f"{name}.{part}": getattr(self, part)
            for part in self.parts()
            if getattr(self, part) != getattr(default, part)
        }

    def __repr__(self) -> str:
        first, *others = fields(self)
        arguments = [repr(getattr(self, first.name))]
        for part in others:
            value = getattr(self, part.name)
            if value != part.default:
                arguments.append(f"{part.name}={value!r}")
        return f"{type(self).__name__}({', '.join(arguments)})"


def check_choice(name: str, value: Any, choices: Iterable[str]) -> None:
    """Raise a ValueError unless a part is one of the choices."""
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(choices)}, got {value!r:.60}")


def check_boolean(name: str, value: Any) -> None:
    """Raise a ValueError unless a part is true or false."""
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name} must be True or False, got {value!r:.60}")


def plain_value(value: Any, otherwise: Callable[[Any], Any], depth: int = _DEEPEST) -> Any:
    """Return a parameter as JSON values from which the same method can be made again.

    ``otherwise`` is called with any value that has no such form, or is nested more deeply than
    ``depth``; it returns a replacement or raises an error.
    """
    if isinstance(value, (np.ndarray, np.generic)):
        value = value.tolist()
    if isinstance(value, ParameterValue):
        value = {part: getattr(value, part) for part in value.parts()}
    if isinstance(value, FeatureCosts):
        value = value.to_record()
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
    """Whether the name of a convention is enough to restore it."""
    try:
        return get_convention(convention.name) == convention
    except ValueError:
        return False
