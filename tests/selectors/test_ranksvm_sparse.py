"""Sparse RankSVM: derivatives against listed pairs, optima against LinearSVC and L-BFGS-B."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from ranksieve import DataError, RankingData, make_ranking
from ranksieve.data import Block
from ranksieve.metrics import evaluate
from ranksieve.selectors import FSMRank, SparseRank, SparseRankSVM
from ranksieve.solvers.ranksvm.mean_loss import ActiveSet, mean_loss
from ranksieve.solvers.ranksvm.penalties import MCP, Log, Weighted
from ranksieve.solvers.ranksvm.sparse_newton import SparseNewton, least_quadratic
from tests.oracles_margins import (
    least_by_splitting,
    mean_hessian,
    mean_slopes,
    pair_differences,
)
from tests.oracles_margins import mean_loss as listed_loss

PENALTIES = ["l1", "mcp", "log"]


def random_data(seed=0, n_queries=12, n_features=6, levels=3):
    """Queries of 1 to 8 documents, labels by the first two features; the last is constant."""
    rng = np.random.default_rng(seed)
    qid = np.repeat(np.arange(n_queries), rng.integers(1, 9, n_queries))
    X = rng.normal(size=(len(qid), n_features)) + 3
    utility = X[:, 0] - 0.5 * X[:, 1] + rng.normal(size=len(qid))
    y = np.digitize(utility, np.linspace(1, 2.5, levels - 1)).astype(float) if levels else utility
    X[:, -1] = 1.0
    return RankingData(X, y, qid)


def spread_of(data):
    """Standard deviation within queries, documents weighted by the number of their pairs."""
    total, squares = 0.0, np.zeros(data.n_features)
    for q in np.unique(data.qid):
        rows = data.qid == q
        X, y = data.X[rows], data.y[rows]
        partners = (y[:, None] != y).sum(axis=1)
        if partners.sum():
            mean = partners @ X / partners.sum()
            squares += partners @ (X - mean) ** 2
            total += partners.sum()
    return np.sqrt(squares / total)


def full(fit, n_features):
    coef = np.zeros(n_features)
    coef[fit.features] = fit.coef
    return coef


def conditions(slopes, w, bounds):
    """How far each weight is from optimal, for a slope of the penalty of ``bounds`` at |w|."""
    return np.where(
        w == 0, np.maximum(0, np.abs(slopes) - bounds), np.abs(slopes + np.sign(w) * bounds)
    )


class TestStatistic:
    @given(
        st.integers(0, 2**32 - 1),
        st.sampled_from([2, 3, 0]),
        st.booleans(),
        st.lists(st.integers(0, 5), min_size=1, max_size=6, unique=True),
    )
    def test_derivatives_equal_listed_pairs(self, seed, levels, keep, columns):
        data = random_data(seed, n_queries=4, levels=levels)
        D = pair_differences(data)
        if len(D) == 0:
            return
        statistic = ActiveSet(Block(data.X, data.y, data.query_ptr))
        w = np.zeros(6)
        w[columns] = np.random.default_rng(seed).normal(size=len(columns))
        loss, slopes = statistic.set_active(np.array(columns), keep, w[columns])
        scale = 2 / len(D)
        np.testing.assert_allclose(scale * loss, listed_loss(D, w), rtol=1e-9)
        np.testing.assert_allclose(scale * statistic.full_gradient(), mean_slopes(D, w), atol=1e-9)
        np.testing.assert_allclose(scale * slopes, mean_slopes(D, w)[columns], atol=1e-9)
        H = mean_hessian(D, w)[np.ix_(columns, columns)]
        np.testing.assert_allclose(scale * statistic.hessian(), H, atol=1e-9)

    def test_weights_of_queries_and_forms_of_the_matrix(self):
        data = random_data(1, n_queries=30)
        X = np.where(data.X > 3, data.X, 0.0).astype(np.float32)
        weights = np.random.default_rng(0).integers(0, 3, data.n_queries).astype(float)
        w, columns = np.random.default_rng(2).normal(size=3), np.array([0, 2, 4])
        expected = None
        for form in (X.astype(float), X, sparse.csr_matrix(X)):
            statistic = ActiveSet(Block(form, data.y, data.query_ptr, query_weights=weights))
            loss, slopes = statistic.set_active(columns, False, w)
            told = [loss, *slopes, *statistic.hessian().ravel(), *statistic.count_varying()]
            step = np.array([0.1, -0.2, 0.3])
            ahead = statistic.set_active(columns, True, w + step)[0]
            statistic.set_active(columns, True, w)
            assert statistic.loss_after(step) == pytest.approx(ahead, rel=1e-9)
            assert statistic.line_loss(0.0) == pytest.approx(loss, rel=1e-9)
            expected = told if expected is None else expected
            np.testing.assert_allclose(told, expected, rtol=1e-9)
        repeated = np.repeat(np.arange(data.n_queries), weights.astype(int))
        rows = [np.flatnonzero(data.qid == q) for q in repeated]
        qid = np.repeat(np.arange(len(rows)), [len(part) for part in rows])
        order = np.concatenate(rows)
        copies = RankingData(X[order].astype(float), data.y[order], qid)
        again = ActiveSet(Block(copies.X, copies.y, copies.query_ptr))
        loss, slopes = again.set_active(columns, True, w)
        told = [loss, *slopes, *again.hessian().ravel()]
        np.testing.assert_allclose(told, expected[: len(told)], rtol=1e-9)

    def test_large_offsets_cost_no_digits(self):
        data = random_data(3)
        w, columns = np.array([0.3, -0.2]), np.array([0, 1])
        found = []
        for X in (data.X, data.X + 2.0**20):
            statistic = ActiveSet(Block(X, data.y, data.query_ptr))
            statistic.set_active(columns, True, w)
            found.append(statistic.hessian())
        np.testing.assert_allclose(*found, rtol=1e-7)

    def test_deviations(self):
        data = random_data(4)
        with mean_loss(data) as loss:
            np.testing.assert_allclose(loss.deviations[:-1], spread_of(data)[:-1], rtol=1e-10)
            assert loss.deviations[-1] == 1
            assert loss.varies.tolist() == [True] * 5 + [False]

    def test_what_varies_only_where_there_are_no_pairs_does_not(self):
        X = np.array([[1.0, 2.0], [1.0, 3.0], [5.0, 0.0], [6.0, 0.0]])
        with mean_loss(RankingData(X, [0, 1, 1, 1], [1, 1, 2, 2])) as loss:
            assert loss.varies.tolist() == [False, True]
            assert loss.full_gradient()[0] == 0


class TestPenalties:
    @pytest.mark.parametrize("kind", [MCP, Log])
    @given(
        st.lists(st.floats(0.01, 9), min_size=3, max_size=3), st.floats(0.1, 2), st.floats(0.2, 5)
    )
    def test_slopes_are_those_of_the_value(self, kind, w, lam, shape):
        w, scales, h = np.array(w), np.array([1.0, 0.5, 3.0]), 1e-6
        penalty = kind(lam, shape, scales)
        for feature in range(3):
            step = h * np.eye(3)[feature]
            slope = (penalty.value(w + step) - penalty.value(w - step)) / (2 * h)
            np.testing.assert_allclose(penalty.slopes(w)[feature], slope, atol=1e-5)
            if kind is Log:  # MCP's slopes have a kink
                bend = (penalty.slopes(w + step) - penalty.slopes(w - step))[feature] / (2 * h)
                np.testing.assert_allclose(penalty.curvatures(w)[feature], bend, atol=1e-4)
        np.testing.assert_allclose(penalty.slopes(np.zeros(3)), lam * scales)
        assert penalty.value(-w) == penalty.value(w)
        only = penalty.take(np.array([2]))
        assert only.value(w[2:]) == pytest.approx(penalty.value(w * [0, 0, 1]))

    def test_limits_are_l1(self):
        w, scales = np.array([0.5, -2.0]), np.array([1.0, 2.0])
        for kind in (MCP, Log):
            assert kind(0.3, 1e9, scales).value(w) == pytest.approx(0.3 * 4.5, rel=1e-6)


class TestQuadratic:
    @pytest.mark.parametrize("seed", range(8))
    @pytest.mark.parametrize("similar", [False, True])
    def test_equals_splitting(self, seed, similar):
        rng = np.random.default_rng(seed)
        n = 8
        F, G = rng.normal(size=(12, n)), rng.random((n, n))
        H, linear, b = F.T @ F / 12, rng.normal(size=n), rng.random(n)
        A = G @ G.T / n if similar else np.zeros((n, n))
        penalty = Weighted(b, A if similar else None)
        start = np.where(rng.random(n) < 0.5, rng.normal(size=n), 0.0)
        v = least_quadratic(H, linear, penalty, start, np.full(n, 1e-10))
        _, least = least_by_splitting(
            lambda w: (0.5 * w @ H @ w + linear @ w, H @ w + linear), b, A
        )
        assert 0.5 * v @ H @ v + linear @ v + penalty.value(v) == pytest.approx(least, abs=1e-9)
        assert penalty.violation(v, H @ v + linear).max() < 1e-9

    def test_the_second_of_two_equal_features_stays_out(self):
        F = np.random.default_rng(0).normal(size=(20, 4))
        F = np.column_stack([F, F])
        H, linear = F.T @ F, -F.T @ np.ones(20)
        v = least_quadratic(H, linear, Weighted(np.full(8, 0.01)), np.zeros(8), np.full(8, 1e-8))
        assert np.all(v[:4] != 0)
        assert v[4:].tolist() == [0] * 4

    def test_more_features_than_directions(self):
        F = np.random.default_rng(0).normal(size=(3, 7))
        H, linear, b = F.T @ F, -F.T @ np.ones(3), np.full(7, 0.05)
        v = least_quadratic(H, linear, Weighted(b), np.zeros(7), np.full(7, 1e-9))
        assert conditions(H @ v + linear, v, b).max() < 1e-8
        assert np.count_nonzero(v) <= 3


class TestOptimum:
    @pytest.mark.parametrize("levels", [2, 3, 0])
    @pytest.mark.parametrize("share", [0.5, 0.1, 0.01])
    def test_l1_equals_linear_svc(self, levels, share):
        data = random_data(4, levels=levels)
        D = pair_differences(data)
        selector = SparseRankSVM(lam=share, n_lams=10, standardize=False, tol=1e-9).fit(data)
        assert selector.largest_penalty_ == pytest.approx(np.abs(mean_slopes(D, np.zeros(6))).max())
        lam, signs = selector.lam_, np.where(np.arange(len(D)) % 2, -1, 1)
        peer = LinearSVC(
            C=1 / (lam * len(D)),
            penalty="l1",
            loss="squared_hinge",
            dual=False,
            fit_intercept=False,
            tol=1e-10,
            max_iter=100_000,
        ).fit(D * signs[:, None], signs)

        def objective(w):
            return listed_loss(D, w) + lam * np.abs(w).sum()

        ours, theirs = objective(selector.coef_), objective(peer.coef_[0])
        assert ours == pytest.approx(theirs, rel=1e-6)
        assert selector.solutions_[-1].objective == pytest.approx(ours, rel=1e-9)

    @pytest.mark.parametrize("penalty", PENALTIES)
    @pytest.mark.parametrize("standardize", [True, False])
    def test_conditions_of_optimality_on_the_whole_path(self, penalty, standardize):
        data, _ = make_ranking(15, docs_per_query=(2, 8), n_informative=3, n_noise=5, tied=0)
        D = pair_differences(data)
        scales = spread_of(data) if standardize else np.ones(data.n_features)
        settings = dict(gamma=4.0, epsilon=0.5, lam=0.003, n_lams=12, tol=1e-8)
        selector = SparseRankSVM(penalty=penalty, standardize=standardize, **settings).fit(data)
        at_0 = np.abs(mean_slopes(D, np.zeros(data.n_features))) / scales
        first, largest = int(np.argmax(at_0)), at_0.max()
        h = mean_hessian(D, np.zeros(data.n_features))[first, first] / scales[first] ** 2
        assert selector.largest_penalty_ == pytest.approx(largest)
        lams = [fit.lam for fit in selector.solutions_]
        np.testing.assert_allclose(lams, largest * np.geomspace(1, 0.003, 12))
        assert len(selector.solutions_[0].features) == 0
        assert len(selector.solutions_[-1].features) >= 4
        for fit in selector.solutions_:
            w = full(fit, data.n_features)
            t = np.abs(w) * scales
            bounds = {
                "l1": np.full(len(w), fit.lam),
                "mcp": np.maximum(0, fit.lam - t * h / 4.0),
                "log": fit.lam / (1 + t * h / (0.5 * largest)),
            }[penalty]
            worst = conditions(mean_slopes(D, w), w, scales * bounds) / scales
            assert worst.max() <= 2e-8 * largest

    @pytest.mark.parametrize("penalty", PENALTIES)
    def test_screening_changes_nothing_and_reads_less(self, penalty):
        data, _ = make_ranking(30, n_informative=3, n_noise=37, noise=0.3, tied=0, random_state=1)
        read = {}
        found = {}
        for screen in (True, False):
            with mean_loss(data) as loss:
                solver = SparseNewton(loss)
                if not screen:
                    varying = np.flatnonzero(loss.varies)
                    solver._first_working_set = lambda penalty, every=varying: every
                focus, sizes = loss.set_active, []
                loss.set_active = lambda columns, w, go=focus, told=sizes: (
                    told.append(len(columns)) or go(columns, w)
                )
                kinds = {
                    "l1": lambda lam, s=loss.deviations: Weighted(lam * s),
                    "mcp": lambda lam, s=loss.deviations: MCP(lam, 1.0, s),
                    "log": lambda lam, s=loss.deviations: Log(lam, 0.2, s),
                }
                found[screen] = [
                    solver.solve(kinds[penalty](lam), 1e-9).coef
                    for lam in solver.steepest * np.geomspace(1, 0.05, 8)
                ]
                read[screen] = sum(sizes)
        np.testing.assert_allclose(found[True], found[False], atol=1e-7)
        assert read[True] < 0.5 * read[False]

    def test_a_feature_that_screening_misses_is_found(self):
        data, _ = make_ranking(40, n_informative=4, n_noise=4, tied=0, random_state=2)
        with mean_loss(data) as loss:
            solver = SparseNewton(loss)
            penalty = Weighted(0.02 * solver.steepest * loss.deviations)
            expected = solver.solve(penalty, 1e-9).coef
        with mean_loss(data) as loss:
            solver = SparseNewton(loss)
            solver._first_working_set = lambda penalty: np.zeros(0, dtype=int)
            np.testing.assert_allclose(solver.solve(penalty, 1e-9).coef, expected, atol=1e-8)

    @given(st.integers(0, 2**32 - 1), st.sampled_from(PENALTIES))
    def test_few_documents(self, seed, penalty):
        """More features than pairs, all pairs apart before the path ends, two equal features."""
        data = random_data(seed, n_queries=2, n_features=7, levels=2)
        X = np.column_stack([data.X, data.X[:, 0]])
        D = pair_differences(RankingData(X, data.y, data.qid))
        if len(D) == 0:
            return
        selector = SparseRankSVM(penalty=penalty, lam=1e-4, n_lams=8, tol=1e-7)
        selector.fit(X, data.y, qid=data.qid)
        for fit in selector.solutions_:
            w = full(fit, 8)
            assert fit.violation <= 1e-7
            assert w[-1] == 0
            if penalty == "l1":
                scales = np.append(spread_of(data), spread_of(data)[0])
                worst = conditions(mean_slopes(D, w), w, fit.lam * scales)
                assert worst.max() <= 1e-6 * selector.largest_penalty_ * scales.max()

    def test_steps_are_few(self):
        data, _ = make_ranking(60, n_informative=4, n_noise=6, noise=0.5, random_state=3)
        selector = SparseRankSVM(lam=1e-3).fit(data)
        assert max(fit.n_iter for fit in selector.solutions_) <= 8
        assert selector.n_iter_ <= 4 * 50

    def test_stopping_early_is_told(self):
        with pytest.warns(ConvergenceWarning, match="after 1 Newton steps \\(max_iter=1\\)"):
            selector = SparseRankSVM(lam=1e-4, n_lams=2, max_iter=1).fit(random_data(5))
        last = selector.solutions_[-1]
        assert last.n_iter == 1
        assert last.violation > selector.tol
        assert np.isfinite(selector.coef_).all()


class TestConcavePenalties:
    @pytest.mark.slow
    def test_validation_finds_the_planted_features_with_fewer_others(self):
        others, bias = dict.fromkeys(PENALTIES, 0), dict.fromkeys(PENALTIES, 0.0)
        for seed in range(2):
            data, truth = make_ranking(
                160,
                docs_per_query=10,
                n_informative=5,
                n_redundant=0,
                n_noise=30,
                noise=1.0,
                tied=0,
                random_state=seed,
            )
            train, held_out = data.take_queries(range(60)), data.take_queries(range(60, 160))
            alone = SparseRankSVM(lam=1e-6).fit(train.take_features(truth.informative)).coef_
            for penalty in PENALTIES:
                settings = dict(penalty=penalty, n_lams=25, lam=0.03, epsilon=0.3)
                fits = SparseRankSVM(**settings).fit(train).solutions_
                values = [self.value(held_out, fit) for fit in fits]
                best = fits[int(np.argmax(values))]
                assert set(truth.informative) <= set(best.features)
                others[penalty] += len(best.features) - 5
                coef = full(best, data.n_features)[truth.informative]
                bias[penalty] += np.abs(coef - alone).sum() / np.abs(alone).sum()
        for penalty in ("mcp", "log"):
            assert others[penalty] < 0.5 * others["l1"]
            assert bias[penalty] < bias["l1"]

    @staticmethod
    def value(data, fit):
        scores = data.X[:, fit.features] @ fit.coef
        return evaluate(data.y, scores, data.qid, ["ndcg@10"]).mean["NDCG@10"]

    def test_large_weights_are_not_shrunk(self):
        data, truth = make_ranking(
            80, n_informative=3, n_redundant=0, n_noise=10, noise=0.3, tied=0, random_state=7
        )
        alone = SparseRankSVM(lam=1e-6).fit(data.take_features(truth.informative)).coef_
        nearest = {}
        for penalty in ("l1", "mcp"):
            path = SparseRankSVM(penalty=penalty, gamma=2.0).fit(data).solutions_
            planted = [fit.coef for fit in path if np.array_equal(fit.features, truth.informative)]
            nearest[penalty] = min(np.abs(coef / alone - 1).max() for coef in planted)
        assert nearest["l1"] > 0.1
        assert nearest["mcp"] < 1e-3


class TestSelection:
    def test_the_first_solution_with_enough_features_is_taken(self):
        data, _ = make_ranking(60, n_informative=6, n_noise=6, noise=0.3, tied=0, random_state=4)
        path = SparseRankSVM(n_lams=8, lam=1e-3).fit(data)
        sizes = [len(fit.features) for fit in path.solutions_]
        for k in (1, 4, 9):
            selector = SparseRankSVM(k, n_lams=8, lam=1e-3).fit(data)
            place = next(i for i, size in enumerate(sizes) if size >= k)
            assert len(selector.solutions_) == place + 1
            assert selector.lam_ == path.solutions_[place].lam
            fit = path.solutions_[place]
            largest = fit.features[np.argsort(-np.abs(fit.coef), kind="stable")[:k]]
            np.testing.assert_array_equal(selector.selected_, largest)
            expected = np.where(selector.support_, full(fit, data.n_features), 0.0)
            np.testing.assert_allclose(selector.coef_, expected, atol=1e-9)

    def test_without_a_number_the_path_ends_at_lam(self):
        data, _ = make_ranking(40, n_informative=3, n_noise=6, tied=0, random_state=5)
        selector = SparseRankSVM(lam=0.2).fit(data)
        assert selector.lam_ == pytest.approx(0.2 * selector.largest_penalty_)
        assert np.all(np.diff(np.abs(selector.coef_)[selector.selected_]) <= 0)
        np.testing.assert_array_equal(
            np.flatnonzero(selector.support_), np.flatnonzero(selector.coef_)
        )
        assert selector.reasons()[0].startswith("weight ")

    def test_features_without_weights_follow_by_their_slope(self):
        data, _ = make_ranking(40, n_informative=2, n_noise=6, tied=0, n_constant=1, random_state=5)
        n = data.n_features
        selector = SparseRankSVM(n, lam=0.3, standardize=False).fit(data)
        weights = len(selector.solutions_[-1].features)
        assert 0 < weights < n - 2
        w = full(selector.solutions_[-1], n)
        slopes = np.abs(mean_slopes(pair_differences(data), w))
        rest = selector.selected_[weights:]
        assert np.all(np.diff(slopes[rest]) <= 1e-9)
        assert selector.reasons()[weights:] == ["no weight"] * (n - weights)

    @pytest.mark.parametrize("penalty", PENALTIES)
    def test_units_of_features_do_not_matter(self, penalty):
        data, _ = make_ranking(40, n_informative=3, n_noise=6, tied=0, random_state=6)
        units = 2.0 ** np.random.default_rng(0).integers(-10, 10, data.n_features)
        one = SparseRankSVM(penalty=penalty, lam=0.05).fit(data)
        other = SparseRankSVM(penalty=penalty, lam=0.05).fit(data.X * units, data.y, qid=data.qid)
        np.testing.assert_allclose(other.coef_ * units, one.coef_, rtol=1e-4, atol=1e-6)

    def test_nothing_is_kept_in_memory_if_there_is_no_room(self, monkeypatch):
        data, _ = make_ranking(40, n_informative=3, n_noise=6, tied=0, random_state=6)
        expected = SparseRankSVM(lam=0.05).fit(data).coef_
        monkeypatch.setattr("ranksieve.solvers.ranksvm.mean_loss.fits_in_memory", lambda *_: False)
        np.testing.assert_allclose(SparseRankSVM(lam=0.05).fit(data).coef_, expected, atol=1e-9)

    def test_features_that_tell_nothing(self):
        X, y, qid = np.ones((6, 2)), [0, 1, 2, 0, 1, 0], [1, 1, 1, 2, 2, 3]
        for penalty in PENALTIES:
            selector = SparseRankSVM(1, penalty=penalty).fit(X, y, qid=qid)
            assert selector.selected_.tolist() == [0]
            assert selector.coef_.tolist() == [0, 0]
            assert len(SparseRankSVM(penalty=penalty).fit(X, y, qid=qid).selected_) == 0

    def test_bad_parameters_and_other_data(self):
        data = random_data(8)
        for wrong in ({"lam": 1.0}, {"lam": 0.0}, {"penalty": "l2"}, {"gamma": 0}, {"n_lams": 1}):
            with pytest.raises(ValueError, match=next(iter(wrong))):
                SparseRankSVM(**wrong).fit(data)
        selector = SparseRankSVM().fit(data)
        assert selector.predict(data.X).tolist() == selector.predict(data).tolist()
        with pytest.raises(DataError, match="X has 2 features, but SparseRankSVM is expecting 6"):
            selector.predict(data.take_features([0, 1]))
        with pytest.raises(ValueError, match="2 features"):
            selector.predict(data.X[:, :2])


@pytest.mark.parametrize("kind", [FSMRank, SparseRankSVM, SparseRank])
def test_default_weights_are_right_to_five_digits(kind):
    data, _ = make_ranking(150, n_informative=5, n_noise=30, n_redundant=15, random_state=0)
    found, tight = kind(10).fit(data).coef_, kind(10, tol=1e-10).fit(data).coef_
    assert np.linalg.norm(found - tight) <= 1e-5 * np.linalg.norm(tight)
