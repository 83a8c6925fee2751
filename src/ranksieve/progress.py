"""The one hook through which long work reports how far it is.

The library is silent unless somebody listens::

    with listen(lambda what, done, total: ...):
        read_letor("train.txt")

The command line listens with a progress bar; so does every method that is asked to be ``verbose``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Listener = Callable[[str, int, int], None]
"""Called with what is being done, how much of it is done, and how much there is in all."""

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


def track(what: str, total: int) -> Callable[[int], None]:
    """Start a piece of work; returns the function to call with how much more of it is done."""
    listener = _listener.get()
    done = 0

    def advance(amount: int) -> None:
        nonlocal done
        done += amount
        if listener is not None:
            listener(what, done, total)

    return advance


@contextmanager
def progress_bar(wanted: bool = True) -> Iterator[None]:
    """Show progress on standard error, if that is a terminal and ``wanted``."""
    if not (wanted and sys.stderr.isatty()):
        yield
        return
    from rich.console import Console
    from rich.progress import Progress, TaskID

    with Progress(console=Console(stderr=True), transient=True) as bar:
        tasks: dict[str, TaskID] = {}

        def show(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = bar.add_task(what, total=total)
            bar.update(tasks[what], completed=done, total=total)

        with listen(show):
            yield
