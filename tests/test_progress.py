"""The progress hook: silent by default, restored afterwards; and the bar that listens."""

import io
import re
import sys
import time

import pytest
from rich.progress import Progress

from ranksieve.progress import format_amount, format_rate, listen, progress_bar, track


def test_nobody_listens_by_default(capsys):
    track("Working", 3)(1)
    assert capsys.readouterr() == ("", "")


def test_listeners_nest_and_are_restored():
    outer, inner = [], []
    with listen(lambda *report: outer.append(report)):
        with listen(lambda *report: inner.append(report)):
            track("a", 5)(2)
        with listen(None):
            track("silent", 1)(1)
        advance = track("b", 2)
        advance(1)
        advance(1)
    track("c", 1)(1)
    assert inner == [("a", 2, 5)]
    assert outer == [("b", 1, 2), ("b", 2, 2)]


def test_no_bar_without_a_terminal(capsys):
    assert not sys.stderr.isatty()
    with progress_bar():
        track("Working", 3)(1)
    assert capsys.readouterr() == ("", "")


class Terminal(io.StringIO):
    def isatty(self):
        return True


def use_terminal(monkeypatch):
    for name, value in {"TERM": "xterm", "COLUMNS": "80"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("NO_COLOR", raising=False)
    made = Terminal()
    monkeypatch.setattr(sys, "stderr", made)
    return made


def lines(terminal):
    """What was shown, without colors and the bar itself."""
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", terminal.getvalue())
    return [re.sub(r"\s+", " ", re.sub(r"[^ -~]", "", line)) for line in re.split(r"[\r\n]", plain)]


def work(what, total, *amounts):
    advance = track(what, total)
    for amount in amounts:
        advance(amount)
        time.sleep(0.02)


def test_a_bar_shows_amount_rate_and_remaining_time(monkeypatch):
    terminal = use_terminal(monkeypatch)
    with progress_bar():
        work("Trainings", 12_000, 3, 1000, 1000)
        work("Reading", 8_000_000, 1_000_000, 1_000_000)
    told = "\n".join(lines(terminal))
    assert re.search(r"Trainings 2,003/12,000 [\d,]+/s \d:\d\d:\d\d", told)
    assert re.search(r"Reading 25\.0% [\d.]+%/s \d:\d\d:\d\d", told)
    assert all(len(line) <= 80 for line in lines(terminal))


def test_no_bar_unless_it_is_wanted(monkeypatch):
    terminal = use_terminal(monkeypatch)
    with progress_bar(False):
        work("Trainings", 2, 1, 1)
    assert terminal.getvalue() == ""


def test_remaining_time_of_work_that_is_done_again(monkeypatch):
    use_terminal(monkeypatch)
    bars, start = [], Progress.start
    monkeypatch.setattr(Progress, "start", lambda bar: (bars.append(bar), start(bar)))
    with progress_bar():
        work("Rounds", 1000, 500, 500)
        assert bars[0].tasks[0].finished
        work("Rounds", 1000, 1, 1)
        (task,) = bars[0].tasks
        assert not task.finished
        assert task.time_remaining > 0


@pytest.mark.parametrize(
    ("done", "total", "expected"),
    [
        (0, 5, "0/5"),
        (1234, 1_000_000, "1,234/1,000,000"),
        (500_000, 2_000_000, "25.0%"),
        (2_000_000, 2_000_000, "100.0%"),
        (0, 0, "0/0"),
    ],
)
def test_amounts(done, total, expected):
    assert format_amount(done, total) == expected


@pytest.mark.parametrize(
    ("speed", "total", "expected"),
    [
        (None, 5, ""),
        (0.0123, 5, "0.012/s"),
        (3.456, 5, "3.5/s"),
        (9.96, 5, "10/s"),
        (12345.6, 1_000_000, "12,346/s"),
        (1_000_000, 8_000_000, "12.5%/s"),
    ],
)
def test_rates(speed, total, expected):
    assert format_rate(speed, total) == expected


def test_remaining_time_of_work_that_grows(monkeypatch):
    use_terminal(monkeypatch)
    bars, start = [], Progress.start
    monkeypatch.setattr(Progress, "start", lambda bar: (bars.append(bar), start(bar)))
    with progress_bar():
        advance = track("Cells", 0)
        for more in (10, 100, 50, 50):  # after the first cell, all that was known is done
            time.sleep(0.02)
            advance(10, more=more)
        (task,) = bars[0].tasks
        assert (task.completed, task.total) == (40, 210)
        assert not task.finished
        assert 0 < task.time_remaining < 60
