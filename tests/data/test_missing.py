"""Missing values: the declared policies, in memory and in shards, and as a transformer."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from lightgbm import LGBMRanker
from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from ranksieve import DataError, Missing, RankingData, concatenate, make_ranking
from ranksieve.data.missing import POLICIES, count_missing, has_missing
from ranksieve.engine import engine_of
from ranksieve.io.shards import convert_to_shards, open_shards, write_shards
from ranksieve.preprocessing import QueryImputer, QueryMinMaxScaler, QueryStandardScaler
from ranksieve.rankers import as_ranker
from ranksieve.selectors import TopImportance
from tests import oracles
from tests.example_statistics import ColumnTotals

nan = float("nan")
FILLS = [policy for policy in POLICIES if policy != "keep"]
small = st.sampled_from([nan, nan, -2.0, 0.0, 1.0, 3.0])
any_size = st.just(nan) | st.floats(-1e300, 1e300)


@st.composite
def problems(draw, elements=small):
    """Feature values with gaps, and query ids, rows of a query not adjacent."""
    n_rows, n_features = draw(st.integers(1, 10)), draw(st.integers(1, 4))
    X = draw(arrays(np.float64, (n_rows, n_features), elements=elements))
    return X, draw(arrays(np.int64, n_rows, elements=st.integers(0, 3)))


def example(n_queries=12, n_documents=6, share=0.2, **options):
    """Data with gaps, its last feature without."""
    data, _ = make_ranking(n_queries, docs_per_query=n_documents, n_informative=3, n_noise=3)
    X, rng = data.X[:, :8].copy(), np.random.default_rng(0)
    X[rng.random(X.shape) < share] = nan
    X[:, -1] = rng.normal(size=len(X))
    return RankingData(X, data.y, data.qid, **options)


# The value


@pytest.mark.parametrize("policy", POLICIES)
def test_a_name_stands_for_the_value(policy):
    assert Missing.make(policy) == Missing(policy)
    assert repr(Missing(policy)) == Missing(policy).name == policy
    assert Missing(f"{policy}+indicators") == Missing(policy, indicators=True)
    assert repr(Missing(policy, True)) == f"{policy}+indicators"
    assert repr(Missing(policy, [7, 2, 2])) == f"{policy}+indicators"
    assert Missing(policy, [7, 2, 2]).indicators == (2, 7)
    assert Missing.make(None) is None
    assert len({Missing(policy), Missing(policy, False), Missing(policy, True)}) == 2


@pytest.mark.parametrize("wrong", ["mean", "", "keep+", "+indicators", "query-min+x", 3, None])
def test_an_unknown_policy_is_refused_with_the_known_ones(wrong):
    with pytest.raises(ValueError, match="one of keep, query-min, query-median, zero"):
        Missing(wrong)


def test_wrong_indicators_are_refused():
    for wrong in (3, "x", [-1], ["a"], [None]):
        with pytest.raises(ValueError, match="indicators"):
            Missing("keep", wrong)
    with pytest.raises(ValueError, match="indicator of feature 8, but there are only 8 features"):
        example(missing=Missing("zero", [8]))


# Filling


@pytest.mark.parametrize("policy", FILLS)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@given(problem=problems() | problems(any_size))
def test_filling_equals_a_slow_version(policy, form, problem):
    X, qid = problem
    given_matrix = form(X)

    data = RankingData(given_matrix, np.zeros(len(X)), qid, missing=policy)

    expected = np.array(oracles.fill_by_query(X.tolist(), qid.tolist(), policy))
    found = data.X.toarray() if data.is_sparse else data.X
    np.testing.assert_allclose(found, expected[data.row_order], rtol=1e-12)
    np.testing.assert_array_equal(form(X).sum(), given_matrix.sum())  # the input is as it was
    assert data.is_sparse == (form is sparse.csr_matrix)
    assert not data.keeps_missing
    assert data.missing == Missing(policy)


@pytest.mark.parametrize("policy", POLICIES)
def test_filling_keeps_what_it_can(policy):
    whole, gaps = example(share=0.0), example()
    assert whole.with_missing(policy).X is whole.X
    single = RankingData(gaps.X.astype(np.float32), gaps.y, gaps.qid, missing=policy)
    assert single.X.dtype == np.float32
    np.testing.assert_allclose(single.X, gaps.with_missing(policy).X, rtol=1e-6)
    none = example(share=0.0, missing=f"{policy}+indicators")
    assert (none.n_features, none.missing.indicators) == (8, ())


# Keeping


def test_keeping_changes_nothing_but_what_is_accepted():
    plain, kept = example(), example(missing="keep")
    np.testing.assert_array_equal(plain.X, kept.X)
    for data in (plain, kept):
        assert data.keeps_missing
        data.check_finite()
        with pytest.raises(DataError, match=r"NaN in row \d+, .* query-median, query-min or zero "):
            data.refusing_missing().check_finite()
    for policy in (None, "keep", "zero"):
        with pytest.raises(DataError, match="infinity in row 1"):
            RankingData([[1.0], [np.inf]], [0, 1], [1, 1], missing=policy).check_finite()


def test_parts_of_data_know_what_was_done():
    kept = example(missing="keep+indicators")
    for part in (kept.take_queries([1, 3]), kept.take_features([0, 2]), kept.with_weights(None)):
        assert part.keeps_missing
        assert part.missing == kept.missing
    halves = kept.take_queries(range(6)), kept.take_queries(range(6, 12))
    assert concatenate(halves).missing == kept.missing
    assert concatenate(halves).keeps_missing
    other = concatenate([halves[0], halves[1].with_missing("zero")])
    assert other.missing is None
    assert not other.keeps_missing


# Indicators


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("policy", POLICIES)
def test_indicators_tell_where_values_were_missing(form, policy):
    plain = example()
    X = form(plain.X)
    train = RankingData(X, plain.y, plain.qid, missing=f"{policy}+indicators")
    dense = train.X.toarray() if train.is_sparse else train.X
    assert train.missing.indicators == tuple(range(7))  # the last feature has all values
    np.testing.assert_array_equal(dense[:, 8:], np.isnan(plain.X[:, :7]))
    expected = RankingData(X, plain.y, plain.qid, missing=policy).X
    np.testing.assert_array_equal(dense[:, :8], expected.toarray() if train.is_sparse else expected)
    assert train.feature_names[7:9].tolist() == ["8", "1 is missing"]
    assert train.X.dtype == plain.X.dtype


def test_other_data_gets_the_indicators_of_the_training_data():
    train = example(missing="query-min+indicators")
    X = np.full((2, 8), 3.0)
    X[0, [1, 7]] = nan
    test = RankingData(X, [0, 1], [1, 1]).with_missing(train.missing)
    assert test.feature_names.tolist() == train.feature_names.tolist()
    assert test.X[:, 8:].tolist() == [[0, 1, 0, 0, 0, 0, 0], [0] * 7]
    assert not np.isnan(test.X).any()


def test_names_of_indicators_are_new():
    X = [[nan, 1.0, 2.0], [1.0, nan, nan]]
    names = ["price", "price is missing", "x"]
    data = RankingData(X, [0, 1], [1, 1], feature_names=names, missing="zero+indicators")
    assert data.feature_names.tolist() == [
        *names,
        "price is missing (2)",
        "price is missing is missing",
        "x is missing",
    ]


def test_gaps_are_counted():
    X = example().X
    for form in (np.asarray, sparse.csr_matrix):
        np.testing.assert_array_equal(count_missing(form(X)), np.isnan(X).sum(axis=0))
        assert has_missing(form(X))
        assert not has_missing(form(np.nan_to_num(X)))


# Frames


def test_missing_values_of_frames_are_gaps():
    columns = {"a": [1.0, None, 3.0], "b": [1, 2, None]}
    for frame in (pd.DataFrame(columns).convert_dtypes(), pl.DataFrame(columns)):
        data = RankingData(frame, [0, 1, 0], [1, 1, 1], missing="query-min+indicators")
        assert data.X.tolist() == [[1, 1, 0, 0], [1, 2, 1, 0], [3, 1, 0, 1]]
        assert data.feature_names.tolist() == ["a", "b", "a is missing", "b is missing"]


# Shards


@pytest.fixture(params=[False, True], ids=["dense", "csr"])
def stored(request, tmp_path):
    """Data with gaps, and a directory of its shards."""
    data = example()
    X = sparse.csr_matrix(data.X) if request.param else data.X
    data = RankingData(X, data.y, data.qid)
    write_shards(data, tmp_path / "stored", shard_bytes=1500)
    return data, tmp_path / "stored"


def as_dense(X):
    return X.toarray() if sparse.issparse(X) else np.asarray(X)


@pytest.mark.parametrize("policy", [*POLICIES, "keep+indicators", "query-median+indicators"])
def test_shards_are_seen_as_data_in_memory(stored, policy):
    data, directory = stored
    expected = data.with_missing(policy)
    with open_shards(directory, missing=policy) as shards:
        assert shards.n_shards > 2
        assert shards.missing == expected.missing
        assert shards.n_features == expected.n_features
        assert shards.feature_names.tolist() == expected.feature_names.tolist()
        assert shards.has_feature_names == expected.has_feature_names
        blocks = [shards.block(number) for number in range(shards.n_shards)]
        assert {block.keeps_missing for block in blocks} == {expected.keeps_missing}
        whole = shards.read()
        pieces = [shards.read_shard(number) for number in range(shards.n_shards)]
        some = shards.take_features([5, 0, shards.n_features - 1])
        few = expected.take_features([5, 0, expected.n_features - 1])
        np.testing.assert_array_equal(as_dense(some.read().X), as_dense(few.X))
        assert some.feature_names.tolist() == few.feature_names.tolist()
        assert some.read().missing == few.missing
    for found in (blocks, pieces, [whole]):
        joined = np.concatenate([as_dense(part.X) for part in found])
        np.testing.assert_array_equal(joined, as_dense(expected.X))
    for part in (whole, *pieces):
        assert part.missing == expected.missing
        assert part.keeps_missing == expected.keeps_missing


def test_missing_values_of_shards_are_declared_once(stored):
    _, directory = stored
    with open_shards(directory) as shards:
        with pytest.raises(DataError, match="declared once"):
            shards.with_missing("zero").with_missing("keep")
        with pytest.raises(DataError, match="before features are taken"):
            shards.take_features([0]).with_missing("keep")
        assert not shards.with_missing("keep").refusing_missing().keeps_missing


def test_dask_workers_see_the_same(tmp_path, client):
    data = example()
    write_shards(data, tmp_path / "stored", shard_bytes=1500)
    for policy in ("keep", "query-min", "zero+indicators"):
        expected = data.with_missing(policy)
        with open_shards(tmp_path / "stored", client=client, missing=policy) as shards:
            kept = shards.take_features(list(range(shards.n_features))[::-1])
            with engine_of(kept).start(ColumnTotals) as workers:
                total, keeps = workers.sum(ColumnTotals.totals), workers.collect(ColumnTotals.keeps)
            with engine_of(kept.refusing_missing()).start(ColumnTotals) as workers:
                assert workers.sum(ColumnTotals.keeps) == 0
        np.testing.assert_allclose(total, expected.X.sum(axis=0)[::-1], rtol=1e-12)
        assert set(keeps) == {int(expected.keeps_missing)}


def test_conversion_fills_in(tmp_path):
    lines = ["1 qid:7 1:NULL 2:3", "0 qid:8 1:2 2:NULL 3:1", "2 qid:7 1:5", "1 qid:8 2:NULL"]
    (tmp_path / "text.txt").write_text("\n".join(lines) + "\n")
    how = {"shard_bytes": 10**6}
    convert_to_shards(tmp_path / "text.txt", tmp_path / "filled", missing="query-min", **how)
    with open_shards(tmp_path / "filled") as shards:
        assert shards.read().X.tolist() == [[5, 3, 0], [5, 0, 0], [2, 0, 1], [0, 0, 0]]
    with pytest.raises(DataError, match=r"text\.txt: .* known only at the end"):
        convert_to_shards(tmp_path / "text.txt", tmp_path / "no", missing="zero+indicators", **how)
    convert_to_shards(tmp_path / "text.txt", tmp_path / "raw", missing="keep", **how)
    with open_shards(tmp_path / "raw", missing="zero+indicators") as raw:
        write_shards(raw, tmp_path / "with")
    with open_shards(tmp_path / "with") as shards:
        assert shards.n_features == 5
        assert shards.feature_names.tolist()[3:] == ["1 is missing", "2 is missing"]


# The transformer


def test_the_imputer_does_what_the_data_does():
    data = example()
    for policy in [*POLICIES, "query-min+indicators"]:
        imputer = QueryImputer(policy).fit(data)
        assert repr(imputer.missing_) == policy
        expected = data.with_missing(policy)
        assert imputer.transform(data).feature_names.tolist() == expected.feature_names.tolist()
        shuffled = np.random.default_rng(0).permutation(data.n_rows)
        found = clone(imputer).fit_transform(data.X[shuffled], qid=data.qid[shuffled])
        np.testing.assert_array_equal(found, expected.X[shuffled])
        np.testing.assert_array_equal(imputer.transform(data).X, expected.X)


def test_indicators_of_the_imputer_have_names():
    data = example()
    frame = pd.DataFrame(data.X, columns=list("abcdefgh"))
    imputer = QueryImputer("zero+indicators").set_output(transform="pandas")
    found = imputer.fit_transform(frame, qid=data.qid)
    assert found.columns.tolist()[7:] == ["h", *(f"{name} is missing" for name in "abcdefg")]
    assert QueryImputer("zero+indicators").fit(data.X).get_feature_names_out()[8] == "x0 is missing"


def test_the_imputer_serves_a_pipeline():
    data = example(40)
    with sklearn.config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(
            QueryImputer("query-median+indicators"),
            QueryMinMaxScaler(),
            TopImportance(4),
            as_ranker(LGBMRanker(n_estimators=3, verbose=-1)),
        )
        pipeline.fit(data.X, data.y, qid=data.qid)
        assert len(np.unique(pipeline.predict(data.X, qid=data.qid))) > 3


# Scaling


@pytest.mark.parametrize(
    ("scaler", "oracle"),
    [(QueryMinMaxScaler, oracles.min_max), (QueryStandardScaler, oracles.standard)],
)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@given(problem=problems())
def test_scalers_scale_the_present_values_and_keep_the_gaps(scaler, oracle, form, problem):
    X, qid = problem

    found = as_dense(scaler().fit_transform(form(X), qid=qid))

    expected = np.full(X.shape, nan)
    for query in np.unique(qid):
        for feature in range(X.shape[1]):
            rows = qid == query
            present = X[rows, feature]
            whole = [value for value in present.tolist() if value == value]
            scaled = iter(oracles.scale_by_query([[v] for v in whole], [0] * len(whole), oracle))
            expected[rows, feature] = [next(scaled)[0] if v == v else nan for v in present.tolist()]
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def test_scalers_pass_on_what_was_declared():
    kept = example(missing="keep")
    scaled = QueryMinMaxScaler().fit_transform(kept)
    assert scaled.keeps_missing
    assert (
        TopImportance(2).fit(scaled).selected_.tolist()
        == TopImportance(2).fit(kept).selected_.tolist()
    )
