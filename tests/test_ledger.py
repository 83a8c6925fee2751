"""The ledger of a study: durable, resumed, shared by processes, and honest about damage."""

import json
import multiprocessing
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ranksieve.data import DataError
from ranksieve.study.ledger import Ledger, alone_in

HEAD = {"ranksieve": "1.0", "tune": "MAP"}


def cell(number):
    return {"fold": "Fold1", "number": number}


def test_what_was_added_is_there_again(tmp_path):
    path = tmp_path / "ledger.jsonl"
    ledger = Ledger(path, HEAD)
    ledger.add(cell(1), {"value": 0.1 + 0.2})
    ledger.add(cell(2), {"value": 1e-300})
    again = Ledger(path, HEAD)
    assert len(again) == 2
    assert again[cell(1)] == {"value": 0.1 + 0.2}
    assert again[{"number": 2, "fold": "Fold1"}] == {"value": 1e-300}  # order of keys is nothing
    assert cell(3) not in again


def test_the_first_result_of_a_cell_counts(tmp_path):
    path = tmp_path / "ledger.jsonl"
    one, other = Ledger(path, HEAD), Ledger(path, HEAD)
    one.add(cell(1), {"seconds": 1.0})
    other.add(cell(1), {"seconds": 2.0})
    assert one[cell(1)] == other[cell(1)] == {"seconds": 1.0}
    assert len(path.read_bytes().splitlines()) == 2


def test_refresh_reads_what_others_wrote(tmp_path):
    path = tmp_path / "ledger.jsonl"
    one, other = Ledger(path, HEAD), Ledger(path, HEAD)
    one.add(cell(1), {})
    assert cell(1) not in other
    other.refresh()
    assert cell(1) in other


@settings(max_examples=60, deadline=None)
@given(cut=st.integers(min_value=0, max_value=400), added=st.integers(1, 4))
def test_a_torn_end_loses_only_the_last_cell(tmp_path_factory, cut, added):
    path = tmp_path_factory.mktemp("torn") / "ledger.jsonl"
    ledger = Ledger(path, HEAD)
    for number in range(added):
        ledger.add(cell(number), {"values": [number] * 20})
    whole = path.read_bytes()
    lines = whole.splitlines(keepends=True)
    kept = max(len(lines[0]), len(whole) - cut)  # at any byte after the first line
    path.write_bytes(whole[:kept])
    resumed = Ledger(path, HEAD)
    known = [number for number in range(added) if cell(number) in resumed]
    complete = whole[:kept].count(b"\n") - 1
    assert known == list(range(complete))
    for number in range(added):
        resumed.add(cell(number), {"values": [number] * 20})
    assert path.read_bytes() == whole


def test_a_ledger_torn_in_its_first_line_begins_anew(tmp_path):
    path = tmp_path / "ledger.jsonl"
    path.write_bytes(b'{"format": "ranksieve-st')
    ledger = Ledger(path, HEAD)
    assert len(ledger) == 0
    assert json.loads(path.read_text())["tune"] == "MAP"


def test_a_damaged_line_is_named(tmp_path):
    path = tmp_path / "ledger.jsonl"
    ledger = Ledger(path, HEAD)
    ledger.add(cell(1), {})
    ledger.add(cell(2), {})
    lines = path.read_text().splitlines()
    path.write_text("\n".join([lines[0], lines[1][:-5] + "#", lines[2]]) + "\n")
    with pytest.raises(DataError, match=r"ledger.jsonl:2: damaged; remove this line"):
        Ledger(path, HEAD)
    path.write_text("\n".join([lines[0], lines[2]]) + "\n")  # what the message says
    assert cell(2) in Ledger(path, HEAD)


def test_a_newer_ledger_is_left_alone(tmp_path):
    path = tmp_path / "ledger.jsonl"
    text = '{"format": "ranksieve-study", "version": 2, "ranksieve": "9.1"}\n'
    path.write_text(text)
    with pytest.raises(DataError, match=r"written by a newer ranksieve \(9.1\)"):
        Ledger(path, HEAD)
    assert path.read_text() == text


def test_another_file_is_left_alone(tmp_path):
    path = tmp_path / "ledger.jsonl"
    path.write_text('{"my": "notes"}\n')
    with pytest.raises(DataError, match="not the results of a study"):
        Ledger(path, HEAD)
    assert path.read_text() == '{"my": "notes"}\n'


def test_results_of_other_settings_are_refused(tmp_path):
    path = tmp_path / "ledger.jsonl"
    Ledger(path, HEAD)
    with pytest.raises(DataError, match="results with tune 'MAP', not 'NDCG@10'; name another"):
        Ledger(path, HEAD | {"tune": "NDCG@10"})
    assert Ledger(path).head["tune"] == "MAP"  # as it is


def test_a_missing_ledger_is_named(tmp_path):
    with pytest.raises(DataError, match=r"ledger.jsonl: no such file"):
        Ledger(tmp_path / "ledger.jsonl")


def _add_many(path, first, n):
    ledger = Ledger(Path(path), HEAD)
    for number in range(first, first + n):
        ledger.add(cell(number), {"text": "x" * (number % 50) * 100})


def test_processes_at_the_same_time_do_not_mix_lines(tmp_path):
    path = tmp_path / "ledger.jsonl"
    spawn = multiprocessing.get_context("spawn")
    # Half of the cells of each are also those of the next.
    processes = [spawn.Process(target=_add_many, args=(path, 50 * p, 100)) for p in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0, 0, 0]
    ledger = Ledger(path, HEAD)
    assert len(ledger) == 200
    assert len(path.read_bytes().splitlines()) == 201
    assert all(len(ledger[cell(n)]["text"]) == n % 50 * 100 for n in range(200))


_FILL = """
import resource, signal, sys
from pathlib import Path
from ranksieve.study.ledger import Ledger
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))
ledger = Ledger(Path(sys.argv[1]), {"tune": "MAP"})
try:
    for number in range(100):
        ledger.add({"number": number}, {"text": "x" * 300})
except ValueError as error:
    print(error)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there are no limits on the size of files")
def test_a_full_disk_loses_nothing(tmp_path):
    path = tmp_path / "ledger.jsonl"
    done = subprocess.run(
        [sys.executable, "-c", _FILL, str(path)], capture_output=True, text=True, check=True
    )
    assert "cannot be written" in done.stdout
    assert "what was finished before is kept" in done.stdout
    whole = path.read_bytes()
    assert whole.endswith(b"\n")
    n_kept = whole.count(b"\n") - 1
    assert n_kept > 5
    ledger = Ledger(path, {"tune": "MAP"})
    assert len(ledger) == n_kept
    ledger.add({"number": 99}, {"text": "there is room again"})
    assert len(Ledger(path)) == n_kept + 1


def test_only_one_is_alone(tmp_path):
    with alone_in(tmp_path) as first, alone_in(tmp_path) as second:
        assert (first, second) == (True, False)
    with alone_in(tmp_path) as third:
        assert third


def test_a_directory_in_its_place_is_named(tmp_path):
    (tmp_path / "ledger.jsonl").mkdir()
    with pytest.raises(DataError, match=r"ledger.jsonl: cannot be written"):
        Ledger(tmp_path / "ledger.jsonl", HEAD)


@pytest.mark.skipif(not os.path.isdir("/sys/kernel"), reason="there is no read-only file system")
def test_a_read_only_directory_is_named():
    with pytest.raises(DataError, match=r"/sys/kernel/ledger.jsonl: cannot be written"):
        Ledger(Path("/sys/kernel/ledger.jsonl"), HEAD)
