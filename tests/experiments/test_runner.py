"""The runner: what runs, how often, at the same time, and what an end leaves behind."""

import threading
from threading import Barrier, BrokenBarrierError

import numpy as np
import pytest

from ranksieve import limit_threads, make_ranking
from ranksieve.data import DataError
from ranksieve.experiments import (
    OutOfTimeError,
    QuerySets,
    Runner,
    TimeLimit,
    Trial,
    TrialSource,
    gather,
)
from ranksieve.progress import listen
from ranksieve.rankers.registry import RANKERS
from ranksieve.selectors.registry import SELECTORS
from tests.experiments.notes import Note, NoteKey, add_up, nap, open_ledger

METHODS = {**RANKERS, **SELECTORS}


@pytest.fixture(scope="module")
def data():
    return make_ranking(12, random_state=0)[0]


@pytest.fixture
def trials(data):
    source = TrialSource.of(data)
    return [Trial(name, source, QuerySets(np.arange(n))) for name, n in (("A", 4), ("B", 8))]


@pytest.fixture
def run(tmp_path):
    with Runner(open_ledger(tmp_path)) as runner:
        yield runner


def test_equal_cells_run_once_and_are_found_in_the_ledger(run, trials, tmp_path):
    cells = [Note(1), Note(1), Note(2)]

    async def procedure(runner):
        once = await gather(*(runner(cell, trials[0]) for cell in cells))
        again = runner(cells[0], trials[1])
        await again
        return [*once, await again, await runner(cells[2], trials[0])]

    found = [0.5, 0.5, 1.0, 0.5, 1.0]
    assert [result.value for result in run.finish(procedure(run))] == found
    assert [cell.runs for cell in cells] == [["A", "B"], [], ["A"]]
    with Runner(open_ledger(tmp_path)) as again:
        assert [result.value for result in again.finish(procedure(again))] == found
        assert (again.n_computed, len(again.ledger)) == (0, 3 + 2)
    assert [cell.runs for cell in cells] == [["A", "B"], [], ["A"]]


def test_procedures_wait_side_by_side(run, trials):
    meeting = Barrier(2)

    def meet(trial):
        meeting.wait(timeout=60)
        return 1.0

    async def twice(first):
        one = await run(Note(first, meet), trials[0])
        other = await run(Note(first + 1, meet), trials[1])
        return one.value + other.value

    async def both():
        return await gather(twice(10), gather(twice(20), gather()))

    with limit_threads(2), Runner(run.ledger) as run:
        assert run.finish(both()) == [2.0, [2.0, []]]


def test_results_are_those_of_any_number_of_threads(tmp_path):
    found = []
    for n in (1, 3):
        (tmp_path / str(n)).mkdir()
        with limit_threads(n), Runner(open_ledger(tmp_path / str(n))) as run:
            found.append(run.finish(add_up(run, n_trials=3)))
    assert found[0] == found[1]


def test_one_source_is_in_memory_at_a_time(data, tmp_path):
    reads = []

    def source_of(name):
        return TrialSource(lambda: reads.append(name) or [data])

    sources = [source_of(name) for name in "AB"]
    trials = [Trial(str(n), sources[n // 2], QuerySets(np.arange(4 + n))) for n in range(4)]
    are_open = []

    def look(trial):
        are_open.append([source._parts is not None for source in sources])
        return 1.0

    async def on(run, trial):
        for number in range(3):
            await gather(*(run(Note(10 * number + n, look), trial) for n in range(4)))

    async def procedure(run):
        await gather(*(on(run, trial) for trial in trials))

    with limit_threads(2), Runner(open_ledger(tmp_path)) as run:
        run.finish(procedure(run))
    assert reads == ["A", "B"]
    assert are_open == [[True, False]] * 24 + [[False, True]] * 24
    with Runner(open_ledger(tmp_path)) as run:  # only to compare the data
        run.finish(procedure(run))
    assert reads == ["A", "B", "A"]  # B is still there


def test_progress_is_of_the_time_that_is_left(run, trials):
    told = []

    async def procedure():
        run.expect(8)
        for number in range(8):
            await run(Note(number % 4, nap), trials[0])

    with listen(lambda *report: told.append(report)):
        run.finish(procedure(), "Naps")
    assert {what for what, _, _ in told} == {"Naps"}
    done, total = zip(*((done, total) for _, done, total in told), strict=True)
    assert sorted(done) == list(done)
    assert len(done) == 4 + 1  # cells that are known take no time
    assert done[-1] >= 4 * 0.01 * 1e6
    assert 1.2 * done[0] < total[0] < 9 * done[0]  # seven more are announced
    assert total[-1] == done[-1]


def test_without_time_procedures_end_and_others_go_on(tmp_path, trials):
    limit = TimeLimit(60)

    async def late():
        await run(Note(1), trials[0])  # takes half a second, as it says
        limit.reserve(59.7)
        return await gather(run(Note(2), trials[0]), never)

    async def procedure():
        try:
            await late()
        except OutOfTimeError:
            limit.reserve(-59.7)
        return (await run(Note(3), trials[0])).value

    with Runner(open_ledger(tmp_path), limit=limit) as run:
        other = Note(4)
        never = run(other, trials[1])
        assert run.finish(procedure()) == 1.5
        assert other.runs == []
        assert all(name == "note" for name, _ in run.used.values())
        limit.reserve(60)
        with pytest.raises(OutOfTimeError):
            run.finish(late())


def test_an_error_ends_all_and_keeps_what_is_finished(run, trials, tmp_path):
    begun = threading.Event()

    def fail(trial):
        begun.wait(60)
        raise DataError("it is broken")

    async def procedure():
        first = await run(Note(1), trials[0])
        begun.set()
        return await gather(run(Note(2, fail), trials[0]), run(Note(3), trials[1])), first

    with pytest.raises(DataError, match="it is broken"):
        run.finish(procedure())
    assert NoteKey("A", 1) in open_ledger(tmp_path)
    assert NoteKey("A", 2) not in open_ledger(tmp_path)


def test_other_data_is_refused(run, trials, data, tmp_path):
    async def procedure(trial, runner):
        return await runner(Note(1), trial)

    run.finish(procedure(trials[0], run))
    for change in (dict(X=data.X + 1), dict(feature_names=list(range(100, 120)))):
        own = dict(X=data.X, y=data.y, qid=data.qid) | change
        other = Trial("A", TrialSource.of(type(data)(**own)), QuerySets(np.arange(4)))
        message = "A of these results has other data; name another"
        with Runner(open_ledger(tmp_path)) as again, pytest.raises(DataError, match=message):
            again.finish(procedure(other, again))
    other = Trial("A", trials[0].source, QuerySets(np.arange(5)))
    with Runner(open_ledger(tmp_path)) as again, pytest.raises(DataError, match="other data"):
        again.finish(procedure(other, again))


def test_only_cells_and_gather_can_be_awaited(run):
    class Other:
        def __await__(self):
            yield "something"

    async def procedure():
        await Other()

    with pytest.raises(TypeError, match="await cells and gather, not 'something'"):
        run.finish(procedure())


# What runs at the same time.


def met(directory, names, n_rows, patience):
    """Whether each of two cells met the other."""
    meeting = Barrier(2)

    def wait(trial):
        try:
            meeting.wait(timeout=patience)
        except BrokenBarrierError:
            return 0.0
        return 1.0

    cells = [Note(n, wait, METHODS[name]) for n, name in enumerate(names)]
    X = np.zeros((n_rows, 1))
    data = make_ranking(2)[0]
    data = type(data)(X, np.arange(n_rows) % 2, np.arange(n_rows) % 2)
    trial = Trial("A", TrialSource.of(data), QuerySets(np.arange(2)))

    async def procedure():
        return await gather(*(run(cell, trial) for cell in cells))

    with limit_threads(2), Runner(open_ledger(directory)) as run:
        return [bool(result.value) for result in run.finish(procedure())]


FEW, MANY = 19_999, 20_000


@pytest.mark.parametrize("name", ["ranksvm", "rankrls", "listnet", "ranksvm-l1", "egrank"])
def test_short_steps_on_few_rows_are_not_mixed(tmp_path, name):
    assert met(tmp_path, [name, name], FEW, patience=0.05) == [False, False]


@pytest.mark.parametrize(
    ("names", "n_rows"),
    [
        (["ranksvm", "ranksvm"], MANY),
        (["lambdamart", "lambdamart"], FEW),
        (["gas-e", "gas-e"], FEW),
        (["ranksvm", "lambdamart"], FEW),
    ],
)
def test_others_run_at_the_same_time(tmp_path, names, n_rows):
    assert met(tmp_path, names, n_rows, patience=60) == [True, True]
