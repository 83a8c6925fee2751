"""FSMRank: optima against L-BFGS-B on listed pairs, and MQ2008."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranksieve import DataError, RankingData, make_ranking
from ranksieve.datasets import open_collection
from ranksieve.metrics import evaluate
from ranksieve.rankers import RankSVM
from ranksieve.selectors import FSMRank, Importance, Similarity, fsmrank_path
from tests.oracles_margins import least_by_splitting, mean_loss, mean_slopes, pair_differences


def random_data(seed=0, n_queries=12, n_features=6, levels=3):
    """Queries of 1 to 8 documents, labels by the first two features, which are alike."""
    rng = np.random.default_rng(seed)
    qid = np.repeat(np.arange(n_queries), rng.integers(1, 9, n_queries))
    X = rng.normal(size=(len(qid), n_features))
    X[:, 1] = X[:, 0] + 0.5 * X[:, 1]
    utility = X[:, 0] + X[:, 1] + rng.normal(size=len(qid))
    return RankingData(X, np.digitize(utility, np.linspace(0, 2, levels - 1)), qid)


def identity(source):
    return np.eye(source.n_features)


class TestOptimum:
    @pytest.mark.parametrize("similarity", ["concordance", "tau_b", "spearman"])
    @pytest.mark.parametrize("cost", ["inverse", "complement"])
    @pytest.mark.parametrize("lambdas", [(0.1, 0.01), (0.001, 0.05), (1.0, 0.0), (0.0, 0.02)])
    def test_equals_splitting(self, similarity, cost, lambdas):
        data = random_data(1)
        D = pair_differences(data)
        lambda1, lambda2 = lambdas
        selector = FSMRank(
            lambda1=lambda1, lambda2=lambda2, similarity=similarity, cost=cost, tol=1e-9
        ).fit(data)
        importance = Importance("map")(data).values
        A = Similarity(similarity, absolute=True)(data)
        A = A + max(0.0, -np.linalg.eigvalsh(A)[0]) * np.eye(len(A))
        b = 1 / importance if cost == "inverse" else 1 - importance
        np.testing.assert_allclose(selector.importance_, importance)
        np.testing.assert_allclose(selector.similarity_, A, atol=1e-9)

        def smooth(w):
            return mean_loss(D, w), mean_slopes(D, w)

        _, least = least_by_splitting(smooth, lambda2 * b, lambda1 * A)
        w = selector.coef_
        size = np.abs(w)
        ours = mean_loss(D, w) + lambda2 * b @ size + lambda1 / 2 * size @ A @ size
        assert ours == pytest.approx(least, rel=1e-8)
        assert selector.objective_ == pytest.approx(ours, rel=1e-9)
        bounds, slopes = lambda2 * b + lambda1 * A @ size, mean_slopes(D, w)
        assert np.all(np.abs(slopes)[w == 0] <= bounds[w == 0] + 1e-8)
        np.testing.assert_allclose(slopes[w != 0], -(np.sign(w) * bounds)[w != 0], atol=1e-8)
        np.testing.assert_array_equal(selector.support_, w != 0)

    @pytest.mark.parametrize("lambda1", [1.0, 0.01])
    def test_similarity_to_itself_alone_is_ranksvm(self, lambda1):
        data = random_data(2)
        selector = FSMRank(lambda1=lambda1, lambda2=0, similarity=identity, tol=1e-9).fit(data)
        ranker = RankSVM(C=2 / lambda1, tol=1e-12).fit(data)
        np.testing.assert_allclose(selector.coef_, ranker.coef_, atol=1e-6)

    def test_without_penalties_it_is_ranksvm_that_trusts_the_pairs(self):
        data = random_data(3, n_queries=30)
        selector = FSMRank(lambda1=0, lambda2=0, tol=1e-9).fit(data)
        ranker = RankSVM(C=1e7, tol=1e-14).fit(data)
        np.testing.assert_allclose(selector.coef_, ranker.coef_, rtol=1e-4, atol=1e-5)
        assert len(selector.selected_) == data.n_features

    @given(st.integers(0, 2**32 - 1), st.floats(1e-4, 1), st.floats(1e-4, 0.3))
    def test_conditions_of_optimality(self, seed, lambda1, lambda2):
        data = random_data(seed, n_queries=5, n_features=8)
        D = pair_differences(data)
        if len(D) == 0:
            return
        selector = FSMRank(lambda1=lambda1, lambda2=lambda2, tol=1e-8).fit(data)
        w, slopes = selector.coef_, mean_slopes(D, selector.coef_)
        bounds = lambda2 / selector.importance_ + lambda1 * selector.similarity_ @ np.abs(w)
        wrong = np.where(w == 0, np.abs(slopes) - bounds, np.abs(slopes + np.sign(w) * bounds))
        assert wrong.max() <= 1e-6

    def test_similarity_that_is_not_semidefinite_becomes_so(self):
        data = random_data(4)
        A = np.ones((6, 6)) - np.eye(6)  # its least eigenvalue is -1
        selector = FSMRank(similarity=lambda source: A).fit(data)
        np.testing.assert_allclose(selector.similarity_, A + np.eye(6), atol=1e-12)

    @pytest.mark.parametrize("which", ["similarity", "importance"])
    def test_a_term_falls_as_it_counts_more(self, which):
        data, _ = make_ranking(
            60, n_informative=3, n_redundant=6, n_noise=3, copy_noise=0.2, tied=0, noise=0.2
        )
        data = RankingData(data.X / data.X.std(axis=0), data.y, data.qid)
        values, sizes = [], []
        for lam in (0.0, 0.001, 0.01, 0.1, 1.0):
            lambda1, lambda2 = (lam, 0.001) if which == "similarity" else (0.001, 0.1 * lam)
            selector = FSMRank(lambda1=lambda1, lambda2=lambda2, similarity="tau_b").fit(data)
            size = np.abs(selector.coef_)
            terms = {
                "similarity": size @ selector.similarity_ @ size,
                "importance": (1 / selector.importance_) @ size,
            }
            values.append(terms[which])
            sizes.append(len(selector.selected_))
        assert np.all(np.diff(values) < 0)
        assert sizes[-1] < sizes[0]


class TestPath:
    def test_equals_single_fits_in_fewer_steps(self):
        data, _ = make_ranking(40, n_informative=4, n_noise=8, noise=0.3, tied=0, random_state=3)
        lambda1s, lambda2s = [0.1, 0.01], [0.1, 0.03, 0.01, 0.003]
        path = list(fsmrank_path(data, lambda1s, lambda2s, tol=1e-9, importance="ndcg@5"))
        assert [(fit.lambda1, fit.lambda2) for fit in path] == list(product(lambda1s, lambda2s))
        steps = 0
        for fit in path:
            lambdas = dict(lambda1=fit.lambda1, lambda2=fit.lambda2)
            alone = FSMRank(**lambdas, tol=1e-9, importance="ndcg@5").fit(data)
            np.testing.assert_allclose(fit.coef, alone.coef_, atol=1e-6)
            assert fit.objective == pytest.approx(alone.objective_, rel=1e-9)
            assert fit.violation <= 1e-9
            steps += alone.n_iter_
        assert sum(fit.n_iter for fit in path) < steps

    def test_bad_parameters(self):
        data = random_data(5)
        with pytest.raises(ValueError, match="'lambda2' parameter"):
            next(fsmrank_path(data, [0.1], [0.1, -1.0]))
        with pytest.raises(TypeError, match="gamma"):
            next(fsmrank_path(data, [0.1], [0.1], gamma=1.0))
        with pytest.raises(ValueError, match="does not take include"):
            next(fsmrank_path(data, [0.1], [0.1], include=[0]))
        with pytest.raises(DataError, match="equal labels"):
            next(fsmrank_path(RankingData(data.X, data.query_codes, data.qid), [0.1], [0.1]))

    def test_mq2008(self, mq2008_dir):
        """25 pairs of penalties; as good as the published baselines on average."""
        lambda1s, lambda2s = 10.0 ** np.arange(0, -5, -1), 10.0 ** np.arange(-1, -6, -1)
        collection, values, sizes = open_collection(mq2008_dir), [], []
        for fold in range(5):
            train, vali, test = collection.read_fold(fold)
            fits = list(fsmrank_path(train, lambda1s, lambda2s))
            best = max(fits, key=lambda fit: self.map_of(vali, fit.coef))
            values.append(self.map_of(test, best.coef))
            sizes.append(np.count_nonzero(best.coef))
        assert len(fits) == 25
        assert np.mean(sizes) < 20
        # Published: 0.4771. The objective and the grid are ours.
        np.testing.assert_allclose(values, [0.4311, 0.4246, 0.4482, 0.5414, 0.5183], atol=2e-3)
        assert np.mean(values) == pytest.approx(0.4728, abs=5e-4)

    @staticmethod
    def map_of(data, coef):
        scores = data.X @ coef
        return evaluate(data.y, scores, data.qid, ["map"], convention="letor4").mean["MAP"]


class TestSelection:
    def test_largest_weights(self):
        data, _ = make_ranking(60, n_informative=4, n_noise=6, noise=0.3, tied=0, random_state=1)
        every = FSMRank().fit(data)
        np.testing.assert_array_equal(
            every.selected_, np.argsort(-every.scores_)[: len(every.selected_)]
        )
        three = FSMRank(3).fit(data)
        np.testing.assert_array_equal(three.selected_, every.selected_[:3])
        np.testing.assert_allclose(three.coef_, np.where(three.support_, every.coef_, 0))
        assert len(FSMRank(0.5).fit(data).selected_) == round(0.5 * data.n_features)

    def test_bad_similarity(self):
        data = random_data(7)
        for wrong, message in (
            (np.eye(3), "shape \\(3, 3\\), but there are 6 features"),
            (np.triu(np.ones((6, 6))), "symmetric"),
            (-np.ones((6, 6)), "negative"),
            (np.full((6, 6), np.nan), "finite"),
        ):
            with pytest.raises(DataError, match=message):
                FSMRank(similarity=lambda source, A=wrong: A).fit(data)
