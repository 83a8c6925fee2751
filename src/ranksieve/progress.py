"""Progress of long operations: a bar for people, and a hook for programs.

An operation shows one bar, in a terminal or in a notebook, with the time that is left of what it
is doing. Scripts, pipes and other threads and processes see nothing. ``progress=False`` turns the
bar of one call off, and the environment variable ``RANKSIEVE_PROGRESS=0`` all of them.

A program that wants to know more listens::

    with listen(lambda what, done, total: ...):
        read_letor("train.txt")
"""

from __future__ import annotations

import html
import multiprocessing
import os
import sys
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar, copy_context
from dataclasses import dataclass, field
from time import monotonic
from typing import NamedTuple, Protocol, TypeVar

from ranksieve.text import on_one_line, shorten

T = TypeVar("T")

Listener = Callable[[str, int, int], None]
"""Called with the name of the task, the amount done, and the total amount."""

SWITCH = "RANKSIEVE_PROGRESS"
"""Environment variable; if it is 0, no, off or false, no bar is shown."""

_COUNTABLE = 1_000_000  # larger totals are shown in percent; most of them are bytes
_QUICK = 1.0  # seconds; what ends sooner shows no bar
_TICK = 0.25  # seconds between two updates of what is shown
_LABEL, _BAR = 32, 20  # characters


@dataclass(eq=False)
class _Task:
    """Something that is being done, and how much of it has been done."""

    what: str
    total: int
    done: int = 0
    n_reports: int = 0
    start: float = field(default_factory=lambda: monotonic())


_listener: ContextVar[Callable[[_Task], None] | None] = ContextVar(
    "ranksieve_progress", default=None
)


@contextmanager
def listen(listener: Listener | None) -> Iterator[None]:
    """Report progress to ``listener`` inside a ``with`` block; None silences it.

    No bar is shown inside.

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

    def forward(task: _Task) -> None:
        if listener is not None and task.n_reports:
            listener(task.what, task.done, task.total)

    with _tell(forward):
        yield


@contextmanager
def _tell(listener: Callable[[_Task], None]) -> Iterator[None]:
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
    listener, task = _listener.get(), _Task(what, total)
    if listener is not None:
        listener(task)

    def advance(amount: int, more: int = 0) -> None:
        task.done, task.total = task.done + amount, task.total + more
        task.n_reports += 1
        if listener is not None:
            listener(task)

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
def progress_bar(wanted: bool = True, what: str = "") -> Iterator[None]:
    """Show the progress of an operation, called ``what``, in a terminal or in a notebook.

    There is one bar, that of the outermost operation, and it is gone at the end. None is shown if
    somebody listens, in other threads than the main one, or in other processes than the first one.
    If it is not ``wanted``, the operations inside show none, either.
    """
    if _listener.get() is not None:
        yield
        return
    place = _place() if wanted and _may_show() else None
    if place is None:
        with listen(None):
            yield
        return
    meter = Meter(what)
    with _tell(meter.hear), _Bar(meter, place):
        yield


def _may_show() -> bool:
    """Whether this is where a person waits who has not turned bars off."""
    return (
        os.environ.get(SWITCH, "").strip().lower() not in ("0", "no", "off", "false")
        and threading.current_thread() is threading.main_thread()
        and multiprocessing.parent_process() is None
    )


def _place() -> Callable[[], _Place] | None:
    """Where a bar can be shown: a terminal, or the kernel of a notebook (without importing it)."""
    if sys.stderr is not None and sys.stderr.isatty():
        return _terminal
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return _notebook if hasattr(shell, "kernel") else None


class Shown(NamedTuple):
    """What a bar shows."""

    label: str
    share: float | None  # that is done; None if it is not known
    amount: str
    time: str  # that is left or, if that is not known, that has passed


_Place = AbstractContextManager[Callable[[Shown], None]]
"""Yields a function that shows something, instead of what it has shown before."""


class Meter:
    """Measures the outermost task that is under way, and estimates the time that it still takes.

    The tasks inside it are its steps. A task that is over, because all of it is done or because
    nobody can advance it any more, makes room for the next one.
    """

    def __init__(self, what: str = "") -> None:
        self.what, self._start = what, monotonic()
        self._task: Callable[[], _Task | None] = lambda: None
        # Times and amounts done: the last one from the first half of the time, and all later ones.
        self._reports: deque[tuple[float, int]] = deque()

    def hear(self, task: _Task) -> None:
        """Note the start or the report of a task."""
        current, now = self._task(), monotonic()
        if current is not task:
            if current is not None and current.done < current.total:
                return  # it is a step of what is under way
            self._task = weakref.ref(task)
            self._reports = deque([(task.start, 0)])
        self._reports.append((now, task.done))
        while len(self._reports) > 2 and self._reports[1][0] <= (task.start + now) / 2:
            self._reports.popleft()

    def read(self) -> Shown:
        """What there is to show at this moment."""
        now, task = monotonic(), self._task()
        passed = format_seconds(now - self._start)
        if task is None or now - task.start < _QUICK:
            return Shown(self.what or "Working", None, "", passed)
        label = shorten(on_one_line(task.what), _LABEL)
        if not 0 < task.done < task.total:
            return Shown(label, None, "", passed)
        left = self._seconds_left(task, now)
        amount = format_amount(task.done, task.total)
        return Shown(
            label,
            task.done / task.total,
            amount,
            f"{format_seconds(left)} left" if left > 0 else passed,
        )

    def _seconds_left(self, task: _Task, now: float) -> float:
        """Expect the speed of the second half of the time so far; negative if it takes longer."""
        (first, before), (last, done) = self._reports[0], self._reports[-1]
        return (last - first) * (task.total - done) / max(1, done - before) - (now - last)


class _Bar:
    """Context manager that shows what a meter says, unless it is over soon."""

    def __init__(self, meter: Meter, place: Callable[[], _Place]) -> None:
        self._meter, self._place, self._is_over = meter, place, threading.Event()
        # In the context of the cell of a notebook, to whose output the bar belongs.
        self._thread = threading.Thread(target=copy_context().run, args=[self._show], daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *error: object) -> None:
        self._is_over.set()
        self._thread.join()

    def _show(self) -> None:
        if self._is_over.wait(_QUICK):
            return
        with self._place() as show:
            before = None
            while before is None or not self._is_over.wait(_TICK):
                now = self._meter.read()
                if now != before:
                    show(now)
                before = now


@contextmanager
def _terminal() -> Iterator[Callable[[Shown], None]]:
    """Context manager that yields a function to show a line below everything else."""
    from rich.console import Console
    from rich.live import Live
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    def show(shown: Shown) -> None:
        bar = ProgressBar(1.0, shown.share or 0.0, _BAR, pulse=shown.share is None)
        label, amount, time = (Text(text, no_wrap=True) for text in (shown.label, *shown[2:]))
        row = Table.grid(padding=(0, 1))
        row.add_row(label, bar, amount, time)
        live.update(row, refresh=True)

    with Live(console=Console(stderr=True), auto_refresh=False, transient=True) as live:
        yield show


@contextmanager
def _notebook() -> Iterator[Callable[[Shown], None]]:
    """Context manager that yields a function to show a bar in the output of the cell."""
    from IPython.display import display

    handle = display({"text/plain": ""}, raw=True, display_id=True)
    try:
        yield lambda shown: handle.update(_bundle_of(shown), raw=True)
    finally:
        handle.update({"text/plain": "", "text/html": ""}, raw=True)


def _bundle_of(shown: Shown) -> dict[str, str]:
    """What a notebook shows, by MIME type; it takes the colors of the notebook."""
    text = "  ".join(filter(None, (shown.label, shown.amount, shown.time)))
    value = "" if shown.share is None else f' value="{shown.share:.3f}"'
    name = html.escape(shown.label)
    bar = f'<progress{value} aria-label="{name}" style="width: 14em"></progress>'
    return {"text/plain": text, "text/html": f"<div>{bar} {html.escape(text)}</div>"}


def format_amount(done: float, total: float) -> str:
    """Amount done, such as ``12/1,000``; for large totals a percentage, such as ``1.2%``."""
    return f"{done / total:.1%}" if total > _COUNTABLE else f"{done:,.0f}/{total:,.0f}"


def format_seconds(seconds: float) -> str:
    """Duration in minutes and seconds, with hours if there are any.

    >>> format_seconds(7.4), format_seconds(3_723)
    ('0:07', '1:02:03')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
