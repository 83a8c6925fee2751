"""Runs that are killed, interrupted, shared by processes, on a cluster, or on a full disk."""

import json
import os
import signal
import threading
import time
from contextlib import contextmanager

import numpy as np
import pytest

from ranksieve import limit_threads, make_ranking
from ranksieve.experiments import QuerySets, Runner, Trial, TrialSource, gather
from ranksieve.progress import track
from tests.experiments.notes import Note, NoteKey, add_up, open_ledger, run_in_process


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    with Runner(open_ledger(tmp_path_factory.mktemp("alone"))) as run:
        return run.finish(add_up(run))


def resume(directory):
    with Runner(open_ledger(directory)) as run:
        return run.finish(add_up(run))


def wait_for_lines(path, n, program):
    until = time.monotonic() + 600
    while not path.exists() or path.read_bytes().count(b"\n") < n:
        assert program.is_running(), "it ended too early"
        assert time.monotonic() < until
        time.sleep(0.01)


def test_killed_at_several_moments_it_ends_with_the_same_bits(start_program, tmp_path, undisturbed):
    for n_lines in (3, 25, 50):
        program = start_program(run_in_process, tmp_path)
        wait_for_lines(tmp_path / "ledger.jsonl", n_lines, program)
        program.kill()
        assert program.wait()[0] == -signal.SIGKILL
    assert resume(tmp_path) == undisturbed


def test_two_processes_share_the_work(start_program, tmp_path, undisturbed):
    open_ledger(tmp_path)
    programs = [start_program(run_in_process, tmp_path) for _ in range(2)]
    ends = [program.wait() for program in programs]
    assert [status for status, _, _ in ends] == [0, 0]
    n_computed, found = zip(*(told.split(" ", 1) for _, told, _ in ends), strict=True)
    assert [json.loads(values) for values in found] == [undisturbed] * 2
    assert min(map(int, n_computed)) > 10
    lines = (tmp_path / "ledger.jsonl").read_text().splitlines()
    cells = [json.dumps(json.loads(line)["cell"]) for line in lines[1:]]
    assert len(cells) == len(set(cells)) == 6 * 11


@pytest.fixture
def interruptible():
    """Interruptions raise, also if a shell has started the tests in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_an_interruption_ends_promptly_and_keeps_what_is_finished(tmp_path):
    trial = Trial("A", TrialSource.of(make_ranking(4)[0]), QuerySets(np.arange(4)))
    ended, never = threading.Event(), Note(4)

    def interrupt(opened):
        while NoteKey("A", 1) not in open_ledger(tmp_path):
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)  # which reaches the thread that waits
        ended.wait(60)
        return 0.0

    def work_on(opened):
        advance = track("Long work", 10**6)
        try:
            for _ in range(60_000):
                advance(1)
                time.sleep(0.001)
        finally:
            ended.set()
        return 0.0

    async def procedure():
        cells = [Note(1), Note(2, work_on), Note(3, interrupt), never]
        await gather(*(run(cell, trial) for cell in cells))
        raise AssertionError

    begun = time.monotonic()
    ledger = open_ledger(tmp_path)
    with pytest.raises(KeyboardInterrupt), limit_threads(2), Runner(ledger) as run:
        run.finish(procedure())
    assert ended.wait(30)  # what reports its progress does not go on
    assert time.monotonic() - begun < 30
    assert NoteKey("A", 1) in open_ledger(tmp_path)
    assert never.runs == []


def test_it_runs_where_an_event_loop_runs(tmp_path, undisturbed):
    import asyncio

    async def notebook():
        return resume(tmp_path)

    assert asyncio.run(notebook()) == undisturbed


def test_on_a_cluster(client, tmp_path, undisturbed):
    with Runner(open_ledger(tmp_path), client) as run:
        assert run.finish(add_up(run)) == undisturbed
        assert run.n_computed == 60


@contextmanager
def cluster_of_processes(directory, start_program):
    """A Dask scheduler and a worker, as processes; gives its address and both."""
    told = directory / "scheduler.json"
    told.unlink(missing_ok=True)
    own = {
        "scheduler": ["--port", "0", "--host", "127.0.0.1"],
        "worker": ["--nthreads", "1", "--no-nanny", "--local-directory", str(directory)],
    }
    processes = {}
    for role, arguments in own.items():
        code = f"from distributed.cli.dask_{role} import main; main(arguments)"
        arguments += ["--scheduler-file", str(told), "--no-dashboard"]
        processes[role] = start_program(exec, code, {"arguments": arguments})
    try:
        until = time.monotonic() + 120
        while not told.exists() or not told.read_text().endswith("}"):
            assert time.monotonic() < until
            time.sleep(0.05)
        yield json.loads(told.read_text())["address"], processes
    finally:
        for process in processes.values():
            process.kill()
            process.wait()


def test_a_lost_cluster_is_told_and_the_work_goes_on(start_program, tmp_path, undisturbed):
    for lost, n_lines in (("worker", 10), ("scheduler", 35)):
        with cluster_of_processes(tmp_path, start_program) as (address, processes):
            program = start_program(run_in_process, tmp_path, address)
            wait_for_lines(tmp_path / "ledger.jsonl", n_lines, program)
            processes[lost].kill()
            status, told, _ = program.wait(120)
        assert status == 0
        assert told.startswith("the Dask cluster was lost")
        assert "run the same command again to resume it" in told
    assert resume(tmp_path) == undisturbed


def _on_a_full_disk(directory):
    import resource

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000))
    run_in_process(directory)


def test_a_full_disk_loses_nothing(start_program, tmp_path, undisturbed):
    status, told, _ = start_program(_on_a_full_disk, tmp_path).wait()
    assert status == 0
    assert "cannot be written" in told
    assert len(open_ledger(tmp_path)) > 5
    assert resume(tmp_path) == undisturbed
