"""Statistics of features with missing values: documents without one come last, tied."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

from ranksieve import DataError, RankingData
from ranksieve.metrics import PairwiseError
from ranksieve.selectors.filters.ig_chi import contingency
from ranksieve.sums import similarity as module
from ranksieve.sums.densities import Part, map_densities
from ranksieve.sums.gram import centered_gram, present_correlation
from ranksieve.sums.importance import Importance, feature_importance, importance_sums
from ranksieve.sums.similarity import SIMILARITIES, Similarity, feature_similarity
from ranksieve.sums.varying import varying_features
from tests import oracles

nan = float("nan")
values = st.sampled_from([nan, nan, -3.0, -1e308, 0.0, 2.0, 1e308])


@st.composite
def problems(draw, most_rows=12, elements=values):
    """Data with gaps and ties, whose missing values are kept."""
    n_rows = draw(st.integers(2, most_rows))
    X = draw(arrays(np.float64, (n_rows, 3), elements=elements))
    y = draw(arrays(np.int64, n_rows, elements=st.integers(0, 2)))
    qid = np.sort(draw(arrays(np.int64, n_rows, elements=st.integers(0, 2))))
    return RankingData(X, y, qid, missing="keep")


def ordered(data, directions):
    """The same data with numbers that put missing values last."""
    ranks = oracles.missing_last(data.X.tolist(), directions)
    return RankingData(np.array(ranks, dtype=float), data.y, data.qid)


@given(data=problems())
def test_importance_puts_them_last_in_both_directions(data):
    complete = [ordered(data, [direction] * 3) for direction in (1, -1)]
    for ties, measure in product(["average", "stable"], ["ndcg@2", "map", PairwiseError()]):
        how = Importance(measure, ties=ties)
        expected = [feature_importance(one, how)[0] for one in complete]
        np.testing.assert_array_equal(feature_importance(data, how), expected, err_msg=str(how))


@given(data=problems())
def test_a_feature_varies_if_some_document_of_a_query_lacks_it(data):
    expected = importance_sums(ordered(data, [1, 1, 1]), "map").varying
    np.testing.assert_array_equal(importance_sums(data, "map").varying, expected)
    np.testing.assert_array_equal(varying_features(data), expected > 0)


@given(data=problems(), directions=st.lists(st.sampled_from([1, -1]), min_size=3, max_size=3))
def test_similarity_puts_them_last_after_directions(data, directions):
    if np.all(data.group_counts < 2):
        return
    ranks = oracles.missing_last(data.X.tolist(), directions)
    for method in SIMILARITIES:
        expected = oracles.similarity(ranks, data.qid.tolist(), getattr(oracles, method))
        for way, most_by_bits in {"by sorting": 0, "by bits": 40}.items():
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(module, "_MOST_BY_BITS", most_by_bits)
                found = feature_similarity(data, method, directions=directions)
            told = f"{method} {way}"
            np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12, err_msg=told)


@given(data=problems(), directions=st.lists(st.sampled_from([1, -1]), min_size=3, max_size=3))
def test_similarity_of_sorted_lists_keeps_their_order_among_themselves(data, directions):
    if np.all(data.group_counts < 2):
        return
    how = Similarity("tau_a", ties="stable")
    np.testing.assert_array_equal(
        feature_similarity(data, how, directions=directions),
        feature_similarity(ordered(data, directions), how),
    )


@pytest.mark.parametrize("binning", ["frequency", "width"])
@given(data=problems(30, st.sampled_from([nan, -3.0, 0.0, 2.0, 7.0])), n_bins=st.integers(2, 4))
def test_they_have_a_bin_of_their_own(binning, data, n_bins):
    found = contingency(data, n_bins, binning)

    for feature, column in enumerate(data.X.T):
        gaps = np.isnan(column)
        present = RankingData(column[~gaps, None], data.y[~gaps], data.qid[~gaps])
        edges = found.edges[feature]
        assert (edges[0] == -np.inf) == gaps.any() if len(edges) else not gaps.any()
        table = found.tables[feature]
        if gaps.any():
            counts = [np.sum(gaps & (data.y == grade)) for grade in found.grades]
            assert table[0].tolist() == counts
            edges, table = edges[1:], table[1:]
        if gaps.all():
            assert table.sum() == 0
            continue
        alone = contingency(present, n_bins, binning)
        assert edges.tolist() == alone.edges[0].tolist()
        for place, grade in enumerate(alone.grades):
            own = table[:, np.flatnonzero(found.grades == grade)[0]]
            assert own[: len(edges) + 1].tolist() == alone.tables[0][:, place].tolist()


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_other_forms_and_places_give_the_same(everywhere, form):
    rng = np.random.default_rng(3)
    X = np.round(rng.normal(size=(300, 4)), 1).astype(np.float32)
    X[rng.random(X.shape) < 0.2] = nan
    y, qid = rng.integers(0, 3, 300), np.repeat(np.arange(30), 10)
    data = RankingData(X.astype(float), y, qid, missing="keep")
    source = everywhere(RankingData(form(X), y, qid, missing="keep"), shard_bytes=1000)

    np.testing.assert_allclose(
        feature_importance(source, "ndcg@5"), feature_importance(data, "ndcg@5"), rtol=1e-12
    )
    for method in SIMILARITIES:
        directions = [1, -1, 1, -1]
        np.testing.assert_allclose(
            feature_similarity(source, method, directions=directions),
            feature_similarity(data, method, directions=directions),
            rtol=1e-12,
        )
    tables = [contingency(one, 5, "frequency").tables for one in (source, data)]
    np.testing.assert_array_equal(*tables)
    np.testing.assert_allclose(present_correlation(source), present_correlation(data), rtol=1e-6)


@pytest.mark.parametrize("wrong", [np.inf, -np.inf])
def test_infinity_is_refused_beside_them(wrong):
    X = np.array([[1.0, nan], [2.0, 5.0], [3.0, wrong]])
    data = RankingData(X, [0, 1, 2], [1, 1, 1], missing="keep")
    asked = [
        lambda: feature_importance(data),
        lambda: feature_similarity(data),
        lambda: feature_similarity(data, "spearman"),
        lambda: feature_similarity(data, Similarity("tau_a", ties="stable")),
        lambda: contingency(data, 3, "frequency"),
        lambda: varying_features(data),
    ]
    for ask in asked:
        with pytest.raises(DataError, match=r"infinity in row 2, feature '2'"):
            ask()


def test_statistics_of_sizes_refuse_them():
    data = RankingData([[1.0], [nan], [3.0]], [0, 1, 2], [1, 1, 1], missing="keep")
    with pytest.raises(DataError, match="NaN in row 1"):
        map_densities(lambda densities: 0.0, Part(data), None, np.array([0.0, 1.0, 2.0]))


def test_correlation_is_over_the_documents_that_have_both():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    X[:, 1] = 3 * X[:, 0] + 5
    X[:, 3] = 7.0
    data = RankingData(X, rng.integers(0, 2, 60), np.repeat(np.arange(6), 10), missing="keep")
    gram = centered_gram(data).xx
    scale = np.sqrt(np.diag(gram))[:3]
    whole = present_correlation(data)
    np.testing.assert_allclose(whole[:3, :3], gram[:3, :3] / np.outer(scale, scale), rtol=1e-9)
    assert not whole[3].any()
    X = X.copy()
    X[rng.random(60) < 0.2, 1] = nan
    X[:, 2] += X[:, 0]
    X[rng.random(60) < 0.1, 2] = nan
    X[rng.random(60) < 0.1, 0] = nan
    X[:55, 3] = nan
    gappy = present_correlation(RankingData(X, data.y, data.qid, missing="keep"))
    assert gappy[0, 1] == pytest.approx(1, abs=1e-12)
    assert not gappy[3].any()  # there are few, which may look alike by chance
    both = ~np.isnan(X[:, 0]) & ~np.isnan(X[:, 2])
    alone = RankingData(X[np.ix_(both, [0, 2])], data.y[both], data.qid[both])
    assert gappy[0, 2] == pytest.approx(present_correlation(alone)[0, 1], rel=1e-12)
