"""Progress: what listeners hear, when a bar is shown, and what it says of the time that is left."""

import contextlib
import io
import multiprocessing
import re
import sys
import threading
import time

import pytest

from ranksieve import Study, make_ranking, progress, recommend
from ranksieve.progress import Meter, format_amount, listen, progress_bar, track, track_each
from ranksieve.rankers import LambdaMART, RankRLS
from ranksieve.recommendation import check
from ranksieve.selectors import GAS, SequentialSelector
from ranksieve.sums.inspection import inspect


class TestListeners:
    def test_nobody_listens_by_default(self, capsys):
        track("Working", 3)(1)
        assert capsys.readouterr() == ("", "")

    def test_they_nest_and_are_restored(self):
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


class Terminal(io.StringIO):
    def isatty(self):
        return True


def use_terminal(monkeypatch):
    """A terminal of 80 columns, on which also quick operations show a bar.

    It is no fixture, because pytest sets the streams again before the test.
    """
    for name, value in {"TERM": "xterm", "COLUMNS": "80"}.items():
        monkeypatch.setenv(name, value)
    for name in ("NO_COLOR", progress.SWITCH):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(progress, "_QUICK", 0.0)
    monkeypatch.setattr(progress, "_TICK", 0.002)
    made = Terminal()
    monkeypatch.setattr(sys, "stderr", made)
    return made


def lines(terminal):
    """What was shown, without colors and the bar itself."""
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", terminal.getvalue())
    shown = [
        re.sub(r"\s+", " ", re.sub(r"[^ -~]", "", line)) for line in re.split(r"[\r\n]", plain)
    ]
    return [line.strip() for line in shown if line.strip()]


def work(what, total, *amounts):
    advance = track(what, total)
    for amount in amounts:
        advance(amount)
    return advance


def wait_for(text, terminal):
    """Wait until it is shown: how soon that is depends on what else the machine does."""
    end = time.monotonic() + 20
    while text not in " ".join(lines(terminal)):
        assert time.monotonic() < end, lines(terminal)
        time.sleep(0.002)


class TestOnATerminal:
    def test_a_bar_shows_amount_and_remaining_time(self, monkeypatch):
        terminal = use_terminal(monkeypatch)
        with progress_bar():
            trainings = work("Trainings", 12_000, 3, 1000, 1000)
            wait_for("Trainings 2,003/12,000", terminal)
            trainings(9_997)
            reading = work("Reading", 8_000_000, 1_000_000, 1_000_000)
            wait_for("Reading 25.0%", terminal)
            reading(6_000_000)
        for line in lines(terminal)[1:]:
            assert re.fullmatch(r"(Trainings|Reading)( [\d,.%/]+)? \d:\d\d( left)?", line)

    def test_one_bar_for_nested_tasks(self, monkeypatch):
        """Steps inside a task are not shown, and nor is an operation inside an operation."""
        terminal = use_terminal(monkeypatch)
        with progress_bar(what="outer"):
            advance = track("Subsets", 3)
            for number in range(2):
                with progress_bar(what="inner"):
                    work("Sums", 2, 1)
                advance(1)
                wait_for(f"Subsets {number + 1}/3", terminal)
        assert {line.split()[0] for line in lines(terminal)} <= {"outer", "Subsets"}

    def test_what_is_not_known_is_not_told(self, monkeypatch):
        terminal = use_terminal(monkeypatch)
        with progress_bar(what="GAS"):
            wait_for("GAS 0:00", terminal)
            task = work("Similarity", 0, 0)
            wait_for("Similarity 0:00", terminal)
            task(1)
        assert all(" 0/" not in line for line in lines(terminal))

    def test_names_cannot_control_the_terminal(self, monkeypatch):
        terminal = use_terminal(monkeypatch)
        with progress_bar():
            task = work("a\x1b[2Jb\nc" * 20, 4, 1, 1)
            wait_for(r"a\x1b[2Jb c", terminal)
            task(2)
        assert "\x1b[2J" not in terminal.getvalue()

    def test_it_fits_on_a_line(self, monkeypatch):
        terminal = use_terminal(monkeypatch)
        with progress_bar():
            task = work("Selections and trainings " * 9, 900_000, 1_111)
            wait_for("1,111/900,000", terminal)
            task(0)
        plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", terminal.getvalue())
        assert max(map(len, re.split(r"[\r\n]", plain))) <= 80

    def test_nothing_stays(self, monkeypatch):
        terminal = use_terminal(monkeypatch)
        with progress_bar():
            task = work("Trainings", 4, 1)
            wait_for("Trainings 1/4", terminal)
            task(1)
        assert terminal.getvalue().endswith("\x1b[2K")  # the line is erased

    def test_quick_operations_show_nothing(self, monkeypatch):
        terminal = use_terminal(monkeypatch)
        monkeypatch.setattr(progress, "_QUICK", 10.0)
        with progress_bar():
            work("Trainings", 2, 1, 1)
        assert terminal.getvalue() == ""

    def test_an_error_ends_the_bar(self, monkeypatch):
        terminal = use_terminal(monkeypatch)
        n_threads = threading.active_count()
        with contextlib.suppress(KeyboardInterrupt), progress_bar():
            task = work("Trainings", 4, 1)
            wait_for("Trainings 1/4", terminal)
            task(1)
            raise KeyboardInterrupt
        assert threading.active_count() == n_threads
        assert terminal.getvalue().endswith("\x1b[2K")


class TestSilence:
    """No bar, although there is a terminal."""

    def assert_silent(self, stream, *arguments):
        n_threads = threading.active_count()
        with progress_bar(*arguments):
            work("Trainings", 2, 1, 1)
            assert threading.active_count() == n_threads  # no bar waits, either
        assert stream.getvalue() == ""

    def test_unless_it_is_wanted(self, monkeypatch):
        terminal = use_terminal(monkeypatch)
        self.assert_silent(terminal, False)

    @pytest.mark.parametrize("value", ["0", "no", "Off", " false "])
    def test_switched_off_everywhere(self, monkeypatch, value):
        terminal = use_terminal(monkeypatch)
        monkeypatch.setenv(progress.SWITCH, value)
        self.assert_silent(terminal)

    def test_operations_inside_one_that_is_silent(self, monkeypatch):
        terminal = use_terminal(monkeypatch)
        with progress_bar(False):
            self.assert_silent(terminal)

    def test_if_somebody_listens(self, monkeypatch):
        terminal = use_terminal(monkeypatch)
        heard = []
        with listen(lambda *report: heard.append(report)):
            self.assert_silent(terminal)
            with progress_bar(False):  # a program hears what a person does not want to see
                work("Naps", 1, 1)
        assert heard == [("Trainings", 1, 2), ("Trainings", 2, 2), ("Naps", 1, 1)]

    def test_in_other_threads(self, monkeypatch):
        terminal = use_terminal(monkeypatch)
        thread = threading.Thread(target=self.assert_silent, args=[terminal])
        thread.start()
        thread.join()
        assert terminal.getvalue() == ""

    def test_in_other_processes(self, monkeypatch):
        terminal = use_terminal(monkeypatch)
        monkeypatch.setattr(multiprocessing, "parent_process", object)
        self.assert_silent(terminal)

    @pytest.mark.parametrize("stream", [None, io.StringIO()])
    def test_in_scripts_and_pipes(self, monkeypatch, stream):
        terminal = use_terminal(monkeypatch)
        monkeypatch.setattr(sys, "stderr", stream)
        self.assert_silent(terminal)
        assert stream is None or stream.getvalue() == ""

    def test_ipython_is_not_imported(self, monkeypatch):
        monkeypatch.delitem(sys.modules, "IPython", raising=False)
        monkeypatch.setattr(sys, "stderr", io.StringIO())
        self.assert_silent(sys.stderr)
        assert "IPython" not in sys.modules


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still until it is set."""
    times = [0.0]
    monkeypatch.setattr(progress, "monotonic", lambda: times[0])

    def forward(seconds):
        times[0] += seconds

    return forward


def run(meter, clock, task, seconds, amount=1):
    """Advance a task several times, each after some seconds."""
    with progress._tell(meter.hear):
        for each in seconds:
            clock(each)
            task(amount)


def start(meter, what, total):
    with progress._tell(meter.hear):
        return track(what, total)


class TestTimeThatIsLeft:
    def test_work_at_an_even_pace(self, clock):
        meter = Meter()
        task = start(meter, "Trainings", 10)
        run(meter, clock, task, [5] * 4)
        assert meter.read() == ("Trainings", 0.4, "4/10", "0:30 left")
        clock(3)
        assert meter.read().time == "0:27 left"
        clock(28)  # it takes longer than expected: only what has passed is known
        assert meter.read().time == "0:51"

    def test_a_slow_start_is_forgotten(self, clock):
        meter = Meter()
        task = start(meter, "Trainings", 100)
        run(meter, clock, task, [20] + [1] * 29)
        assert meter.read().time == "1:10 left"  # and not 1:54

    def test_work_that_grows(self, clock):
        meter = Meter()
        task = start(meter, "Cells", 0)
        with progress._tell(meter.hear):
            for more in (10, 100, 50, 50):  # after the first cell, all that was known is done
                clock(2)
                task(10, more=more)
        assert meter.read() == ("Cells", 40 / 210, "40/210", "0:34 left")

    def test_work_that_starts_again(self, clock):
        meter = Meter()
        run(meter, clock, start(meter, "Rounds", 10), [1] * 10)
        again = start(meter, "Rounds", 10)
        run(meter, clock, again, [2, 2])
        assert meter.read() == ("Rounds", 0.2, "2/10", "0:16 left")

    def test_steps_do_not_count(self, clock):
        meter = Meter()
        outer = start(meter, "Subsets", 4)
        for _ in range(2):
            run(meter, clock, start(meter, "Sums", 2), [3, 3])
            run(meter, clock, outer, [0])
        assert meter.read() == ("Subsets", 0.5, "2/4", "0:12 left")

    def test_what_ends_early_makes_room(self, clock):
        """Nobody can advance a task that is gone."""
        meter = Meter("Boruta")
        run(meter, clock, start(meter, "Rounds", 100), [1, 1])
        assert meter.read() == ("Boruta", None, "", "0:02")
        task = start(meter, "Sums", 3)
        run(meter, clock, task, [2, 2])
        assert meter.read() == ("Sums", 2 / 3, "2/3", "0:02 left")

    def test_each_result_counts_when_it_is_there(self, clock):
        meter, results = Meter(), []
        with progress._tell(meter.hear):
            for result in track_each("Blocks", 3, "abc"):
                clock(2)
                results.append((result, meter.read().amount))
        assert results == [("a", "1/3"), ("b", "2/3"), ("c", "")]


@pytest.fixture
def kept(monkeypatch):
    """What operations call themselves; each would show a bar."""
    names = []

    class Kept(Meter):
        def __init__(self, what=""):
            names.append(what)
            super().__init__(what)

    monkeypatch.setattr(progress, "Meter", Kept)
    return names


class TestOperations:
    """Which operations show progress; each fits in an instant here."""

    def test_selectors_and_rankers(self, kept, monkeypatch):
        use_terminal(monkeypatch)
        data, _ = make_ranking(30, n_informative=2, n_redundant=1, n_noise=1)
        GAS(2).fit(data)
        GAS(2, progress=False).fit(data)
        ranker = LambdaMART(n_estimators=2, min_child_samples=5)
        SequentialSelector(ranker, 1, cv=2).fit(data)
        SequentialSelector(ranker, 1, cv=2, progress=False).fit(data)
        ranker.fit(data)
        assert kept == ["GAS", "SequentialSelector", "LambdaMART"]

    @pytest.mark.parametrize("direction", ["forward", "backward"])
    def test_searches_count_the_candidates_of_all_steps(self, direction):
        data, _ = make_ranking(20, n_informative=2, n_redundant=1, n_noise=1)
        told = []
        with listen(lambda *report: told.append(report)):
            SequentialSelector(RankRLS(), 2, cv=2, direction=direction).fit(data)
        assert [one[1:] for one in told if one[0] == "Candidates"] == [(4, 7), (7, 7)]

    @pytest.mark.slow
    def test_procedures(self, kept, monkeypatch, tmp_path):
        use_terminal(monkeypatch)
        data, _ = make_ranking(40, n_informative=2, n_redundant=0, n_noise=1, noise=0.1)
        for progress_ in (True, False):
            wanted = {"progress": progress_}
            recommend(data, "rankrls", margin=0.1, details=False, out=tmp_path, **wanted)
            check(tmp_path, data, **wanted)
            inspect(data, **wanted)
            Study(data, selectors=["gas-e"], rankers=["rankrls"], ks=[1], seeds=1).run(**wanted)
        assert kept == ["recommend", "check", "inspect", "study"]


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
