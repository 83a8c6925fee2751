"""Files that are replaced: whole or not at all, and nothing is left beside them."""

import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ranksieve import make_ranking, write_letor
from ranksieve.data import DataError
from ranksieve.io.files import hold_directory, replace_on_success
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
    lost = tmp_path / "lost.txt"
    lost.symlink_to(tmp_path / "nowhere" / "data.txt")
    with pytest.raises(DataError, match="lost.txt: there is no directory .*nowhere"):
        write_text("new", lost)
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
