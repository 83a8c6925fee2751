"""Files that are replaced, one or several together: whole or not at all, and nothing is left."""

import os
import re
import signal
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from unittest.mock import Mock

import pytest

from ranksieve import make_ranking, write_letor
from ranksieve.data import DataError
from ranksieve.io.files import (
    file_of,
    hold_directory,
    replace_on_success,
    replace_together,
)
from ranksieve.io.records import write_text

_HOLD = """
import sys, time
from pathlib import Path
from ranksieve.io.files import replace_on_success
with replace_on_success(Path(sys.argv[1])) as temporary:
    temporary.write_text("half")
    print("ready", flush=True)
    time.sleep(600)
"""

needs_locks = pytest.mark.skipif(sys.platform == "win32", reason="there are no such locks")


@needs_locks
def test_one_at_a_time_holds_a_directory(tmp_path):
    with hold_directory(tmp_path) as first, hold_directory(tmp_path) as second:
        assert (first, second) == (True, False)
    with hold_directory(tmp_path) as third:
        assert third


def writer(path):
    """A process that is in the middle of writing a file."""
    process = subprocess.Popen(
        [sys.executable, "-c", _HOLD, str(path)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "ready\n"
    return process


def end(process, how):
    process.send_signal(how)
    process.wait(60)
    process.stdout.close()


@needs_locks
def test_what_a_killed_program_left_is_removed_and_nothing_else(tmp_path):
    killed, alive = writer(tmp_path / "killed.txt"), writer(tmp_path / "alive.txt")
    try:
        end(killed, signal.SIGKILL)
        mine = [".ranksieve-notes", ".notes-report.md", "notes.txt"]
        for name in mine:
            (tmp_path / name).write_text("mine")
        (tmp_path / ".ranksieve-temporary-link").symlink_to(tmp_path / "notes.txt")
        (tmp_path / ".ranksieve-temporary-folder").mkdir()
        left = {path.name for path in tmp_path.glob(".ranksieve-temporary-*.txt")}
        assert len(left) == 2
        write_text("other", tmp_path / "other.txt")
        [kept] = tmp_path.glob(".ranksieve-temporary-*.txt")
        assert kept.name.endswith("alive.txt")
        assert {path.name for path in tmp_path.iterdir()} == {
            *mine,
            *("other.txt", ".ranksieve-temporary-link", ".ranksieve-temporary-folder", kept.name),
        }
        assert kept.read_text() == "half"
    finally:
        end(alive, signal.SIGKILL)


@needs_locks
def test_an_interruption_as_soon_as_the_file_is_made_leaves_nothing(tmp_path, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    path = tmp_path / "plan.toml"
    path.write_text("old")
    monkeypatch.setattr("ranksieve.io.files.fcntl.flock", interrupt)
    with pytest.raises(KeyboardInterrupt), replace_on_success(path):
        pass
    assert {kept.name: kept.read_text() for kept in tmp_path.iterdir()} == {"plan.toml": "old"}


def test_a_link_stays_and_its_target_is_replaced(tmp_path):
    (tmp_path / "real").mkdir()
    target, link = tmp_path / "real" / "data.txt", tmp_path / "link.txt"
    target.write_text("old")
    link.symlink_to(target)
    write_text("new", link)
    assert link.is_symlink()
    assert target.read_text() == "new"
    dangling = tmp_path / "dangling.txt"
    dangling.symlink_to(tmp_path / "real" / "made.txt")
    write_text("new", dangling)
    assert (tmp_path / "real" / "made.txt").read_text() == "new"
    for name, goal, message in (
        ("lost.txt", tmp_path / "nowhere" / "data.txt", "there is no directory .*nowhere"),
        ("self.txt", tmp_path / "self.txt", "is a symbolic link to itself"),
    ):
        (tmp_path / name).symlink_to(goal)
        with pytest.raises(DataError, match=f"{name}: {message}"):
            write_text("new", tmp_path / name)
    with pytest.raises(DataError, match="real: is a directory"):
        write_text("new", tmp_path / "real")
    with pytest.raises(DataError, match="there is no directory"):
        write_text("new", tmp_path / "none" / "data.txt")
    assert sorted(os.listdir(tmp_path / "real")) == ["data.txt", "made.txt"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_pipes_and_devices_are_written_to(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as pool:
        read = pool.submit(pipe.read_text)
        write_text("new", pipe)
        assert read.result() == "new"
    write_text("new", Path("/dev/null"))
    assert pipe.is_fifo()
    assert Path("/dev/null").is_char_device()


def test_permissions_are_ordinary_or_stay(tmp_path):
    path, reference = tmp_path / "data.txt", tmp_path / "reference"
    reference.touch()
    write_text("new", path)
    assert path.stat().st_mode == reference.stat().st_mode
    path.chmod(0o600)
    write_text("newer", path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_long_names_can_be_written(tmp_path):
    path = tmp_path / ("n" * 240 + ".txt.gz")
    write_letor(make_ranking(3)[0], path)
    assert path.read_bytes()[:2] == b"\x1f\x8b"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device")
def test_a_full_disk_is_told_and_leaves_nothing(tmp_path):
    path = tmp_path / "data.txt"
    path.write_text("old")

    def write_to_a_full_disk():
        with replace_on_success(path), open("/dev/full", "w", buffering=1) as file:
            file.write("x\n")

    with pytest.raises(DataError, match=r"data.txt: cannot be written: No space left on device"):
        write_to_a_full_disk()
    assert os.listdir(tmp_path) == ["data.txt"]
    assert path.read_text() == "old"


def test_other_errors_are_as_they_were(tmp_path):
    with pytest.raises(FileNotFoundError), replace_on_success(tmp_path / "data.txt"):
        (tmp_path / "nothing").read_text()
    assert os.listdir(tmp_path) == []


FILL_THE_DISK = """
import resource, signal
import numpy as np
from ranksieve import DataError, RankingData, write_letor, write_parquet
from ranksieve.io.letor import write_scores
from ranksieve.io.shards import write_shards

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
X = np.random.default_rng(0).random((2000, 9))
data = RankingData(X, np.zeros(2000), np.arange(2000) // 10)
resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
for write in (write_letor, write_parquet, write_shards, lambda d, p: write_scores(d.X[:, 0], p)):
    for suffix in suffixes:
        try:
            write(data, f"{directory}/data{suffix}")
        except DataError as error:
            print(error)
"""


def test_a_disk_that_is_full_is_an_error_of_the_file(start_program, tmp_path):
    """Files of this process may not grow, which is as good as a full disk."""
    names = {"directory": tmp_path, "suffixes": ["", ".gz", ".zst"]}
    status, output, errors = start_program(exec, FILL_THE_DISK, names).wait()
    assert (status, errors) == (0, "")
    refusals = output.splitlines()
    assert len(refusals) == 12
    assert all(
        re.match(rf"{tmp_path}/\S*: cannot be written: .*File too large", r) for r in refusals
    )
    assert os.listdir(tmp_path) == []


# Files that belong together


NAMES = ("answer", "model", "page")


def write(directory, content, names=NAMES):
    with replace_together(directory, NAMES) as folder:
        for name in names:
            (folder / name).write_text(content)


def found(directory):
    """Content of each file that is found."""
    files = {name: file_of(directory, name) for name in NAMES}
    return {name: path.read_text() for name, path in files.items() if path.exists()}


OLD, NEW = dict.fromkeys(("answer", "page"), "old"), dict.fromkeys(("answer", "model"), "new")


def test_files_are_replaced_and_removed(tmp_path):
    (tmp_path / "other").touch()
    write(tmp_path, "old", OLD)
    assert found(tmp_path) == OLD
    write(tmp_path, "new", NEW)
    assert found(tmp_path) == NEW
    assert {path.name for path in tmp_path.iterdir()} == {*NEW, "other"}


def test_an_error_changes_nothing(tmp_path, monkeypatch):
    write(tmp_path, "old", OLD)
    monkeypatch.setattr(Path, "touch", Mock(side_effect=OSError(28, "a text in any language")))
    with pytest.raises(DataError, match="cannot be written: No space left on device"):
        write(tmp_path, "new", NEW)
    assert found(tmp_path) == OLD
    assert {path.name for path in tmp_path.iterdir()} == {*OLD}


def test_what_cannot_be_replaced_is_told_first(tmp_path):
    (tmp_path / "model").mkdir()
    with pytest.raises(DataError, match="model: is a directory"):
        write(tmp_path, "new")


def test_all_or_nothing_whenever_the_process_is_killed(tmp_path, start_program):
    status, _, errors = start_program(kill_at_each_step, tmp_path).wait()
    assert status == 0, errors


def kill_at_each_step(directory):
    """Let children that die before their first, second, ... call to the system write files."""
    results, number = set(), 0
    while True:
        number += 1
        write(directory, "old", OLD)
        child = os.fork()
        if not child:
            die_before_call(number)
            write(directory, "new", NEW)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        state = found(directory)
        assert state in (OLD, NEW), (number, state)
        results.add(tuple(state))
        if status == 0:
            break
    assert number > 10
    assert results == {tuple(OLD), tuple(NEW)}
    assert {path.name for path in directory.iterdir()} == {*NEW}


def die_before_call(number):
    calls = iter(range(1, 10**6))

    def count(event, _):
        if event.startswith(("os.", "open", "shutil.")) and next(calls) == number:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(count)
