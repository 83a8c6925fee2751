"""Shards: round trips, streaming conversion, replacing safely, and every way to be damaged."""

import gzip
import json
import os
import re
import shutil
import signal
import time
import tracemalloc
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from ranksieve import (
    Columns,
    DataError,
    RankingData,
    read_csv,
    read_letor,
    read_parquet,
    write_parquet,
)
from ranksieve.cli import main
from ranksieve.datasets import PlantedRanking, draw_plan, make_ranking
from ranksieve.io import delimited, files
from ranksieve.io.records import checksum_of
from ranksieve.io.shards import convert_to_shards, open_shards, write_shards
from ranksieve.io.shards import directory as shard_directory
from ranksieve.io.shards import reading as shard_files
from ranksieve.io.shards.format import array_in, map_file, write_array
from ranksieve.progress import listen
from ranksieve.sums.importance import feature_importance
from tests.io.test_letor import assert_identical, ranking_data, weighted

SIZES = [1, 50, 200, 10**6]


@pytest.fixture
def text(tmp_path):
    def writer(content: str, name: str = "data.txt"):
        path = tmp_path / name
        path.write_text(content)
        return path

    return writer


@pytest.fixture
def stored(tmp_path):
    """A directory of several shards, and the data in it."""
    data, _ = make_ranking(20, n_noise=2)
    data.doc_ids = np.array([f"d{row}" for row in range(data.n_rows)], dtype=object)
    write_shards(data, tmp_path / "stored", shard_bytes=4000)
    return tmp_path / "stored", data


def read_back(directory) -> RankingData:
    """Read shards, and check what holds for all of them."""
    with open_shards(directory, verify=True) as shards:
        data = shards.read()
        blocks = [shards.block(number) for number in range(shards.n_shards)]
        assert shards.query_ids.tolist() == data.query_ids.tolist()
        assert shards.feature_names.tolist() == data.feature_names.tolist()
        shape = (shards.n_rows, shards.n_queries, shards.n_features)
        assert shape == (data.n_rows, data.n_queries, data.n_features)
        assert shards.dtype == data.X.dtype
        assert shards.is_sparse == data.is_sparse
    assert data.row_order.tolist() == list(range(data.n_rows))
    assert np.concatenate([np.diff(b.query_ptr) for b in blocks]).tolist() == list(
        data.group_counts
    )
    for block in blocks:
        rows = slice(block.first_row, block.first_row + len(block.y))
        assert block.query_ptr[0] == 0
        assert block.query_ptr[-1] == len(block.y) == block.X.shape[0]
        np.testing.assert_array_equal(block.y, data.y[rows])
        np.testing.assert_array_equal(dense(block.X), dense(data.X[rows]))
        queries = slice(block.first_query, block.first_query + len(block.query_ptr) - 1)
        if data.query_weights is None:
            assert block.query_weights is None
        else:
            assert block.query_weights.tolist() == data.query_weights[queries].tolist()
    return data


def dense(X):
    return X.toarray() if sparse.issparse(X) else X


def change_manifest(directory, change) -> None:
    """Write other bytes, or the same record with other values and its checksum."""
    path = directory / "manifest.json"
    if isinstance(change, bytes):
        path.write_bytes(change)
        return
    record = json.loads(path.read_text())
    del record["checksum"]
    if callable(change):
        change(record)
    else:
        record |= change
    record = {name: value for name, value in record.items() if value is not KeyError}
    if callable(change) or "checksum" not in change:
        record["checksum"] = checksum_of(record)
    path.write_text(json.dumps(record))


# Round trips


@given(ranking_data(), st.booleans(), st.sampled_from(SIZES), st.data())
def test_writing_and_reading_back_is_the_identity(
    tmp_path_factory, data, as_csr, shard_bytes, choose
):
    if as_csr:
        X = sparse.csr_matrix(np.where(data.X > 0, data.X, 0))
        names = data.feature_names
        data = RankingData(X, data.y, data.qid, feature_names=names, doc_ids=data.doc_ids)
    data = weighted(data, choose.draw)
    directory = tmp_path_factory.getbasetemp() / "shards-round-trip"
    write_shards(data, directory, shard_bytes=shard_bytes, overwrite=True)
    back = read_back(directory)
    assert back.is_sparse == as_csr
    assert (back.doc_ids is None) == (data.doc_ids is None)
    assert (back.qid.dtype == np.int64) == (data.qid.dtype == np.int64)
    assert_identical(data, back)


@given(ranking_data(), st.data())
def test_pieces_make_the_same_shards_as_the_whole(tmp_path_factory, data, choose):
    cuts = sorted(choose.draw(st.sets(st.integers(1, data.n_queries))) | {0, data.n_queries})
    pieces = (data.take_queries(np.arange(first, last)) for first, last in pairwise(cuts))
    base = tmp_path_factory.getbasetemp()
    for name, source in (("shards-whole", data), ("shards-pieces", pieces)):
        write_shards(source, base / name, shard_bytes=60, overwrite=True)
    with open_shards(base / "shards-whole") as whole, open_shards(base / "shards-pieces") as parts:
        assert parts.data_id != whole.data_id
        assert [s.files for s in parts._open_manifest.shards] == [
            s.files for s in whole._open_manifest.shards
        ]


@pytest.mark.parametrize(
    ("ids", "back"),
    [
        (np.array([3, 1], dtype=np.uint8), [3, 1]),
        (np.array([3, 2**63], dtype=np.uint64), ["3", str(2**63)]),
        (np.array([3, -1], dtype=object), [3, -1]),
        (np.array([3, "x"], dtype=object), ["3", "x"]),
        (np.array([0.5, 2.0]), ["0.5", "2.0"]),
        (np.array([True, False]), ["True", "False"]),
        (np.array(["", "caf\u00e9\0\ud800"], dtype=object), ["", "caf\u00e9\0\ud800"]),
    ],
)
def test_ids_are_integers_if_they_fit_else_text(tmp_path, ids, back):
    data = RankingData([[1.0], [2.0]], [0, 1], ids, doc_ids=ids)
    write_shards(data, tmp_path / "d", shard_bytes=1)
    result = read_back(tmp_path / "d")
    assert result.qid.tolist() == back
    assert result.doc_ids.tolist() == back


@pytest.mark.parametrize("shard_bytes", [1, 10**6])
def test_document_ids_of_different_kinds_become_text(tmp_path, shard_bytes):
    documents = ([7], None, ["x"], [0.5])
    pieces = [RankingData([[1.0]], [0], [q], doc_ids=ids) for q, ids in enumerate(documents)]
    write_shards(pieces, tmp_path / "d", shard_bytes=shard_bytes)
    assert read_back(tmp_path / "d").doc_ids.tolist() == ["7", "", "x", "0.5"]


def test_type_and_sparsity_can_be_chosen(tmp_path):
    data, _ = make_ranking(5)
    single = data.X.astype(np.float32)
    write_shards(data, tmp_path / "d", dtype="float32", sparse=True, shard_bytes=1000)
    back = read_back(tmp_path / "d")
    assert isinstance(back.X, sparse.csr_matrix)
    np.testing.assert_array_equal(back.X.toarray(), single)
    write_shards(back, tmp_path / "e", dtype="float64", sparse=False)
    np.testing.assert_array_equal(read_back(tmp_path / "e").X, single)
    with open_shards(tmp_path / "d") as csr, open_shards(tmp_path / "e") as plain:
        X = csr.block(0).X
        for array in (X.data, X.indices, plain.block(0).X):
            assert isinstance(array.base, np.memmap)
            assert not array.flags.writeable


@pytest.mark.parametrize("as_csr", [False, True])
def test_data_without_features_or_entries(tmp_path, as_csr):
    for width, names in ((0, None), (3, None), (1, ["f"])):
        data = RankingData(np.zeros((3, width)), [0, 1, 0], [5, 5, 6], feature_names=names)
        write_shards(data, tmp_path / "d", sparse=as_csr, shard_bytes=1, overwrite=True)
        back = read_back(tmp_path / "d")
        assert_identical(data, back)
        assert back.has_feature_names == data.has_feature_names  # kept only if they say something
        record = json.loads((tmp_path / "d" / "manifest.json").read_text())
        assert record["feature_names"] == names


@pytest.mark.parametrize(("as_csr", "row_bytes"), [(False, 3 * 8 + 8), (True, 3 * 12 + 12)])
def test_shards_end_with_the_query_that_reaches_their_size(tmp_path, as_csr, row_bytes):
    data = RankingData(np.ones((200, 3)), np.zeros(200), np.repeat(np.arange(20), 10))
    for limit, expected in ((50 * row_bytes, 50), (50 * row_bytes + 1, 60)):
        write_shards(data, tmp_path / "d", shard_bytes=limit, sparse=as_csr, overwrite=True)
        with open_shards(tmp_path / "d") as shards:
            rows = [len(shards.block(number).y) for number in range(shards.n_shards)]
        assert set(rows[:-1]) == {expected}
        assert sum(rows) == 200


# Pieces that do not fit together


def piece(qid, n_features=1, dtype=np.float64, **options) -> RankingData:
    X = np.ones((len(qid), n_features), dtype=dtype)
    return RankingData(X, np.zeros(len(qid)), qid, **options)


@pytest.mark.parametrize(
    ("source", "options", "error", "message"),
    [
        ([piece([1]), piece([2]), piece([1])], {}, DataError, "query 1 occurs in pieces 1 and 3"),
        ([piece(["a", "b"]), piece(["b"])], {}, DataError, "query 'b' occurs in pieces 1 and 2"),
        ([piece([1]), piece([2], 2)], {}, DataError, "piece 1 has 1 features but piece 2 has 2"),
        ([piece([1]), piece([2], feature_names=["f"])], {}, DataError, "1 and piece 2 have differ"),
        (
            [piece([1]), piece([2], dtype=np.float32)],
            {},
            DataError,
            "piece 1 has float64 values but piece 2 has float32",
        ),
        ([], {}, DataError, "no rows to write"),
        ([piece([])], {}, DataError, "no rows to write"),
        (
            piece(np.array([1, "1"], dtype=object)),
            {},
            DataError,
            "queries 1 and '1' have the same id as text",
        ),
        ("path", {}, TypeError, "expected a RankingData, got str"),
        (piece([1]), {"dtype": "int64"}, ValueError, "float64 or float32"),
        (piece([1]), {"shard_bytes": 0}, ValueError, "at least 1"),
    ],
)
@pytest.mark.parametrize("shard_bytes", [1, 10**6])
def test_what_cannot_be_written(tmp_path, source, options, error, message, shard_bytes):
    with pytest.raises(error, match=message):
        write_shards(source, tmp_path / "d", **{"shard_bytes": shard_bytes} | options)
    assert os.listdir(tmp_path) == []


# Text


@st.composite
def letor_text(draw, scattered):
    """Text with integer or text ids and rows of growing width; adjacent unless scattered."""
    lengths = draw(st.lists(st.integers(1, 4), min_size=1, max_size=6))
    prefix = draw(st.sampled_from(["", "q"]))
    last = draw(st.sampled_from(["", "x"]))  # one id that is no integer makes all of them text
    header = draw(st.sampled_from(["", "#2:bm25\n", "#9:last\n# remark\n"]))
    rows = []
    for query, length in enumerate(lengths):
        for _ in range(length):
            features = sorted(draw(st.sets(st.integers(1, 7), max_size=3)))
            pairs = " ".join(f"{f}:{draw(st.integers(-3, 3))}" for f in features)
            document = draw(st.sampled_from(["", f" # d{len(rows)}", " #docid = GX7 inc = 1"]))
            mark = last if query == len(lengths) - 1 else ""
            qid = f"{prefix}{query + 5}{mark}"
            rows.append(f"{draw(st.integers(0, 2))} qid:{qid} {pairs}{document}\n")
    return header + "".join(draw(st.permutations(rows)) if scattered else rows)


def convert_in_pieces(paths, directory, chunk: int, **how) -> RankingData:
    before, files._CHUNK = files._CHUNK, chunk
    try:
        convert_to_shards(paths, directory, overwrite=True, **how)
    finally:
        files._CHUNK = before
    return read_back(directory)


@given(st.sampled_from(SIZES), st.sampled_from([1, 30, 10**6]), st.booleans(), st.data())
def test_converted_text_is_what_the_reader_reads(
    tmp_path_factory, shard_bytes, chunk, as_csr, choose
):
    """Rows of a query may be scattered within a shard."""
    base = tmp_path_factory.getbasetemp()
    path = base / "shards-converted.txt"
    path.write_text(choose.draw(letor_text(scattered=shard_bytes == max(SIZES))))
    expected = read_letor(path, sparse=as_csr, dtype="float32")
    how = dict(shard_bytes=shard_bytes, sparse=as_csr, dtype="float32")
    back = convert_in_pieces(path, base / "shards-converted", chunk, **how)
    assert_identical(expected, back)
    assert back.qid.dtype == expected.qid.dtype
    assert (back.doc_ids is None) == (expected.doc_ids is None)


@given(st.lists(st.integers(0, 5), min_size=1, max_size=15), st.integers(1, 80))
def test_a_query_that_comes_back_too_late_stops_the_conversion(
    tmp_path_factory, queries, shard_bytes
):
    """The oracle fills shards row by row: 16 bytes each, closed when a new query begins."""
    base = tmp_path_factory.getbasetemp()
    shutil.rmtree(base / "shards-late", ignore_errors=True)
    first_line, in_shard, size, error = {}, set(), 0, None
    for line, query in enumerate(queries, start=1):
        if query in first_line and query not in in_shard:
            error = (line, query, first_line[query])
            break
        if query not in first_line and size >= shard_bytes:
            in_shard, size = set(), 0
        first_line.setdefault(query, line)
        in_shard.add(query)
        size += 16
    path = base / "shards-late.txt"
    path.write_text("".join(f"0 qid:q{query} 1:{query}\n" for query in queries))
    for chunk in (1, 40):
        if error is None:
            back = convert_in_pieces(path, base / "shards-late", chunk, shard_bytes=shard_bytes)
            assert back.n_rows == len(queries)
        else:
            line, query, first = error
            message = (
                f"{path}:{line}: query 'q{query}' continues here, but its rows from line {first} "
                "on are already written; sort the file by query"
            )
            with pytest.raises(DataError, match=re.escape(message)):
                convert_in_pieces(path, base / "shards-late", chunk, shard_bytes=shard_bytes)
            assert not (base / "shards-late").exists()


def test_several_files_are_joined(text, tmp_path):
    first = text("0 qid:1 1:1\n0 qid:2 2:1 #d\n", "a.txt")
    second = tmp_path / "b.txt.gz"
    second.write_bytes(gzip.compress(b"1 qid:2 3:1\n0 qid:3 1:4\n"))
    for shard_bytes, width in ((1, None), (10**6, None), (1, 4)):
        how = dict(shard_bytes=shard_bytes, n_features=width, overwrite=True)
        convert_to_shards([first, second], tmp_path / "d", **how)
        assert_identical(read_letor([first, second], n_features=width), read_back(tmp_path / "d"))
    convert_to_shards(text("0 qid:1 0:5\n", "zero.txt"), tmp_path / "f", zero_based=True)
    assert read_back(tmp_path / "f").X.tolist() == [[5]]
    third = text("#1:x\n1 qid:1 1:1\n", "c.txt")
    with pytest.raises(DataError) as caught:
        convert_to_shards([first, second, third], tmp_path / "e", shard_bytes=1)
    assert str(caught.value) == (
        f"{third}:2: query '1' continues here, but its rows from line 1 of {first} on are "
        "already written; sort the file by query"
    )
    data, _ = make_ranking(6, dtype="float32")
    paths = [tmp_path / "a.parquet", tmp_path / "b.pq"]
    for path, queries in zip(paths, ([0, 1, 2], [3, 4, 5]), strict=True):
        write_parquet(data.take_queries(queries), path)
    convert_to_shards(paths, tmp_path / "g", shard_bytes=1000)
    assert_identical(data, read_back(tmp_path / "g"))
    convert_to_shards(paths, tmp_path / "h", dtype="float64")
    assert read_back(tmp_path / "h").X.dtype == np.float64


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ("0 qid:1 1:1\n0 qid:2 1:x\n", {}, "data.txt:2: the value is not a number: 'x'"),
        ("#1:a\n#2:a\n0 qid:1 2:1\n", {}, "data.txt: the header names two features 'a'"),
        ("0 qid:1 2:2\n", {"n_features": 1}, "data.txt:1: index 2 is beyond n_features=1"),
        (
            "1 qid:1 1:2\n",
            {"columns": Columns(label="y", ignore="z")},
            "leave out --label, --ignore: only Parquet, CSV and frames have columns",
        ),
    ],
)
def test_errors_of_the_text_name_their_line_and_leave_nothing(
    text, tmp_path, content, options, message
):
    path = text(content)
    with pytest.raises(DataError, match=message):
        convert_to_shards(path, tmp_path / "d", shard_bytes=1, **options)
    assert os.listdir(tmp_path) == ["data.txt"]


def test_long_work_reports_progress(text, tmp_path):
    path = text("0 qid:1 1:1\n0 qid:2 1:2\n")
    seen = []
    with listen(lambda *report: seen.append(report)):
        convert_to_shards(path, tmp_path / "d", shard_bytes=1)
        assert seen.pop() == ("Reading", path.stat().st_size, path.stat().st_size)
        with open_shards(tmp_path / "d") as shards:
            assert seen == []
            shards.verify()
            size = sum(p.stat().st_size for p in (tmp_path / "d").glob("*.npy"))
            assert seen[-1] == ("Verifying", size, size)
            seen.clear()
            shards.read()
            assert seen == [("Reading", 1, 2), ("Reading", 2, 2)]


# Tables


@pytest.mark.parametrize("name", ["data.parquet", "data.csv"])
@pytest.mark.parametrize("as_csr", [False, True])
def test_converted_tables_are_what_the_reader_reads(tmp_path, monkeypatch, name, as_csr):
    monkeypatch.setattr(delimited, "_BLOCK", 512)
    data, _ = make_ranking(12, docs_per_query=(1, 6))
    table = {f"f{n}": column for n, column in enumerate(data.X.T)}
    ids = {"qid": [f"q{query}" for query in data.qid], "doc_id": np.arange(data.n_rows)}
    frame = pd.DataFrame({"label": data.y, "weight": 1 + data.qid % 2, **ids, **table})
    path, read, save = tmp_path / name, read_parquet, pd.DataFrame.to_parquet
    if name.endswith(".csv"):
        read, save = read_csv, pd.DataFrame.to_csv
    save(frame, path, index=False)
    for shard_bytes in (1, 300, 10**6):
        how = dict(shard_bytes=shard_bytes, sparse=as_csr, overwrite=True)
        convert_to_shards(path, tmp_path / "d", **how)
        back = read_back(tmp_path / "d")
        assert back.is_sparse == as_csr
        assert_identical(read(path), back)
    assert back.query_weights.tolist() == [2.0, 1.0] * 6


def test_errors_of_parquet_files(tmp_path):
    def table(name, qid, label=None, **features):
        path = tmp_path / name
        columns = {"label": label or [0.0] * len(qid), "qid": qid} | features
        pd.DataFrame(columns).to_parquet(path)
        return path

    scattered = table("scattered.parquet", [1, 2, 2, 1], f=[1.0, 2, 3, 4])
    with pytest.raises(DataError) as caught:
        convert_to_shards(scattered, tmp_path / "d", shard_bytes=1)
    assert str(caught.value) == (
        f"{scattered}: row 3: query 1 continues here, but its rows from row 0 on are already "
        "written; sort the file by query"
    )
    convert_to_shards(scattered, tmp_path / "d")
    assert read_back(tmp_path / "d").X.ravel().tolist() == [1, 4, 2, 3]

    again = table("again.parquet", [5, 1], f=[1.0, 2])
    with pytest.raises(DataError, match=r"again.parquet: row 1: .* from row 0 of .*scattered"):
        convert_to_shards([scattered, again], tmp_path / "e", shard_bytes=60)

    bad_label = table("label.parquet", [1, 2], label=[0.0, np.nan], f=[1.0, 2])
    with pytest.raises(DataError, match="label.parquet: row 1: column 'label' has no value"):
        convert_to_shards(bad_label, tmp_path / "e", shard_bytes=1)
    other = table("other.parquet", [3], g=[1.0])
    with pytest.raises(DataError, match="other.parquet: its columns .*scattered.*: it lacks 'f'"):
        convert_to_shards([scattered, other], tmp_path / "e")
    with pytest.raises(
        DataError, match="leave out --zero-based: only for LETOR text, not for Parq"
    ):
        convert_to_shards(scattered, tmp_path / "e", zero_based=True)
    with pytest.raises(DataError, match="there are 1 features, but n_features=2"):
        convert_to_shards(scattered, tmp_path / "e", n_features=2)
    with pytest.raises(DataError, match="cannot be joined"):
        convert_to_shards([scattered, tmp_path / "a.txt"], tmp_path / "e")


# Memory


@pytest.mark.slow
def test_memory_stays_bounded_by_pieces_and_shards(tmp_path):
    ranking = PlantedRanking(draw_plan(n_noise=90), docs_per_query=50)
    total = 400 * 50 * 100 * 8
    pieces = (ranking.queries(first, first + 20) for first in range(0, 400, 20))
    tracemalloc.start()
    try:
        write_shards(pieces, tmp_path / "d", shard_bytes=total // 40)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < total / 3
    with open_shards(tmp_path / "d") as shards:
        assert shards.n_rows == 400 * 50


# Replacing


def files_of(directory) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir()}


def test_opened_and_closed_shards(stored):
    directory, _ = stored
    with pytest.raises(ValueError, match="verify must be True, False or 'first-read', not 'yes'"):
        open_shards(directory, verify="yes")
    client = object()
    with open_shards(directory, client=client) as shards:
        assert shards.client is client
        for number in (-1, shards.n_shards):
            with pytest.raises(IndexError, match=f"no shard {number}: there are"):
                shards.block(number)
        assert repr(shards) == (
            f"Shards({str(directory)!r}, {shards.n_shards} shards, {shards.n_rows} rows, "
            f"20 queries, {shards.n_features} features)"
        )
    shards.close()
    assert repr(shards) == f"Shards({str(directory)!r}, closed)"
    names = ["n_rows", "n_queries", "n_features", "n_shards", "dtype", "is_sparse", "data_id"]
    uses = [partial(getattr, shards, name) for name in [*names, "query_ids", "feature_names"]]
    uses += [partial(shards.block, 0), shards.read, shards.verify, shards.__enter__]
    message = f"these shards are closed; open them again with open_shards({str(directory)!r})"
    for use in uses:
        with pytest.raises(DataError, match=re.escape(message)):
            use()


@contextmanager
def conversion_under_way(start_program, folder):
    """A process that converts text, which ends with the block."""
    os.mkfifo(folder / "pipe")
    program = start_program(main, ["convert", str(folder / "pipe"), str(folder / "data")])
    with open(folder / "pipe", "w") as pipe:
        pipe.write("0 qid:1 1:1\n")
        pipe.flush()
        while program.is_running() and not list(folder.glob(".data.*.partial")):
            time.sleep(0.01)
        yield program


def test_an_interruption_leaves_the_old_shards_and_nothing_else(stored):
    directory, data = stored
    before = files_of(directory)

    def pieces():
        yield data.take_queries([0, 1, 2])
        assert len(os.listdir(directory.parent)) == 2  # the new ones are under way beside it
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_shards(pieces(), directory, shard_bytes=1, overwrite=True)
    assert files_of(directory) == before
    assert os.listdir(directory.parent) == [directory.name]


def test_a_killed_conversion_is_cleared_away_by_the_next(start_program, text, tmp_path):
    folder = tmp_path / "killed"
    folder.mkdir()
    with conversion_under_way(start_program, folder) as program:
        program.kill(signal.SIGKILL)
    assert program.wait()[0] != 0
    with pytest.raises(DataError, match="data: no such directory"):
        open_shards(folder / "data")
    [leftover] = folder.glob(".data.*.partial")
    with pytest.raises(DataError, match="partial: half-written"):
        open_shards(leftover)
    (folder / f".data.{'0' * 12}.partial").mkdir()
    precious = folder / f".data.{'1' * 12}.partial"
    precious.mkdir()
    (precious / "letter").write_text("precious")
    convert_to_shards(text("0 qid:1 1:1\n"), folder / "data")
    assert sorted(os.listdir(folder)) == [precious.name, "data", "pipe"]


def test_a_conversion_under_way_is_left_alone(start_program, text, tmp_path):
    with conversion_under_way(start_program, tmp_path) as program:
        convert_to_shards(text("0 qid:1 1:1\n"), tmp_path / "data")
        assert len(list(tmp_path.glob(".data.*.partial"))) == 1
    status, _, said = program.wait()
    assert status == 1
    assert "data: is not empty; replace the shards in it with overwrite=True (--overw" in said
    assert sorted(os.listdir(tmp_path)) == ["data", "data.txt", "pipe"]


def test_shards_that_a_killed_run_had_set_aside_come_back(stored):
    directory, data = stored
    os.rename(directory, directory.with_name(f".stored.{'a' * 12}.old"))
    with pytest.raises(DataError, match="is not empty; replace the shards in it with"):
        write_shards(data, directory)
    assert_identical(data, read_back(directory))
    assert os.listdir(directory.parent) == ["stored"]


def test_a_full_directory_is_replaced_only_on_request(stored):
    directory, data = stored
    before = files_of(directory)
    with pytest.raises(DataError, match="is not empty; replace the shards in it with"):
        write_shards(data, directory)
    assert files_of(directory) == before
    part = data.take_queries([3, 4])
    write_shards(part, directory, overwrite=True)
    assert_identical(part, read_back(directory))
    assert os.listdir(directory.parent) == [directory.name]


def test_opened_shards_can_be_rewritten_in_place(stored):
    directory, data = stored
    with open_shards(directory) as shards:
        block = shards.block(0)
        write_shards(shards.read(), directory, shard_bytes=1, overwrite=True)
    np.testing.assert_array_equal(block.X, data.X[: len(block.y)])
    assert_identical(data, read_back(directory))


def test_other_files_are_never_replaced(tmp_path):
    data, _ = make_ranking(2)
    home = tmp_path / "home"
    home.mkdir()
    write_shards(data, home)  # an empty directory is as good as none
    (home / "letter.npy").write_text("precious")
    with pytest.raises(DataError, match="home: contains 'letter.npy', which is not a file of sh"):
        write_shards(data, home, overwrite=True)
    assert (home / "letter.npy").read_text() == "precious"
    with pytest.raises(DataError, match=r"letter.npy: is a file; shards need a directory"):
        write_shards(data, home / "letter.npy", overwrite=True)
    with pytest.raises(DataError, match="there is no directory"):
        write_shards(data, tmp_path / "no" / "where")
    assert os.listdir(tmp_path) == ["home"]


def test_if_the_new_directory_cannot_take_its_place_the_old_one_returns(stored, monkeypatch):
    directory, data = stored
    before = files_of(directory)
    rename = os.rename

    def refuse(source, target):
        if str(source).endswith(".partial"):
            raise PermissionError("no")
        rename(source, target)

    monkeypatch.setattr(shard_directory.os, "rename", refuse)
    with pytest.raises(PermissionError):
        write_shards(data, directory, overwrite=True)
    assert files_of(directory) == before
    assert os.listdir(directory.parent) == [directory.name]


# Opening


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: None, "no such directory"),
        (lambda path: path.write_text(""), "is a file, not a directory of shards"),
        (Path.mkdir, "not a directory of shards: there is no manifest.json"),
        (lambda path: (path.mkdir(), (path / "000000.y.npy").touch()), "half-written: there is no"),
    ],
)
def test_what_is_not_shards(tmp_path, make, message):
    make(tmp_path / "d")
    with pytest.raises(DataError, match=f"d: {message}"):
        open_shards(tmp_path / "d")


def file_named(name):
    """Change the name of a file in a manifest."""

    def change(record):
        record["shards"][0]["files"]["y"]["name"] = name

    return change


# What the types of fields say is checked in test_records.
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (b"{", "damaged: it is not JSON"),
        (b"[" * 100_000, "damaged: it is not JSON"),
        (b"[]", "its format is None"),
        (dict(format="other"), "its format is 'other'"),
        (dict(version=5), "written by a newer version of ranksieve: format 5, this one reads 4"),
        (dict(version=3), "written by an older version of ranksieve: format 3, this one reads 4"),
        (dict(checksum="sha256:0"), "its checksum is not that of its content"),
        (dict(checksum=KeyError), "its checksum is not that of its content"),
        (dict(data_id=KeyError), "'data_id' is missing"),
        (dict(unknown=1), "'unknown' is not a known field"),
        (dict(n_rows=3), "rows but 'n_rows' is 3"),
        (dict(n_queries=-1), "'n_queries' should be a whole number >= 0, not -1"),
        (dict(n_queries=10**9), "queries but 'n_queries' is 1000000000"),
        (dict(dtype="object"), "'dtype' is 'object', which is not known"),
        (dict(sparse=True), "shard 0 should have files for data"),
        (dict(doc_ids=None), "shard 0 should have files for X, query_ids, query_ptr, y"),
        (dict(feature_names=["a"]), "1 feature names for"),
        (dict(shards=[]), r"'shards' should be a list of length >= 1, not \[\]"),
        *(
            (file_named(name), r"files\[...\].name' should be a text matching")
            for name in (
                "../secret.npy",
                "/etc/secret.npy",
                "a/000000.y.npy",
                "..",
                "",
                "c:0.y.npy",
            )
        ),
    ],
)
def test_a_damaged_manifest(stored, change, message):
    directory, _ = stored
    change_manifest(directory, change)
    with pytest.raises(DataError, match=f"manifest.json: .*{message}"):
        open_shards(directory)


def test_opening_reads_no_data_and_verifying_finds_what_is_wrong(stored):
    directory, data = stored
    path = directory / "000002.X.npy"
    content = path.read_bytes()
    path.write_bytes(b"\xee" * len(content))
    with open_shards(directory) as shards:
        block = shards.block(1)
        np.testing.assert_array_equal(block.X, data.X[block.first_row :][: len(block.y)])
        with pytest.raises(DataError, match=r"000002.X.npy: is damaged"):
            shards.block(2)
        with pytest.raises(DataError, match=r"000002.X.npy: is damaged: its checksum is"):
            shards.verify()
    with pytest.raises(DataError, match=r"000002.X.npy: is damaged: its checksum is"):
        open_shards(directory, verify=True)
    path.write_bytes(content[:-10])
    size = len(content)
    with pytest.raises(DataError, match=f"{path}: has {size - 10} bytes, but {size} were written"):
        open_shards(directory)
    path.unlink()
    with pytest.raises(DataError, match=f"{path}: no such file, but the manifest lists .* {size} "):
        open_shards(directory)


@pytest.mark.parametrize(
    ("role", "change"),
    [
        ("y", lambda a: a.astype(np.int64)),
        ("y", lambda a: a.astype(">f8")),
        ("y", lambda a: np.full_like(a, np.nan)),
        ("X", lambda a: np.asfortranarray(a)),
        ("X", lambda a: a.reshape(-1)),
        ("query_ptr", lambda a: np.array([0, a[-1] + 1, *a[2:]])),
        ("query_ptr", lambda a: a + 1),
        ("query_ptr", lambda a: np.array([0, 0, *a[2:]])),
        ("query_ptr", lambda a: np.append(a[:-1], 2**40)),
        ("query_ids", lambda a: a.astype(np.float64)),
        ("doc_id_offsets", lambda a: np.append(a[:-1], 10**9)),
        ("doc_ids", lambda a: np.full_like(a, 0xFF)),
    ],
)
def test_arrays_of_the_right_size_but_wrong_content_are_refused(stored, role, change):
    """Without verifying: what could send a kernel out of its arrays must not come through."""
    directory, _ = stored
    path = directory / f"000000.{role}.npy"
    size = path.stat().st_size
    np.save(path, change(np.load(path)))
    assert path.stat().st_size == size
    damaged = pytest.raises(DataError, match=f"{path.name}: is damaged")
    with open_shards(directory, verify=False) as shards, damaged:
        shards.read()


@pytest.mark.parametrize(
    "fields",
    [
        "'<f8', 'fortran_order': False, 'shape': (-1, -{n}), }",
        "'<f8', 'fortran_order': False, 'shape': (1{n},), }",
        "'<f8', 'fortran_order': False, 'shape': (), }",
        "'<f8', 'fortran_order': True, 'shape': ({n},), }",
        "[('a', '<f8')], 'fortran_order': False, 'shape': ({n},), }",
        "'|O', 'fortran_order': False, 'shape': ({n},), }",
        "'<f8', 'fortran_order': False, 'shape': ({n},",
        "[[[[[[[[[[[",
        "\xff",
    ],
)
def test_headers_of_other_arrays_are_refused(tmp_path, fields):
    write_array(path := tmp_path / "000000.y.npy", np.arange(3.0))
    text = "{'descr': " + fields.replace("{n}", "3")
    header = text.encode("latin-1").ljust(117) + b"\n"
    path.write_bytes(path.read_bytes()[:10] + header + path.read_bytes()[128:])
    with pytest.raises(DataError, match=r"000000.y.npy: is damaged: its header is not that of"):
        array_in(map_file(path), path, (3,), "float64")


CSR_DAMAGE = [
    ("indices", 0, 2_000_000_000),
    ("indices", -1, -1),
    ("indices", 5, -(2**31)),
    ("indices", 3, 20),  # as many features as there are
    ("indices", 1, 0),  # twice in a row of the matrix
    ("indptr", -1, 10**6),
    ("indptr", 2, 2**31 - 1),
    ("indptr", 3, -5),
    ("query_ptr", 1, 10**9),
    ("query_ptr", 1, -1),
]

USE_SHARDS = """
from ranksieve import DataError
from ranksieve.io.shards import open_shards
from ranksieve.selectors import GAS, GreedyRankRLS

for selector in (GAS(2), GreedyRankRLS(2)):
    for directory in directories:
        try:
            with open_shards(directory, verify=False) as shards:
                selector.fit(shards)
        except DataError as error:
            print(error)
"""


def test_no_damage_to_csr_shards_leads_out_of_their_arrays(start_program, tmp_path):
    """Without verifying; in a process of its own, which a kernel astray would take down."""
    directories = []
    for number, (role, place, value) in enumerate(CSR_DAMAGE):
        directories.append(tmp_path / str(number))
        write_shards(make_ranking(9)[0], directories[-1], sparse=True)
        path = directories[-1] / f"000000.{role}.npy"
        array = np.load(path)
        array[place] = value
        np.save(path, array)
    names = {"directories": directories}
    status, output, errors = start_program(exec, USE_SHARDS, names).wait()
    assert (status, errors) == (0, "")
    refusals = output.splitlines()
    assert len(refusals) == 2 * len(CSR_DAMAGE)
    for refusal, directory in zip(refusals, 2 * directories, strict=True):
        assert re.match(rf"{directory}/000000\.\w+\.npy: is damaged: ", refusal)


def test_files_are_verified_once_when_they_are_first_read(stored, monkeypatch):
    directory, _ = stored
    seen = []
    real = shard_files.crc32
    monkeypatch.setattr(shard_files, "crc32", lambda c: seen.append(len(c)) or real(c))
    with open_shards(directory) as shards:
        assert seen == []
        block = shards.block(0)
        small = len(seen)
        assert block.X.shape[1] == shards.n_features
        assert len(seen) == small + 1  # X, when it was used
        for _ in range(2):
            feature_importance(shards)
            feature_importance(shards.take_features([0, 1]))
        assert len(seen) == 3 * shards.n_shards
    with open_shards(directory, verify=False) as unverified:
        feature_importance(unverified)
        assert len(seen) == 3 * unverified.n_shards


# Weights


def test_weights_that_come_late(tmp_path):
    """Shards that were written before count once; a shard may have no weight at all."""
    data, _ = make_ranking(9, docs_per_query=3)
    pieces = [data.take_queries(range(first, first + 3)) for first in (0, 3, 6)]
    pieces[1] = pieces[1].with_weights([2.0, 0.0, 0.5])
    pieces[2] = pieces[2]._replace(query_weights=np.zeros(3))
    write_shards(pieces, tmp_path / "d", shard_bytes=1)
    expected = [1, 1, 1, 2, 0, 0.5, 0, 0, 0]
    assert read_back(tmp_path / "d").query_weights.tolist() == expected
    with open_shards(tmp_path / "d") as shards:
        assert shards.query_weights.tolist() == expected
        parts = [shards.read_shard(number).query_weights for number in range(shards.n_shards)]
    assert np.concatenate(parts).tolist() == expected
    for piece in pieces:
        piece.query_weights = np.zeros(3)
    with pytest.raises(DataError, match="must not be 0 for all queries"):
        write_shards(pieces, tmp_path / "e")
    assert not (tmp_path / "e").exists()


@pytest.mark.parametrize("name", ["data.parquet", "data.csv"])
def test_converted_weights_must_agree(tmp_path, name):
    columns = {"qid": [1, 1, 2, 1], "label": [0, 1, 0, 1], "f": [1.0, 2, 3, 4]}
    save = pd.DataFrame.to_parquet if name.endswith("parquet") else pd.DataFrame.to_csv
    frame, path, more = pd.DataFrame(columns), tmp_path / name, tmp_path / f"more-{name}"
    save(frame.assign(weight=[3, 3, 0, 3]), path, index=False)
    convert_to_shards(path, tmp_path / "d")
    assert read_back(tmp_path / "d").query_weights.tolist() == [3, 0]
    convert_to_shards(path, tmp_path / "e", columns=Columns(ignore="weight"))
    assert read_back(tmp_path / "e").query_weights is None
    save(frame[3:].assign(weight=[5]), more, index=False)
    with pytest.raises(DataError, match=rf"more-{name}: .*that of query '?1'? is 3.0 and 5.0"):
        convert_to_shards([path, more], tmp_path / "f")
    save(frame.assign(weight=[3, 3, 1, 2]), path, index=False)
    with pytest.raises(DataError, match=rf"{name}: .*'weight' is used as .*it is 3 in row 0, but"):
        convert_to_shards(path, tmp_path / "f")


@pytest.mark.parametrize("as_csr", [False, True])
def test_features_and_weights_are_taken_as_in_memory(tmp_path, as_csr):
    data, _ = make_ranking(30, n_informative=4, n_redundant=0, n_noise=4, random_state=1)
    if as_csr:
        data = RankingData(sparse.csr_matrix(data.X), data.y, data.qid)
    weights = np.random.default_rng(0).uniform(0, 3, 30)
    write_shards(data, tmp_path / "d", shard_bytes=5_000)
    with open_shards(tmp_path / "d") as shards:
        assert shards.n_shards > 2
        for features, given in (
            ([5, 0, 2], weights),
            ([True, False] * 4, weights.tolist()),
            (range(8), None),
        ):
            expected = data.take_features(features).with_weights(given)
            taken = shards.take_features(features).with_weights(given)
            assert_identical(taken.read(), expected)
            assert taken.has_feature_names == expected.has_feature_names
            blocks = [taken.block(number) for number in range(taken.n_shards)]
            pieces = [taken.read_shard(number) for number in range(taken.n_shards)]
            for parts in (blocks, pieces):
                X = np.concatenate([dense(part.X) for part in parts])
                np.testing.assert_array_equal(X, dense(expected.X))
                if given is None:
                    assert all(part.query_weights is None for part in parts)
                else:
                    found = np.concatenate([part.query_weights for part in parts])
                    np.testing.assert_array_equal(found, weights)
            assert_identical(taken.take_features([1]).read(), expected.take_features([1]))
        assert shards.n_features == 8
        assert shards.block(0).query_weights is None
        for wrong in (np.ones(29), -np.ones(30), np.zeros(30), ["a"] * 30):
            with pytest.raises(DataError, match="sample_w"):
                shards.with_weights(wrong)
