"""Files of records: durable, resumed, shared by processes, and honest about damage."""

import os
import random
import sys
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ranksieve.data import DataError
from ranksieve.io.record_log import RecordLog

HEAD = {"tune": "MAP"}


class Notes(RecordLog):
    """Whatever JSON can hold."""

    FORMAT = "ranksieve-notes"
    VERSION = 2
    WHAT = "notes"
    INSTEAD = "name another file"

    def _check_result(self, cell, result, where):
        if result == "refused":
            raise ValueError("it is refused")
        return result


@pytest.fixture
def path(tmp_path):
    return tmp_path / "notes.jsonl"


def test_what_was_added_is_there_again(path):
    notes = Notes(path, HEAD)
    notes.add({"a": 1, "b": 2}, {"value": 0.1 + 0.2})
    notes.add([2], {"value": 1e-300})
    again = Notes(path, HEAD)
    assert len(again) == 2
    assert again.get({"b": 2, "a": 1}) == {"value": 0.1 + 0.2}  # order of keys is nothing
    assert again.get((2,)) == {"value": 1e-300}
    assert 3 not in again
    assert again.get(3) is None


def test_the_first_result_of_a_cell_counts(path):
    one, other = Notes(path, HEAD), Notes(path, HEAD)
    one.add(1, {"seconds": 1.0})
    assert 1 not in other
    other.refresh()
    assert 1 in other
    third = Notes(path, HEAD)
    other.add(2, {"seconds": 1.0})
    third.add(2, {"seconds": 2.0})
    assert one.get(1) == other.get(1) == {"seconds": 1.0}
    assert third.get(2) == {"seconds": 1.0}
    assert len(path.read_bytes().splitlines()) == 3


@given(kept=st.integers(0, 400), added=st.integers(1, 4))
@example(kept=24, added=1)  # within the first line
def test_a_torn_end_loses_only_the_last_cell(tmp_path_factory, kept, added):
    path = tmp_path_factory.mktemp("torn") / "notes.jsonl"
    notes = Notes(path, HEAD)
    for number in range(added):
        notes.add(number, [number] * 20)
    whole = path.read_bytes()
    path.write_bytes(whole[:kept])
    resumed = Notes(path, HEAD)
    known = [number for number in range(added) if number in resumed]
    complete = max(0, whole[:kept].count(b"\n") - 1)  # without its first line, it begins anew
    assert known == list(range(complete))
    for number in range(added):
        resumed.add(number, [number] * 20)
    assert path.read_bytes() == whole


@pytest.mark.parametrize("text", ["my notes, without a newline", '{"my": "notes"}\n', "a\nb", "\n"])
def test_another_file_is_left_alone(path, text):
    path.write_text(text)
    with pytest.raises(DataError, match=r"notes.jsonl:1: not notes; name another file"):
        Notes(path, HEAD)
    assert path.read_text() == text


def test_a_damaged_line_is_named_and_can_be_removed(path):
    notes = Notes(path, HEAD)
    notes.add(1, {})
    notes.add(2, {})
    lines = path.read_text().splitlines()
    path.write_text("\n".join([lines[0], lines[1][:-5] + "#", lines[2]]) + "\n")
    with pytest.raises(DataError, match=r"notes.jsonl:2: damaged .*; remove this line"):
        Notes(path, HEAD)
    path.write_text("\n".join([lines[0], lines[2]]) + "\n")  # what the message says
    assert 2 in Notes(path, HEAD)


def test_a_conflicting_line_is_named_and_a_copy_is_none(path):
    notes = Notes(path, HEAD)
    notes.add(1, {"value": 0.25})
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines, lines[1]]))
    assert Notes(path, HEAD).get(1) == {"value": 0.25}
    other = Notes(path.with_name("other"), HEAD)
    other.add(1, {"value": 0.75})
    line = other.path.read_bytes().splitlines(keepends=True)[1]
    path.write_bytes(b"".join([*lines, line]))
    with pytest.raises(DataError, match=r"notes.jsonl:3: an earlier line has another result"):
        Notes(path, HEAD)


def test_every_flipped_bit_is_noticed(path):
    notes = Notes(path, HEAD)
    for number in range(3):
        notes.add(number, {"values": [0.1 * number, 1.0], "text": "x"})
    whole = path.read_bytes()
    expected = {number: notes.get(number) for number in range(3)}
    refused = 0
    for place in range(len(whole)):
        for bit in range(8):
            path.write_bytes(whole[:place] + bytes([whole[place] ^ 1 << bit]) + whole[place + 1 :])
            try:
                found = Notes(path)
            except DataError:
                refused += 1
            else:  # without its newline the last line is one that was never finished
                assert place == len(whole) - 1
                assert [found.get(number) for number in range(2)] == [expected[0], expected[1]]
                assert 2 not in found
    assert refused == 8 * (len(whole) - 1)


def test_lines_that_are_no_records_are_refused(path):
    Notes(path, HEAD)
    head = path.read_bytes()
    for line in (
        *("{}", "null", "[]", "7", '"cell"', "", "\x00", "{" * 100_000, "[" * 100_000),
        *('{"cell": 1, "result": 2}', '{"cell": 1, "result": 2, "checksum": null}'),
        '{"checksum": "0000000000000000"}',
    ):
        path.write_bytes(head + line.encode() + b"\n")
        with pytest.raises(DataError, match=r"notes.jsonl:2: damaged"):
            Notes(path, HEAD)
        path.write_text(line + "\n")
        with pytest.raises(DataError, match=r"notes.jsonl:1: not notes"):
            Notes(path, HEAD)


def test_changed_lines_are_noticed(path):
    """Lines removed, doubled, cut, joined, moved, and with other digits."""
    notes = Notes(path, HEAD)
    for number in range(8):
        notes.add(number, [number / 7, 1e-3 * number])
    lines = path.read_bytes().splitlines(keepends=True)
    rng = random.Random(0)
    counts = dict.fromkeys(("refused", "harmless"), 0)
    for _ in range(400):
        changed, place = list(lines), rng.randrange(len(lines))
        kind = rng.choice(("remove", "double", "cut", "join", "move", "digit"))
        if kind == "remove":
            del changed[place]
        elif kind == "double":
            changed.insert(place, changed[place])
        elif kind == "cut":
            changed[place] = changed[place][: rng.randrange(len(changed[place]))]
        elif kind == "join":
            changed[place] = changed[place].rstrip(b"\n")
        elif kind == "move":
            changed.append(changed.pop(place))
        else:
            at = rng.randrange(len(changed[place]) - 1)
            changed[place] = (
                changed[place][:at] + str(rng.randrange(10)).encode() + changed[place][at + 1 :]
            )
        path.write_bytes(b"".join(changed))
        try:
            found = Notes(path)
        except DataError:
            counts["refused"] += 1
        else:  # whatever is there is right
            assert all(n not in found or found.get(n) == notes.get(n) for n in range(8))
            counts["harmless"] += 1
    assert min(counts.values()) > 50


def test_other_versions_are_left_alone(path):
    for version, age in ((1, "an older"), (3, "a newer")):
        text = f'{{"format": "ranksieve-notes", "version": {version}}}\n{{"cell": 1, "resu'
        path.write_text(text)
        message = f"notes.jsonl:1: written by {age} ranksieve, in format {version} instead of 2"
        with pytest.raises(DataError, match=message):
            Notes(path, HEAD)
        assert path.read_text() == text


def test_what_cannot_be_read_back_is_not_written(path):
    notes = Notes(path, HEAD)
    before = path.read_bytes()
    for result in ("refused", float("nan"), [float("inf")]):
        with pytest.raises(DataError, match=r"notes.jsonl: a result cannot be stored"):
            notes.add(1, result)
    assert path.read_bytes() == before


def test_a_file_that_goes_away_is_noticed(path):
    notes = Notes(path, HEAD)
    path.unlink()
    with pytest.raises(DataError, match="another program has replaced or truncated the file"):
        notes.add(1, 2)


def test_results_are_not_added_below_the_settings_of_another_run(path):
    one = Notes(path, {"tune": "MAP"})
    path.unlink()
    Notes(path, {"tune": "ERR"}).add(1, 2)  # its first line is as long
    before = path.read_bytes()
    with pytest.raises(DataError, match="another program has replaced or truncated the file"):
        one.add(3, 4)
    assert path.read_bytes() == before


def _add_many(path, first, n):
    notes = Notes(Path(path), HEAD)
    for number in range(first, first + n):
        notes.add(number, "x" * (number % 50) * 100)


def test_processes_at_the_same_time_do_not_mix_lines(start_program, path):
    # Half of the cells of each are also those of the next.
    programs = [start_program(_add_many, path, 50 * p, 100) for p in range(3)]
    assert [program.wait() for program in programs] == [(0, "", "")] * 3
    notes = Notes(path, HEAD)
    assert len(notes) == 200
    assert len(path.read_bytes().splitlines()) == 201
    assert all(len(notes.get(n)) == n % 50 * 100 for n in range(200))


def _fill(path):
    import resource
    import signal

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))
    notes = Notes(Path(path), HEAD)
    try:
        for number in range(100):
            notes.add(number, "x" * 300)
    except ValueError as error:
        sys.stdout.write(str(error))


@pytest.mark.skipif(sys.platform == "win32", reason="there are no limits on the size of files")
def test_a_full_disk_loses_nothing(start_program, path):
    status, told, _ = start_program(_fill, path).wait()
    assert status == 0
    assert "cannot be written" in told
    assert "earlier results are kept" in told
    whole = path.read_bytes()
    assert whole.endswith(b"\n")
    n_kept = whole.count(b"\n") - 1
    assert n_kept > 5
    notes = Notes(path, HEAD)
    assert len(notes) == n_kept
    notes.add(99, "there is room again")
    assert len(Notes(path)) == n_kept + 1


@pytest.mark.skipif(not os.path.isdir("/sys/kernel"), reason="there is no read-only file system")
def test_a_read_only_directory_is_named():
    with pytest.raises(DataError, match=r"/sys/kernel/notes.jsonl: cannot be written"):
        Notes(Path("/sys/kernel/notes.jsonl"), HEAD)
