"""Calls that change the state of a statistic, which are repeated when a Dask worker is lost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import Any, NamedTuple, TypeVar

Method = TypeVar("Method", bound=Callable[..., Any])

_KEEPS = "_keeps_calls_of"  # attribute of methods that change the state; None: it keeps all


def changes_state(method: Method) -> Method:
    """Decorator of a method of a statistic: results of later calls depend on this call."""
    setattr(method, _KEEPS, None)
    return method


def starts_over(*, keeping: Sequence[str] = ()) -> Callable[[Method], Method]:
    """Decorator of a method that changes the state whatever the state was.

    Later results no longer depend on earlier calls, except for those of the methods in ``keeping``.
    """

    def mark(method: Method) -> Method:
        setattr(method, _KEEPS, tuple(keeping))
        return method

    return mark


class Call(NamedTuple):
    """A call of a method of a statistic, by its name, so that overridden methods are found."""

    method: str
    arguments: tuple[Any, ...]
    named: dict[str, Any]

    def run(self, instance: Any) -> Any:
        """Result of one instance."""
        return getattr(instance, self.method)(*self.arguments, **self.named)


class StateCalls(list[Call]):
    """The calls that lead to the present state of a statistic, in order.

    Calls of methods without one of the decorators, inherited or own, are not among them.
    """

    def __init__(self, statistic: Any) -> None:
        super().__init__()
        self._statistic = statistic

    def add(self, call: Call) -> None:
        """Record a call if it changes the state; forget those that no longer matter."""
        own = (vars(kind).get(call.method) for kind in self._statistic.__mro__)
        marked = next((found for found in own if hasattr(found, _KEEPS)), None)
        if marked is None:
            return
        keeps = getattr(marked, _KEEPS)
        if keeps is not None:
            self[:] = [earlier for earlier in self if earlier.method in keeps]
        self.append(deepcopy(call))  # callers may go on to change their arrays
