"""FS-SCPR: its steps against independent programs, planted clusters, and what parameters do."""

from functools import cache
from itertools import product

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.sparse import csgraph
from sklearn.base import clone
from sklearn.cluster import KMeans

from ranksieve import DataError, RankingData
from ranksieve.selectors import FSSCPR
from ranksieve.selectors._search.clustering import bisecting_kmeans, cluster_counts, dense_ranks
from ranksieve.selectors.filters.fs_scpr import (
    biased_pagerank,
    canonical_eigenvectors,
    eigengap,
    embedding,
    mean_similarity,
    minmax_in_cluster,
    preference,
    similarity_graph,
)
from tests.selectors.test_hcas import families as signed_families


@cache
def families(seed, **options):
    """Four families of features, clearly apart, of which large values are good."""
    return signed_families(seed, small_is_good=0, **options)


@pytest.fixture(scope="module")
def planted():
    return families(3, n_noise=3, n_constant=2, tied=0.3)


@st.composite
def graphs(draw):
    """Symmetric weights with some isolated vertices, and preferences."""
    n = draw(st.integers(1, 8))
    weight = st.sampled_from([0.0, 0.0, 0.125, 0.5, 0.9])
    upper = np.triu(draw(hnp.arrays(float, (n, n), elements=weight)), k=1)
    p = draw(hnp.arrays(float, n, elements=st.sampled_from([0.0, 0.1, 0.25, 1.0])))
    return upper + upper.T, p


def noise_of(seed, matrix):
    noise = np.random.default_rng(seed).normal(size=matrix.shape)
    return noise + noise.T


def same_partition(labels, others):
    return len(set(zip(labels, others, strict=True))) == len(set(labels)) == len(set(others))


def within(Y, labels):
    """Sum of squared distances from the means of the clusters."""
    parts = (Y[labels == label] for label in set(labels.tolist()))
    return sum(float(((part - part.mean(axis=0)) ** 2).sum()) for part in parts)


class TestSteps:
    def test_graph(self):
        similarity = np.array([[0.8, 0.1, 0.5], [0.1, 1.0, -0.7], [0.5, -0.7, 0.3]])
        assert similarity_graph(similarity, 0.1).tolist() == [[0, 0, 0.5], [0, 0, 0], [0.5, 0, 0]]

    @given(graphs(), st.integers(0, 2**32 - 1))
    def test_eigenvectors_do_not_depend_on_the_basis_that_is_found(self, drawn, seed):
        """Rotations of a matrix with equal eigenvalues; the space of each is all that counts."""
        laplacian = csgraph.laplacian(drawn[0], normed=True)
        values, vectors = canonical_eigenvectors(laplacian)
        np.testing.assert_allclose(vectors.T @ vectors, np.eye(len(values)), atol=1e-12)
        np.testing.assert_allclose(laplacian @ vectors, vectors * values, atol=1e-12)
        _, other = canonical_eigenvectors(laplacian + noise_of(seed, laplacian) * 1e-14)
        np.testing.assert_allclose(other, vectors, atol=1e-5)

    @given(graphs(), st.sampled_from([0.0, 0.5, 0.85, 0.95]))
    def test_relevance_is_that_of_networkx(self, drawn, alpha):
        graph, importance = drawn
        p = preference(importance)
        s = biased_pagerank(graph, p, alpha)
        expected = nx.pagerank(
            nx.from_numpy_array(graph),
            alpha=alpha,
            personalization=dict(enumerate(p)),
            tol=1e-13,
            max_iter=2000,
        )
        np.testing.assert_allclose(s, [expected[i] for i in range(len(p))], atol=1e-8)
        assert s.sum() == pytest.approx(1, abs=1e-9)
        assert np.all(s >= 0)

    def test_relevance_of_isolated_vertices_only_scales(self):
        graph = np.zeros((4, 4))
        graph[0, 1] = graph[1, 0] = 0.7
        graph[1, 2] = graph[2, 1] = 0.2
        p = np.array([0.1, 0.2, 0.3, 0.4])
        share = graph / np.maximum(graph.sum(axis=1), 1e-300)[:, None]
        literal = np.linalg.solve(np.eye(4) - 0.85 * share.T, 0.15 * p)
        ratio = biased_pagerank(graph, p, 0.85) / literal
        np.testing.assert_allclose(ratio, ratio[0], rtol=1e-8)
        assert ratio[0] > 1

    def test_preference(self):
        np.testing.assert_allclose(preference(np.array([3.0, 1.0])), [0.75, 0.25])
        np.testing.assert_allclose(preference(np.zeros(4)), [0.25] * 4)
        with pytest.raises(DataError, match="needs a nonnegative importance"):
            preference(np.array([0.5, -0.1]))

    def test_embedding_has_unit_rows_or_zeros(self):
        Y = embedding(np.array([[3.0, 4.0, 1.0], [0.0, 1e-17, 1.0]]), 2)
        np.testing.assert_allclose(Y, [[0.6, 0.8], [0, 0]])

    def test_eigengap(self):
        values = np.array([0.0, 0.7, 0.8, 1.2, 1.25, 1.3])
        assert eigengap(values, range(2, 5)) == 3
        assert eigengap(values, range(1, 5)) == 1
        assert eigengap(values[:2], range(2, 3)) == 2  # nothing to compare

    def test_mean_similarity_is_that_to_other_members(self):
        Y = np.array([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0], [1.0, 0.0]])
        labels = np.array([0, 0, 0, 1])
        np.testing.assert_allclose(mean_similarity(Y, labels), [0.3, 0.7, 0.4, 0])
        near, right = 1 / (1 + np.sqrt(0.8)), 1 / (1 + np.sqrt(2))
        np.testing.assert_allclose(
            mean_similarity(Y, labels, "inverse_distance")[[0, 3]], [(near + right) / 2, 0]
        )

    def test_minmax_in_cluster(self):
        values = np.array([1.0, 2.0, 5.0, 7.0, 7.0 + 1e-14, 9.0])
        scaled = minmax_in_cluster(values, np.array([0, 0, 0, 1, 1, 2]))
        np.testing.assert_allclose(scaled, [0, 0.25, 1, 0, 0, 0])


class TestBisection:
    @given(st.integers(1, 9), st.data(), st.sampled_from(["sse", "size"]))
    def test_there_are_always_k_clusters(self, n, data, split):
        k = data.draw(st.integers(1, n))
        coordinate = st.sampled_from([0.0, 0.0, 1.0, 1.0 + 1e-15, 3.0])
        Y = data.draw(hnp.arrays(float, (n, 2), elements=coordinate))
        labels = bisecting_kmeans(Y, k, split=split, n_init=2)
        assert sorted(set(labels.tolist())) == list(range(k))

    def test_identical_rows_part_one_by_one_from_the_first(self):
        labels = bisecting_kmeans(np.ones((5, 2)), 3)
        assert same_partition(labels, [0, 1, 2, 2, 2])

    def test_which_cluster_is_split(self):
        tight = [[0.0, x] for x in (0.0, 0.01, 0.02, 0.03, 0.04)]
        loose = [[9.0, 0.0], [9.0, 2.0]]
        Y = np.array(tight + loose)
        assert same_partition(bisecting_kmeans(Y, 3, split="sse"), [0, 0, 0, 0, 0, 1, 2])
        by_size = bisecting_kmeans(Y, 3, split="size")
        assert by_size[5] == by_size[6]
        assert len(set(by_size[:5])) == 2

    def test_separate_points_are_found(self):
        rng = np.random.default_rng(0)
        truth = rng.integers(0, 4, 60)
        Y = np.eye(4)[truth] + rng.normal(scale=0.02, size=(60, 4))
        assert same_partition(bisecting_kmeans(Y, 4), truth)

    @pytest.mark.parametrize("seed", range(10))
    def test_a_bisection_is_the_best_of_all(self, seed):
        Y = np.random.default_rng(seed).normal(size=(10, 1 + seed))
        ways = [np.array(rest) == "b" for rest in product("ab", repeat=9)][1:]
        best = min(within(Y, np.append(False, way)) for way in ways)
        assert within(Y, bisecting_kmeans(Y, 2)) == pytest.approx(best, rel=1e-12)

    @pytest.mark.parametrize("n_columns", [4, 20])
    def test_a_bisection_is_no_worse_than_that_of_a_thousand_random_starts(self, n_columns):
        rows = np.random.default_rng(0).normal(size=(40, n_columns))
        Y = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        peer = KMeans(2, init="random", n_init=1000, random_state=0).fit(Y).labels_
        assert within(Y, bisecting_kmeans(Y, 2)) <= within(Y, peer) + 1e-12

    def test_of_equally_good_bisections_one_is_taken(self):
        Y = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
        found = {tuple(bisecting_kmeans(Y, 2, n_init=5, random_state=seed)) for seed in range(10)}
        assert len(found) == 1


@pytest.mark.parametrize("seed", [0, 1, 2, 4, 9])  # every family has at least two features
@pytest.mark.parametrize("similarity", ["concordance", "tau_b"])
class TestPlantedFamilies:
    def test_clusters_are_the_families(self, seed, similarity):
        data, truth = families(seed)
        found = FSSCPR(4, similarity=similarity).fit(data)
        assert same_partition(found.clusters_, truth.families)
        assert sorted(truth.families[found.selected_]) == [0, 1, 2, 3]

    @pytest.mark.parametrize("way", ["eigengap", "silhouette"])
    def test_their_number_is_found(self, seed, similarity, way):
        data, truth = families(seed)
        found = FSSCPR(way, similarity=similarity).fit(data)
        assert found.n_clusters_ == len(found.selected_) == 4
        assert same_partition(found.clusters_, truth.families)


def test_an_eigengap_sees_features_that_stand_alone_only_in_a_sparse_graph():
    data, truth = families(3)
    assert np.bincount(truth.families).tolist() == [4, 3, 1, 4]
    assert FSSCPR("eigengap").fit(data).n_clusters_ == 3
    assert FSSCPR("eigengap", similarity="tau_b").fit(data).n_clusters_ == 4


class TestAttributes:
    def test_they_fit_together(self, planted):
        data, truth = planted
        found = FSSCPR(5).fit(data)
        varies = truth.kind != "constant"
        n = data.n_features
        assert found.n_clusters_ == 5
        np.testing.assert_array_equal(found.clusters_ >= 0, varies)
        np.testing.assert_array_equal(found.clusters_[found.selected_], np.arange(5))
        assert found.relevance_.sum() == pytest.approx(1, abs=1e-9)
        assert np.all(found.relevance_[~varies] == 0)
        assert np.all(np.diff(found.relevance_[found.selected_]) <= 0)
        assert found.graph_.shape == (n, n)
        over = (found.similarity_ > 0.1) & ~np.eye(n, dtype=bool)
        np.testing.assert_allclose(found.graph_, np.where(over, found.similarity_, 0), atol=1e-9)
        assert found.eigenvalues_.shape == (varies.sum(),)
        assert found.embedding_.shape == (n, 5)
        np.testing.assert_allclose(np.linalg.norm(found.embedding_, axis=1), varies, atol=1e-12)

    def test_representatives_maximize_the_formula(self, planted):
        data, _ = planted
        found = FSSCPR(5, relevance_weight=0.3).fit(data)
        for cluster, (feature, score) in enumerate(found.path_):
            members = np.flatnonzero(found.clusters_ == cluster)
            scores = {}
            for i in members:
                alike = [found.embedding_[i] @ found.embedding_[j] for j in members if j != i]
                scores[i] = 0.3 * found.relevance_[i] + 0.7 * (np.mean(alike) if alike else 0)
            assert score == pytest.approx(max(scores.values()), abs=1e-9)
            assert score == pytest.approx(scores[feature], abs=1e-9)

    def test_constant_features_are_left_out_of_an_automatic_choice(self, planted):
        data, truth = planted
        for way in ("eigengap", "silhouette"):
            found = FSSCPR(way).fit(data)
            assert np.all(truth.kind[found.selected_] != "constant")
            again = FSSCPR(found.n_clusters_).fit(data)
            np.testing.assert_array_equal(found.selected_, again.selected_)

    def test_all_features(self, planted):
        data, truth = planted
        found = FSSCPR(data.n_features).fit(data)
        constant = np.flatnonzero(truth.kind == "constant")
        np.testing.assert_array_equal(found.selected_[-2:], constant)
        assert found.n_clusters_ == data.n_features - 2
        alone, last = ["alone in its cluster"], ["constant in every query"]
        assert found.reasons() == alone * found.n_clusters_ + last * 2
        assert [step.score for step in found.path_[-2:]] == [0, 0]

    def test_reasons(self):
        X = np.array([[1, 1, 1, 2], [2, 2, 2, 9], [3, 3, 3, 1], [4, 4, 4, 5]], dtype=float)
        data = RankingData(X, [0, 0, 1, 1], [1, 1, 1, 1])
        assert FSSCPR(2).fit(data).reasons() == ["cluster of 3, with 2, 3", "alone in its cluster"]
        short = RankingData(X, data.y, data.qid, feature_names=["a", "b" * 14, "c" * 14, "d"])
        assert FSSCPR(2).fit(short).reasons()[0] == "cluster of 3, with bbbbbbbbbbbbbb, ..."
        long = RankingData(X, data.y, data.qid, feature_names=["a", "b" * 50, "c" * 50, "d"])
        assert FSSCPR(2).fit(long).reasons()[0] == "cluster of 3"


class TestParameters:
    def test_representatives(self, planted):
        data, _ = planted
        for kind, attribute in [("relevance", "relevance_"), ("importance", "importance_")]:
            found = FSSCPR(4, representative=kind).fit(data)
            values = getattr(found, attribute)
            for cluster, (feature, score) in enumerate(found.path_):
                best = values[found.clusters_ == cluster].max()
                assert values[feature] == score == pytest.approx(best, rel=1e-12)

    def test_all_weight_on_relevance_is_relevance(self, planted):
        data, _ = planted
        expected = FSSCPR(4, representative="relevance").fit(data).selected_
        for rescale in ("none", "minmax_in_cluster"):
            found = FSSCPR(4, relevance_weight=1, rescale=rescale).fit(data)
            np.testing.assert_array_equal(found.selected_, expected)

    def test_rescaled_terms_are_of_one_size(self, planted):
        data, _ = planted
        found = FSSCPR(2, rescale="minmax_in_cluster").fit(data)
        assert all(0.5 - 1e-9 <= step.score <= 1 for step in found.path_)

    def test_member_similarity(self, planted):
        data, _ = planted
        found = FSSCPR(3, member_similarity="inverse_distance", relevance_weight=0).fit(data)
        labels = np.unique(found.clusters_, return_inverse=True)[1]
        expected = mean_similarity(found.embedding_, labels, "inverse_distance")
        for cluster, (_, score) in enumerate(found.path_):
            assert score == pytest.approx(expected[found.clusters_ == cluster].max())

    def test_a_graph_without_edges(self, planted):
        data, _ = planted
        found = FSSCPR(3, sigma=2.0).fit(data)
        assert not found.graph_.any()
        assert np.all(found.eigenvalues_ == 0)
        assert len(found.selected_) == 3
        varies = found.clusters_ >= 0
        shares = found.importance_[varies] / found.importance_[varies].sum()
        np.testing.assert_allclose(found.relevance_[varies], shares)

    def test_alpha_zero_leaves_preferences(self, planted):
        data, _ = planted
        found = FSSCPR(3, alpha=0.0).fit(data)
        varies = found.clusters_ >= 0
        np.testing.assert_allclose(
            found.relevance_[varies], found.importance_[varies] / found.importance_[varies].sum()
        )

    def test_max_clusters(self):
        data, _ = families(0)
        for way in ("eigengap", "silhouette"):
            assert FSSCPR(way, max_clusters=3).fit(data).n_clusters_ <= 3
        assert cluster_counts(46) == range(2, 24)
        assert cluster_counts(700) == range(2, 31)
        assert cluster_counts(700, 50) == range(2, 51)
        assert cluster_counts(5, 50) == range(2, 5)
        assert [cluster_counts(n)[0] for n in (1, 2, 3)] == [1, 2, 2]

    def test_few_features(self):
        y, qid = [0, 1, 2], [1, 1, 1]
        one = RankingData([[1.0, 7.0], [2.0, 7.0], [3.0, 7.0]], y, qid)
        two = RankingData([[1.0, 2.0], [2.0, 1.0], [3.0, 3.0]], y, qid)
        for way in ("eigengap", "silhouette"):
            assert FSSCPR(way).fit(one).selected_.tolist() == [0]
            assert FSSCPR(way).fit(two).selected_.tolist() == [0, 1]
        none = RankingData([[7.0], [7.0], [7.0]], y, qid)
        with pytest.raises(DataError, match="cannot cluster: all features are constant"):
            FSSCPR(1).fit(none)


@pytest.mark.parametrize("seed", range(6))
def test_the_order_of_features_does_not_matter(seed):
    data, _ = families(seed, n_noise=6, copy_noise=0.6, tied=0.3)  # no clear clusters
    order = np.random.default_rng(seed).permutation(data.n_features)
    for k in (3, 7, "silhouette"):
        how = FSSCPR(k, n_init=2)  # with few starts, it is not the best of them that is the same
        expected = clone(how).fit(data)
        permuted = clone(how).fit(RankingData(data.X[:, order], data.y, data.qid))
        np.testing.assert_array_equal(order[permuted.selected_], expected.selected_)
        np.testing.assert_array_equal(permuted.clusters_, expected.clusters_[order])


@pytest.mark.parametrize("seed", range(3))
def test_a_copy_never_stands_for_its_original(seed):
    data, _ = families(seed, n_noise=4, copy_noise=0.6, tied=0.3)
    n = data.n_features
    doubled = RankingData(np.column_stack([data.X, data.X]), data.y, data.qid)
    for k in range(1 + seed, 2 * n + 1, 3):
        found = FSSCPR(k, n_init=2).fit(doubled)
        chosen = found.selected_.tolist()
        for copy in (feature for feature in chosen if feature >= n):
            apart = found.clusters_[copy] != found.clusters_[copy - n]
            assert apart


def test_levels_join_what_differs_by_rounding():
    values = np.array([0.1 + 0.2, 0.3, 1.0, 0.0, 1.0 - 1e-9])
    assert dense_ranks(values).tolist() == [1, 1, 3, 0, 2]
    assert dense_ranks(np.zeros(3)).tolist() == [0, 0, 0]
    assert dense_ranks(np.array([])).tolist() == []


def test_families_of_real_features(mq2008_dir):
    """Features of LETOR that differ only in the field are not mixed by chance."""
    from ranksieve.datasets import open_collection

    data = open_collection(mq2008_dir).read_all()
    found = FSSCPR(10).fit(data)
    whole = set(np.flatnonzero(found.clusters_ == found.clusters_[21]) + 1)
    assert whole == {21, 22, 23, 24, 37, 38, 39, 40}  # BM25 and language models, whole document
    assert (found.clusters_ < 0).sum() == 6


@pytest.mark.parametrize("n_init", [500, 2016])  # some pairs of the 40 features that vary, and all
def test_ten_seeds_make_one_selection(mq2008_dir, n_init):
    from ranksieve.datasets import open_collection

    train, _, _ = open_collection(mq2008_dir).read_fold(2)
    for k in (10, 20):
        fits = (FSSCPR(k, n_init=n_init, random_state=seed).fit(train) for seed in range(10))
        assert len({tuple(fit.selected_) for fit in fits}) == 1
