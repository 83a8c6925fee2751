"""SparseRank, EGRank, ListMLE and networks with costs of weights, RSRank, and what they find."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import minimize

from ranksieve import DataError, RankingData, make_ranking
from ranksieve.metrics import evaluate
from ranksieve.preprocessing import QueryStandardScaler
from ranksieve.rankers import ListNet, RankSVM
from ranksieve.selectors import (
    EGRank,
    FenchelRank,
    GroupLassoNetwork,
    LifeRank,
    RSRank,
    SaliencySelector,
    SparseListMLE,
    SparseRank,
    SparseRankSVM,
    StepwiseAIC,
)
from tests import oracles


@pytest.fixture(scope="module")
def data():
    made, _ = make_ranking(
        40, docs_per_query=(1, 12), n_informative=3, n_redundant=2, n_noise=3, n_constant=1
    )
    return made


@pytest.fixture(scope="module")
def scaled(data):
    return QueryStandardScaler().fit_transform(data)


class TestSparseRank:
    @pytest.mark.parametrize("standardize", [True, False])
    @pytest.mark.parametrize("lam", [0.5, 0.05])
    def test_it_is_on_the_path_of_l1(self, data, lam, standardize):
        found = SparseRank(lam=lam, standardize=standardize, tol=1e-8).fit(data)
        path = SparseRankSVM(lam=lam, standardize=standardize, tol=1e-9).fit(data)
        assert found.objective_ == pytest.approx(path.solutions_[-1].objective, rel=1e-8)
        np.testing.assert_allclose(found.coef_, path.coef_, atol=1e-4)
        assert set(found.selected_) == set(path.selected_)


class TestEGRank:
    @pytest.mark.parametrize("radius", [0.3, 1.0, 3.0])
    def test_its_least_is_that_of_fenchelrank(self, scaled, radius):
        shares = EGRank(radius=radius, standardize=False, tol=1e-4).fit(scaled)
        steps = FenchelRank(radius=radius, tol=1e-6).fit(scaled)
        assert steps.objective_ - 1e-6 <= shares.objective_ <= steps.objective_ + shares.gap_
        assert shares.gap_ <= 1e-4
        assert np.abs(shares.coef_).sum() <= radius * (1 + 1e-12)

    def test_units_do_not_matter(self, data):
        units = 10.0 ** np.arange(-4, data.n_features - 4)
        other = RankingData(data.X * units, data.y, data.qid)
        np.testing.assert_allclose(
            EGRank().fit(other).coef_ * units, EGRank().fit(data).coef_, rtol=1e-6, atol=1e-9
        )


class TestSparseListMLE:
    def test_it_is_the_least_by_bounds(self, data):
        selector = SparseListMLE(lam=0.1, tol=1e-7).fit(data)
        queries = [slice(*ends) for ends in pairwise(data.query_ptr)]
        counted = [own for own in queries if len(set(data.y[own])) > 1]
        rows = np.concatenate([np.arange(data.n_rows)[own] for own in counted])
        scale = data.X[rows].std(axis=0)
        scale[scale < 1e-9] = 1.0

        def loss(coef):
            scores = data.X @ (coef / scale)
            return np.mean(
                [
                    oracles.loss_listmle(
                        scores[own], data.y[own], oracles.shares_of_ideal_dcg(data.y[own])
                    )
                    for own in counted
                ]
            )

        n = data.n_features
        lam = 0.1 * np.abs(oracles.slopes(loss, np.zeros(n), 1e-4)).max()
        found = selector.coef_ * scale
        assert selector.objective_ == pytest.approx(loss(found) + lam * np.abs(found).sum())

        def of_both(split):
            return loss(split[:n] - split[n:]) + lam * split.sum()

        least = minimize(of_both, np.full(2 * n, 0.1), bounds=[(0, None)] * (2 * n)).fun
        assert selector.objective_ == pytest.approx(least, abs=1e-6)


class TestGroupLassoNetwork:
    def test_more_cost_keeps_fewer_features(self, data):
        kept = [len(GroupLassoNetwork(lam=lam).fit(data).selected_) for lam in (0.9, 0.3, 0.01)]
        assert kept[0] < kept[-1]
        assert kept == sorted(kept)

    def test_what_is_not_selected_does_not_count(self, data):
        selector = GroupLassoNetwork(3, lam=0.1).fit(data)
        X = data.X.copy()
        others = np.setdiff1d(np.arange(data.n_features), selector.selected_)
        X[:, others] = np.random.default_rng(0).normal(size=(data.n_rows, len(others)))
        np.testing.assert_array_equal(selector.predict(X), selector.predict(data.X))


class TestRSRank:
    def test_more_cost_keeps_fewer_features(self, data):
        kept = [len(RSRank(lam=lam).fit(data).selected_) for lam in (0.5, 0.1, 0.001)]
        assert kept == sorted(kept)
        assert kept[0] < kept[-1]

    def test_batches_hang_on_the_seed_alone(self, data):
        first, again = (RSRank(random_state=3).fit(data).coef_ for _ in range(2))
        np.testing.assert_array_equal(first, again)
        assert (RSRank(random_state=4).fit(data).coef_ != first).any()


class TestStepwiseAIC:
    def test_steps_and_criterion_as_by_least_squares(self, data):
        selector = StepwiseAIC(n_features_to_select=6).fit(data)
        order, aic = oracles.forward_by_aic(data.X, data.y, data.qid, 6)
        assert selector.selected_.tolist() == order
        np.testing.assert_allclose(selector.aic_, aic, rtol=1e-10)

    def test_it_stops_where_the_criterion_is_least(self, data):
        selector = StepwiseAIC().fit(data)
        longer = StepwiseAIC(n_features_to_select=len(selector.selected_) + 1).fit(data)
        assert selector.selected_.tolist() == longer.selected_[:-1].tolist()
        assert longer.aic_[-1] >= longer.aic_[-2]
        assert (np.diff(selector.aic_) < 0).all()


class TestSaliency:
    def test_scores_are_mean_slopes(self, data):
        selector = SaliencySelector(3, hidden=3, epochs=3).fit(data)
        network = ListNet(3, epochs=3, random_state=0).fit(data)
        slopes = []
        for feature in range(data.n_features):
            step = np.zeros(data.n_features)
            step[feature] = 1e-5 * network.scale_[feature]
            differences = network.predict(data.X + step) - network.predict(data.X - step)
            slopes.append(np.abs(differences).mean() / 2e-5)
        varies = [len(set(column)) > 1 for column in data.X.T]
        np.testing.assert_allclose(selector.scores_, np.where(varies, slopes, 0.0), atol=1e-8)

    def test_one_feature_of_each_cluster(self, data):
        selector = SaliencySelector(4, group_size=2).fit(data)
        assert selector.clusters_[selector.selected_].tolist() == [0, 1, 2, 3]
        for cluster, feature in enumerate(selector.selected_):
            members = selector.clusters_ == cluster
            assert selector.scores_[feature] == selector.scores_[members].max()


class TestLifeRank:
    def test_columns_are_orthonormal_and_rank_better_than_at_random(self, data):
        extractor = LifeRank(3).fit(data)
        scale = ListNet().fit(data).scale_
        T = extractor.components_ * scale[:, None]
        np.testing.assert_allclose(T.T @ T, np.eye(3), atol=1e-12)
        assert (np.diff(extractor.losses_) >= 0).all()
        assert extractor.losses_[0] < 0.95 * np.log(2)  # that of equal scores

    def test_before_a_ranker(self, data):
        X = LifeRank(2).fit(data).transform(data)
        assert X.shape == (data.n_rows, 2)
        nothing = evaluate(data.y, np.zeros(data.n_rows), data.qid, "ndcg@10").mean["NDCG@10"]
        assert RankSVM().fit(X, data.y, qid=data.qid).score(X, data.y, data.qid) > nothing + 0.05
        names = LifeRank(2).fit(data).get_feature_names_out().tolist()
        assert names == ["liferank0", "liferank1"]
        assert LifeRank(2).fit_transform(data.X, data.y, qid=data.qid).shape == X.shape

    def test_more_components_than_features(self, data):
        with pytest.raises(DataError, match="n_components=99, but there are 9 features"):
            LifeRank(99).fit(data)
