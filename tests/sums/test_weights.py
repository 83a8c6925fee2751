"""Statistics of queries that have weights: as if each query were there as often as it counts."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from ranksieve import DataError, RankingData
from ranksieve.engine import engine_of
from ranksieve.selectors.filters.ig_chi import contingency
from ranksieve.sums.checks import check_labels_differ, weight_of_rows
from ranksieve.sums.densities import Part, map_densities
from ranksieve.sums.file_order import file_order
from ranksieve.sums.grades import Classes, bin_ranks, grades_of, last_rank, order_statistics
from ranksieve.sums.gram import centered_gram
from ranksieve.sums.held_out import measure_models
from ranksieve.sums.importance import Importance, importance_sums
from ranksieve.sums.inspection import inspect
from ranksieve.sums.similarity import SIMILARITIES, Similarity
from ranksieve.sums.varying import varying_features
from tests.repeating import repeat_queries

N_QUERIES = 7


@st.composite
def weighted(draw):
    """Small data with many equal values, and how often each query counts: 0 to 3 times."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    lengths = rng.integers(1, 8, N_QUERIES)
    lengths[0] = 4
    shape = int(lengths.sum()), 4
    X = rng.normal(size=shape) if draw(st.booleans()) else rng.integers(0, 4, shape).astype(float)
    y = rng.integers(0, 3, shape[0])
    y[:2] = 0, 1
    if draw(st.booleans()):
        X = sparse.csr_matrix(X)
    counts = draw(st.lists(st.integers(0, 3), min_size=N_QUERIES, max_size=N_QUERIES))
    counts[0] = max(1, counts[0])
    return RankingData.from_group_counts(X, y, lengths), np.array(counts)


class TestAsIfRepeated:
    @given(weighted(), st.sampled_from(["map", "ndcg@3", "pairwise-error"]), st.booleans())
    def test_importance(self, example, measure, both):
        data, counts = example
        how = Importance(measure, both_directions=both)
        ours, theirs = how(data.with_weights(counts)), how(repeat_queries(data, counts))
        np.testing.assert_allclose(ours.values, theirs.values, rtol=1e-12, atol=1e-15)
        np.testing.assert_allclose(ours.variance, theirs.variance, atol=1e-13)
        np.testing.assert_array_equal(ours.directions, theirs.directions)
        np.testing.assert_array_equal(ours.varies, theirs.varies)

    @given(weighted(), st.sampled_from(list(SIMILARITIES)), st.sampled_from(["tied", "stable"]))
    def test_similarity(self, example, method, ties):
        data, counts = example
        how = Similarity(method, absolute=True, ties=ties)
        ours, theirs = how(data.with_weights(counts)), how(repeat_queries(data, counts))
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-15)

    @given(weighted(), st.sampled_from(["frequency", "width"]), st.integers(2, 6))
    def test_tables_and_their_bins(self, example, binning, n_bins):
        data, counts = example
        ours = contingency(data.with_weights(counts), n_bins, binning)
        theirs = contingency(repeat_queries(data, counts), n_bins, binning)
        for own, other in zip(ours.edges, theirs.edges, strict=True):
            np.testing.assert_array_equal(own, other)
        np.testing.assert_array_equal(ours.tables, theirs.tables)
        np.testing.assert_array_equal(ours.grades, theirs.grades)
        np.testing.assert_array_equal(ours.varies, theirs.varies)
        assert theirs.tables.dtype.kind == "i"

    @given(weighted(), st.sampled_from(["exact", "binned"]), st.booleans())
    def test_densities(self, example, evaluation, held_out):
        data, counts = example
        how = {"evaluation": evaluation, "integral": not held_out}

        def densities(source):
            part = Part(source) if held_out else None
            return map_densities(
                lambda found: float(np.nansum(found.values[:, :: 1 + len(found.values[0]) // 9])),
                Part(source),
                part,
                grades_of(source),
                **how,
            )

        ours, theirs = densities(data.with_weights(counts)), densities(repeat_queries(data, counts))
        np.testing.assert_allclose(ours[1], theirs[1], rtol=1e-9)
        np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-7)

    @given(weighted())
    def test_products_and_counts(self, example):
        data, counts = example
        ours, theirs = data.with_weights(counts), repeat_queries(data, counts)
        for own, other in zip(centered_gram(ours), centered_gram(theirs), strict=True):
            np.testing.assert_allclose(own, other, atol=1e-11)
        assert weight_of_rows(ours) == weight_of_rows(theirs) == theirs.n_rows
        np.testing.assert_array_equal(varying_features(ours), varying_features(theirs))

    @given(weighted(), st.integers(0, 1000))
    def test_models(self, example, seed):
        data, counts = example
        coefs = np.random.default_rng(seed).normal(size=(4, 3))
        models = [(np.arange(4), coefs)]
        (ours,) = measure_models(data.with_weights(counts), models, "ndcg@3")
        (theirs,) = measure_models(repeat_queries(data, counts), models, "ndcg@3")
        np.testing.assert_allclose(ours.mean, theirs.mean, rtol=1e-12)
        np.testing.assert_allclose(ours.deviation, theirs.deviation, atol=1e-7)

    @given(weighted())
    def test_inspection(self, example):
        data, counts = example
        ours, theirs = inspect(data.with_weights(counts)), inspect(repeat_queries(data, counts))
        assert ours.query_weights == {
            "min": counts.min(),
            "mean": pytest.approx(counts.mean()),
            "max": counts.max(),
        }
        assert theirs.query_weights is None
        assert ours.n_queries == N_QUERIES
        for own, other in zip(ours.best_features, theirs.best_features, strict=True):
            assert own.value == pytest.approx(other.value)
        assert ours.file_order.value == pytest.approx(theirs.file_order.value)
        assert ours.file_order.by_chance == pytest.approx(theirs.file_order.by_chance)


def test_means_do_not_depend_on_the_scale_of_weights():
    rng = np.random.default_rng(0)
    data = RankingData(rng.normal(size=(200, 4)), rng.integers(0, 3, 200), rng.integers(0, 40, 200))
    weights = rng.uniform(0, 2, data.n_queries)
    for scale in (1e-6, 0.3, 1e6):
        ours, theirs = data.with_weights(scale * weights), data.with_weights(weights)
        np.testing.assert_allclose(
            importance_sums(ours, "map").mean, importance_sums(theirs, "map").mean, rtol=1e-12
        )
        np.testing.assert_allclose(
            Similarity("tau_b")(ours), Similarity("tau_b")(theirs), atol=1e-14
        )
        for own, other in zip(
            contingency(ours, 5, "frequency").edges,
            contingency(theirs, 5, "frequency").edges,
            strict=True,
        ):
            np.testing.assert_array_equal(own, other)


@given(
    st.lists(st.integers(-5, 5), min_size=1, max_size=20),
    st.lists(st.floats(1e-3, 1e3), min_size=20, max_size=20),
    st.integers(2, 9),
)
def test_bins_of_equal_weight(values, weights, n_bins):
    """The first value up to which a share of the weight lies, by adding up."""
    weights = np.array(weights[: len(values)])
    rows = np.array(values, dtype=float)[:, None]
    data = RankingData(rows, np.zeros(len(rows)), np.arange(len(rows)), sample_weight=weights)
    with engine_of(data).start(Classes, np.array([np.inf])) as workers:
        ranks = np.append(bin_ranks(weights.sum(), n_bins), last_rank(weights.sum()))
        *found, last = order_statistics(workers, ranks[None], 1)[0, 0]
    assert last == max(values)
    order = np.argsort(rows[:, 0], kind="stable")
    up_to = np.cumsum(weights[order])
    for number, value in enumerate(found, start=1):
        share = weights.sum() * number / n_bins
        near = up_to >= share * (1 - 1e-9)
        if near.sum() == (up_to >= share * (1 + 1e-9)).sum():  # else rounding may decide
            assert value == rows[order, 0][np.argmax(near)]


def test_labels_of_queries_that_do_not_count():
    data = RankingData(
        np.arange(8.0).reshape(8, 1), [0, 1, 2, 2, 3, 3, 4, 4], [1, 1, 2, 2, 3, 3, 4, 4]
    )
    some = data.with_weights([1, 0, 1, 0])
    assert grades_of(some).tolist() == [0, 1, 3]
    check_labels_differ(some)
    with pytest.raises(DataError, match="different labels have weight 0"):
        check_labels_differ(data.with_weights([0, 1, 1, 1]))


def test_weights_too_small_for_densities():
    data = RankingData(np.arange(6.0).reshape(6, 1), [0, 1, 0, 1, 0, 1], [1, 1, 2, 2, 3, 3])
    tiny = data.with_weights([1e-3, 1e-3, 1e-3])
    with pytest.raises(DataError, match="add up to only 0.006: scale the weights"):
        map_densities(lambda found: 0.0, Part(tiny), None, grades_of(tiny))


def test_file_order_is_tested_with_weights():
    labels, qid = np.tile([2, 1, 0, 0], 12), np.repeat(np.arange(12), 4)
    labels[:24] = np.tile([0, 0, 1, 2], 6)
    data = RankingData(np.zeros((48, 1)), labels, qid)
    good = file_order(data.with_weights([0.01] * 6 + [1.0] * 6), "ndcg", "standard")
    bad = file_order(data.with_weights([1.0] * 6 + [0.01] * 6), "ndcg", "standard")
    assert good.better_than_chance
    assert not bad.better_than_chance
    assert good.value > file_order(data, "ndcg", "standard").value > bad.value
