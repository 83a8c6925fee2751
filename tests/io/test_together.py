"""Files that are replaced together, whenever the process dies."""

import os
import signal
import sys
from pathlib import Path
from unittest.mock import Mock

import pytest

from ranksieve import DataError
from ranksieve.io.files import file_of, replace_together

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
