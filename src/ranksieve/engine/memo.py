"""A cache of statistics that several selectors compute from the same data.

Selectors compute importances, similarities and tables independently of each other. Code that runs
many selectors on the same data can share these results::

    memo = Memo()
    for selector in selectors:
        with sharing(memo) as borrowed:
            selector.fit(data)
        saved += borrowed.seconds  # what it would have taken alone
"""

from __future__ import annotations

import inspect
import threading
import weakref
from collections.abc import Callable, Hashable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, fields, is_dataclass
from functools import wraps
from typing import Any, NamedTuple, ParamSpec, TypeVar

import numpy as np

from ranksieve.engine.clock import work_seconds

P = ParamSpec("P")
T = TypeVar("T")

_IDENTITY: Any = object.__eq__


@dataclass
class Borrowed:
    """Time that sharing has saved.

    It is the time that the reused statistics had taken, minus the time spent waiting for them, by
    :func:`work_seconds`. It is negative if the wait was longer, for instance
    because another thread had to compile kernels.
    """

    seconds: float = 0.0


_Key = tuple[Hashable, ...]  # the name of a function comes first


class _Item(NamedTuple):
    """A statistic that is computed or being computed."""

    source: weakref.ref[Any]  # removes the item before another object can get its id
    answer: Future[tuple[Any, float]]  # the statistic, and the seconds that it took


class Memo:
    """Statistics of some sources, for any number of threads.

    A statistic is computed by the first thread that requests it; others wait for the result. If it
    fails, all of them get the error, and the next request tries again. Sources must not change; a
    statistic is dropped with its source. Copies and pickles of a memo are empty.
    """

    def __init__(self) -> None:
        self._items: dict[_Key, _Item] = {}
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[type[Memo], tuple[()]]:
        return Memo, ()

    @property
    def costs(self) -> list[tuple[str, float]]:
        """Function and seconds of each computed statistic, in the order of first requests."""
        answers = [(str(key[0]), item.answer) for key, item in self._items.copy().items()]
        return [
            (name, answer.result()[1])
            for name, answer in answers
            if answer.done() and answer.exception() is None
        ]

    def _recall(self, key: _Key, source: Any, compute: Callable[[], T], borrowed: Borrowed) -> T:
        """Statistic of a key, computed if necessary."""
        with self._lock:
            found = self._items.get(key)
            if found is None:
                dropped = weakref.ref(source, lambda _: self._items.pop(key, None))
                mine = self._items[key] = _Item(dropped, Future())
        start = work_seconds()
        if found is not None:
            value, seconds = found.answer.result()
            with self._lock:
                borrowed.seconds += seconds - (work_seconds() - start)
            return value
        before = borrowed.seconds
        try:
            value = compute()
            _make_read_only(value)
        except BaseException as error:
            self._items.pop(key, None)
            mine.answer.set_exception(error)
            raise
        # Its cost includes the statistics that it reused itself.
        seconds = work_seconds() - start + borrowed.seconds - before
        mine.answer.set_result((value, seconds))
        return value


_current: ContextVar[tuple[Memo, Borrowed] | None] = ContextVar("ranksieve_sharing", default=None)


@contextmanager
def sharing(memo: Memo) -> Iterator[Borrowed]:
    """Let functions that are :func:`shared` use a memo inside a ``with`` block.

    The block applies to this thread only; other threads enter their own, with the same memo.

    Examples
    --------
    >>> from ranksieve import make_ranking
    >>> from ranksieve.selectors import GAS
    >>> from ranksieve.engine.memo import Memo, sharing
    >>> data, _ = make_ranking(50)
    >>> memo = Memo()
    >>> for c in (0, 0.01, 0.1):
    ...     with sharing(memo) as borrowed:
    ...         selector = GAS(5, c=c).fit(data)
    >>> len(memo.costs)  # importance and similarity
    2
    >>> borrowed.seconds > 0
    True
    """
    borrowed = Borrowed()
    token = _current.set((memo, borrowed))
    try:
        yield borrowed
    finally:
        _current.reset(token)


def shared(function: Callable[P, T]) -> Callable[P, T]:
    """Decorator: inside :func:`sharing`, compute a statistic once for each source and arguments.

    The source is the first argument, and is compared by identity; the others are compared by their
    values. If an argument cannot be compared by value, such as a function, nothing is shared.
    Arrays of a shared result are read-only.
    """
    signature = inspect.signature(function)
    name = f"{function.__module__}.{function.__qualname__}"

    @wraps(function)
    def remembered(*arguments: P.args, **named: P.kwargs) -> T:
        current = _current.get()
        if current is None:
            return function(*arguments, **named)
        bound = signature.bind(*arguments, **named)
        bound.apply_defaults()
        source, *others = bound.arguments.values()
        try:
            weakref.ref(source)  # anything else is no source, and an error of the function
            key: _Key = (name, id(source), *map(_hashable, others))
        except TypeError:
            return function(*arguments, **named)
        memo, borrowed = current
        return memo._recall(key, source, lambda: function(*arguments, **named), borrowed)

    return remembered


def _hashable(value: Any) -> Hashable:
    """Hashable form that is equal for equal values only; raises a TypeError if there is none."""
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        return value.shape, value.dtype.str, value.tobytes()
    if isinstance(value, (tuple, list)):
        return type(value), tuple(map(_hashable, value))
    # Objects that equal only themselves, such as random generators, may change between two calls.
    if value is not None and (callable(value) or type(value).__eq__ is _IDENTITY):
        raise TypeError(f"{type(value).__name__} cannot be compared by value")
    hash(value)
    return type(value), value


def _make_read_only(value: Any) -> None:
    """Make all arrays of a result read-only, so that no selector changes those of another."""
    if isinstance(value, np.ndarray):
        value.flags.writeable = False
    elif isinstance(value, (tuple, list)):
        for part in value:
            _make_read_only(part)
    elif is_dataclass(value):
        for field in fields(value):
            _make_read_only(getattr(value, field.name))
