"""Frames of pandas, polars and pyarrow as ranking data."""

import logging
from datetime import date
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ranksieve import Columns, DataError, RankingData, read_parquet, write_parquet

TABLE = {
    "query_id": ["b", "a", "b"],
    "relevance": [1, 0, 2],
    "doc_id": ["x", "y", "z"],
    "weight": [2.0, 1.0, 2.0],
    "bm25": [0.5, None, 1.5],
    "clicks": [3, 4, 5],
    "new": [True, False, True],
    "old": [True, False, True],
}


@pytest.mark.parametrize(
    "make",
    [lambda table: pd.DataFrame(table, index=[7, 7, 9]), pl.DataFrame, pa.table],
    ids=["pandas", "polars", "pyarrow"],
)
def test_frames_of_all_kinds_are_the_same_data(make, caplog):
    frame = make(TABLE)
    with caplog.at_level(logging.INFO, logger="ranksieve"):
        data = RankingData.from_frame(frame, Columns(ignore="old"))
    assert data.feature_names.tolist() == ["bm25", "clicks", "new"]
    assert data.X.dtype == np.float64
    np.testing.assert_array_equal(data.X, [[0.5, 3, 1], [1.5, 5, 1], [np.nan, 4, 0]])
    assert data.qid.tolist() == ["b", "b", "a"]
    assert data.y.tolist() == [1, 2, 0]
    assert data.doc_ids.tolist() == ["x", "z", "y"]
    assert data.query_weights.tolist() == [2, 1]
    assert data.row_order.tolist() == [0, 2, 1]
    assert caplog.messages == [
        "Columns: label = relevance, query = query_id, document = doc_id, weight = weight; "
        "3 features: bm25, clicks, new; left out: old"
    ]
    assert frame.equals(make(TABLE))  # it is left alone


@pytest.mark.parametrize(
    ("types", "expected"),
    [
        (["f4", "f4"], "f4"),
        (["f4", "i2"], "f4"),
        (["f4", "?"], "f4"),
        (["f2", "i1"], "f4"),
        (["f4", "i4"], "f8"),
        (["f4", "f8"], "f8"),
        (["i1", "?"], "f8"),
    ],
)
@pytest.mark.parametrize("make", [pl.DataFrame, pd.DataFrame])
def test_float32_stays_where_it_holds_all_values(make, types, expected):
    columns = {f"f{n}": np.array([1, 0], dtype=kind) for n, kind in enumerate(types)}
    data = RankingData.from_frame(make({"qid": [1, 1], "label": [0, 1]} | columns))
    assert data.X.dtype == np.dtype(expected)
    assert data.X.tolist() == [[1.0, 1.0], [0.0, 0.0]]


def test_values_of_other_kinds():
    table = {"qid": [1, 1], "label": [0, 1], "price": [Decimal("1.5"), None], "none": [None, None]}
    for frame in (pd.DataFrame(table), pa.table(table)):
        data = RankingData.from_frame(frame)
        np.testing.assert_array_equal(data.X, [[1.5, np.nan], [np.nan, np.nan]])
    nullable = pd.DataFrame({"qid": [1, 1], "label": [0, 1], "n": pd.array([1, None], "Int64")})
    np.testing.assert_array_equal(RankingData.from_frame(nullable).X, [[1], [np.nan]])
    scarce = nullable.assign(n=pd.arrays.SparseArray([0.0, 1.5]), qid=pd.Categorical(["s", "t"]))
    data = RankingData.from_frame(scarce)
    np.testing.assert_array_equal(data.X, [[0], [1.5]])
    assert data.qid.tolist() == ["s", "t"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"day": [date(2026, 1, 1)] * 3}, "the frame: column 'day' holds dates or times, not"),
        ({"vector": [[1], [2], [3]]}, "the frame: column 'vector' holds values of type .*list"),
        ({"relevance": [1, None, 2]}, "the frame: row 1: column 'relevance' has no value"),
        ({"relevance": [1.0, 0.0, float("inf")]}, "row 2: column 'relevance' is inf"),
        ({"bm25": [1.0, float("-inf"), 2.0]}, "the frame: row 1: column 'bm25' is -inf; values m"),
        ({"query_id": ["a", "b", None]}, "the frame: row 2: column 'query_id' has no value"),
        ({"query_id": [[1], [2], [1]]}, "row 0: column 'query_id' holds .*list.*ids must be num"),
        ({"doc_id": [{"a": 1}] * 3}, "row 0: column 'doc_id' holds .*struct.*ids must be numbers"),
        ({"weight": [2.0, 1.0, None]}, "the frame: row 2: column 'weight' has no value"),
        ({"weight": [2.0, 1.0, 3.0]}, "column 'weight' is used as .*2 in row 0, but 3 in row 2"),
        ({"weight": [-1.0, 1.0, -1.0]}, "column 'weight' is used as .*not negative"),
        ({"qid": ["a", "b", "c"]}, "the query may be column 'query_id' or 'qid'"),
    ],
)
@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_what_cannot_be_is_refused_by_name(make, change, message):
    with pytest.raises(DataError, match=message):
        RankingData.from_frame(make(TABLE | change))


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (pl.DataFrame(TABLE).lazy(), r"the frame is lazy: call collect\(\) first"),
        (TABLE, "expected a frame of pandas, polars or pyarrow, got dict"),
        (pd.DataFrame(TABLE | {"doc_id": [1, "a", 2.0]}), "'doc_id' has values of several types"),
        (pd.DataFrame([[1, 1, 2]], columns=["f", "qid", "f"]), "frame: 2 columns are named 'f'"),
        (pd.DataFrame(TABLE | {"g": [1, "a", 2.0]}), "'g' holds mixed values, not numbers"),
        (pd.DataFrame(TABLE | {"g": [1, 10**400, 2]}), "'g' holds mixed values, not numbers"),
        (pd.DataFrame(TABLE | {"g": list("stu")}), "'g' holds text, not numbers.*ignore=.'g'"),
        (
            pl.DataFrame(TABLE).with_columns(pl.col("clicks").cast(pl.Int128)),
            "the frame: a column has a type that Arrow does not know",
        ),
    ],
)
def test_frames_of_no_use(frame, message):
    with pytest.raises(DataError, match=message):
        RankingData.from_frame(frame)


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        ([1.0, 1.0, 2.0], [1, 1, 2]),
        ([1.0, 1.5, 2.0], [1.0, 1.5, 2.0]),
        ([2.0**60, 2.0**60, 1.0], [2.0**60, 2.0**60, 1.0]),  # not exact
        ([" a", "a ", "a b"], ["a", "a", "a b"]),
        (["1", "1.0", "01"], ["1", "1.0", "01"]),  # the column is text
    ],
)
def test_ids_are_plain(make, ids, expected, tmp_path):
    table = {"qid": ids, "label": [0, 1, 0], "doc_id": ids, "f": [1.0, 2.0, 3.0]}
    pq.write_table(pa.table(table), tmp_path / "ids.parquet")
    for data in (RankingData.from_frame(make(table)), read_parquet(tmp_path / "ids.parquet")):
        for found in (data.qid, data.doc_ids):
            assert [(type(one), one) for one in found.tolist()] == [(type(e), e) for e in expected]
    data = RankingData(np.eye(3), [0, 1, 0], ids, doc_ids=ids)
    write_parquet(data, tmp_path / "own.parquet")
    assert read_parquet(tmp_path / "own.parquet").qid.tolist() == ids  # as they were
