"""Types of parameters, from which scikit-learn's parameter checks are derived.

An estimator is a dataclass whose fields are its parameters::

    radius: Positive = 1.0
    away_steps: bool = True
    penalty: Literal["l1", "mcp"] = "l1"

``__init__`` and the checks follow from that: a ``Literal`` must be one of its strings, an object
must be an instance of its class, and ``Annotated`` has constraints of scikit-learn itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Annotated, Any, ClassVar, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from ranksieve.costs import FeatureCosts
from ranksieve.metrics.conventions import CONVENTIONS, Convention, get_convention, known_names


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
# Forms that FeatureCosts.of takes, except paths: parameters must contain their values.
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
