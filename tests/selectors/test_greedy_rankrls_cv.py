"""GreedyRankRLSCV: the grid, the front, the rules, and how models are validated."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ranksieve import DataError, RankingData, make_ranking
from ranksieve.metrics import evaluate
from ranksieve.selectors import GreedyRankRLS, GreedyRankRLSCV
from ranksieve.selectors.embedded.greedy_rankrls_cv import (
    FrontModel,
    best_lam,
    choose_point,
    front_of_sizes,
)
from ranksieve.sums.held_out import measure_models

LAMS = (0.01, 1.0, 100.0)


@pytest.fixture(scope="module")
def parts():
    """Queries to train on and to validate on."""
    data, _ = make_ranking(
        90, docs_per_query=(1, 12), n_informative=4, n_redundant=3, n_noise=3, random_state=4
    )
    return data.take_queries(np.arange(60)), data.take_queries(np.arange(60, 90))


def naive_values(train, held_out, lams, k, measure, convention, ties):
    """Fit every model on its own, and evaluate it."""
    values = np.empty((len(lams), k))
    for row, lam in enumerate(lams):
        for size in range(1, k + 1):
            scores = GreedyRankRLS(size, lam=lam).fit(train).predict(held_out)
            how = {"convention": convention, "ties": ties}
            found = evaluate(held_out.y, scores, held_out.qid, measure, **how)
            values[row, size - 1] = next(iter(found.mean.values()))
    return values


class TestGrid:
    @pytest.mark.parametrize(
        ("measure", "convention", "ties"),
        [
            ("map", "standard", "stable"),
            ("ndcg@3", "letor4", "average"),
            ("pairwise-error", "standard", None),
        ],
    )
    def test_equals_fitting_every_model(self, parts, measure, convention, ties):
        how = {"measure": measure, "convention": convention, "ties": ties}
        selector = GreedyRankRLSCV(lams=LAMS, **how).fit(parts[0], eval_set=parts[1])
        expected = naive_values(*parts, LAMS, 10, **how)
        np.testing.assert_allclose(selector.values_, expected, rtol=1e-9)
        best = expected.min() if measure == "pairwise-error" else expected.max()
        chosen = LAMS.index(selector.lam_), len(selector.selected_) - 1
        assert expected[chosen] == pytest.approx(best, rel=1e-9)
        alone = GreedyRankRLS(len(selector.selected_), lam=selector.lam_).fit(parts[0])
        np.testing.assert_array_equal(selector.selected_, alone.selected_)
        np.testing.assert_allclose(selector.coef_, alone.coef_, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(selector.predict(parts[1].X), alone.predict(parts[1]))

    def test_deviations_are_standard_errors_over_queries(self, parts):
        selector = GreedyRankRLSCV(4, lams=[1.0]).fit(parts[0], eval_set=parts[1])
        scores = selector.predict(parts[1])
        values = evaluate(parts[1].y, scores, parts[1].qid, "map").per_query["MAP"]
        expected = values.std(ddof=1) / np.sqrt(len(values))
        assert selector.deviations_[0, 3] == pytest.approx(expected)

    def test_wherever_the_data_lives(self, parts, everywhere):
        expected = GreedyRankRLSCV(lams=LAMS).fit(parts[0], eval_set=parts[1])
        selector = GreedyRankRLSCV(lams=LAMS)
        selector.fit(everywhere(parts[0]), eval_set=everywhere(parts[1], 5_000))
        np.testing.assert_array_equal(selector.selected_, expected.selected_)
        np.testing.assert_allclose(selector.values_, expected.values_, rtol=1e-12)
        assert [point[:2] for point in selector.front_] == [p[:2] for p in expected.front_]

    def test_without_held_out_data_leave_query_out_errors_decide(self, parts):
        train, _ = parts
        n_queries = np.sum(train.group_counts >= 2)
        selector = GreedyRankRLSCV(lams=LAMS).fit(train)
        paths = [GreedyRankRLS(10, lam=lam).fit(train).fits_ for lam in LAMS]
        errors = np.array([[fit.error for fit in path] for path in paths])
        np.testing.assert_allclose(selector.values_, errors / n_queries)
        row, column = np.unravel_index(np.argmin(errors), errors.shape)
        assert (selector.lam_, len(selector.selected_)) == (LAMS[row], column + 1)

    def test_without_held_out_data_a_measure_can_decide(self, parts):
        train, _ = parts
        how = {"criterion": "ndcg@5", "ties": "average"}
        selector = GreedyRankRLSCV(lams=LAMS, **how).fit(train)
        paths = [GreedyRankRLS(10, lam=lam, **how).fit(train).fits_ for lam in LAMS]
        expected = np.array([[fit.value for fit in path] for path in paths])
        np.testing.assert_allclose(selector.values_, expected)
        assert 0 < selector.values_.max() <= 1
        assert selector.front_[-1].value == pytest.approx(expected.max())


class TestChoice:
    def test_a_number_of_features_leaves_lambda_to_choose(self, parts):
        train, held_out = parts
        whole = GreedyRankRLSCV(lams=LAMS).fit(train, eval_set=held_out)
        for k in (1, 3, 7):
            selector = GreedyRankRLSCV(k, lams=LAMS).fit(train, eval_set=held_out)
            column = whole.values_[:, k - 1]
            assert len(selector.selected_) == k
            assert column[LAMS.index(selector.lam_)] == pytest.approx(column.max())
            taken = whole.at(k)
            np.testing.assert_array_equal(taken.selected_, selector.selected_)
            np.testing.assert_allclose(taken.coef_, selector.coef_)
            assert taken.lam_ == selector.lam_
            assert taken.path_ == selector.path_
            assert taken.support_.sum() == k
        assert len(whole.selected_) == len(whole.path_)  # itself unchanged
        for wrong in (0, 11):
            with pytest.raises(
                ValueError, match=f"k={wrong}, but the paths have models of 1 to 10"
            ):
                whole.at(wrong)

    @pytest.mark.parametrize("rule", ["best", "one-se", "penalized", "knee", "pareto"])
    def test_every_rule_takes_a_point_of_the_front(self, parts, rule):
        selector = GreedyRankRLSCV(rule, lams=LAMS).fit(parts[0], eval_set=parts[1])
        row = LAMS.index(selector.lam_)
        k = len(selector.selected_)
        point = FrontModel(k, selector.lam_, selector.values_[row, k - 1])
        assert point in selector.front_
        assert selector.fits_ is selector.paths_[row]
        assert [step.score for step in selector.path_] == selector.values_[row, :k].tolist()
        if rule in ("best", "pareto"):
            assert point == selector.front_[-1]

    def test_the_price_of_features(self, parts):
        sizes = [
            len(GreedyRankRLSCV("penalized", lams=LAMS, mu=mu).fit(*parts[:1], eval_set=parts[1])
                .selected_)
            for mu in (0.0, 0.1, 100.0)
        ]  # fmt: skip
        best = GreedyRankRLSCV(lams=LAMS).fit(parts[0], eval_set=parts[1])
        assert sizes[0] == len(best.selected_)
        assert sizes == sorted(sizes, reverse=True)
        assert sizes[2] == 1

    def test_must_include_and_exclude(self, parts):
        best = GreedyRankRLSCV(lams=LAMS).fit(parts[0], eval_set=parts[1])
        worst = best.at(10).selected_[-3:].tolist()
        how = {"include": worst, "exclude": [int(best.selected_[0])], "mu": 100.0}
        selector = GreedyRankRLSCV("penalized", lams=LAMS, **how).fit(*parts[:1], eval_set=parts[1])
        assert selector.selected_.tolist() == worst  # no fewer, whatever they cost
        assert selector.front_[0].k == 3
        assert selector.values_.shape == (3, 9)

    def test_where_the_paths_end(self, parts):
        selector = GreedyRankRLSCV(lams=LAMS, max_features=4).fit(*parts[:1], eval_set=parts[1])
        assert selector.values_.shape == (3, 4)
        assert len(selector.selected_) <= 4

    @pytest.mark.parametrize("search", ["floating", "foba"])
    def test_other_searches(self, parts, search):
        selector = GreedyRankRLSCV(lams=LAMS, search=search, epsilon=1.0)
        selector.fit(parts[0], eval_set=parts[1])
        for row, path in enumerate(selector.paths_):
            assert np.isfinite(selector.values_[row]).tolist() == [
                column < len(path) for column in range(selector.values_.shape[1])
            ]
        if search == "foba":  # which stops where gains are small
            assert np.isnan(selector.values_).any() or selector.values_.shape[1] < 10

    def test_reasons_show_the_path(self, parts):
        selector = GreedyRankRLSCV(5, lams=LAMS, measure="p@1").fit(*parts[:1], eval_set=parts[1])
        values = np.array([step.score for step in selector.path_])
        told = selector.reasons()
        assert [text.split()[0] for text in told[1:]] == [f"{c:+.4f}" for c in np.diff(values)]
        assert told[int(np.argmax(values))].count("#") == 20
        assert told[int(np.argmin(values))].count("#") == 0


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"lams": [1.0, 0.0]}, "lams must be one or more numbers above 0"),
        ({"lams": [1.0, 2.0, 1]}, "lams lists a number twice"),
        ({"measure": "mapp"}, "unknown measure 'mapp'"),
        ({"n_features_to_select": "elbow"}, "n_features_to_select"),
    ],
)
def test_wrong_parameters(parts, parameters, message):
    with pytest.raises(ValueError, match=message):
        GreedyRankRLSCV(**parameters).fit(parts[0], eval_set=parts[1])


def test_held_out_labels_that_tell_nothing(parts):
    train, held_out = parts
    same = RankingData(held_out.X, np.ones(held_out.n_rows), held_out.qid)
    with pytest.raises(DataError, match="eval_set: all documents of each query have equal"):
        GreedyRankRLSCV().fit(train, eval_set=same)


class TestFront:
    def test_ties_go_to_fewer_features_then_to_the_lambda_nearest_to_1(self):
        lams = [0.25, 0.5, 2.0, 8.0]
        values = np.array([[0.3, 0.5], [0.3, 0.4], [0.3, 0.5], [0.5, 0.5 + 1e-15]])
        assert best_lam(values[:, 0], lams, 1) == 3
        assert best_lam(values[:, 0], lams, -1) == 1  # 0.5 and 2 are as near: the smaller
        assert best_lam(values[:, 1], lams, 1) == 2
        assert best_lam(np.full(4, np.nan), lams, 1) is None
        assert front_of_sizes(values, lams, 1) == [FrontModel(1, 8.0, 0.5)]

    @given(
        arrays(float, (3, 6), elements=st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0, np.nan])),
        st.sampled_from([1, -1]),
    )
    def test_no_point_is_dominated_and_every_other_model_is(self, values, sign):
        front = front_of_sizes(values, LAMS, sign)
        models = [
            (column + 1, sign * values[row, column])
            for row in range(3)
            for column in range(6)
            if np.isfinite(values[row, column])
        ]
        found = {(point.k, sign * point.value) for point in front}
        expected = {
            (k, value)
            for k, value in models
            if not any(
                j <= k and other >= value and (j, other) != (k, value) for j, other in models
            )
        }
        assert found == expected
        assert [point.k for point in front] == sorted({point.k for point in front})

    def test_rules(self):
        sizes, values = [1, 2, 3, 6, 10], [0.30, 0.45, 0.50, 0.52, 0.53]
        front = [FrontModel(k, 1.0, value) for k, value in zip(sizes, values, strict=True)]
        mirrored = [point._replace(value=-point.value) for point in front]
        for rule, deviation, price, k in (
            ("best", 0.1, 1.0, 10),
            ("pareto", 0.1, 1.0, 10),
            ("one-se", 0.0, 0.0, 10),
            ("one-se", 0.031, 0.0, 3),
            ("one-se", 0.081, 0.0, 2),
            ("one-se", np.nan, 0.0, 10),
            ("penalized", 0.0, 0.0, 10),
            ("penalized", 0.0, 0.004, 6),
            ("penalized", 0.0, 0.06, 2),
            ("knee", 0.0, 0.0, 3),
        ):
            assert choose_point(front, rule, 1, deviation, price).k == k
            assert choose_point(mirrored, rule, -1, deviation, price).k == k

    def test_no_knee(self):
        straight = [FrontModel(k, 1.0, value) for k, value in ((1, 0.1), (2, 0.2), (3, 0.4))]
        for front in (straight, straight[:2], straight[:1]):
            assert choose_point(front, "knee", 1, 0.0, 0.0) == front[-1]


class TestMeasureModels:
    @given(
        st.integers(0, 10_000),
        st.sampled_from(["standard", "letor4"]),
        st.sampled_from(["stable", "average", None]),
    )
    def test_equals_evaluate(self, seed, convention, ties):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(1, 60))
        X = rng.integers(0, 3, (n, 4)).astype(float)  # with documents that are equal
        data = RankingData(X, rng.integers(0, 3, n), rng.integers(0, 6, n))
        features, coefs = np.array([0, 2, 3]), rng.integers(-2, 3, (3, 5)).astype(float)
        expected = [
            evaluate(data.y, scores, data.qid, "ndcg@4", convention, ties=ties).mean["NDCG@4"]
            for scores in (data.X[:, features] @ coefs).T
        ]
        (found,) = measure_models(data, [(features, coefs)], "ndcg@4", convention, ties=ties)
        np.testing.assert_allclose(found.mean, expected, atol=1e-12)

    def test_sparse_and_single_precision(self, parts):
        from scipy import sparse

        _, data = parts
        models = [(np.array([1, 7]), np.array([[1.0, -0.5], [2.0, 0.25]]))]
        X = np.round(data.X, 1).astype(np.float32)
        expected = measure_models(RankingData(X.astype(float), data.y, data.qid), models)
        for form in (X, sparse.csr_matrix(X)):
            found = measure_models(RankingData(form, data.y, data.qid), models)
            np.testing.assert_allclose(found[0].mean, expected[0].mean)

    def test_equal_documents_tie_whatever_their_place(self):
        # Rounding must not break ties: then the value of the average over orders would change.
        rng = np.random.default_rng(1)
        row = rng.normal(size=33)
        n = 101
        data = RankingData(np.tile(row, (n, 1)), np.arange(n) == 40, np.zeros(n))
        (found,) = measure_models(
            data, [(np.arange(33), rng.normal(size=(33, 7)))], "mrr", ties="stable"
        )
        np.testing.assert_array_equal(found.mean, np.full(7, 1 / 41))
