"""RankingData: grouping, what it accepts, and how it is taken apart and put together."""

from datetime import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from ranksieve import DataError, RankingData, concatenate
from ranksieve.data.ranking_data import fingerprint
from tests import oracles

X = np.arange(12.0).reshape(6, 2)
Y = [0, 1, 2, 0, 1, 0]
QID = ["b", "a", "b", "c", "a", "b"]
DATES = {"bm25": [1.0] * 6, "day": [datetime(2026, 1, 1)] * 6}


@given(st.lists(st.integers(0, 5) | st.sampled_from(["x", "y"]), min_size=1, max_size=30))
def test_grouping_equals_the_naive_one(qid):
    column = np.empty(len(qid), dtype=object)
    column[:] = qid
    rows = np.arange(len(qid), dtype=float)
    data = RankingData(rows[:, None], rows, column, doc_ids=rows.astype(str))
    order, pointer = oracles.group(qid)
    assert data.row_order.tolist() == order
    assert data.query_ptr.tolist() == pointer
    assert data.X.ravel().tolist() == order
    assert data.y.tolist() == order
    assert data.qid.tolist() == [qid[row] for row in order]
    assert data.doc_ids.tolist() == [str(float(row)) for row in order]
    np.testing.assert_array_equal(data.to_input_order(data.y), rows)


@pytest.mark.parametrize(
    "qid",
    [
        np.array([7, 3, 7, 3], dtype=np.int8),
        np.array([7, 3, 7, 3], dtype=np.uint64),
        np.array([0.5, 1.5, 0.5, 1.5]),
        np.array(["x", "y", "x", "y"]),
        np.array(["2026-01-01", "2025-01-01"] * 2, dtype="datetime64[D]"),
        np.array([True, False, True, False]),
        pd.Series(["x", "y", "x", "y"]),
        pd.Series(["x", "y", "x", "y"], dtype="category"),
        pd.Series([1, 2, 1, 2], dtype="Int64", index=[9, 8, 7, 6]),
        pl.Series(["x", "y", "x", "y"]),
        [1, 2, 1, 2],
    ],
)
def test_query_ids_of_any_type(qid):
    data = RankingData(np.zeros((4, 1)), [0, 1, 2, 3], qid)
    assert data.y.tolist() == [0, 2, 1, 3]
    assert data.query_ptr.tolist() == [0, 2, 4]
    assert data.qid[0] == np.asarray(qid)[0]


@pytest.mark.parametrize(
    "ids",
    [
        [1, "1"],
        ["1", 1, 1.5],
        [b"a", "a"],
        ["a", "a\0"],  # numpy cuts it off
        [2**53, 2**53 + 1, 0.5],
        [2**63, 2**63 + 1, -1],
        [True, "True"],
    ],
)
def test_ids_that_numpy_would_make_equal_stay_apart(ids):
    rows = np.zeros((len(ids), 1))
    data = RankingData(rows, np.zeros(len(ids)), ids, doc_ids=ids)
    assert data.n_queries == len(ids)
    assert data.qid.tolist() == data.doc_ids.tolist() == ids
    parts = [RankingData([[1.0]], [0], [query], doc_ids=[query]) for query in ids]
    joined = concatenate(parts)
    assert joined.n_queries == len(ids)
    assert joined.qid.tolist() == joined.doc_ids.tolist() == ids


def test_only_what_must_move_is_copied():
    original = X.copy()
    RankingData(X, Y, QID)
    np.testing.assert_array_equal(X, original)
    data = RankingData(X, Y, [1, 1, 2, 2, 3, 3])
    assert np.shares_memory(data.X, X)
    assert data.row_order.tolist() == list(range(6))
    assert np.shares_memory(data.take_queries([1, 2]).X, X)
    assert not np.shares_memory(data.take_queries([2, 1]).X, X)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
def test_frames_bring_their_names(frame):
    table = frame({"bm25": [1.0, 2.0], "clicks": [3, 4]})
    data = RankingData(table, [1, 0], [5, 5])
    assert data.feature_names.tolist() == ["bm25", "clicks"]
    assert data.X.tolist() == [[1, 3], [2, 4]]
    assert data.has_feature_names
    renamed = RankingData(table, [1, 0], [5, 5], feature_names=["a", "b"])
    assert renamed.feature_names.tolist() == ["a", "b"]


@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csc_matrix, sparse.coo_array])
def test_sparse_matrices_become_csr(kind):
    data = RankingData(kind(X), Y, QID)
    assert isinstance(data.X, sparse.csr_matrix)
    np.testing.assert_array_equal(data.X.toarray(), RankingData(X, Y, QID).X)


def test_entries_stored_twice_are_added_up_and_the_input_is_left_alone():
    arrays = ([1.0, 2, 3, 4, 5], [1, 0, 1, 2, 2], [0, 3, 5])
    matrix = sparse.csr_matrix(arrays, shape=(2, 3))
    data = RankingData(matrix, [0, 1], [1, 1])
    assert data.X.indices.tolist() == [0, 1, 2]
    assert data.X.data.tolist() == [2, 4, 9]
    assert data.X.has_canonical_format
    assert matrix.indices.tolist() == arrays[1]
    matrix.has_canonical_format = True  # which is not true
    assert RankingData(matrix, [0, 1], [1, 1]).X.data.tolist() == [2, 4, 9]
    taken = data.take_features([2, 0])
    assert taken.X.toarray().tolist() == [[0, 2], [9, 0]]
    assert taken.X.has_canonical_format
    assert taken.X.indices.tolist() == [1, 0]


@pytest.mark.parametrize(("array", "value"), [("indices", 7), ("indices", -1), ("indptr", 9)])
def test_sparse_matrices_that_lead_out_of_their_arrays_are_refused(array, value):
    matrix = sparse.csr_matrix(X)
    getattr(matrix, array)[2] = value
    with pytest.raises(DataError, match="not a valid sparse matrix"):
        RankingData(matrix, Y, QID)


@pytest.mark.parametrize(
    ("given_type", "kept"), [("f4", "f4"), ("f8", "f8"), ("i4", "f8"), ("?", "f8")]
)
def test_number_types(given_type, kept):
    assert RankingData(X.astype(given_type), Y, QID).X.dtype == kept
    assert RankingData(sparse.csr_matrix(X.astype(given_type)), Y, QID).X.dtype == kept


@pytest.mark.parametrize("matrix", [X, sparse.csr_matrix(X)], ids=["dense", "sparse"])
def test_take_features(matrix):
    data = RankingData(matrix, Y, QID, feature_names=["a", "b"])
    for features in ([1, 0], ["b", "a"], np.array(["b", "a"])):
        taken = data.take_features(features)
        assert taken.feature_names.tolist() == ["b", "a"]
        np.testing.assert_array_equal(dense(taken), dense(data)[:, ::-1])
    assert data.take_features([False, True]).feature_names.tolist() == ["b"]
    for take in (data.take_features, data.take_queries):
        with pytest.raises(IndexError):
            take([3])


def dense(data: RankingData) -> np.ndarray:
    return data.X.toarray() if data.is_sparse else data.X


@pytest.mark.parametrize("matrix", [X, sparse.csr_matrix(X)], ids=["dense", "sparse"])
def test_take_queries(matrix):
    data = RankingData(matrix, Y, QID, doc_ids=list("012345"))
    taken = data.take_queries([2, 0])
    assert taken.query_ids.tolist() == ["c", "b"]
    assert taken.query_ptr.tolist() == [0, 1, 4]
    assert taken.row_order.tolist() == [3, 0, 2, 5]
    assert taken.doc_ids.tolist() == ["3", "0", "2", "5"]
    np.testing.assert_array_equal(dense(taken), X[[3, 0, 2, 5]])
    assert data.take_queries([True, False, True]).query_ids.tolist() == ["b", "c"]
    assert data.take_queries([-1]).query_ids.tolist() == ["c"]
    assert data.take_queries([]).n_rows == 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda data: data.take_queries([0, 0]), "only once"),
        (lambda data: data.take_queries([True, False]), "the mask has 2 entries for 3 queries"),
        (lambda data: data.take_queries([1, 2]).to_input_order(np.zeros(3)), "part of a larger in"),
        (lambda data: data.to_input_order([1, 2]), "got 2 values for 6 rows"),
        (lambda data: data.take_features(["z"]), "no feature named 'z'"),
        (lambda data: concatenate([data, data]), "query 'b' occurs in parts 1 and 2; pass merge=T"),
        (
            lambda data: concatenate([data, data.take_features([0])]),
            "part 1 has 2 features but part 2 has 1",
        ),
        (lambda data: concatenate([data, data.take_features([1, 0])]), "different feature names"),
        (lambda data: concatenate([]), "no data sets to concatenate"),
        (lambda data: data.from_group_counts(X, Y, [3, 2]), "add up to 5 rows but X has 6"),
        (lambda data: data.from_group_counts(X, Y, [6, 0]), "positive"),
        (lambda data: data.from_group_counts(X, Y, [2.5, 3.5]), "positive"),
    ],
)
def test_bad_calls_are_explained(call, message):
    with pytest.raises(DataError, match=message):
        call(RankingData(X, Y, QID))


def test_concatenate():
    data = RankingData(X, Y, QID, doc_ids=list("012345"))
    parts = [data.take_queries([0]), data.take_queries([2, 1])]
    joined = concatenate(parts)
    assert joined.query_ids.tolist() == ["b", "c", "a"]
    assert joined.doc_ids.tolist() == ["0", "2", "5", "3", "1", "4"]
    np.testing.assert_array_equal(joined.X, X[[0, 2, 5, 3, 1, 4]])
    mixed = concatenate([parts[0], RankingData(sparse.csr_matrix(X[:1]), [0], ["z"])])
    assert mixed.is_sparse
    assert mixed.doc_ids.tolist() == ["0", "2", "5", ""]
    assert concatenate([data, data], merge=True).n_queries == 3


def test_conventions_of_other_libraries():
    data = RankingData(X, Y, QID)
    assert repr(data) == "RankingData(6 rows, 3 queries, 2 features)"
    assert (data.feature_names.tolist(), data.has_feature_names) == (["1", "2"], False)  # LETOR's
    assert data.group_counts.tolist() == [3, 2, 1]
    assert data.query_codes.tolist() == [0, 0, 0, 1, 1, 2]
    back = RankingData.from_group_counts(data.X, data.y, data.group_counts)
    again = RankingData(data.X, data.y, data.query_codes)
    assert back.query_ptr.tolist() == again.query_ptr.tolist() == data.query_ptr.tolist()
    masked = np.ma.masked_greater(np.arange(4).reshape(2, 2), 2)
    np.testing.assert_array_equal(RankingData(masked, [1, 0], [5, 5]).X, [[0, 1], [2, np.nan]])


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"qid": None}, "qid is required.*np.zeros"),
        ({"qid": [1, 2]}, "qid has 2 entries but X has 6 rows"),
        ({"qid": [[1]] * 6}, r"qid must have one entry per row, but its shape is \(6, 1\)"),
        ({"qid": [1, 2, np.nan, 1, 1, 1]}, "qid is missing in row 2"),
        ({"qid": [1, None, 1, 1, 1, 1]}, "qid is missing in row 1"),
        ({"qid": pd.Series([1, None] * 3, dtype="Int64")}, "qid is missing in row 1"),
        ({"y": [1, 2]}, "y has 2 entries but X has 6 rows"),
        ({"y": [0, 0, np.nan, 0, 0, 0]}, "the label of row 2 is nan"),
        ({"y": list("abcdef")}, "labels must be numbers"),
        ({"X": np.zeros(6)}, r"two dimensions.*\(6,\)"),
        ({"X": np.array([["a", "b"]] * 6)}, "only numbers"),
        ({"X": np.zeros((6, 2), dtype=complex)}, "only numbers"),
        ({"X": sparse.csr_matrix(np.ones((6, 2), dtype=complex))}, "only numbers: its type is com"),
        ({"X": np.full((6, 2), 10**400, dtype=object)}, "only numbers: int too large"),
        ({"X": [[1, 2], [3]]}, "X must have the same number of features in each row"),
        ({"X": pd.DataFrame(DATES)}, "only numbers: column 'day' holds dates or times"),
        ({"X": pl.DataFrame(DATES)}, "only numbers: column 'day' holds dates or times"),
        ({"X": pl.DataFrame({"f": ["x"] * 6})}, "only numbers: could not convert string .*: 'x'"),
        ({"X": pd.DataFrame(X, columns=[1, "1"])}, "two features are named '1'"),
        ({"y": [10**400] * 6}, "labels must be numbers: int too large"),
        ({"y": np.ones(6) * 1j}, "labels must be numbers, but their type is complex128"),
        ({"y": np.zeros(6, "M8[s]")}, "labels must be numbers, but their type is datetime64"),
        ({"y": np.ma.masked_equal([0, 1, 2, 1, 0, 1], 2)}, "y has masked values"),
        ({"qid": np.ma.array(QID, mask=[0, 1, 0, 0, 0, 0])}, "qid has masked values"),
        ({"qid": [{1}] * 6}, "a query id must be hashable, unlike {1}"),
        ({"sample_weight": [10**400] * 6}, "sample_weight must be numbers: int too large"),
        ({"sample_weight": np.ma.masked_less(np.ones(6), 2)}, "sample_weight must not have masked"),
        ({"sample_weight": [1, 2]}, r"shape \(2,\), but there are 3 queries and 6 rows"),
        ({"sample_weight": [1, 1, 2, 1, 1, 1]}, "the same for all rows of a query"),
        ({"sample_weight": [1, -1, 1]}, "not negative"),
        ({"sample_weight": [0, 0, 0]}, "must not be 0 for all"),
        ({"sample_weight": [1, np.nan, 1]}, "finite"),
        ({"sample_weight": ["many", "few", "none"]}, "must be numbers"),
        ({"feature_names": ["a"]}, "1 feature names but 2 features"),
        ({"feature_names": ["a", "a"]}, "two features are named 'a'"),
        ({"doc_ids": ["a"]}, "doc_ids has 1 entries but X has 6 rows"),
    ],
)
def test_bad_input_is_explained(parts, message):
    arguments = {"X": X, "y": Y, "qid": QID} | parts
    with pytest.raises(DataError, match=message):
        RankingData(**arguments)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_check_finite_names_the_input_row(form):
    matrix = X.copy()
    RankingData(form(matrix), Y, QID).check_finite()
    matrix[5, 1] = np.inf
    with pytest.raises(DataError, match=r"X has infinity in row 5, feature '2' \(column 1\)"):
        RankingData(form(matrix), Y, QID).check_finite()


def test_weights_follow_the_queries():
    per_row = RankingData(X, Y, QID, sample_weight=[2, 0.5, 2, 1, 0.5, 2])
    data = RankingData(X, Y, QID, sample_weight=[2, 0.5, 1])
    assert data.query_weights.tolist() == per_row.query_weights.tolist() == [2, 0.5, 1]
    assert RankingData(X, Y, QID).query_weights is None
    assert data.take_queries([2, 0]).query_weights.tolist() == [1, 2]
    assert data.take_features([1]).query_weights.tolist() == [2, 0.5, 1]
    other = RankingData(X[:1], [1], ["z"])
    assert concatenate([data, other]).query_weights.tolist() == [2, 0.5, 1, 1]
    part = data.take_queries([1, 2]).with_weights([3, 4])
    assert part.query_weights.tolist() == [3, 4]
    assert part.with_weights(None).query_weights is None


def test_the_fingerprint_hashes_each_part_once(monkeypatch):
    class Recorded:
        def __init__(self):
            self.parts = []
            hashed.append(self.parts)

        def update(self, part):
            self.parts.append(bytes(part))

        def hexdigest(self):
            return "0" * 64

    hashed = []
    plain = RankingData(X, Y, QID)
    weighted = plain.with_weights([0.25, 0.5, 3.0])
    prints = {fingerprint(plain), fingerprint(weighted), fingerprint(plain.with_weights([1, 1, 1]))}
    assert len(prints) == 3
    monkeypatch.setattr("ranksieve.data.ranking_data.hashlib.sha256", Recorded)
    fingerprint(weighted)
    (parts,) = hashed
    data = [weighted.X, weighted.y, weighted.query_ptr, weighted.query_weights]
    assert sum(map(len, parts)) == sum(part.nbytes for part in data) + len("weights")
    assert parts.count(weighted.query_weights.tobytes()) == 1
