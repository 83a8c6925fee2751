"""RankSVM: losses and derivatives against explicit pairs, optima against LinearSVC."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from ranksieve import DataError, RankingData, make_ranking
from ranksieve._kernels.pairs import ActivePairs, count_active, order_active
from ranksieve.data import Block
from ranksieve.metrics import evaluate
from ranksieve.rankers import RankSVM, ranksvm_path
from ranksieve.solvers.ranksvm.losses import Hinge, SquaredHinge
from ranksieve.solvers.ranksvm.minimizers import least_on_simplex
from tests import oracles

SCALES = ["pairs", "queries", "sum"]
LOSSES = ["squared_hinge", "hinge"]


def random_data(seed=0, n_queries=12, n_features=5, levels=3):
    """Queries of 1 to 8 documents whose labels follow the first feature; the last is constant."""
    rng = np.random.default_rng(seed)
    qid = np.repeat(np.arange(n_queries), rng.integers(1, 9, n_queries))
    X = rng.normal(size=(len(qid), n_features)) + 3
    utility = X[:, 0] + rng.normal(size=len(qid))
    cuts = np.linspace(2, 4, max(1, levels - 1))
    y = np.digitize(utility, cuts).astype(float) if levels else utility
    X[:, -1] = 1.0
    return RankingData(X, y, qid)


def block_of(data, weights=None):
    return Block(data.X, data.y, data.query_ptr, query_weights=weights)


@st.composite
def scored(draw):
    """Labels, scores and queries: ties, differences of exactly 1, real-valued labels."""
    lengths = draw(st.lists(st.integers(1, 7), min_size=1, max_size=4))
    n_rows = sum(lengths)
    label = draw(st.sampled_from([st.integers(0, 2), st.floats(-1e3, 1e3), st.integers(0, 1)]))
    score = draw(st.sampled_from([st.integers(-8, 8).map(lambda k: k / 4), st.floats(-3, 3)]))
    y = np.array(draw(st.lists(label, min_size=n_rows, max_size=n_rows)), dtype=float)
    z = np.array(draw(st.lists(score, min_size=n_rows, max_size=n_rows)), dtype=float)
    return y, z, np.repeat(np.arange(len(lengths)), lengths)


def with_scores(y, z, qid, weights=None):
    """Data whose single feature is the score."""
    return block_of(RankingData(z[:, None], y, qid), weights)


def row_weights(weights, qid):
    return np.ones(len(qid)) if weights is None else weights[qid]


class TestKernels:
    @given(scored(), st.integers(0, 2**32 - 1))
    def test_partners_equal_explicit_pairs(self, example, seed):
        y, z, qid = example
        values = np.random.default_rng(seed).normal(size=len(y))
        ptr = np.append(np.unique(qid, return_index=True)[1], len(y))
        statistic = SquaredHinge(with_scores(y, z, qid))
        order, reach = np.zeros(len(y), dtype=np.int64), np.zeros(len(y), dtype=np.int32)
        worse, better, sums, others = np.empty((4, len(y)))
        active_pairs = ActivePairs(ptr, statistic.levels, statistic.n_levels, order, reach)
        order_active(z, active_pairs)
        count_active(z, active_pairs, worse, better, others)
        count_active(values, active_pairs, worse, better, sums)
        pairs = oracles.margin_pairs(y, qid)
        active = [(i, j) for i, j in pairs if z[i] - z[j] < 1]
        n_pairs = statistic.n_pairs.tolist()
        assert n_pairs == [sum(qid[i] == q for i, _ in pairs) for q in range(len(ptr) - 1)]
        for row in range(len(y)):
            assert worse[row] == sum(i == row for i, _ in active)
            assert better[row] == sum(j == row for _, j in active)
            partners = [j for i, j in active if i == row] + [i for i, j in active if j == row]
            np.testing.assert_allclose(sums[row], sum(values[p] for p in partners), atol=1e-12)
            np.testing.assert_allclose(others[row], sum(z[p] for p in partners), atol=1e-12)

    @pytest.mark.slow
    @pytest.mark.parametrize("levels", [2, 5, 0])
    def test_long_query(self, levels):
        rng = np.random.default_rng(0)
        y = rng.normal(size=3000) if levels == 0 else rng.integers(0, levels, 3000).astype(float)
        z, v = rng.normal(size=(2, 3000))
        statistic = SquaredHinge(with_scores(y, z, np.zeros(3000, dtype=int)))
        active = (y[:, None] > y) & (z[:, None] - z < 1)
        violations = np.where(active, 1 - z[:, None] + z, 0.0)
        loss, _ = statistic.loss_and_gradient_at(np.ones(1))
        np.testing.assert_allclose(loss, 0.5 * (violations**2).sum(), rtol=1e-10)
        np.testing.assert_allclose(
            statistic.slope, violations.sum(axis=0) - violations.sum(axis=1), rtol=1e-8
        )
        either = active | active.T
        np.testing.assert_allclose(
            statistic._score_hessian_product(v),
            either.sum(axis=1) * v - either @ v,
            rtol=1e-8,
            atol=1e-8,
        )


class TestLosses:
    @given(scored(), st.one_of(st.none(), st.lists(st.integers(0, 3), min_size=4, max_size=4)))
    def test_squared_hinge_equals_explicit_pairs(self, example, weights):
        y, z, qid = example
        if weights is not None:
            weights = np.array(weights[: qid[-1] + 1], dtype=float)
        facts = y, qid, row_weights(weights, qid)
        statistic = SquaredHinge(with_scores(y, z, qid, weights))
        loss, gradient = statistic.loss_and_gradient_at(np.ones(1))
        np.testing.assert_allclose(loss, oracles.margin_loss(z, *facts, 2), rtol=1e-9, atol=1e-9)
        slope = oracles.margin_slope(z, *facts, 2)
        np.testing.assert_allclose(statistic.slope, slope, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(gradient, [slope @ z], rtol=1e-8, atol=1e-8)
        v = np.sin(np.arange(len(z)))
        curve = oracles.margin_curve(
            statistic.z, v, *facts
        )  # at a difference of 1 rounding decides
        np.testing.assert_allclose(statistic._score_hessian_product(v), curve, rtol=1e-9, atol=1e-9)

    @given(scored(), st.floats(-4, 4))
    def test_hinge_equals_explicit_pairs_and_its_plane_is_below(self, example, other):
        y, z, qid = example
        facts = y, qid, np.ones(len(z))
        statistic = Hinge(with_scores(y, z, qid))
        a, b = statistic.start_at(np.ones(1))
        loss = oracles.margin_loss(z, *facts, 1)
        np.testing.assert_allclose(b - a[0], loss, rtol=1e-9, atol=1e-9)
        slope = oracles.margin_slope(statistic.z, *facts, 1)  # rounding decides on what is at 1
        np.testing.assert_allclose(a, [-slope @ z], atol=1e-8)
        assert oracles.margin_loss(other * z, *facts, 1) >= b - a[0] * other - 1e-8
        loss, change = statistic.search_direction(np.ones(1))
        there = statistic.z + statistic.step
        np.testing.assert_allclose(loss, oracles.margin_loss(2 * z, *facts, 1), atol=1e-8)
        slope = oracles.margin_slope(there, *facts, 1)
        np.testing.assert_allclose(change, slope @ z, atol=1e-8)

    @pytest.mark.parametrize("levels", [3, 0])
    def test_derivatives_equal_numerical_ones(self, levels):
        data = random_data(1, levels=levels)
        weights = np.random.default_rng(0).uniform(0.5, 2.0, data.n_queries)
        statistic = SquaredHinge(block_of(data, weights))
        w, step = np.random.default_rng(2).normal(size=(2, data.n_features))

        def along(t):
            return statistic.loss_and_gradient_at(w + t * step)

        h = 1e-6
        slope = (along(h)[0] - along(-h)[0]) / (2 * h)
        product = (along(h)[1] - along(-h)[1]) / (2 * h)
        gradient = along(0.0)[1]
        np.testing.assert_allclose(gradient @ step, slope, rtol=1e-6)
        np.testing.assert_allclose(statistic.hessian_product(step), product, rtol=1e-6, atol=1e-6)
        statistic.search_direction(step)
        np.testing.assert_allclose(statistic.line_derivative(0.0), slope, rtol=1e-6)
        np.testing.assert_allclose(statistic.line_curvature(), product @ step, rtol=1e-6)
        np.testing.assert_allclose(statistic.loss_and_gradient()[1], gradient, rtol=1e-9)

    def test_large_offsets_cost_no_digits(self):
        data = random_data(3)
        moved = RankingData(data.X + 2.0**20, data.y, data.qid)
        w = np.random.default_rng(0).normal(size=data.n_features)
        losses = [SquaredHinge(block_of(d)).loss_and_gradient_at(w)[0] for d in (data, moved)]
        np.testing.assert_allclose(*losses, rtol=1e-7)


def differences(data):
    """Differences of all pairs with alternating signs, and the signs."""
    pairs = oracles.margin_pairs(data.y, data.qid)
    signs = np.where(np.arange(len(pairs)) % 2, -1, 1)
    return np.array([data.X[i] - data.X[j] for i, j in pairs]) * signs[:, None], signs


def per_pair(data, C, scale):
    n_pairs = len(oracles.margin_pairs(data.y, data.qid))
    return C / {"pairs": n_pairs, "queries": data.n_queries, "sum": 1}[scale]


def objective(data, w, C_p, power):
    D, signs = differences(data)
    return 0.5 * w @ w + C_p * np.sum(np.maximum(0.0, 1 - signs * (D @ w)) ** power) / power


class TestOptimum:
    @pytest.mark.parametrize("scale", SCALES)
    @pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
    @pytest.mark.parametrize("levels", [2, 3, 0])
    def test_squared_hinge_equals_linear_svc(self, scale, C, levels):
        data = random_data(4, levels=levels)
        C_p = per_pair(data, C, scale)
        peer = LinearSVC(
            C=C_p / 2, fit_intercept=False, dual=False, tol=1e-12, max_iter=100_000
        ).fit(*differences(data))
        ranker = RankSVM(C, scale=scale, tol=1e-10).fit(data)
        least = objective(data, peer.coef_[0], C_p, 2)
        ours = objective(data, ranker.coef_, C_p, 2)
        np.testing.assert_allclose([ours, ranker.objective_], least, rtol=1e-6)
        assert ranker.C_per_pair_ == C_p
        assert ours - least <= ranker.gap_ + 1e-12 * least
        np.testing.assert_allclose(ranker.coef_, peer.coef_[0], rtol=1e-3, atol=1e-4)

    @pytest.mark.parametrize("scale", SCALES)
    @pytest.mark.parametrize("C", [0.01, 1.0])
    @pytest.mark.parametrize("levels", [2, 3, 0])
    def test_hinge_equals_linear_svc(self, scale, C, levels):
        data = random_data(5, levels=levels)
        C_p = per_pair(data, C, scale)
        peer = LinearSVC(
            C=C_p, loss="hinge", fit_intercept=False, tol=1e-9, max_iter=2_000_000, random_state=0
        ).fit(*differences(data))
        ranker = RankSVM(C, scale=scale, loss="hinge", tol=1e-8).fit(data)
        least = objective(data, peer.coef_[0], C_p, 1)
        ours = objective(data, ranker.coef_, C_p, 1)
        np.testing.assert_allclose([ours, ranker.objective_], least, rtol=1e-6)
        assert ranker.gap_ <= 1e-8 * ranker.objective_

    @pytest.mark.parametrize("loss", LOSSES)
    def test_forms_of_the_matrix(self, loss):
        data = random_data(7, n_queries=30)
        X = np.where(data.X > 3, data.X, 0.0).astype(np.float32)
        expected = RankSVM(10.0, loss=loss, tol=1e-9).fit(X.astype(float), data.y, qid=data.qid)
        for form in (X, sparse.csr_matrix(X), sparse.csr_matrix(X.astype(float))):
            ranker = RankSVM(10.0, loss=loss, tol=1e-9).fit(form, data.y, qid=data.qid)
            np.testing.assert_allclose(ranker.objective_, expected.objective_, rtol=1e-8)
            np.testing.assert_allclose(ranker.coef_, expected.coef_, rtol=1e-2, atol=1e-3)

    def test_more_than_rounding_allows_is_told(self):
        with pytest.warns(ConvergenceWarning, match="iterations \\(max_iter=1000\\)"):
            ranker = RankSVM(1e6, scale="sum", tol=1e-30).fit(random_data(8))
        assert ranker.n_iter_ < 50

    # Squares of such scales differ by 1e14, so rounding decides how small a gap can be shown.
    @pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
    def test_features_of_very_different_scales(self):
        data = random_data(8, n_queries=60, n_features=12)
        scales = 10.0 ** np.linspace(-3, 4, 12)
        ranker = RankSVM(1e4, scale="sum").fit(data.X * scales, data.y, qid=data.qid)
        assert ranker.n_iter_ <= 20
        assert ranker.gap_ <= 1e-8 * ranker.objective_

    @pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
    def test_default_weights_are_right_to_five_digits(self, C):
        for seed in range(5):
            data, _ = make_ranking(15, n_informative=3, n_redundant=3, n_noise=4, random_state=seed)
            expected = oracles.ranksvm_weights(*differences(data), per_pair(data, C, "pairs"))
            error = np.linalg.norm(RankSVM(C).fit(data).coef_ - expected)
            assert error <= 1e-5 * np.linalg.norm(expected)

    @pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
    def test_default_weights_of_the_hinge_loss_are_right_to_five_digits(self, C):
        data, _ = make_ranking(30, n_informative=3, n_redundant=3, n_noise=4, random_state=0)
        ranker = RankSVM(C, loss="hinge").fit(data)
        tight = RankSVM(C, loss="hinge", tol=1e-14).fit(data)
        # A gap says how far away the optimum can be; that of `tight` is the smaller one.
        assert np.sqrt(2 * tight.gap_) <= 1e-6 * np.linalg.norm(tight.coef_)
        assert np.linalg.norm(ranker.coef_ - tight.coef_) <= 1e-5 * np.linalg.norm(tight.coef_)

    @pytest.mark.filterwarnings("error::sklearn.exceptions.ConvergenceWarning")
    @pytest.mark.parametrize("factor", [1e3, 1e6, 1e9])
    def test_large_features_do_not_end_the_descent_early(self, factor):
        """Rounding hides the last steps in the objective, but not in its gradient."""
        data, _ = make_ranking(100, n_informative=3, n_noise=6, random_state=0)
        X = data.X.copy()
        X[:, ::2] *= factor
        ranker = RankSVM().fit(X, data.y, qid=data.qid)
        assert ranker.gap_ <= ranker.tol * ranker.objective_

    def test_planes_end_where_rounding_does(self):
        data, _ = make_ranking(100, n_informative=5, n_redundant=5, n_noise=10, random_state=0)
        X = data.X.copy()
        X[:, ::2] *= 1e6
        with pytest.warns(ConvergenceWarning, match="rounding allows no more: scale"):
            ranker = RankSVM(0.01, loss="hinge").fit(X, data.y, qid=data.qid)
        assert ranker.gap_ <= 1e-8 * ranker.objective_

    @pytest.mark.parametrize("seed", range(5))
    def test_least_on_simplex(self, seed):
        rng = np.random.default_rng(seed)
        planes = rng.normal(size=(30, 6))
        planes[10:15] = planes[:5]  # duplicates make the system singular
        offsets = rng.normal(size=30)
        shares = np.eye(30)[0]
        x = least_on_simplex(planes @ planes.T, offsets, shares, 1e-10)
        slope = planes @ (planes.T @ x) - offsets
        assert x.min() >= 0
        assert x.sum() == pytest.approx(1)
        assert x @ slope - slope.min() <= 1e-9


class TestStarts:
    @pytest.mark.slow
    @pytest.mark.parametrize("loss", LOSSES)
    def test_warm_start_is_the_same_in_fewer_iterations(self, loss):
        data, _ = make_ranking(25, n_informative=4, n_noise=6, noise=0.5, random_state=3)
        warm = RankSVM(loss=loss, scale="sum", warm_start=True)
        cold_steps = warm_steps = 0
        for C in 10.0 ** np.arange(-3, 1.5):
            cold = RankSVM(C, loss=loss, scale="sum").fit(data)
            warm.set_params(C=C).fit(data)
            np.testing.assert_allclose(warm.objective_, cold.objective_, rtol=2e-6)
            cold_steps, warm_steps = cold_steps + cold.n_iter_, warm_steps + warm.n_iter_
        assert warm_steps < cold_steps
        if loss == "squared_hinge":
            assert warm.fit(data).n_iter_ == 0
        with pytest.raises(DataError, match="last fit had 15 features, but now there are 2"):
            warm.fit(data.take_features([0, 1]))

    @pytest.mark.slow
    @pytest.mark.parametrize("loss", LOSSES)
    def test_path(self, loss):
        data, _ = make_ranking(25, n_informative=4, n_noise=6, noise=0.5, random_state=3)
        Cs = 10.0 ** np.arange(-3, 1.5)
        cold_steps = path_steps = 0
        for C, solution in zip(Cs, ranksvm_path(data, Cs, scale="sum", loss=loss), strict=True):
            cold = RankSVM(C, loss=loss, scale="sum").fit(data)
            assert solution.C == C
            assert solution.C_per_pair == cold.C_per_pair_
            np.testing.assert_allclose(solution.objective, cold.objective_, rtol=2e-6)
            cold_steps, path_steps = cold_steps + cold.n_iter_, path_steps + solution.n_iter
        assert path_steps < cold_steps

    def test_path_refuses_bad_parameters(self):
        data = random_data(9)
        with pytest.raises(ValueError, match="'loss' parameter"):
            next(ranksvm_path(data, [1.0], loss="hinged"))
        with pytest.raises(ValueError, match="'C' parameter"):
            next(ranksvm_path(data, [1.0, 0.0]))

    @pytest.mark.parametrize("loss", LOSSES)
    def test_stopping_early_is_told(self, loss):
        data = random_data(9)
        with pytest.warns(ConvergenceWarning, match="max_iter=1\\)"):
            ranker = RankSVM(1e3, loss=loss, max_iter=1).fit(data)
        assert ranker.n_iter_ == 1
        assert ranker.gap_ > 1e-6 * ranker.objective_


class TestEverywhere:
    @pytest.mark.parametrize("loss", LOSSES)
    def test_same_weights(self, everywhere, loss):
        data, _ = make_ranking(60, n_informative=4, n_noise=4, noise=0.5, random_state=5)
        weights = np.random.default_rng(0).uniform(0.5, 2.0, data.n_queries)
        expected = RankSVM(10.0, loss=loss).fit(data, sample_weight=weights)
        ranker = RankSVM(10.0, loss=loss).fit(everywhere(data, 15_000), sample_weight=weights)
        np.testing.assert_allclose(ranker.objective_, expected.objective_, rtol=2e-6)
        np.testing.assert_allclose(ranker.coef_, expected.coef_, rtol=1e-2, atol=1e-3)


@pytest.mark.parametrize("loss", LOSSES)
class TestDegenerate:
    def test_features_that_tell_nothing(self, loss):
        X, y, qid = np.ones((6, 2)), [0, 1, 2, 0, 1, 0], [1, 1, 1, 2, 2, 3]
        ranker = RankSVM(loss=loss, scale="sum").fit(X, y, qid=qid)
        assert ranker.coef_.tolist() == [0, 0]
        assert ranker.objective_ == pytest.approx(4 if loss == "hinge" else 2)

    def test_separable_single_query(self, loss):
        X = np.array([[0.0, 5.0], [1.0, 5.0], [3.0, 5.0]])
        ranker = RankSVM(1e6, loss=loss, scale="sum").fit(X, [0, 1, 2], qid=[1, 1, 1])
        np.testing.assert_allclose(ranker.coef_, [1, 0], atol=1e-4)

    def test_queries_without_pairs_count_as_queries_only(self, loss):
        data = random_data(11)
        X = np.concatenate([data.X, data.X[:3] + 100])
        y, qid = np.append(data.y, [1, 2, 2]), np.append(data.qid, [98, 99, 99])
        for scale, factor in (("pairs", 1.0), ("sum", 1.0), ("queries", 14 / 12)):
            alone = RankSVM(2.0, loss=loss, scale=scale, tol=1e-8).fit(data)
            more = RankSVM(2.0 * factor, loss=loss, scale=scale, tol=1e-8).fit(X, y, qid=qid)
            np.testing.assert_allclose(more.objective_, alone.objective_, rtol=1e-7)


def test_mq2008_to_the_last_digit(mq2008_dir):
    from ranksieve.datasets import open_collection

    Cs = [10.0**power for power in range(-2, 3)]
    for fold in range(5):
        train, _, test = open_collection(mq2008_dir).read_fold(fold)
        paths = ranksvm_path(train, Cs), ranksvm_path(train, Cs, tol=1e-14)
        for found, tight in zip(*paths, strict=True):
            error = np.linalg.norm(found.coef - tight.coef)
            assert error <= 1e-5 * np.linalg.norm(tight.coef)
            values, expected = (
                evaluate(test.y, test.X @ coef, test.qid, ["map", "ndcg@1", "ndcg@10"], "letor4")
                for coef in (found.coef, tight.coef)
            )
            assert values.mean == pytest.approx(expected.mean, abs=1e-9)
