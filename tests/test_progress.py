"""The progress hook: silent by default, restored afterwards."""

import sys

from ranksieve.progress import listen, progress_bar, track


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
