"""Drift of values, against counting by hand, and by simulations in which the truth is known."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse, stats

from ranksieve import RankingData
from ranksieve.engine import engine_of
from ranksieve.sums import drift as module
from ranksieve.sums.drift import FALSE_ALARMS, describe_values, drift_of_values, shift_of

NAN = float("nan")


def data_of(*columns, qid, **more):
    return RankingData(np.column_stack(columns), np.zeros(len(qid)), qid, missing="keep", **more)


def draw(rng, n_queries):
    """Features whose documents are alike within queries, to different degrees."""
    lengths = rng.integers(2, 21, n_queries)
    qid = np.repeat(np.arange(n_queries), lengths)
    size = len(qid)
    alike = rng.normal(size=n_queries)[qid]
    level = rng.lognormal(sigma=1.5, size=n_queries)[qid]
    return data_of(
        rng.normal(size=size),
        alike + 0.3 * rng.normal(size=size),
        level,
        rng.random(size) < rng.beta(0.5, 2, n_queries)[qid],
        rng.standard_t(1.5, size=size) * level,
        np.where(rng.random(size) < 0.9, 0, rng.exponential(size=size)),
        np.where(rng.random(n_queries)[qid] < 0.2, NAN, rng.normal(size=size)),
        np.floor(3 * rng.exponential(size=size) + alike),
        qid=qid,
    )


@pytest.mark.slow
@pytest.mark.parametrize(("before", "now"), [(300, 12), (200, 60), (60, 60)])
def test_false_alarms_are_as_rare_as_stated(before, now):
    """Even with few queries, for which the index alone is often above 0.1."""
    rng, runs, alarms, indices = np.random.default_rng(now), 120, 0, []
    for _ in range(runs):
        found = drift_of_values(describe_values(draw(rng, before), [7]), draw(rng, now))
        shifts = [shift for one in found for shift in (one.values, one.within, one.missing)]
        alarms += any(shift.is_shown for shift in shifts)
        indices += [one.index for one in found]
    assert alarms <= stats.binom.ppf(0.999, runs, 1.5 * FALSE_ALARMS)
    assert np.mean(np.array(indices) > module.MODERATE) > 0.5


@pytest.mark.slow
def test_drifts_are_found():
    """A change of scale in few queries; a shift of half a deviation in many."""
    rng, runs, found = np.random.default_rng(5), 40, np.zeros(3)
    before = describe_values(draw(rng, 300))
    for _ in range(runs):
        few, many = draw(rng, 25), draw(rng, 200)
        few.X[:, 0] = 2 * few.X[:, 0] + 0.1
        many.X[:, 0] += 0.5
        many.X[many.query_codes % 3 == 0, 1] = NAN
        found[0] += drift_of_values(before, few)[0].is_notable
        moved = drift_of_values(before, many)
        found[1] += moved[0].is_notable
        found[2] += moved[1].is_notable and moved[1].missing.is_shown
    assert (found >= 0.9 * runs).all(), found


@st.composite
def problems(draw_value):
    """Two data sets of the same feature, with gaps, ties and weights of queries."""
    found = []
    for _ in range(2):
        size = draw_value(st.integers(2, 25))
        values = st.sampled_from([NAN, -1e30, -2.0, 0.0, 0.1, 0.5, 1.0, 3.0])
        column = draw_value(arrays(float, size, elements=values))
        qid = np.sort(draw_value(arrays(int, size, elements=st.integers(0, 4))))
        weights = draw_value(st.sampled_from([None, [1.0, 2.0, 0.5, 3.0, 1.0]]))
        data = data_of(column, qid=qid)
        found.append(data if weights is None else data.with_weights(weights[: data.n_queries]))
    return found


def naive_shares(data, place, n_bins):
    """Shares of bins, their covariance for one query, and the numbers of queries and documents."""
    weights = data.query_weights if data.query_weights is not None else np.ones(data.n_queries)
    counts = np.zeros((data.n_queries, n_bins))
    for row, query in enumerate(data.query_codes):
        bin_of_row = place(row)
        if bin_of_row is not None:
            counts[query, bin_of_row] += 1
    total = sum(w * c.sum() for w, c in zip(weights, counts, strict=True))
    if not total:
        return None
    shares = sum(w * c for w, c in zip(weights, counts, strict=True)) / total
    covariance = np.zeros((n_bins, n_bins))
    for weight, count in zip(weights, counts, strict=True):
        rest = weight * (count - count.sum() * shares) / total
        covariance += np.outer(rest, rest)
    used = weights[counts.any(axis=1)]
    queries = used.sum() ** 2 / (used**2).sum()
    relative = np.zeros((n_bins, n_bins))
    for i in range(n_bins):
        for j in range(n_bins):
            if shares[i] > 0 and shares[j] > 0:
                relative[i, j] = covariance[i, j] / math.sqrt(shares[i] * shares[j])
    return shares, relative * queries**2 / max(queries - 1, 1), queries, counts.sum()


def naive_place(values, edges):
    def place(row):
        value = np.float32(values[row])
        below = [edge for edge in edges if value > np.float32(edge)]
        return None if np.isnan(value) else len(below)

    return place


def naive_center(data):
    """Values minus the mean within their query."""
    values = data.X[:, 0].astype(np.float32).astype(float)
    for query in range(data.n_queries):
        own = data.query_codes == query
        if not np.isnan(values[own]).all():
            values[own] -= np.nanmean(values[own])
    return values


def check_shares(found, data, place):
    expected = naive_shares(data, place, len(found.edges) + 1 if found else 1)
    if expected is None:
        assert found is None
        return
    shares, covariance, queries, documents = expected
    np.testing.assert_allclose(found.shares, shares, atol=1e-6)
    assert (found.queries, found.documents) == (pytest.approx(queries), documents)
    assert found.mean == pytest.approx(np.trace(covariance), rel=1e-5, abs=1e-9)
    assert found.square == pytest.approx(np.trace(covariance @ covariance), rel=1e-5, abs=1e-9)


@given(problems())
def test_shares_against_counting(pair):
    before, now = pair
    described = describe_values(before)[0]
    bins = [module._Bins.like(described)]
    later = module._describe(now, module._sample(now), bins)[0]
    for data, found in ((before, described), (now, later)):
        gaps = np.isnan(data.X[:, 0])
        check_shares(found.missing, data, lambda row, gaps=gaps: int(gaps[row]))
        for own, values in ((found.values, data.X[:, 0]), (found.within, naive_center(data))):
            edges = own.edges if own else []
            check_shares(own, data, naive_place(values, edges))


def test_index_and_p_value_by_hand():
    qid = np.repeat(np.arange(40), 5)
    rng = np.random.default_rng(3)
    before = data_of(rng.integers(0, 4, 200), qid=qid)
    now = data_of(rng.integers(0, 5, 200), qid=qid)
    own = describe_values(before)[0].values
    bins = module._Bins(False, own.edges, [])
    new = module._describe(now, module._sample(now), [bins])[0].values
    q, p = np.array(own.shares), np.array(new.shares)
    used = p + q > 0
    floor = 0.5 / 200
    index = sum(
        (max(b, floor) - max(a, floor)) * math.log(max(b, floor) / max(a, floor))
        for a, b in zip(q[used], p[used], strict=True)
    )
    mean, square = (own.mean + new.mean) / 40, (own.square + new.square) / 2 / 20**2
    statistic = np.sum(2 * (p - q)[used] ** 2 / (p + q)[used])
    freedom = mean**2 / square
    expected = stats.f.sf(statistic / mean, freedom, freedom * 78)
    found = shift_of(own, new, n_tests=1)
    assert found.index == pytest.approx(index)
    assert found.p_value == pytest.approx(expected)
    assert shift_of(own, new, n_tests=9).p_value == pytest.approx(9 * expected)
    assert shift_of(own, new, n_tests=10**9).p_value == 1.0


def test_independent_documents_give_the_test_of_pearson():
    """With one document in each query, the covariance is that of a multinomial sample."""
    rng = np.random.default_rng(0)
    columns = rng.integers(0, 6, 20_000).astype(float), rng.integers(0, 6, 20_000).astype(float)
    before, now = (data_of(column, qid=np.arange(20_000)) for column in columns)
    counts = [np.bincount(column.astype(int)) for column in columns]
    expected = stats.chi2_contingency(counts).pvalue
    found = drift_of_values(describe_values(before), now)[0].values.p_value
    assert found == pytest.approx(min(1.0, 3 * expected), rel=0.05)


def test_shift_of_whole_queries_is_none_within_them():
    rng = np.random.default_rng(1)
    data = draw(rng, 300)
    moved = draw(rng, 300)
    moved.X[:, 1] += 1
    found = drift_of_values(describe_values(data), moved)[1]
    assert (found.values.size, found.within.size) == ("large", "none")


def test_change_of_a_constant():
    qid = np.repeat(np.arange(20), 3)
    before = describe_values(data_of(np.full(60, 0.3), np.full(60, 0.3), qid=qid))
    same, other = drift_of_values(before, data_of(np.full(60, 0.3), np.full(60, 0.25), qid=qid))
    assert (same.is_notable, same.index) == (False, 0.0)
    assert other.is_notable
    assert (other.before, other.now) == ([0.3] * 5, [0.25] * 5)


def test_types_of_numbers_do_not_matter():
    """A log in float32 and one in float64 have the same numbers."""
    rng = np.random.default_rng(2)
    qid = np.repeat(np.arange(100), 5)
    values = rng.integers(1, 9, 500) / 10
    wide = data_of(values, qid=qid)
    narrow = data_of(values.astype(np.float32), qid=qid)
    assert narrow.X.dtype == np.float32
    assert describe_values(wide) == describe_values(narrow)


def test_new_and_lost_categories():
    rng = np.random.default_rng(4)
    qid = np.repeat(np.arange(200), 5)
    codes = rng.integers(0, 3, 1000).astype(float)
    before = describe_values(data_of(codes, qid=qid), categorical=[0])
    new = np.where(rng.random(1000) < 0.1, 7.0, codes)
    added = drift_of_values(before, data_of(new, qid=qid))[0]
    assert (added.is_notable, added.unknown_before) == (True, 0.0)
    assert added.unknown_now == pytest.approx(np.mean(new == 7))
    assert added.before == added.now == []
    lost = drift_of_values(before, data_of(np.minimum(codes, 1), qid=qid))[0]
    assert (lost.is_notable, lost.unknown_now) == (True, 0.0)
    same = drift_of_values(before, data_of(rng.permutation(codes), qid=qid))[0]
    assert not same.is_notable


def test_most_categories_share_a_bin():
    qid = np.arange(300)
    data = data_of(np.arange(300) // 2, qid=qid)
    (described,) = describe_values(data, categorical=[0])
    assert described.values.edges == list(range(50))
    assert described.values.shares[-1] == pytest.approx(2 / 3)


def test_without_any_value():
    qid = np.repeat(np.arange(30), 2)
    gaps, values = np.full(60, NAN), np.arange(60.0)
    before = describe_values(data_of(gaps, values, qid=qid))
    gained, lost = drift_of_values(before, data_of(values, gaps, qid=qid))
    assert before[0].values is None
    assert (gained.missing_before, gained.missing_now) == (1.0, 0.0)
    assert gained.is_notable
    assert lost.is_notable
    assert lost.now == []


def test_sparse_data_and_blocks_are_the_same(monkeypatch):
    rng = np.random.default_rng(6)
    data = draw(rng, 150)
    packed = RankingData(sparse.csr_matrix(data.X), data.y, data.qid, missing="keep")
    whole = describe_values(data, [7])
    assert describe_values(packed, [7]) == whole
    monkeypatch.setattr(module, "CHUNK", 100)
    monkeypatch.setattr(module, "engine_of", lambda source: engine_of(source, smallest=2**10))
    assert len(engine_of(data, smallest=2**10).blocks) > 1
    assert describe_values(data, [7]) == whole


def test_long_data_is_sampled_for_edges_but_counted_whole(monkeypatch):
    rng = np.random.default_rng(7)
    data, new = draw(rng, 400), draw(rng, 400)
    exact = describe_values(data)
    monkeypatch.setattr(module, "_SAMPLED", 1000)
    described = describe_values(data)
    assert described[0].values.documents == exact[0].values.documents == data.n_rows
    edges = np.array(described[0].values.edges, dtype=np.float32)
    places = np.searchsorted(edges, data.X[:, 0].astype(np.float32))
    shares = np.bincount(places, minlength=len(edges) + 1) / data.n_rows
    np.testing.assert_allclose(described[0].values.shares, shares, atol=1e-6)
    assert not drift_of_values(described, new)[0].is_notable


def test_wrong_number_of_features():
    data = draw(np.random.default_rng(8), 20)
    with pytest.raises(ValueError, match="1 features were described, not 8"):
        drift_of_values(describe_values(data)[:1], data)
