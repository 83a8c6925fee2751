"""Fixtures for all tests."""

import gc
import os
import shutil
import subprocess
import sys
import threading
import time
from collections import OrderedDict
from functools import partial
from itertools import count
from pathlib import Path

import pytest
from hypothesis import settings

from ranksieve import RankingData, limit_threads
from ranksieve.cli import main
from ranksieve.engine import Source
from ranksieve.engine.dask import connect
from ranksieve.io.shards import open_shards, write_shards
from tests.processes import Program
from tests.recommendation.demo_checks import demo_checks, demo_files, demo_recommendation

__all__ = ["demo_checks", "demo_files", "demo_recommendation"]  # fixtures

# Kernels compile on their first call, which no deadline can foresee. On CI the same examples run
# every time, so that a change is judged by what it changed. There are hundreds of such tests: each
# run tries a few examples, and --hypothesis-profile=thorough tries many.
settings.register_profile("local", deadline=None, max_examples=12)
settings.register_profile("ci", deadline=None, max_examples=12, derandomize=True)
settings.register_profile("thorough", deadline=None, max_examples=1000)
settings.load_profile("ci" if os.environ.get("CI") else "local")


def pytest_collection_modifyitems(items):
    """Mark tests that wait as slow, and put them where they keep no process busy at the end.

    What needs the cluster comes first, one after the other, so that it need not run for long; then
    pages, the longest tests; then reproductions, so that one process has them all: others would
    compute what they share again. Other tests of more than 0.3 seconds have the mark in the source.
    """
    for item in items:
        waits = {"browser", "mq2008_dir", "start_program"} & _fixtures(item)
        if waits or _uses_cluster(item) or _is_page(item) or _is_reproduction(item):
            item.add_marker("slow")
    items.sort(
        key=lambda item: (not _uses_cluster(item), not _is_page(item), not _is_reproduction(item))
    )


def _uses_cluster(item):
    parameters = getattr(getattr(item, "callspec", None), "params", {})
    return bool({"client", "scheduler"} & _fixtures(item)) or parameters.get("everywhere") == "dask"


def _is_page(item):
    return item.path.suffix == ".md"


def _is_reproduction(item):
    return "tests/reproduction/" in item.nodeid


def _fixtures(item):
    return set(getattr(item, "fixturenames", ()))


def pytest_collection_finish():
    """Spare the garbage collector all that lives until the end: modules, and thousands of tests."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def mq2008_dir() -> Path:
    """Directory with LETOR 4.0 MQ2008 (S1.txt .. S5.txt)."""
    here = Path(__file__).resolve().parents[1]
    root = Path(os.environ.get("RANKSIEVE_DATA", here.parent / "shared" / "data"))
    if not (root / "MQ2008" / "S1.txt").is_file():
        pytest.skip(f"needs MQ2008 in {root} (set RANKSIEVE_DATA)")
    return root / "MQ2008"


@pytest.fixture
def run(capsys):
    """Run a command in this process: its status, output and errors."""

    def run_command(*arguments):
        with pytest.raises(SystemExit) as stop:
            main([str(argument) for argument in arguments])
        output = capsys.readouterr()
        code = stop.value.code
        if isinstance(code, str):  # as the interpreter does: print it and fail
            return 1, output.out, output.err + code
        return code or 0, output.out, output.err

    return run_command


@pytest.fixture
def one_thread():
    """Small trees: more threads would wait for each other longer than they work."""
    with limit_threads(1):
        yield


# What a cluster does without being asked, for dashboards that nobody looks at, less often or
# not at all: it is a tenth of a core.
_QUIET = {
    "DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False",
    "DASK_DISTRIBUTED__ADMIN__SYSTEM_MONITOR__INTERVAL": "10s",
    "DASK_DISTRIBUTED__ADMIN__TICK__INTERVAL": "1s",
    "DASK_DISTRIBUTED__SCHEDULER__WORK_STEALING": "False",
    "DASK_DISTRIBUTED__SCHEDULER__ACTIVE_MEMORY_MANAGER__START": "False",
    "DASK_DISTRIBUTED__WORKER__MEMORY__MONITOR_INTERVAL": "5s",
}

# Runs until its input ends: if the tests are killed, too.
_CLUSTER = """
import sys
from ranksieve.engine.dask import connect
with connect(n_workers=2) as client:
    print(client.scheduler.address, flush=True)
    sys.stdin.read()
"""


class Cluster:
    """A Dask cluster of two workers, all of it in other processes than the tests.

    Its event loop draws from ``random`` when it likes, and Hypothesis takes that for an error of
    the test that it runs at this moment. It runs only as long as tests ask for it: even an idle one
    takes the time of others.
    """

    def __init__(self):
        self.process, self.address, self.last_used = None, None, 0.0

    def start(self):
        """Address of the scheduler."""
        self.last_used = time.monotonic()
        if self.process is None:
            self.process = subprocess.Popen(
                [sys.executable, "-c", _CLUSTER],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env=os.environ | _QUIET,
            )
            self.address = self.process.stdout.readline().strip()
        return self.address

    def stop(self, idle=0.0):
        """End it if nobody has asked for it for so many seconds."""
        if self.process is not None and time.monotonic() - self.last_used >= idle:
            self.process.communicate()  # closes its input
            self.process = None


@pytest.fixture(scope="session")
def cluster():
    """The cluster of all tests."""
    shared = Cluster()
    yield shared
    shared.stop()


@pytest.fixture
def scheduler(cluster):
    """Address of a running cluster."""
    return cluster.start()


@pytest.fixture
def client(scheduler):
    """Client of the cluster for one test: it has an event loop, too."""
    with connect(scheduler, timeout=120) as connection:
        yield connection


@pytest.fixture(autouse=True)
def _no_event_loop(request, cluster):
    """No test that has not asked for it shares its process with an event loop of Dask."""
    if not _uses_cluster(request.node):
        cluster.stop(idle=30.0)
        loops = [thread for thread in threading.enumerate() if thread.name == "IO loop"]
        assert not loops, "a test before this one has left a client or cluster of Dask open"


@pytest.fixture
def start_program(tmp_path_factory):
    """Start ``function(*arguments)`` in a process of its own: a :class:`Program`."""
    return partial(Program, tmp_path_factory.mktemp("output"))


class Stored:
    """Directories of shards of the data that were asked for last: many tests ask for the same."""

    def __init__(self, folder):
        self.folder, self.places, self.numbers = folder, OrderedDict(), count()

    def directory(self, data, shard_bytes):
        """Where the shards of data are; they are written unless they are there."""
        key = id(data), shard_bytes
        if key not in self.places:
            directory = self.folder / f"shards-{next(self.numbers)}"
            write_shards(data, directory, shard_bytes=shard_bytes)
            self.places[key] = data, directory  # the data itself, so that no other has its id
        if len(self.places) > 8:
            _, (_, oldest) = self.places.popitem(last=False)
            shutil.rmtree(oldest)
        return self.places[key][1]


@pytest.fixture(scope="session")
def stored_shards(tmp_path_factory):
    """The shards of all tests."""
    return Stored(tmp_path_factory.mktemp("everywhere"))


@pytest.fixture(params=["memory", "shards", "dask"])
def everywhere(request, stored_shards):
    """Put data where methods must work: in memory, in shards on disk, on a Dask cluster.

    A test that takes this runs three times; ``everywhere(data)`` returns the source to pass to
    ``fit`` or to a statistic. Shards are small, so that there are several.
    """
    opened = []

    def put(data: RankingData, shard_bytes: int = 200_000) -> Source:
        if request.param == "memory":
            return data
        directory = stored_shards.directory(data, shard_bytes)
        dask_client = request.getfixturevalue("client") if request.param == "dask" else None
        missing = "keep" if data.keeps_missing else None
        opened.append(open_shards(directory, client=dask_client, missing=missing))
        return opened[-1]

    yield put
    for shards in opened:
        shards.close()
