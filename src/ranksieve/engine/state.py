"""Calls that change the state of a statistic, which are repeated when a Dask worker is lost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import Any, TypeVar

Call = tuple[str, tuple[Any, ...]]  # method and arguments
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


class StateCalls(list[Call]):
    """The calls that lead to the present state of a statistic, in order.

    Calls of methods without one of the decorators, inherited or own, are not among them.
    """

    def __init__(self, statistic: type) -> None:
        super().__init__()
        self._statistic = statistic

    def add(self, method: str, arguments: tuple[Any, ...]) -> None:
        """Record a call if it changes the state; forget those that no longer matter."""
        own = (vars(kind).get(method) for kind in self._statistic.__mro__)
        marked = next((found for found in own if hasattr(found, _KEEPS)), None)
        if marked is None:
            return
        keeps = getattr(marked, _KEEPS)
        if keeps is not None:
            self[:] = [call for call in self if call[0] in keeps]
        self.append((method, deepcopy(arguments)))  # callers may go on to change their arrays
