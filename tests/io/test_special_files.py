"""Where a file is expected: nothing, a directory, a pipe or a device is an error at once."""

import os
import signal
import threading
from pathlib import Path

import pytest

from ranksieve import (
    FeatureCosts,
    load_model,
    read_csv,
    read_feature_log,
    read_letor,
    read_parquet,
    write_letor,
)
from ranksieve.data import DataError
from ranksieve.datasets.opening import read_whole
from ranksieve.experiments import Ledger
from ranksieve.io.feature_logs import read_judgments
from ranksieve.io.letor import read_scores
from ranksieve.io.selection import read_selection
from ranksieve.io.shards import open_shards
from ranksieve.io.small_tables import read_groups
from ranksieve.rankers.parameter_files import read_parameters
from ranksieve.study.plan_file import read_settings

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")

FILES = {  # read more than once, or as a whole
    "model.json": load_model,
    "selection.json": read_selection,
    "groups.json": read_groups,
    "groups.csv": read_groups,
    "costs.csv": FeatureCosts.read,
    "costs.parquet": FeatureCosts.read,
    "params.json": read_parameters,
    "plan.toml": read_settings,
    "ledger.jsonl": Ledger,
    "data.parquet": read_parquet,
    "data.csv": read_csv,
    "data.tsv.gz": read_csv,
    "manifest.json": lambda path: open_shards(path.parent),
}
STREAMS = {  # read once from the beginning to the end
    "data.txt": read_letor,
    "data.letor": lambda path: read_whole([path]),
    "scores.txt": read_scores,
    "qrels.txt": read_judgments,
    "log.jsonl": lambda path: read_feature_log(path, {"a": {"b": 1}}),
}


@pytest.fixture(autouse=True)
def no_waiting():
    """A test that waits for a pipe fails."""

    def stop(*_):
        raise TimeoutError("it waits")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(20)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("name", FILES | STREAMS)
def test_what_is_no_file(tmp_path, name):
    path, read = tmp_path / name, (FILES | STREAMS)[name]
    again = "(; write the shards again)?$"

    def check(message):
        with pytest.raises(DataError, match=f"{name}: {message}"):
            read(path)

    if name in FILES:
        os.mkfifo(path)
        check("is a pipe, not a file" + again)
        path.unlink()
    path.symlink_to("/dev/zero")
    check("is a device, not a file" + again)
    path.unlink()
    if name not in ("data.letor", "manifest.json"):  # which may be directories
        check("no such file")
        path.mkdir()
        check("is a directory, not a file$")


@pytest.mark.parametrize("read", [read_letor, read_csv, read_parquet])
def test_no_file_at_all(read):
    with pytest.raises(DataError, match="no file to read"):
        read([])


def test_no_permission(tmp_path):
    path = small_file(tmp_path)
    path.chmod(0)
    superuser = os.geteuid() == 0
    if superuser:
        os.seteuid(65534)  # permissions do not bind the superuser
    try:
        with pytest.raises(DataError, match=": no permission"):
            read_letor(path)
    finally:
        if superuser:
            os.seteuid(0)


def test_text_is_read_from_a_pipe(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    content = small_file(tmp_path).read_bytes()
    writer = threading.Thread(target=pipe.write_bytes, args=(content,))
    writer.start()
    assert read_letor(pipe).X.tolist() == [[2.0], [3.0]]
    writer.join()


def test_compressed_text_is_written_to_a_pipe(tmp_path):
    data = read_letor(small_file(tmp_path))
    pipe, copy = tmp_path / "pipe.zst", tmp_path / "copy.txt.zst"
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: copy.write_bytes(pipe.read_bytes()))
    reader.start()
    write_letor(data, pipe)
    reader.join()
    assert read_letor(copy).X.tolist() == data.X.tolist()


def small_file(directory: Path) -> Path:
    path = directory / "small.txt"
    path.write_text("1 qid:1 1:2\n0 qid:1 1:3\n")
    return path
