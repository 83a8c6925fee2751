"""The hook by which long operations report their progress.

The library is silent unless a listener is set::

    with listen(lambda what, done, total: ...):
        read_letor("train.txt")

The command line sets a progress bar as the listener, and so does every ``verbose`` method.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol, TypeVar

T = TypeVar("T")

Listener = Callable[[str, int, int], None]
"""Called with the name of the task, the amount done, and the total amount."""

_COUNTABLE = 1_000_000  # larger totals are shown in percent; most of them are bytes

_listener: ContextVar[Listener | None] = ContextVar("ranksieve_progress", default=None)


@contextmanager
def listen(listener: Listener | None) -> Iterator[None]:
    """Report progress to ``listener`` inside a ``with`` block; None silences it.

    Examples
    --------
    >>> from ranksieve.progress import listen, track
    >>> with listen(lambda what, done, total: print(f"{what}: {done} of {total}")):
    ...     advance = track("Counting", total=2)
    ...     advance(1)
    ...     advance(1)
    Counting: 1 of 2
    Counting: 2 of 2
    """
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


class Advance(Protocol):
    """Reports a further amount done, and an amount by which the total has grown."""

    def __call__(self, amount: int, more: int = 0) -> None:
        """Add ``amount`` to what is done, and ``more`` to the total."""


def track(what: str, total: int) -> Advance:
    """Start a task; return a function to call with each further amount done."""
    listener = _listener.get()
    done = 0

    def advance(amount: int, more: int = 0) -> None:
        nonlocal done, total
        done, total = done + amount, total + more
        if listener is not None:
            listener(what, done, total)

    return advance


def track_each(what: str, total: int, results: Iterable[T]) -> Iterator[T]:
    """Yield results, and report each as one of the total amount."""
    if _listener.get() is None:
        yield from results
        return
    advance = track(what, total)
    for result in results:
        advance(1)
        yield result


@contextmanager
def progress_bar(wanted: bool = True) -> Iterator[None]:
    """Show progress on standard error, if that is a terminal and ``wanted``.

    A line shows the task, the amount done, the rate, and the remaining time.
    """
    if not (wanted and sys.stderr.isatty()):
        yield
        return
    from rich.console import Console
    from rich.progress import Progress, Task

    with Progress(*_columns(), console=Console(stderr=True), transient=True) as bar:
        tasks: dict[str, Task] = {}

        def show(what: str, done: int, total: int) -> None:
            if what not in tasks:
                bar.add_task(what, total=total)
                tasks[what] = bar.tasks[-1]
            if done < total:  # more has become known, or the task has started again
                tasks[what].finished_time = None
            tasks[what].total = total  # an update of the total would forget the speed
            bar.update(tasks[what].id, completed=done)

        with listen(show):
            yield


def _columns() -> list[Any]:
    """Columns of the progress bar of rich."""
    from rich.progress import BarColumn, ProgressColumn, Task, TextColumn, TimeRemainingColumn
    from rich.text import Text

    class Amount(ProgressColumn):
        def render(self, task: Task) -> Text:
            return Text(format_amount(task.completed, task.total or 0))

    class Rate(ProgressColumn):
        def render(self, task: Task) -> Text:
            return Text(format_rate(task.speed, task.total or 0))

    return [
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        Amount(),
        Rate(),
        TimeRemainingColumn(),
    ]


def format_amount(done: float, total: float) -> str:
    """Amount done, such as ``12/1,000``; for large totals a percentage, such as ``1.2%``."""
    return f"{done / total:.1%}" if total > _COUNTABLE else f"{done:,.0f}/{total:,.0f}"


def format_rate(speed: float | None, total: float) -> str:
    """Amount done per second, in the unit of :func:`format_amount`; empty if unknown."""
    if speed is None:
        return ""
    if total > _COUNTABLE:
        return f"{speed / total:.1%}/s"
    return f"{speed:,.0f}/s" if speed >= 10 else f"{speed:.2g}/s"
