"""HCAS and hierarchical clustering: trees against naive ones, planted clusters."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.cluster.hierarchy import cut_tree, dendrogram, is_valid_linkage, linkage
from scipy.spatial.distance import squareform
from sklearn.metrics import silhouette_score

from ranksieve import DataError, RankingData, make_ranking
from ranksieve.selectors import HCAS, Hierarchical, TopImportance
from ranksieve.selectors.filters.hcas import cut, dissimilarity, ward_d
from tests import oracles

BOTH = pytest.mark.parametrize("kind", [HCAS, Hierarchical])


def families(seed, n_noise=0, **options):
    """Four families of features, clearly apart."""
    chosen = {"copy_noise": 0.2, "tied": 0, **options}
    return make_ranking(
        80,
        docs_per_query=(5, 25),
        n_informative=4,
        n_redundant=8,
        n_noise=n_noise,
        random_state=seed,
        **chosen,
    )


@pytest.fixture(scope="module")
def planted():
    return families(3, n_noise=3, n_constant=2, tied=0.3)


def partition(labels):
    return {frozenset(np.flatnonzero(labels == label).tolist()) for label in set(labels.tolist())}


def distances(n):
    """Matrices of distances, mostly distinct and not of points in any space."""
    values = hnp.arrays(float, n * (n - 1) // 2, elements=st.floats(0.001, 1), unique=True)
    return values.map(squareform)


class TestTree:
    @given(st.integers(2, 8).flatmap(distances))
    def test_ward_d_is_the_naive_one(self, apart):
        heights, partitions = oracles.ward_d(apart.tolist())
        merges = ward_d(apart)
        np.testing.assert_allclose(merges[:, 2], heights, rtol=1e-9)
        if np.min(np.diff([0, *heights])) > 1e-9:  # else there are several right answers
            for k, clusters in partitions.items():
                assert partition(cut(merges, k)) == clusters

    @given(st.integers(2, 12).flatmap(distances), st.sampled_from(["average", "single"]))
    def test_cut_is_that_of_scipy(self, apart, method):
        merges = linkage(squareform(apart), method)
        for k in range(1, len(apart) + 1):
            assert partition(cut(merges, k)) == partition(cut_tree(merges, k).ravel())

    def test_equal_heights_are_cut_to_exactly_k(self):
        merges = ward_d(np.zeros((5, 5)))
        for k in range(1, 6):
            assert sorted(set(cut(merges, k))) == list(range(k))

    def test_dissimilarity(self):
        apart = dissimilarity(np.array([[0.4, 1 + 1e-15], [1 + 1e-15, 0.8]]))
        assert apart.tolist() == [[0, 0], [0, 0]]
        assert dissimilarity(np.array([[1, -0.5], [-0.5, 1]])).tolist() == [[0, 1.5], [1.5, 0]]


@pytest.mark.parametrize("seed", range(5))
class TestPlantedFamilies:
    @pytest.mark.parametrize(
        "selector",
        [HCAS(4), *(Hierarchical(4, linkage=way) for way in ("average", "complete", "single"))],
    )
    def test_clusters_are_the_families(self, seed, selector):
        data, truth = families(seed)
        found = selector.fit(data)
        assert partition(found.clusters_) == partition(truth.families)
        for cluster, feature in enumerate(found.selected_):
            members = found.clusters_ == cluster
            assert found.importance_[feature] == found.importance_[members].max()

    def test_their_number_is_found(self, seed):
        data, truth = families(seed)
        found = Hierarchical("silhouette").fit(data)
        assert found.n_clusters_ == len(found.selected_) == 4
        assert partition(found.clusters_) == partition(truth.families)


@BOTH
class TestEither:
    def test_they_are_listed_by_importance(self, kind, planted):
        data, _ = planted
        found = kind(6).fit(data)
        assert np.all(np.diff(found.importance_[found.selected_]) <= 0)
        assert [step.score for step in found.path_] == found.importance_[found.selected_].tolist()

    def test_one_cluster_has_the_best_feature(self, kind, planted):
        data, _ = planted
        found = kind(1).fit(data)
        best = TopImportance(1, importance=found.importance).fit(data)
        np.testing.assert_array_equal(found.selected_, best.selected_)

    def test_smaller_selections_are_part_of_larger_ones(self, kind, planted):
        data, _ = planted
        sets = [set(kind(k).fit(data).selected_) for k in range(1, data.n_features + 1)]
        assert all(small < large for small, large in itertools.pairwise(sets))

    def test_constant_features_come_last(self, kind, planted):
        data, truth = planted
        found = kind(data.n_features - 1).fit(data)
        constant = np.flatnonzero(truth.kind == "constant")
        assert found.selected_[-1] == constant[0]
        assert found.clusters_[constant].tolist() == [-1, -1]
        assert found.n_clusters_ == data.n_features - 2
        assert found.reasons()[-2:] == ["alone in its cluster", "constant in every query"]

    def test_the_tree_is_of_the_features_that_vary(self, kind, planted):
        data, _ = planted
        found = kind(5).fit(data)
        assert is_valid_linkage(found.linkage_)
        varying = np.flatnonzero(found.clusters_ >= 0)
        leaves = dendrogram(found.linkage_, no_plot=True)["leaves"]
        assert sorted(leaves) == list(range(len(varying)))
        again = cut(found.linkage_, 5)
        assert partition(again) == partition(found.clusters_[varying])
        first, second, height, _ = found.linkage_[0]  # the two that are most alike
        pair = varying[[int(first), int(second)]]
        assert height == pytest.approx(1 - found.similarity_[pair[0], pair[1]], abs=1e-9)

    def test_one_feature(self, kind):
        data = RankingData([[1.0], [2.0], [3.0]], [0, 1, 2], [1, 1, 1])
        found = kind(1).fit(data)
        assert found.selected_.tolist() == [0]
        assert found.linkage_.shape == (0, 4)

    def test_nothing_varies(self, kind):
        data = RankingData([[1.0], [1.0], [1.0]], [0, 1, 2], [1, 1, 1])
        with pytest.raises(DataError, match="cannot cluster: all features are constant"):
            kind(1).fit(data)

    @pytest.mark.parametrize("seed", range(4))
    def test_order_of_features_and_copies(self, kind, seed):
        data, _ = families(seed, n_noise=6, copy_noise=0.6, tied=0.3)
        n = data.n_features
        order = np.random.default_rng(seed).permutation(n)
        permuted = RankingData(data.X[:, order], data.y, data.qid)
        doubled = RankingData(np.column_stack([data.X, data.X]), data.y, data.qid)
        for k in (2, 5, 9):
            expected = kind(k).fit(data)
            np.testing.assert_array_equal(
                order[kind(k).fit(permuted).selected_], expected.selected_
            )
            assert kind(k).fit(doubled).selected_.max() < n


def test_silhouette_is_the_largest(planted):
    data, _ = planted
    found = Hierarchical("silhouette", max_clusters=9).fit(data)
    varying = found.clusters_ >= 0
    apart = dissimilarity(found.similarity_[np.ix_(varying, varying)])
    values = {}
    for k in range(2, 10):
        labels = Hierarchical(k).fit(data).clusters_[varying]
        values[k] = silhouette_score(apart, labels, metric="precomputed")
    assert values[found.n_clusters_] == pytest.approx(max(values.values()))
    assert len(found.selected_) == found.n_clusters_


def test_hcas_takes_opposite_features_as_alike(planted):
    data, _ = planted
    turned = data.X * np.where(np.arange(data.n_features) % 2, -1.0, 1.0)
    other = HCAS(5).fit(RankingData(turned, data.y, data.qid))
    np.testing.assert_array_equal(other.selected_, HCAS(5).fit(data).selected_)
