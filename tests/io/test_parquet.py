"""Parquet: round trips, other people's files, and errors."""

import os

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from ranksieve import Columns, DataError, RankingData, read_parquet, write_parquet
from ranksieve.io import parquet as module
from tests.io.test_letor import assert_identical, ranking_data


@given(ranking_data(), st.booleans(), st.sampled_from([1, 3, 10**6]))
def test_round_trip(tmp_path_factory, data, as_csr, group):
    if as_csr:
        X = sparse.csr_matrix(np.where(data.X > 0, data.X, 0))
        data = RankingData(X, data.y, data.qid, doc_ids=data.doc_ids)
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
    with pytest.raises(DataError, match=r"clicks.parquet: column 'url' holds text.*--drop url"):
        read_parquet(path, Columns(qid="session"))
    with pytest.raises(DataError, match=r"there is no column 'label'; columns are session, url"):
        read_parquet(path, Columns(label="label"))


def test_errors(tmp_path):
    text = tmp_path / "text.parquet"
    text.write_text("not parquet")
    with pytest.raises(DataError, match=r"text.parquet: .*[Pp]arquet"):
        read_parquet(text)
    with pytest.raises(DataError, match=": no such file"):
        read_parquet(tmp_path / "none.parquet")
    with pytest.raises(DataError, match=": .*directory"):
        read_parquet(tmp_path)
    empty = tmp_path / "empty.parquet"
    pd.DataFrame({"label": [], "qid": [], "f": []}, dtype=float).to_parquet(empty)
    with pytest.raises(DataError, match=r"empty.parquet: no rows"):
        read_parquet(empty)


def test_what_cannot_be_written_is_refused_and_nothing_is_lost(tmp_path):
    path = tmp_path / "data.parquet"
    path.write_text("precious")
    clash = RankingData([[1.0]], [0], [1], feature_names=["label"])
    with pytest.raises(DataError, match="named 'label'"):
        write_parquet(clash, path)
    mixed = np.array([1, "a"], dtype=object)
    with pytest.raises(DataError, match=r"data.parquet:"):
        write_parquet(RankingData([[1.0], [2.0]], [0, 0], mixed), path)
    assert path.read_text() == "precious"
    assert os.listdir(tmp_path) == ["data.parquet"]


@pytest.mark.parametrize("what", ["query", "document"])
def test_ids_of_several_types_have_no_column(tmp_path, what):
    mixed = [1, "1", 2]
    ids = {"qid": mixed} if what == "query" else {"qid": [1, 1, 1], "doc_ids": mixed}
    data = RankingData(np.eye(3), [0, 1, 0], **ids)
    with pytest.raises(DataError, match=rf"{what} ids are of several types \(int, str\)"):
        write_parquet(data, tmp_path / "data.parquet")
    assert list(tmp_path.iterdir()) == []
