"""A cache of statistics that several selectors need of the same data.

Selectors ask for importances, similarities and tables as if nobody had asked before. Whoever runs
many of them on the same data makes that true only once::

    memo = Memo()
    for selector in selectors:
        with sharing(memo) as borrowed:
            selector.fit(data)
        saved += borrowed.seconds  # what it would have taken alone
"""

from __future__ import annotations

import inspect
import threading
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
    """How much time sharing has saved.

    Attributes
    ----------
    seconds : float
        Time that statistics had taken which were there already, less the time that was spent on
        waiting for them; as of :func:`ranksieve.engine.clock.work_seconds`. Below 0 if the wait was
        longer, as that for kernels that the first to ask had to compile.
    """

    seconds: float = 0.0


_Key = tuple[Hashable, ...]  # the name of a function comes first


class _Item(NamedTuple):
    """A statistic that is there or on its way."""

    source: Any  # as long as it is held, no other object has its id
    answer: Future[tuple[Any, float]]  # the statistic, and the seconds that it took


class Memo:
    """Statistics of some sources, for any number of threads.

    A statistic is computed by the first that asks for it; others who ask meanwhile wait. If it
    fails, all of them get the error, and the next to ask tries again. Sources must not change,
    and are held as long as the memo lives. Copies and pickles of a memo are empty.
    """

    def __init__(self) -> None:
        self._items: dict[_Key, _Item] = {}
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[type[Memo], tuple[()]]:
        return Memo, ()

    @property
    def costs(self) -> list[tuple[str, float]]:
        """Function and seconds of each statistic that is there, in the order of first requests."""
        with self._lock:
            answers = [(str(key[0]), item.answer) for key, item in self._items.items()]
        return [
            (name, answer.result()[1])
            for name, answer in answers
            if answer.done() and answer.exception() is None
        ]

    def _recall(self, key: _Key, source: Any, compute: Callable[[], T], borrowed: Borrowed) -> T:
        """The statistic of a key, computed if it is not there."""
        with self._lock:
            found = self._items.get(key)
            if found is None:
                mine = self._items[key] = _Item(source, Future())
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
            with self._lock:
                del self._items[key]
            mine.answer.set_exception(error)
            raise
        # What it has borrowed itself belongs to its price.
        seconds = work_seconds() - start + borrowed.seconds - before
        mine.answer.set_result((value, seconds))
        return value


_current: ContextVar[tuple[Memo, Borrowed] | None] = ContextVar("ranksieve_sharing", default=None)


@contextmanager
def sharing(memo: Memo) -> Iterator[Borrowed]:
    """Let functions that are :func:`shared` use a memo inside a ``with`` block.

    Other threads are not meant: each of them enters a block of its own, with the same memo.

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
    values. With an argument that has no value to compare, such as a function, nothing is shared.
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
            key: _Key = (name, id(source), *map(_hashable, others))
        except TypeError:
            return function(*arguments, **named)
        memo, borrowed = current
        return memo._recall(key, source, lambda: function(*arguments, **named), borrowed)

    return remembered


def _hashable(value: Any) -> Hashable:
    """What equal values have in common, and others have not; a TypeError if there is no such."""
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        return value.shape, value.dtype.str, value.tobytes()
    if isinstance(value, (tuple, list)):
        return type(value), tuple(map(_hashable, value))
    # Objects that equal only themselves, such as random generators, may change between two calls.
    if value is not None and (callable(value) or type(value).__eq__ is _IDENTITY):
        raise TypeError(f"{type(value).__name__} has no value to compare")
    hash(value)
    return type(value), value


def _make_read_only(value: Any) -> None:
    """Protect all arrays of a result, so that no selector changes what another one gets."""
    if isinstance(value, np.ndarray):
        value.flags.writeable = False
    elif isinstance(value, (tuple, list)):
        for part in value:
            _make_read_only(part)
    elif is_dataclass(value):
        for field in fields(value):
            _make_read_only(getattr(value, field.name))
