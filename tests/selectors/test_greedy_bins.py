"""Greedy RankRLS over bins, with labels or the scores of a teacher as the target."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranksieve import DataError, RankingData
from ranksieve.io.shards import open_shards, write_shards
from ranksieve.rankers import LambdaMART, RankRLS
from ranksieve.selectors import GreedyBins, GreedyRankRLS
from ranksieve.selectors.embedded.greedy_bins import teacher_scores
from ranksieve.splits import query_parts
from tests import oracles
from tests.repeating import repeat_queries


def nonlinear(seed=0, n_queries=60, n_docs=12):
    """Labels by the middle of feature 1, by a category, feature 3, and by feature 5."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_queries * n_docs, 7))
    X[:, 3] = rng.integers(0, 6, len(X))
    score = 2 * (np.abs(X[:, 1]) < 0.6) + 1.5 * np.isin(X[:, 3], [1, 4]) + 0.4 * X[:, 5]
    y = np.searchsorted([0.8, 1.8, 2.8], score + 0.2 * rng.normal(size=len(X))).astype(float)
    return RankingData(X, y, np.repeat(np.arange(n_queries), n_docs))


def one_hot(data, selector_bins):
    """Columns of bins, made value by value, and the columns of each feature."""
    columns, groups = [], []
    for values, bounds in zip(data.X.T, selector_bins, strict=True):
        bins = [sum(bound < value for bound in bounds) for value in values]
        groups.append(range(len(columns), len(columns) + len(bounds) + 1))
        columns += [[float(own == number) for own in bins] for number in range(len(bounds) + 1)]
    return np.array(columns).T, groups


class TestDefinition:
    @pytest.mark.parametrize(("lam", "counts"), [(0.1, None), (30.0, [2, 1, 0, 3, 1, 1, 0, 4])])
    def test_equal_to_brute_force(self, lam, counts):
        data = nonlinear(1, n_queries=8, n_docs=7)
        selector = GreedyBins(3, lam=lam, n_bins=4).fit(data, sample_weight=counts)
        repeated = data if counts is None else repeat_queries(data, counts)
        sorted_columns = np.sort(repeated.X, axis=0).T
        ends = [repeated.n_rows * number // 4 - 1 for number in (1, 2, 3)]
        quarters = [np.setdiff1d(column[ends], column[-1]) for column in sorted_columns]
        X, groups = one_hot(data, quarters)
        labels, qid, chosen = data.y, data.qid.tolist(), []
        empty = oracles.group_errors(X, labels, qid, [], [()], lam, counts)[0]
        alone = oracles.group_errors(X, labels, qid, [], groups, lam, counts)
        np.testing.assert_allclose(selector.scores_, 1 - np.array(alone) / empty, atol=1e-10)
        for step in selector.path_:
            model = [column for feature in chosen for column in groups[feature]]
            errors = oracles.group_errors(X, labels, qid, model, groups, lam, counts)
            free = [feature for feature in range(7) if feature not in chosen]
            assert step.feature == min(free, key=lambda feature: errors[feature])
            assert step.score == pytest.approx(errors[step.feature], rel=1e-10)
            chosen.append(step.feature)
        assert selector.selected_.tolist() == chosen

    def test_predictions_are_those_of_the_model(self):
        data = nonlinear(2)
        selector = GreedyBins(4, categorical=[3]).fit(data)
        for step in selector.steps_:
            bounds, values = step.bounds, data.X[:, step.feature]
            expected = [sum(bound < value for bound in bounds) for value in values]
            if step.feature == 3:
                assert bounds.tolist() == [0, 1, 2, 3, 4, 5]
                expected = values.astype(int)
            np.testing.assert_array_equal(step.values(values), step.weights[expected])
        total = sum(step.values(data.X[:, step.feature]) for step in selector.steps_)
        np.testing.assert_allclose(selector.predict(data), total)
        assert selector.score(data) > 0.9

    def test_sizes_by_the_error(self):
        data = nonlinear()
        best = GreedyBins("best").fit(data)
        assert len(best.fits_) == 7
        assert len(best.selected_) == 1 + np.argmin([fit.error for fit in best.fits_])
        assert set(best.selected_) >= {1, 3, 5}
        assert len(GreedyBins("one-se").fit(data).selected_) <= len(best.selected_)
        assert len(GreedyBins("best", max_features=2).fit(data).fits_) == 2


class TestFindsWhatIsNotLinear:
    def test_middle_of_the_range_and_category(self):
        data = nonlinear()
        assert set(GreedyBins(3, categorical=[3]).fit(data).selected_.tolist()) == {1, 3, 5}
        assert not {1, 3} & set(GreedyRankRLS(2).fit(data).selected_.tolist())

    def test_more_categories_than_bins(self):
        rng = np.random.default_rng(3)
        codes = rng.integers(-20, 20, 1200).astype(float)
        X = np.column_stack([rng.normal(size=1200), codes])
        y = np.isin(codes, [-7, 0, 5, 11]).astype(float)
        data = RankingData(X, y, np.repeat(np.arange(60), 20))
        every = GreedyBins(1, lam=1.0, categorical=[1]).fit(data)
        assert every.selected_.tolist() == [1]
        assert every.steps_[0].bounds.tolist() == sorted(set(codes.tolist()))
        few = every.set_params(include=[1], max_categories=5).fit(data)
        counts = {code: int((codes == code).sum()) for code in set(codes.tolist())}
        common = sorted(counts, key=lambda code: (-counts[code], code))[:4]
        (step,) = few.steps_
        assert step.bounds.tolist() == sorted(common)
        assert len(step.weights) == 5
        unseen = step.values(np.array([99.0, 0.5]))
        assert unseen[0] == unseen[1] == step.weights[-1]

    def test_groups_of_features_are_judged_together(self):
        data = nonlinear()
        selector = GreedyBins(2, groups=[[1, 0], [3, 5]], categorical=[3], count="groups").fit(data)
        assert sorted(selector.selected_.tolist()) == [0, 1, 3, 5]
        assert selector.selected_.tolist()[:2] in ([1, 0], [3, 5])

    def test_categorical_by_name_with_excluded_features(self):
        made = nonlinear()
        data = RankingData(made.X, made.y, made.qid, feature_names=list("abcdefg"))
        selector = GreedyBins(2, categorical="d", exclude=["a", "f"]).fit(data)
        assert sorted(selector.selected_.tolist()) == [1, 3]
        by_feature = {step.feature: step for step in selector.steps_}
        assert by_feature[3].is_category
        assert not by_feature[1].is_category
        assert selector.predict(data).shape == (data.n_rows,)


class TestTeacher:
    def test_scores_are_of_rankers_that_have_not_seen_the_query(self):
        data = nonlinear(n_queries=12)
        found = teacher_scores(data, RankRLS(), 3, 2, 5)
        expected = np.zeros(data.n_rows)
        for seed in (5, 6):
            for part in query_parts(12, 3, random_state=seed):
                others = np.setdiff1d(np.arange(12), part)
                ranker = RankRLS().fit(data.take_queries(others))
                rows = np.isin(data.qid, part)
                expected[rows] += ranker.predict(data.X[rows])
        for query in range(12):
            expected[data.qid == query] -= expected[data.qid == query].mean()
        np.testing.assert_allclose(found, expected / expected.std(), rtol=1e-12)

    def test_trees_teach_what_only_trees_find(self):
        data = nonlinear()
        teacher = LambdaMART(20, num_leaves=7)
        selector = GreedyBins(2, teacher=teacher, n_folds=3, n_repeats=1).fit(data)
        assert set(selector.selected_.tolist()) == {1, 3}
        assert selector.target_.std() == pytest.approx(1.0)

    def test_repeats_differ_in_folds_and_seeds(self):
        data = nonlinear(n_queries=20)
        params = {"bagging_fraction": 0.5, "bagging_freq": 1}
        teacher = LambdaMART(5, num_leaves=4, params=params)
        one, two = (teacher_scores(data, teacher, 2, n, 0) for n in (1, 2))
        assert not np.allclose(one, two)
        np.testing.assert_array_equal(two, teacher_scores(data, teacher, 2, 2, 0))

    def test_weights_of_queries(self):
        data = nonlinear(n_queries=12)
        weights = np.where(np.arange(12) % 4, 2.5, 0.0)
        found = teacher_scores(data.with_weights(weights), RankRLS(), 3, 1, 0)
        counted = np.flatnonzero(weights)
        expected = np.zeros(data.n_rows)
        for part in query_parts(9, 3, random_state=0):
            others = data.take_queries(np.setdiff1d(counted, counted[part]))
            own = np.isin(data.qid, counted[part])
            scores = RankRLS().fit(others, sample_weight=np.full(6, 2.5)).predict(data.X[own])
            expected[own] = scores - np.repeat(scores.reshape(3, -1).mean(axis=1), 12)
        rows = np.repeat(weights > 0, 12)
        np.testing.assert_allclose(found, expected / expected[rows].std(), rtol=1e-9, atol=1e-12)

    def test_scores_take_the_place_of_labels(self):
        data = nonlinear(n_queries=12)
        taught = GreedyBins(3, teacher="rankrls", n_repeats=1, n_folds=2).fit(data)
        direct = GreedyBins(3).fit(data.X, taught.target_, qid=data.qid)
        assert taught.selected_.tolist() == direct.selected_.tolist()
        np.testing.assert_allclose(
            [step.score for step in taught.path_], [step.score for step in direct.path_], rtol=1e-9
        )

    def test_shards_are_read_in_their_order(self, tmp_path):
        data = nonlinear(n_queries=12)
        write_shards(data, tmp_path / "shards", shard_bytes=2000)
        how = {"teacher": "rankrls", "n_repeats": 1, "n_folds": 3}
        expected = GreedyBins(3, **how).fit(data)
        with open_shards(tmp_path / "shards") as shards:
            found = GreedyBins(3, **how).fit(shards)
        np.testing.assert_allclose(found.target_, expected.target_, rtol=1e-9)
        assert found.selected_.tolist() == expected.selected_.tolist()


@given(st.integers(0, 1000), st.floats(0.01, 100))
def test_increasing_functions_of_features_and_the_scale_of_labels_change_nothing(seed, scale):
    data = nonlinear(seed, n_queries=10, n_docs=6)
    turned = RankingData(np.exp(data.X / 2), scale * data.y, data.qid)
    expected, found = (GreedyBins(3).fit(source) for source in (data, turned))
    assert found.selected_.tolist() == expected.selected_.tolist()
    np.testing.assert_allclose(found.scores_, expected.scores_, atol=1e-12)


def test_everywhere_the_same(everywhere):
    data = nonlinear(n_queries=40)
    expected = GreedyBins(4, categorical=[3]).fit(data)
    found = GreedyBins(4, categorical=[3]).fit(everywhere(data, shard_bytes=8000))
    assert found.selected_.tolist() == expected.selected_.tolist()
    np.testing.assert_allclose(found.scores_, expected.scores_, rtol=1e-9)
    for ours, theirs in zip(found.steps_, expected.steps_, strict=True):
        np.testing.assert_array_equal(ours.bounds, theirs.bounds)
        np.testing.assert_allclose(ours.weights, theirs.weights, atol=1e-9)


class TestMissingValues:
    def test_they_have_a_bin_of_their_own(self):
        made = nonlinear()
        rng = np.random.default_rng(0)
        gaps = rng.random(made.n_rows) < 0.3
        X = made.X.copy()
        X[gaps, 4] = np.nan
        X[rng.random(made.n_rows) < 0.1, 3] = np.nan
        y = gaps + (X[:, 4] > 0)
        data = RankingData(X, y, made.qid, missing="keep")
        selector = GreedyBins(2, categorical=[3], n_bins=4).fit(data)
        assert selector.selected_[0] == 4
        step = selector.steps_[0]
        assert step.bounds[0] == -np.inf
        present = np.sort(X[~gaps, 4])
        ends = -(-len(present) * np.arange(1, 4) // 4) - 1
        np.testing.assert_array_equal(step.bounds[1:], present[ends])
        assert step.weights[0] > step.weights[1]  # as good as large values
        assert selector.predict(data)[gaps].mean() > selector.predict(data)[~gaps].mean()

    def test_missing_codes(self):
        made = nonlinear()
        X = made.X.copy()
        X[X[:, 3] == 4, 3] = np.nan
        data = RankingData(X, made.y, made.qid, missing="keep")
        found = GreedyBins(3, categorical=[3]).fit(data)
        expected = GreedyBins(3, categorical=[3]).fit(made)
        assert found.selected_.tolist() == expected.selected_.tolist()
        np.testing.assert_allclose(found.scores_, expected.scores_, atol=1e-12)

    def test_teachers_that_do_not_take_them(self):
        made = nonlinear(n_queries=6)
        X = made.X.copy()
        X[3, 2] = np.nan
        data = RankingData(X, made.y, made.qid, missing="keep")
        with pytest.raises(DataError, match="with the teacher RankRLS cannot use missing values"):
            GreedyBins(2, teacher="rankrls").fit(data)
        teacher = LambdaMART(3, min_child_samples=2)
        assert len(GreedyBins(2, teacher=teacher, n_repeats=1).fit(data).selected_) == 2


@pytest.mark.parametrize(
    ("n_queries", "parameters", "message"),
    [
        (6, {"categorical": ["d", "b"]}, "feature b has the value -?[0-9.]+, but codes of"),
        (6, {"categorical": [7]}, "categorical: no feature 7"),
        (4, {"teacher": "rankrls"}, "are only 4 queries for the 5 folds of the teacher"),
        (6, {"teacher": "owl"}, "unknown ranker 'owl'"),
        (6, {"teacher": LambdaMART(2, min_child_samples=10_000), "n_folds": 2}, "the same score"),
        (1, {}, "two queries"),
    ],
)
def test_bad_input(n_queries, parameters, message):
    data = nonlinear(n_queries=n_queries)
    data = RankingData(data.X, data.y, data.qid, feature_names=list("abcdefg"))
    with pytest.raises(ValueError, match=message):
        GreedyBins(2, **parameters).fit(data)
