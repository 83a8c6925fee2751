"""Query-wise scaling against exact arithmetic, and as scikit-learn transformers."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.pipeline import Pipeline
from sklearn.utils.estimator_checks import check_estimator

from ranksieve.data import DataError, RankingData
from ranksieve.data.missing import Missing
from ranksieve.datasets import open_collection
from ranksieve.preprocessing import QueryImputer, QueryMinMaxScaler, QueryStandardScaler
from ranksieve.threads import limit_threads
from tests import oracles

SCALERS = [QueryMinMaxScaler, QueryStandardScaler]
ORACLES = {QueryMinMaxScaler: oracles.min_max, QueryStandardScaler: oracles.standard}

each_scaler = pytest.mark.parametrize("scaler_class", SCALERS)
small = st.integers(-3, 3).map(float)  # many ties, zeros and constant features
any_size = st.floats(allow_nan=False, allow_infinity=False)


@st.composite
def problems(draw, elements=small):
    """Feature values and query ids, rows of a query not adjacent."""
    n_rows, n_features = draw(st.integers(1, 10)), draw(st.integers(1, 4))
    X = draw(arrays(np.float64, (n_rows, n_features), elements=elements))
    return X, draw(arrays(np.int64, n_rows, elements=st.integers(0, 3)))


def example(n_rows=40, n_features=5, seed=0):
    """Values with many zeros, a constant feature and queries in pieces."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n_rows, n_features)), 1)
    X[rng.random(X.shape) < 0.5] = 0.0
    X[:, -1] = 2.5
    return X, rng.integers(0, max(2, n_rows // 6), n_rows)


def scaled(scaler_class, X, qid):
    return scaler_class().fit_transform(X, qid=qid)


@each_scaler
@given(problems() | problems(any_size))
def test_equals_exact_arithmetic(scaler_class, problem):
    X, qid = problem

    expected = oracles.scale_by_query(X.tolist(), qid.tolist(), ORACLES[scaler_class])

    np.testing.assert_allclose(scaled(scaler_class, X, qid), expected, rtol=1e-12, atol=1e-12)


@each_scaler
@given(problems() | problems(any_size))
def test_csr_equals_dense(scaler_class, problem):
    X, qid = problem

    result = scaled(scaler_class, sparse.csr_matrix(X), qid)

    assert result.format == "csr"
    assert result.has_canonical_format
    assert np.all(result.data != 0.0)
    np.testing.assert_allclose(
        result.toarray(), scaled(scaler_class, X, qid), rtol=1e-12, atol=1e-12
    )


@each_scaler
@given(problems(st.floats(-1e6, 1e6, width=32)))
def test_float32_differs_only_by_its_own_rounding(scaler_class, problem):
    X, qid = problem
    single = X.astype(np.float32)

    result = scaled(scaler_class, single, qid)

    assert result.dtype == np.float32
    np.testing.assert_allclose(
        result, scaled(scaler_class, X, qid), rtol=2**-24, atol=np.finfo(np.float32).tiny
    )
    assert scaled(scaler_class, sparse.csr_matrix(single), qid).dtype == np.float32


@each_scaler
@given(problems(), st.randoms(use_true_random=False))
def test_rows_and_features_may_come_in_any_order(scaler_class, problem, random):
    X, qid = problem
    rows, features = np.arange(len(X)), np.arange(X.shape[1])
    random.shuffle(rows)
    random.shuffle(features)

    shuffled = scaled(scaler_class, X[rows][:, features], qid[rows])

    np.testing.assert_allclose(
        shuffled, scaled(scaler_class, X, qid)[rows][:, features], atol=1e-14
    )


@each_scaler
@given(problems(), st.integers(-3, 3), st.sampled_from([0.25, 1.0, 8.0]))
def test_shift_and_unit_of_a_feature_do_not_matter(scaler_class, problem, shift, unit):
    X, qid = problem

    np.testing.assert_array_equal(
        scaled(scaler_class, unit * X + shift, qid), scaled(scaler_class, X, qid)
    )


@each_scaler
def test_constant_features_and_single_documents_become_zero(scaler_class):
    X = np.array([[7.0, 1.0], [7.0, 2.0], [-3.0, 5.0], [1e308, -1e308]])
    qid = ["a", "a", "b", "c"]

    result = scaled(scaler_class, X, qid)

    assert np.all(result[:, 0] == 0.0)
    assert np.all(result[2:] == 0.0)
    assert scaled(scaler_class, sparse.csr_matrix(X), qid)[2:].nnz == 0


@pytest.mark.parametrize("as_container", [np.asarray, sparse.csr_matrix])
def test_a_range_beyond_the_largest_float_does_not_overflow(as_container):
    largest = np.finfo(np.float64).max
    X = as_container(np.array([[-largest], [0.0], [largest]]))

    unit = sparse.csr_matrix(scaled(QueryMinMaxScaler, X, [1, 1, 1])).toarray()
    standard = sparse.csr_matrix(scaled(QueryStandardScaler, X, [1, 1, 1])).toarray()

    np.testing.assert_array_equal(unit.ravel(), [0.0, 0.5, 1.0])
    np.testing.assert_allclose(standard.ravel(), [-np.sqrt(1.5), 0.0, np.sqrt(1.5)])


def test_standard_scaling_does_not_cancel():
    small_values = np.arange(5.0)[:, None]

    np.testing.assert_array_equal(
        scaled(QueryStandardScaler, 2.0**50 + small_values, np.zeros(5)),
        scaled(QueryStandardScaler, small_values, np.zeros(5)),
    )


@each_scaler
@pytest.mark.parametrize("container", ["dense", "csr"])
def test_number_of_threads_does_not_matter(scaler_class, container):
    X, qid = example(n_rows=25_000, n_features=4)
    data = RankingData(X if container == "dense" else sparse.csr_matrix(X), np.zeros(len(X)), qid)

    with limit_threads(1):
        one = scaler_class().transform(data).X
    with limit_threads(5):
        many = scaler_class().transform(data).X

    assert abs(one - many).max() == 0.0
    assert abs(one).max() > 0.0


@each_scaler
@pytest.mark.parametrize(
    "as_container",
    [
        np.ndarray.tolist,
        np.asfortranarray,
        lambda X: pd.DataFrame(X, columns=list("abcde")),
        lambda X: pl.DataFrame(X, schema=list("abcde")),
        lambda X: np.repeat(X, 2, axis=0)[::2],
        lambda X: np.lib.stride_tricks.as_strided(X, writeable=False),
    ],
    ids=["list", "fortran", "pandas", "polars", "strided", "read-only"],
)
def test_containers(scaler_class, as_container):
    X, qid = example()

    result = scaled(scaler_class, as_container(X.copy()), qid)

    assert isinstance(result, np.ndarray)
    np.testing.assert_array_equal(result, scaled(scaler_class, X, qid))


@each_scaler
@pytest.mark.parametrize("as_sparse", [sparse.csr_array, sparse.csc_matrix, sparse.coo_array])
def test_sparse_containers(scaler_class, as_sparse):
    X, qid = example()

    result = scaled(scaler_class, as_sparse(X), qid)

    assert result.format == "csr"
    assert isinstance(result, sparse.sparray) == issubclass(as_sparse, sparse.sparray)
    np.testing.assert_allclose(result.toarray(), scaled(scaler_class, X, qid), atol=1e-14)


@each_scaler
def test_csr_with_unsorted_and_repeated_entries(scaler_class):
    # Row 0 is (3, 0, 5), its 3 stored as 1 + 2; row 1 is (0, 4, 0) with a stored zero.
    parts = (np.array([1.0, 5.0, 2.0, 0.0, 4.0]), np.array([0, 2, 0, 2, 1]), np.array([0, 3, 5]))
    matrix = sparse.csr_matrix(parts, shape=(2, 3))
    before = matrix.data.copy(), matrix.indices.copy()

    result = scaled(scaler_class, matrix, [1, 1])

    expected = scaled(scaler_class, np.array([[3.0, 0.0, 5.0], [0.0, 4.0, 0.0]]), [1, 1])
    np.testing.assert_array_equal(result.toarray(), expected)
    np.testing.assert_array_equal(matrix.data, before[0])
    np.testing.assert_array_equal(matrix.indices, before[1])


@each_scaler
def test_integers_become_float64(scaler_class):
    result = scaled(scaler_class, np.array([[1], [3]], dtype=np.int16), [1, 1])

    assert result.dtype == np.float64
    assert result[1, 0] == 1.0


@each_scaler
@pytest.mark.parametrize("as_container", [np.asarray, sparse.csr_matrix])
def test_ranking_data_in_ranking_data_out(scaler_class, as_container):
    X, qid = example()
    documents = [f"d{row}" for row in range(len(X))]
    data = RankingData(
        as_container(X), np.arange(len(X)), qid, feature_names=list("abcde"), doc_ids=documents
    )

    scaler = scaler_class()
    result = scaler.fit_transform(data)

    assert isinstance(result, RankingData)
    assert result.is_sparse == data.is_sparse
    assert scaler.feature_names_in_.tolist() == list("abcde")
    for part in ("y", "qid", "doc_ids", "query_ptr", "row_order", "feature_names"):
        np.testing.assert_array_equal(getattr(result, part), getattr(data, part))
    dense = result.X.toarray() if result.is_sparse else result.X
    np.testing.assert_allclose(data.to_input_order(dense), scaled(scaler_class, X, qid), atol=1e-14)


@each_scaler
def test_errors_say_what_is_wrong(scaler_class):
    X, qid = example()
    data = RankingData(X, np.zeros(len(X)), qid, feature_names=list("abcde"))
    scaler = scaler_class().fit(data)

    with pytest.raises(DataError, match="qid is required"):
        scaler_class().fit_transform(X)
    with pytest.raises(DataError, match="qid has 3 entries but X has 40 rows"):
        scaler_class().fit(X, qid=qid[:3])
    with pytest.raises(DataError, match="has its own query ids"):
        scaler.transform(data, qid=qid)
    with pytest.raises(DataError, match="has its own query ids"):
        scaler.fit(data, qid=qid)
    with pytest.raises(DataError, match=r"X has 2 features, but .* is expecting 5"):
        scaler.transform(data.take_features([0, 1]))
    with pytest.raises(ValueError, match="feature names should match"):
        scaler.transform(pd.DataFrame(X[:, :2], columns=list("ab")), qid=qid)
    with pytest.raises(DataError, match="feature 1 is 'b', but 'a' in training"):
        scaler.transform(data.take_features([1, 0, 2, 3, 4]))


@each_scaler
@pytest.mark.parametrize("as_container", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("bad", [np.inf, -np.inf])
def test_infinite_values_are_named_by_their_place_in_the_input(scaler_class, as_container, bad):
    X, qid = example()
    scaler = scaler_class().fit(X)
    X[7, 2] = bad
    where = r"in row 7, feature '3' \(column 2\)"

    with pytest.raises(DataError, match=where):
        scaler.fit(as_container(X))
    with pytest.raises(DataError, match=where):
        scaler.transform(as_container(X), qid=qid)
    with pytest.raises(DataError, match=where):
        scaler.transform(RankingData(as_container(X), np.zeros(len(X)), qid))


@each_scaler
def test_refitting_forgets_old_names(scaler_class):
    X, qid = example()
    named = RankingData(X, np.zeros(len(X)), qid, feature_names=list("abcde"))

    scaler = scaler_class().fit(named).fit(named.take_features([0, 1]))
    assert scaler.feature_names_in_.tolist() == ["a", "b"]
    scaler.fit(RankingData(X, np.zeros(len(X)), qid))
    assert scaler.n_features_in_ == 5
    assert not hasattr(scaler, "feature_names_in_")
    assert scaler.get_feature_names_out().tolist() == ["x0", "x1", "x2", "x3", "x4"]


@each_scaler
def test_pipeline_routes_qid(scaler_class):
    X, qid = example()
    y = X[:, 0] - X[:, 1]

    with sklearn.config_context(enable_metadata_routing=True):
        pipe = Pipeline([("scale", scaler_class()), ("rank", Ridge())]).fit(X, y, qid=qid)
        predicted = pipe.predict(X, qid=qid)
        again = pipe[:-1].transform(X, qid=qid)

    expected = scaled(scaler_class, X, qid)
    np.testing.assert_array_equal(again, expected)
    np.testing.assert_array_equal(predicted, Ridge().fit(expected, y).predict(expected))


@each_scaler
def test_transform_needs_no_fit_and_clones_are_equal(scaler_class):
    X, qid = example()

    np.testing.assert_array_equal(
        clone(scaler_class()).transform(X, qid=qid), scaled(scaler_class, X, qid)
    )


class _OneQuery:
    """Give all rows to one query if none is named, as scikit-learn's checks never do."""

    def transform(self, X, qid=None):
        if qid is None and not isinstance(X, RankingData):
            rows = X.shape[0] if sparse.issparse(X) else len(np.asarray(X))
            qid = np.zeros(rows, dtype=int)
        return super().transform(X, qid=qid)


class OneQueryMinMaxScaler(_OneQuery, QueryMinMaxScaler):
    pass


class OneQueryStandardScaler(_OneQuery, QueryStandardScaler):
    pass


class OneQueryImputer(_OneQuery, QueryImputer):
    pass


@pytest.mark.filterwarnings("ignore:Skipping check:sklearn.exceptions.SkipTestWarning")
@pytest.mark.parametrize(
    "transformer",
    [
        OneQueryMinMaxScaler(),
        OneQueryStandardScaler(),
        OneQueryImputer("query-median"),
        OneQueryImputer(Missing("keep", indicators=True)),
    ],
)
def test_common_checks_of_scikit_learn(transformer):
    cannot_apply = {
        "check_methods_subset_invariance": "some rows of a query are another query",
    }

    results = check_estimator(transformer, expected_failed_checks=cannot_apply, on_fail="raise")

    failed = {result["check_name"] for result in results if result["status"] == "xfail"}
    assert failed <= set(cannot_apply)
    assert sum(result["status"] == "passed" for result in results) > 30


def test_mq2008_is_min_max_scaled_already(mq2008_dir):
    data = open_collection(mq2008_dir).read_fold(0)[2]

    np.testing.assert_array_equal(QueryMinMaxScaler().fit_transform(data).X, data.X)
