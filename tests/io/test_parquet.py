"""Parquet: round trips, other people's files, and errors."""

import os

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from ranksieve import Columns, DataError, RankingData, read_parquet, write_parquet
from ranksieve.io import parquet as module
from ranksieve.io.formats import read_data
from ranksieve.io.shards import convert_to_shards, write_shards
from tests.io.test_letor import assert_identical, ranking_data, weighted


@given(ranking_data(), st.booleans(), st.sampled_from([1, 3, 10**6]), st.data())
def test_round_trip(tmp_path_factory, data, as_csr, group, choose):
    if as_csr:
        X = sparse.csr_matrix(np.where(data.X > 0, data.X, 0))
        data = RankingData(X, data.y, data.qid, doc_ids=data.doc_ids)
    data = weighted(data, choose.draw)
    path = tmp_path_factory.getbasetemp() / "round-trip.parquet"
    rows, module._ROWS_PER_GROUP = module._ROWS_PER_GROUP, group
    try:
        write_parquet(data, path)
        back = read_parquet(path)
    finally:
        module._ROWS_PER_GROUP = rows
    assert back.is_sparse == as_csr
    assert (back.doc_ids is None) == (data.doc_ids is None)
    assert_identical(data, back)


def test_a_file_of_somebody_else(tmp_path):
    path = tmp_path / "clicks.parquet"
    frame = pd.DataFrame(
        {
            "session": ["s", "t"],
            "url": ["u1", "u2"],
            "grade": [1, 0],
            "bm25": [1.5, None],
            "n": [1, 2],
        }
    )
    frame.to_parquet(path)
    data = read_parquet(path, Columns(qid="session", doc_id="url"))
    assert data.feature_names.tolist() == ["bm25", "n"]
    assert data.doc_ids.tolist() == ["u1", "u2"]
    np.testing.assert_array_equal(data.X, [[1.5, 1], [np.nan, 2]])
    only = read_parquet(path, Columns(qid="session", features=["n"]), sparse=True)
    assert only.X.toarray().tolist() == [[1], [2]]
    with pytest.raises(DataError, match=r"clicks.parquet: column 'url' holds text.*ignore=.'url'"):
        read_parquet(path, Columns(qid="session"))
    with pytest.raises(DataError, match=r"there is no column 'label' for label; columns are"):
        read_parquet(path, Columns(label="label"))


def test_our_own_files_know_their_features(tmp_path):
    path, names = tmp_path / "data.parquet", ["shop_id", "relevance", "sample_weight", "weight"]
    data = RankingData(np.eye(4), [0, 1, 0, 1], ["", "", "b", "b"], feature_names=names)
    write_parquet(data, path)
    assert_identical(data, read_parquet(path))
    kept = read_parquet(path, Columns(ignore="sample_*", weight=None))
    assert kept.feature_names.tolist() == ["shop_id", "relevance", "weight"]
    nameless = RankingData(np.eye(2), [0, 1], [1, 1], feature_names=["", "f"])
    write_parquet(nameless, path)
    assert_identical(nameless, read_parquet(path))


def test_several_files_are_one_data_set(tmp_path):
    frame = pd.DataFrame({"qid": [1, 2, 1], "label": [0, 1, 1], "f": np.float32([1, 2, 3])})
    paths = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    frame[:2].to_parquet(paths[0])
    frame[2:].to_parquet(paths[1])  # with an index that does not begin at 0
    data = read_parquet(paths)
    assert data.X.dtype == np.float32
    assert data.X.ravel().tolist() == [1, 3, 2]
    assert data.row_order.tolist() == [0, 2, 1]
    frame.rename(columns={"f": "g"}).to_parquet(paths[1])
    with pytest.raises(DataError, match=r"b.parquet: its columns .*a.parquet: it lacks 'f'"):
        read_parquet(paths)
    frame[:0].to_parquet(paths[0])
    with pytest.raises(DataError, match=r"a.parquet: no rows"):
        read_parquet(paths[0])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"feature_names": ["label", "f"]}, "a feature is named 'label'"),
        (
            {"feature_names": ["weight", "f"], "sample_weight": [2, 2]},
            "a feature is named 'weight'",
        ),
        ({"qid": [1, "1"]}, r"data.parquet: query ids are of several types \(int, str\)"),
        ({"doc_ids": [1, "1"]}, r"data.parquet: document ids are of several types \(int, str\)"),
        ({"X": [[1, 2], [np.inf, 3]]}, "infinity in row 1"),
    ],
)
def test_what_cannot_be_written_is_refused_and_nothing_is_lost(tmp_path, change, message):
    path = tmp_path / "data.parquet"
    path.write_text("precious")
    data = RankingData(**{"X": np.eye(2), "y": [0, 1], "qid": [1, 1]} | change)
    with pytest.raises(DataError, match=message):
        write_parquet(data, path)
    assert path.read_text() == "precious"
    assert os.listdir(tmp_path) == ["data.parquet"]
    with pytest.raises(DataError, match=r"data.parquet: .*[Pp]arquet"):
        read_parquet(path)


@pytest.mark.parametrize("as_csr", [False, True])
def test_infinite_values_are_refused_with_row_and_column(tmp_path, monkeypatch, as_csr):
    monkeypatch.setattr(module, "_ROWS_PER_GROUP", 2)
    path = tmp_path / "clicks.parquet"
    columns = {"qid": [1] * 5, "label": [0] * 5, "f": range(5), "g": [1, 2, 3, np.inf, -np.inf]}
    pd.DataFrame(columns).to_parquet(path)
    with pytest.raises(DataError, match="clicks.parquet: row 3: column 'g' is inf; values must be"):
        read_parquet(path, sparse=as_csr)
    with pytest.raises(DataError, match="clicks.parquet: row 3: column 'g' is inf; values must be"):
        convert_to_shards(path, tmp_path / "shards", sparse=as_csr)
    assert read_parquet(path, Columns(ignore="g"), sparse=as_csr).n_features == 1


def test_values_too_large_for_their_type_are_refused(tmp_path):
    path = tmp_path / "clicks.parquet"
    pd.DataFrame({"qid": [1, 1], "label": [0, 1], "f": [1.0, 1e39]}).to_parquet(path)
    too_large = r"row 1: column 'f' is 1e\+39; it is too large for float32"
    with pytest.raises(DataError, match=too_large):
        read_data([path], dtype="float32")
    with pytest.raises(DataError, match=too_large):
        convert_to_shards(path, tmp_path / "shards", dtype="float32")
    for as_csr in (False, True):
        with pytest.raises(DataError, match="a feature value is too large for float32"):
            write_shards(read_parquet(path), tmp_path / "shards", dtype="float32", sparse=as_csr)


def test_a_wide_file_is_not_opened_for_every_few_columns(tmp_path, monkeypatch):
    X = np.arange(600.0).reshape(2, 300)
    write_parquet(RankingData(X, [0, 1], ["a", "a"]), tmp_path / "wide.parquet")
    opened, original = [], pq.ParquetFile
    monkeypatch.setattr(
        pq, "ParquetFile", lambda *args, **kw: opened.append(args) or original(*args, **kw)
    )
    np.testing.assert_array_equal(read_parquet(tmp_path / "wide.parquet").X, X)
    assert len(opened) == 3  # for the schema, for labels and queries, and for features
