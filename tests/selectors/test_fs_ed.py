"""FS-ED: densities within grades, their divergence, and the selector."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import rel_entr
from scipy.stats import gaussian_kde, norm

from ranksieve import RankingData, make_ranking
from ranksieve.engine import engine_of
from ranksieve.selectors import FSED
from ranksieve.selectors.filters.fs_ed import expected_divergence
from ranksieve.sums.densities import (
    NODES_PER_BANDWIDTH,
    ClassDensities,
    Densities,
    Part,
    bandwidths_of,
    map_densities,
)
from ranksieve.sums.grades import totals

ESTIMATORS = ["monte_carlo", "pooled", "integral"]


def two_grades(rng, n, shift, share=0.5):
    """One feature, normal in both grades, ``shift`` apart; queries of ten documents."""
    y = (rng.random(n) < share).astype(float)
    return RankingData((rng.normal(size=n) + shift * y)[:, None], y, np.arange(n) // 10)


def exact_divergence(shift):
    """Jensen-Shannon divergence in bits of two normal densities, by quadrature."""

    def term(x):
        p, q = norm.pdf(x), norm.pdf(x - shift)
        m = (p + q) / 2
        return (p * np.log2(p / m) + q * np.log2(q / m)) / 2

    return quad(term, -8, 8 + shift)[0]


def densities_of(train, held_out, **options):
    """The densities of each feature, as they are handed to an estimator."""
    seen = []
    grades = np.unique(np.concatenate([train.y, held_out.y]))
    map_densities(lambda d: seen.append(d) or 0.0, Part(train), Part(held_out), grades, **options)
    return seen


def widths_of(data, rule="silverman"):
    with engine_of(data).start(ClassDensities, np.unique(data.y), None) as workers:
        return bandwidths_of(workers, totals(workers), rule)


def silverman(x):
    low, high = np.percentile(x, [25, 75])
    return 0.9 * min(x.std(ddof=1), (high - low) / 1.34) * len(x) ** -0.2


class TestBandwidth:
    def test_rules(self):
        rng = np.random.default_rng(0)
        X = np.column_stack([rng.normal(size=103), rng.exponential(size=103)])
        data = RankingData(X, rng.integers(0, 3, 103), np.arange(103) // 5)
        found, normal = widths_of(data), widths_of(data, "normal")
        for grade in range(3):
            for feature in range(2):
                x = data.X[data.y == grade, feature]
                assert found[grade, feature] == pytest.approx(silverman(x), rel=1e-12)
                expected = 1.06 * x.std(ddof=1) * len(x) ** -0.2
                assert normal[grade, feature] == pytest.approx(expected, rel=1e-12)

    def test_where_the_rule_vanishes(self):
        n = 40
        y = np.repeat([0, 1, 2, 3], [20, 10, 9, 1])
        mostly_zero = np.zeros(n)
        mostly_zero[[0, 20, 21]] = 5.0  # no interquartile range; constant in grades 2 and 3
        data = RankingData(np.column_stack([mostly_zero, np.ones(n)]), y, np.arange(n) // 2)
        found = widths_of(data)
        for grade, size in ((0, 20), (1, 10)):
            spread = mostly_zero[y == grade].std(ddof=1)
            assert found[grade, 0] == pytest.approx(0.9 * spread * size**-0.2)
        for grade, size in ((2, 9), (3, 1)):
            assert found[grade, 0] == pytest.approx(0.9 * mostly_zero.std(ddof=1) * size**-0.2)
        assert np.isnan(found[:, 1]).all()


def test_a_negative_estimate_of_a_divergence_is_zero():
    """Held-out documents of each grade lie where the density of the other one is larger."""
    density = np.array([[0.6, 0.4], [0.4, 0.6], [0.2, 0.8]])
    held_out = np.array([[0.0, 5.0], [5.0, 0.0], [0.0, 5.0]])
    found = Densities(density, held_out, np.ones(2))

    def estimate(a, b):
        m = (density[a] + density[b]) / 2
        kl = [held_out[g] / held_out[g].sum() @ np.log2(density[g] / m) for g in (a, b)]
        return sum(kl) / 2

    assert estimate(0, 1) < 0
    positive = 2 * max(0.0, estimate(0, 2)) + max(0.0, estimate(1, 2))
    assert expected_divergence(found) == pytest.approx(positive)
    assert positive > 0


class TestDensities:
    @pytest.mark.parametrize("evaluation", ["exact", "binned"])
    def test_equal_to_scipy(self, evaluation):
        rng = np.random.default_rng(1)
        train, held_out = two_grades(rng, 300, 1.0, 0.3), two_grades(rng, 200, 1.0, 0.3)
        (found,) = densities_of(train, held_out, evaluation=evaluation)
        x = np.unique(held_out.X[:, 0])
        for grade in (0, 1):
            values = train.X[train.y == grade, 0]
            width = silverman(values)
            peer = gaussian_kde(values, bw_method=width / values.std(ddof=1))
            if evaluation == "exact":
                np.testing.assert_allclose(found.values[grade], peer(x), rtol=1e-10, atol=1e-15)
            else:
                integral = found.values[grade] @ found.quadrature
                assert integral == pytest.approx(1, abs=1e-4)  # four bandwidths of margin

    def test_held_out_rows_are_counted_where_they_are(self):
        rng = np.random.default_rng(2)
        train = two_grades(rng, 100, 1.0)
        held_out = RankingData(np.round(rng.normal(size=(60, 1))), np.arange(60) % 2, np.arange(60))
        (exact,) = densities_of(train, held_out, evaluation="exact")
        assert exact.held_out.shape[1] == len(np.unique(held_out.X))
        (binned,) = densities_of(train, held_out, evaluation="binned")
        for found in (exact, binned):
            np.testing.assert_allclose(found.held_out.sum(axis=1), [30, 30])

    @given(st.integers(0, 10**6), st.sampled_from(["normal", "lognormal", "rounded", "two"]))
    def test_error_of_the_grid_is_bounded(self, seed, kind):
        rng = np.random.default_rng(seed)
        draw = {
            "normal": lambda n: rng.normal(size=n),
            "lognormal": lambda n: rng.lognormal(sigma=1.5, size=n),
            "rounded": lambda n: np.round(rng.normal(size=n) * 2),
            "two": lambda n: rng.normal(size=n) * 0.1 + rng.integers(0, 2, n) * 50,
        }[kind]
        train = RankingData(draw(80)[:, None], np.arange(80) % 2, np.arange(80) // 4)
        nodes = []

        def on_grid(densities):
            nodes.append(densities)
            return 0.0

        grades = np.array([0.0, 1.0])
        _, widths = map_densities(on_grid, Part(train), Part(train), grades, evaluation="binned")
        h = widths[:, 0]
        (found,) = nodes
        step = h.min() / NODES_PER_BANDWIDTH
        x = train.X.min() - 4 * h.max() + step * np.arange(found.values.shape[1])
        for grade in (0, 1):
            z = (x[:, None] - train.X[train.y == grade, 0]) / h[grade]
            exact = norm.pdf(z).mean(axis=1) / h[grade]
            peak = norm.pdf(0) / h[grade]
            bound = 9 / 128 * (step / h[grade]) ** 4
            assert bound <= 0.00002
            assert np.abs(found.values[grade] - exact).max() <= (bound + 1e-12) * peak

    def test_bandwidths_too_small_for_a_grid_are_summed_exactly(self):
        rng = np.random.default_rng(3)
        x = rng.normal(size=200) * 1e-7
        x[:2] = 0, 1e3
        train = RankingData(x[:, None], np.arange(200) % 2, np.arange(200) // 10)
        (found,) = densities_of(train, train, evaluation="binned")
        (exact,) = densities_of(train, train, evaluation="exact")
        np.testing.assert_array_equal(found.values, exact.values)


class TestDivergence:
    @pytest.mark.parametrize("shift", [0.0, 0.5, 2.0, 4.0])
    @pytest.mark.parametrize("estimator", ["monte_carlo", "integral"])
    def test_of_normal_grades(self, shift, estimator):
        found = []
        for seed in range(8):
            rng = np.random.default_rng(seed)
            train, held_out = two_grades(rng, 4000, shift, 0.2), two_grades(rng, 4000, shift, 0.2)
            found.append(FSED(1, estimator=estimator).fit(train, eval_set=held_out).divergence_[0])
        error = np.std(found, ddof=1) / np.sqrt(len(found))
        # A density estimate is a little wider than the truth, which lowers the divergence.
        assert np.mean(found) == pytest.approx(exact_divergence(shift), abs=4 * error + 0.012)

    def test_pooled_is_low_where_a_grade_is_rare(self):
        rng = np.random.default_rng(5)
        train, held_out = two_grades(rng, 4000, 2.0, 0.1), two_grades(rng, 4000, 2.0, 0.1)
        pooled = FSED(1, estimator="pooled").fit(train, eval_set=held_out).divergence_[0]
        assert 0.25 < pooled < 0.38 < exact_divergence(2.0) < 0.5

    @pytest.mark.parametrize("estimator", ESTIMATORS)
    @pytest.mark.parametrize("evaluation", ["exact", "binned"])
    def test_symmetric_and_independent_of_scale(self, estimator, evaluation):
        rng = np.random.default_rng(6)
        train, held_out = two_grades(rng, 300, 0.7, 0.3), two_grades(rng, 300, 0.7, 0.3)

        def divergence(change_x, change_y):
            changed = [RankingData(change_x(d.X), change_y(d.y), d.qid) for d in (train, held_out)]
            selector = FSED(1, estimator=estimator, evaluation=evaluation)
            return selector.fit(changed[0], eval_set=changed[1]).divergence_[0]

        plain = divergence(lambda X: X, lambda y: y)
        assert 0.02 < plain < 0.3
        assert divergence(lambda X: X, lambda y: 1 - y) == pytest.approx(plain, rel=1e-9)
        assert divergence(lambda X: 1e5 * X - 3, lambda y: y) == pytest.approx(plain, rel=1e-6)
        assert divergence(lambda X: -1e-5 * X, lambda y: 7 * y) == pytest.approx(plain, rel=1e-4)

    @pytest.mark.parametrize("estimator", ESTIMATORS)
    def test_grid_and_exact_sums_agree(self, estimator):
        data, _ = make_ranking(75, docs_per_query=20, tied=0.3, random_state=3)
        train, held_out = data.take_queries(range(50)), data.take_queries(range(50, 75))
        exact, binned = (
            FSED(3, estimator=estimator, evaluation=how).fit(train, eval_set=held_out)
            for how in ("exact", "binned")
        )
        assert exact.divergence_.max() > 0.2
        np.testing.assert_allclose(binned.divergence_, exact.divergence_, atol=2e-4)

    @pytest.mark.parametrize("estimator", ESTIMATORS)
    def test_equal_to_the_formulas(self, estimator):
        rng = np.random.default_rng(7)
        y = rng.integers(0, 3, 90)
        train = RankingData(rng.normal(size=(90, 1)) + y[:, None], y, np.arange(90) // 6)
        yv = rng.integers(0, 3, 50)
        held_out = RankingData(rng.normal(size=(50, 1)) + yv[:, None], yv, np.arange(50) // 5)
        selector = FSED(1, estimator=estimator, evaluation="exact")
        selector.fit(train, eval_set=held_out)

        def density(grade, x):
            h = selector.bandwidths_[grade, 0]
            return norm.pdf((x[:, None] - train.X[y == grade, 0]) / h).mean(axis=1) / h

        def kl(a, b):
            if estimator == "monte_carlo":
                x = held_out.X[held_out.y == a, 0]
                return np.mean(np.log2(2 * density(a, x) / (density(a, x) + density(b, x))))
            if estimator == "pooled":
                p, q = (density(grade, held_out.X[:, 0]) for grade in (a, b))
                p, q = p / p.sum(), q / q.sum()
                return np.sum(p * np.log2(2 * p / (p + q)))
            x = np.linspace(-12, 14, 20_001)
            p, q = density(a, x), density(b, x)
            return np.trapezoid(p * np.log2(2 * p / (p + q)), x)

        expected = sum(
            (b - a) * max(0.0, (kl(a, b) + kl(b, a)) / 2) for a, b in ((0, 1), (0, 2), (1, 2))
        )
        assert selector.divergence_[0] == pytest.approx(expected, rel=1e-4)

    def test_grades_without_held_out_or_training_documents(self):
        rng = np.random.default_rng(8)
        train = two_grades(rng, 400, 2.0)
        only_zero = RankingData(rng.normal(size=(40, 1)), np.zeros(40), np.arange(40) // 4)
        integral = FSED(1, estimator="integral").fit(train, eval_set=only_zero).divergence_[0]
        for evaluation in ("exact", "binned"):
            selector = FSED(1, evaluation=evaluation).fit(train, eval_set=only_zero)
            assert selector.divergence_[0] == pytest.approx(integral, rel=1e-3)
        new = RankingData(only_zero.X, np.full(40, 9.0), only_zero.qid)
        selector = FSED(1, evaluation="binned").fit(train, eval_set=new)
        assert selector.divergence_[0] == pytest.approx(integral)  # grade 9 is left out
        assert np.isnan(selector.bandwidths_[2]).all()


class TestSelector:
    def test_score_is_importance_plus_divergence(self):
        data, _ = make_ranking(60, docs_per_query=10, n_constant=1)
        train, held_out = data.take_queries(range(40)), data.take_queries(range(40, 60))
        selector = FSED(3).fit(train, eval_set=held_out)
        np.testing.assert_allclose(selector.scores_, selector.importance_ + selector.divergence_)
        assert selector.selected_.tolist() == np.argsort(-selector.scores_)[:3].tolist()
        constant = np.ptp(train.X, axis=0) == 0
        assert constant.sum() == 1
        assert selector.divergence_[constant] == 0
        n = len(selector.grades_)
        scaled = FSED(3, normalize_divergence=True).fit(train, eval_set=held_out)
        total = sum(b - a for a in range(n) for b in range(a + 1, n))
        np.testing.assert_allclose(scaled.divergence_, selector.divergence_ / total)
        assert "divergence" in selector.reasons()[0]

    def test_held_out_queries_are_drawn_by_the_seed(self):
        data, _ = make_ranking(60, docs_per_query=10)
        first, again, other = (FSED(3, random_state=seed).fit(data) for seed in (1, 1, 2))
        np.testing.assert_array_equal(first.scores_, again.scores_)
        assert not np.array_equal(first.scores_, other.scores_)
        held_out = np.zeros(60, dtype=bool)
        held_out[np.random.RandomState(1).permutation(60)[:15]] = True
        by_hand = FSED(3).fit(data.take_queries(~held_out), eval_set=data.take_queries(held_out))
        np.testing.assert_allclose(first.scores_, by_hand.scores_, rtol=1e-9)

    @pytest.mark.parametrize("evaluation", ["exact", "binned"])
    def test_the_same_wherever_the_data_lives(self, evaluation, everywhere):
        data, _ = make_ranking(30, docs_per_query=10)
        expected = FSED(3, evaluation=evaluation).fit(data).scores_
        source = everywhere(data, shard_bytes=5000)
        found = FSED(3, evaluation=evaluation).fit(source)
        np.testing.assert_allclose(found.scores_, expected, rtol=1e-9)
        found.fit(data, eval_set=source)
        np.testing.assert_allclose(
            found.scores_, FSED(3, evaluation=evaluation).fit(data, eval_set=data).scores_
        )


class TestReadingOfTheCode:
    """The score of the authors' program, term by term."""

    @staticmethod
    def slow(train, held_out, feature):
        grades, total = np.unique(train.y), 0.0
        for x in held_out.X[:, feature]:
            densities = []
            for grade in grades:
                values = train.X[train.y == grade, feature]
                densities.append(norm.pdf(x, values, 1.06 * values.std(ddof=1)).mean())
            for s in range(len(grades)):
                for r in range(s):
                    p, q = densities[r], densities[s]
                    m = (p + q) / 2
                    total += (s - r) * (rel_entr(p, m) + rel_entr(q, m)) / 2
        return total

    # Densities are raised to 1e-12 of the largest one.
    @pytest.mark.parametrize(("evaluation", "accuracy"), [("exact", 1e-9), ("binned", 1e-3)])
    def test_equal_to_its_definition(self, evaluation, accuracy):
        train, _ = make_ranking(20, n_informative=2, n_noise=2, random_state=0)
        held_out, _ = make_ranking(12, n_informative=2, n_noise=2, random_state=1)
        assert len(np.unique(train.y)) > 2
        selector = FSED(4, reading="code", evaluation=evaluation, estimator="pooled")
        selector.fit(train, eval_set=held_out)
        expected = [self.slow(train, held_out, feature) for feature in range(train.n_features)]
        np.testing.assert_allclose(selector.scores_, expected, rtol=accuracy)
        order = np.argsort(-np.array(expected), kind="stable")[:4]
        assert selector.selected_.tolist() == order.tolist()

    def test_a_grade_with_one_value_comes_last(self):
        data, _ = make_ranking(40, n_informative=2, n_redundant=0, n_noise=1, random_state=0)
        lacking = data.X.copy()
        lacking[data.y == data.y.max(), 0] = 7.0  # which tells this grade from all others
        changed = RankingData(lacking, data.y, data.qid)
        found = FSED(3, reading="code").fit(changed, eval_set=data)
        assert found.scores_[0] == -1
        assert found.selected_.tolist()[-1] == 0
        assert FSED(3).fit(changed, eval_set=data).divergence_[0] > 0  # the text has no such rule

    def test_it_needs_held_out_queries(self):
        data, _ = make_ranking(1, n_informative=2, n_noise=1, docs_per_query=30, random_state=0)
        FSED(1).fit(data)
        with pytest.raises(ValueError, match="reading='code' needs held-out queries"):
            FSED(1, reading="code").fit(data)
