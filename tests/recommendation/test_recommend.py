"""Recommendations: who chooses, who judges, and what is said."""

import gc
import json
import os
import weakref
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from ranksieve import DataError, FeatureCosts, RankingData, load_model, make_ranking, recommend
from ranksieve.data.joining import concatenate
from ranksieve.data.ranking_data import fingerprint
from ranksieve.experiments import Trial
from ranksieve.export import export_model
from ranksieve.io.model import MODEL, MODEL_OF_ALL, TrainedOn
from ranksieve.metrics import evaluate
from ranksieve.rankers import RankRLS
from ranksieve.recommendation import check, load_recommendation, procedure
from ranksieve.recommendation import task as tasks
from ranksieve.recommendation.files import LEDGER, read_answer
from ranksieve.recommendation.nested import plan_stages
from ranksieve.recommendation.task import Candidate, Rule, divide
from ranksieve.report.recommendation import write_recommendation
from ranksieve.selectors.registry import make_selector
from ranksieve.significance import non_inferiority
from ranksieve.sums.similarity import Similarity, feature_similarity
from tests.oracles import prune_by_cost

QUICK = {"ranker": "rankrls", "selectors": ["greedy-rankrls", "top"], "details": False}
ONE = QUICK | {"selectors": ["top"]}


def planted(n_queries=40, seed=0, **other):
    how = {"n_informative": 2, "n_redundant": 1, "n_noise": 3, "noise": 0.2} | other
    return make_ranking(n_queries, docs_per_query=(4, 9), random_state=seed, **how)[0]


@pytest.fixture(scope="module")
def data():
    return planted()


@pytest.fixture(scope="module")
def answer(data):
    return recommend(data, margin=0.05, **QUICK)


def useless(data):
    """Two features that are the same for all documents."""
    return RankingData(np.ones((data.n_rows, 2)), data.y, data.qid)


class TestDivision:
    def test_no_stage_trains_or_chooses_by_the_queries_that_judge(self, data):
        queries = divide(data, 5, 0)
        every = np.arange(data.n_queries)
        assert np.array_equal(np.sort(queries.positions(list(queries.parts))), every)
        for stage in plan_stages(queries)[0][:-1]:
            judges = set(queries.parts[stage.judge].tolist())
            for trial, part in stage.folds:
                assert judges.isdisjoint(trial.sets.train)
                assert judges.isdisjoint(queries.parts[part])
                assert set(queries.parts[part]).isdisjoint(trial.sets.train)
            assert np.array_equal(np.sort([*judges, *stage.final.sets.train]), every)

    def test_large_data_has_fewer_training_sets(self):
        rows = np.repeat(np.arange(1000), 50)
        large = RankingData(np.zeros((50_000, 1), dtype=np.float32), rows % 2, rows)
        queries = divide(large, 5, 0)
        names = {trial.name for stage in plan_stages(queries)[0] for trial, _ in stage.folds}
        assert len(names) == 7
        trial = queries.without("2")
        sample = queries.to_select(trial).sets.train
        assert len(sample) == 400  # 20,000 rows
        assert set(sample) < set(trial.sets.train)

    def test_the_test_queries_of_a_split_judge_alone(self, data):
        train, test = data.take_queries(range(25)), data.take_queries(range(25, 40))
        answer = recommend((train, test), **QUICK)
        assert answer.claim.about == "set"
        assert answer.claim.n_queries == 15
        columns = sorted(answer.features)
        ranker = RankRLS().fit(train.take_features(columns))
        scores = ranker.predict(test.take_features(columns))
        expected = evaluate(test.y, scores, test.qid, ["ndcg@10"]).per_query["NDCG@10"].mean()
        assert answer.claim.with_chosen == pytest.approx(expected, rel=1e-12)

    def test_halves_are_apart_and_leave_out_what_judges(self, data):
        queries = divide(data, 5, 0)
        whole = queries.without("2")
        halves = [queries.half(whole, 3, side).sets.train for side in (0, 1)]
        assert np.array_equal(np.sort(np.concatenate(halves)), whole.sets.train)

    def test_a_query_on_both_sides_is_refused(self, data):
        with pytest.raises(DataError, match="leaks"):
            recommend((data, data.take_queries([0])), **QUICK)


class TestProcedure:
    @pytest.mark.parametrize("is_large", [False, True])
    def test_equal_to_a_slow_version(self, data, is_large, monkeypatch):
        """Each step written out, for two selectors with sizes from 1 to 5."""
        if is_large:
            monkeypatch.setattr(tasks, "_MANY_ROWS", 100)
            monkeypatch.setattr(tasks, "ROWS_TO_SELECT", 60)
        found = recommend(data, margin=0.05, **QUICK)
        queries = divide(data, 5, 0)
        chosen, whole = [], []
        for stage in plan_stages(queries)[0]:
            features = slow_choice(data, queries, stage, margin=0.05)
            if stage.judge is None:
                assert found.features == features
                continue
            train = data.take_queries(stage.final.sets.train)
            test = data.take_queries(queries.parts[stage.judge])
            chosen.append(slow_values(train, test, features))
            whole.append(slow_values(train, test, range(6)))
        values, base = np.concatenate(chosen), np.concatenate(whole)
        tested = non_inferiority(values, base, 0.05)
        assert found.claim.with_chosen == pytest.approx(values.mean(), rel=1e-12)
        assert found.claim.bound == pytest.approx(tested.lower, rel=1e-12)
        assert found.claim.is_shown == tested.non_inferior

    @pytest.mark.parametrize("costs", [None, [3, 1, 4, 1, 5, 2]])
    def test_queries_that_judge_do_not_change_the_choice(self, data, costs):
        judges = np.isin(data.query_codes, divide(data, 5, 0).parts["3"])
        rng = np.random.default_rng(1)
        X = np.where(judges[:, None], rng.normal(size=data.X.shape), data.X)
        y = np.where(judges, rng.integers(0, 3, data.n_rows), data.y)
        other = RankingData(X, y, data.qid)
        before, after = (stage_choices(one, costs)[2] for one in (data, other))
        assert before.features == after.features
        assert [one.values.tolist() for one in before.candidates] == [
            one.values.tolist() for one in after.candidates
        ]

    def test_the_order_of_rows_and_features_does_not_matter(self, data, answer):
        rng = np.random.default_rng(0)
        columns, rows = rng.permutation(6), rng.permutation(data.n_rows)
        rows = rows[np.argsort(data.query_codes[rows], kind="stable")]
        names = np.array([f"f{number}" for number in range(6)])
        other = RankingData(
            data.X[rows][:, columns], data.y[rows], data.qid[rows], feature_names=names[columns]
        )
        same = recommend(other, margin=0.05, **QUICK)
        assert [int(name[1:]) for name in same.names] == answer.features
        assert same.claim.with_chosen == pytest.approx(answer.claim.with_chosen, rel=1e-9)

    @pytest.mark.parametrize(
        ("name", "expected"), [("half-margin", 2), ("safe", 4), ("one-se", 1), ("best", 4)]
    )
    def test_rules(self, name, expected):
        base = np.tile([0.4, 0.6], 50)
        wobble = np.tile([0.1, -0.1, -0.1, 0.1], 25)
        means = {1: -0.0099, 2: -0.004, 3: -0.0031, 4: 0.004}
        spread = {1: 1.0, 2: 0.8, 3: 0.8, 4: 0.1}
        candidates = [
            Candidate("s", k, k, base + mean + spread[k] * wobble) for k, mean in means.items()
        ]
        chosen = Rule(name, margin=0.02).choose(candidates, base, None)
        assert chosen.size == expected

    def test_the_best_within_a_budget_is_taken(self):
        base = np.full(10, 0.5)
        candidates = [Candidate("s", k, 2.0 * k, base + 0.01 * k) for k in (1, 2, 3)]
        assert Rule("half-margin", 0.01, budget=4.5).choose(candidates, base, None).size == 2


def slow_values(train, test, features):
    columns = sorted(features)
    if not columns:
        scores = np.zeros(test.n_rows)
    else:
        scores = RankRLS().fit(train.take_features(columns)).predict(test.take_features(columns))
    return evaluate(test.y, scores, test.qid, ["ndcg@10"]).per_query["NDCG@10"]


def slow_choice(data, queries, stage, margin, selectors=tuple(QUICK["selectors"])):
    def values(features_at):
        found = []
        for trial, part in stage.folds:
            train = data.take_queries(trial.sets.train)
            test = data.take_queries(queries.parts[part])
            found.append(slow_values(train, test, features_at(trial)))
        return np.concatenate(found)

    def first(name, k, trial):
        positions = queries.to_select(trial).sets.train
        return make_selector(name, 5).fit(data.take_queries(positions)).selected_[:k]

    def is_enough(name, k):
        return values(lambda trial: first(name, k, trial)).mean() >= limit

    limit = values(lambda trial: range(6)).mean() * (1 - margin / 2)
    if values(lambda trial: ()).mean() >= limit:
        return []
    best, size = None, 6
    for name in selectors:
        low, high = 0, size  # too small, and enough
        if best is not None:
            high = size - 1
            if high == 0 or not is_enough(name, high):
                continue
        while high - low > 1:
            k = min(high - 1, max(low + 1, round((max(low, 1) * high) ** 0.5)))
            low, high = (low, k) if is_enough(name, k) else (k, high)
        if high < size:
            best, size = name, high
    return [*range(6)] if best is None else first(best, size, stage.final).tolist()


def stage_choices(data, costs):
    """Choices of all stages."""
    kept, original = [], procedure._claim

    def claim(task, stages, choices):
        kept.extend(choices)
        return original(task, stages, choices)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(procedure, "_claim", claim)
        recommend(data, margin=0.05, costs=costs, **QUICK)
    return kept


class TestAnswer:
    def test_what_is_kept_and_dropped(self, data, answer):
        assert sorted([*answer.features, *(one.feature for one in answer.dropped)]) == [*range(6)]
        assert answer.cost == len(answer.features)
        assert answer.cost_of_all == 6
        assert {point.selector for point in answer.front} >= {"all", "none", "top"}
        assert "lose less than 5% of NDCG@10" in answer.sentence
        json.dumps(answer.to_record(), allow_nan=False)

    def test_details(self, data):
        found = recommend(data, margin=0.05, **QUICK | {"details": True})
        for kept in found.kept:
            assert kept.lower < kept.loss < kept.upper
            assert 0 <= kept.stability <= kept.cluster_stability <= 1
        queries, best = divide(data, 5, 0), max(found.kept, key=lambda kept: kept.loss)
        rest = [f for f in found.features if f != best.feature]
        without, full, whole = [], [], []
        for part, positions in queries.parts.items():
            train = data.take_queries(queries.without(part).sets.train)
            test = data.take_queries(positions)
            without.append(slow_values(train, test, rest))
            full.append(slow_values(train, test, found.features))
            whole.append(slow_values(train, test, range(6)))
        loss = np.mean(np.concatenate(full) - np.concatenate(without))
        assert best.loss == pytest.approx(loss / np.concatenate(whole).mean(), rel=1e-9)

    def test_constant_features_and_copies_are_dropped_for_that(self, data):
        first = recommend(data, margin=0.05, **QUICK).features[0]
        X = np.column_stack([data.X, 2 * data.X[:, first], np.ones(data.n_rows)])
        found = recommend(RankingData(X, data.y, data.qid), margin=0.05, **QUICK)
        reasons = {one.feature: one.reason for one in found.dropped}
        assert reasons[7] == "constant within every query"
        kept, gone = sorted([first, 6], key=lambda feature: feature not in found.features)
        assert reasons[gone] == f"near-copy of {kept + 1} (similarity 1.00)"

    def test_nothing_is_said_of_time_where_there_was_enough(self, data):
        found = recommend(useless(data), **QUICK | {"details": True})
        assert found.selector == "none"
        assert found.notes == []

    def test_labels_by_chance_need_no_feature(self):
        data = planted(60)
        rng = np.random.default_rng(0)
        found = recommend(RankingData(data.X, rng.permutation(data.y), data.qid), **QUICK)
        assert found.selector == "none" or not found.claim.is_shown

    def test_few_queries_show_little_and_say_how_many_it_takes(self):
        found = recommend(planted(20, noise=2.0), margin=0.005, **QUICK)
        assert not found.claim.is_shown
        assert "are not shown to lose less than 0.5%" in found.sentence
        assert "queries to show a margin of 0.5%" in found.sentence
        assert found.claim.queries_needed > 20

    def test_other_queries_confirm_the_very_features(self, data):
        other = planted(30, seed=0)
        other = RankingData(other.X[::-1], other.y[::-1], [f"new {q}" for q in other.qid[::-1]])
        found = recommend(data, margin=0.05, confirm=other, **QUICK)
        assert found.confirmed.about == "set"
        assert found.confirmed.n_queries == 30
        expected = slow_values(data, other, found.features).mean()
        assert found.confirmed.with_chosen == pytest.approx(expected, rel=1e-9)
        with pytest.raises(DataError, match="leaks"):
            recommend(data, confirm=data, **QUICK)

    def test_weights_count_in_the_claim(self, data):
        weights = np.where(np.arange(data.n_queries) % 2, 3.0, 1.0)
        found = recommend(data.with_weights(weights), margin=0.05, **QUICK)
        plain = recommend(data, margin=0.05, **QUICK)
        assert found.claim.with_all != plain.claim.with_all

    def test_include_and_exclude(self, data):
        found = recommend(data, include=[5], exclude=[0], margin=0.05, **QUICK)
        assert 5 in found.features
        assert 0 not in found.features
        assert found.cost_of_all == 5
        assert found.settings["exclude"] == ["1"]


class TestCosts:
    def test_dear_features_are_avoided(self, data):
        X = np.column_stack([data.X, data.X[:, 0] + 1e-3 * np.arange(data.n_rows) % 7])
        both = RankingData(X, data.y, data.qid)
        costs = [10, 1, 1, 1, 1, 1, 1]  # the first is dear, and its copy is not
        found = recommend(both, margin=0.1, costs=costs, **QUICK)
        assert found.has_costs
        assert 0 not in found.features
        assert found.cost < found.cost_of_all

    def test_a_dear_feature_is_exchanged_for_a_cheaper_one_that_is_like_it(self, data):
        """The selector does not know about costs, and the copy is a little worse."""
        best = recommend(data, margin=0.05, **ONE).features[0]
        rng = np.random.default_rng(0)
        copy = data.X[:, best] + 0.1 * data.X[:, best].std() * rng.normal(size=data.n_rows)
        both = RankingData(np.column_stack([data.X, copy]), data.y, data.qid)
        costs = np.ones(7)
        assert best in recommend(both, margin=0.1, costs=costs, **ONE).features
        costs[best] = 10
        found = recommend(both, margin=0.1, costs=costs, **ONE)
        assert best not in found.features
        assert 6 in found.features

    def test_equal_to_a_slow_version(self, data):
        """From the first features of a selector, as many as it takes, to what saves no more."""
        costs = {"1": 3.0, "2": 2.0, "3": 5.0, "4": 1.0, "5": 4.0, "6": 2.0}
        groups, once = {"1": "a", "3": "a", "5": "b"}, {"a": 4.0, "b": 1.0}
        given = FeatureCosts(costs, groups, once)
        found = recommend(data, margin=0.2, costs=given, **ONE)
        queries = divide(data, 5, 0)

        def value(features):
            means = []
            for trial, part in plan_stages(queries)[0][-1].folds:
                train = data.take_queries(trial.sets.train)
                means.append(slow_values(train, data.take_queries(queries.parts[part]), features))
            return np.concatenate(means).mean()

        limit = value(range(6)) * (1 - 0.2 / 2)
        path, size = make_selector("top", 5).fit(data).selected_.tolist(), found.size
        while size < 5 and value(path[:size]) < limit:
            size += 1
        like = feature_similarity(data, Similarity("tau_b", absolute=True))
        others = {
            f: sorted(
                (g for g in range(6) if g != f and like[f, g] >= 0.5), key=lambda g: -like[f, g]
            )
            for f in range(6)
        }
        assert found.features == prune_by_cost(
            path[:size],
            lambda own: given.total([str(f + 1) for f in own]),
            {f: groups.get(str(f + 1)) for f in range(6)},
            value,
            limit,
            (),
            others,
        )

    def test_costs_of_nothing_are_none(self, data, answer):
        found = recommend(data, margin=0.05, costs=np.zeros(6), **QUICK)
        assert found.features == answer.features
        assert found.cost == len(found.features)
        assert found.notes == ["No feature costs anything: the fewest features are recommended."]

    def test_all_features_may_be_pruned(self):
        """The feature that ranks best alone is dear, and of no use beside the others."""
        rng = np.random.default_rng(0)
        X = rng.normal(size=(300, 2))
        utility = X.sum(axis=1)
        X = np.column_stack([X, utility + rng.normal(size=300)])
        labels = np.digitize(utility, [0, 1, 2]).astype(float)
        given = RankingData(X, labels, np.repeat(np.arange(30), 10))
        found = recommend(given, margin=0.01, costs=[1, 1, 50], **ONE)
        assert found.selector == "all"
        assert sorted(found.features) == [0, 1]
        assert found.advice == "Keep 2 of 3 features, which cost 2 instead of 52."

    def test_a_budget_is_kept(self, data):
        found = recommend(data, budget=2, costs=[1, 2, 1, 2, 1, 2], **QUICK)
        assert 0 < found.cost <= 2
        with pytest.raises(DataError, match="more than the budget"):
            recommend(data, budget=0.5, include=[0], **QUICK)

    def test_a_budget_that_allows_nothing(self, data):
        assert "Keep no feature" in recommend(data, budget=0.5, **QUICK).sentence
        with pytest.raises(DataError, match=r"budget of 0\.5 allows no feature"):
            recommend(data, budget=0.5, convention="letor4", **QUICK)

    def test_features_that_do_not_fit_are_passed_over(self, data):
        first = recommend(data, margin=0.05, **QUICK).features[0]
        costs = np.ones(6)
        costs[first] = 5
        found = recommend(data, budget=3, costs=costs, **QUICK | {"selectors": ["top"]})
        assert first not in found.features
        assert 0 < found.cost <= 3


class TestResuming:
    def test_a_cut_ledger_gives_the_same_answer(self, data, tmp_path):
        first = recommend(data, margin=0.05, out=tmp_path, **QUICK)
        lines = (tmp_path / LEDGER).read_text().splitlines(keepends=True)
        (tmp_path / LEDGER).write_text("".join(lines[: len(lines) // 2]) + lines[-1][:20])
        second = recommend(data, margin=0.05, out=tmp_path, **QUICK)
        assert second.to_record() == first.to_record()

    def test_another_margin_uses_the_same_ledger(self, data, tmp_path):
        recommend(data, margin=0.05, out=tmp_path, **QUICK)
        size = (tmp_path / LEDGER).stat().st_size
        recommend(data, margin=0.05, level=0.9, out=tmp_path, **QUICK)
        assert (tmp_path / LEDGER).stat().st_size == size

    def test_other_data_is_refused(self, data, tmp_path):
        recommend(data, margin=0.05, out=tmp_path, **QUICK)
        with pytest.raises(DataError, match="other data"):
            recommend(planted(seed=1), margin=0.05, out=tmp_path, **QUICK)

    def test_damage_is_told(self, data, tmp_path):
        recommend(data, margin=0.05, out=tmp_path, **QUICK)
        for name in (LEDGER, "recommendation.json"):
            path = tmp_path / name
            path.write_text(path.read_text().replace("0.9", "0.8", 1))
        with pytest.raises(DataError, match=LEDGER):
            recommend(data, margin=0.05, out=tmp_path, **QUICK)
        with pytest.raises(DataError, match="checksum"):
            read_answer(tmp_path)

    def test_workers_give_the_same_answer(self, data, client):
        how = QUICK | {"selectors": ["top"], "folds": 3, "margin": 0.05}
        here, there = recommend(data, **how), recommend(data, client=client, **how)
        assert there.to_record() == here.to_record()


class TestTime:
    def test_no_time_at_all(self, data, tmp_path):
        found = recommend(data, margin=0.05, time=1e-6, out=tmp_path, **QUICK | {"details": True})
        assert found.features == [*range(6)]
        assert not found.claim.is_shown
        assert "Nothing is claimed" in found.sentence
        assert found.notes == [
            "The time limit of 1e-06 s was reached: no smaller set of features was tried; 5 of 5 "
            "parts of the queries were not tested."
        ]
        assert read_answer(tmp_path)["claim"]["n_queries"] == 0
        with pytest.raises(DataError, match="no time to find features within the budget"):
            recommend(data, budget=2, time=1e-6, **QUICK)

    def test_as_many_queries_judge_as_there_is_time_for(self, data, answer, monkeypatch):
        """By a clock that ticks whenever it is read."""
        judged = []
        for limit in (8, 20, 35, 10_000):
            ticks = iter(range(10**6))
            monkeypatch.setattr("ranksieve.experiments.runner.monotonic", ticks.__next__)
            found = recommend(data, margin=0.05, time=limit, **QUICK)
            judged.append(found.claim.n_queries)
            lacking = 5 - judged[-1] // 8
            told = f"{lacking} of 5 parts of the queries were not tested"
            assert any(told in note for note in found.notes) == (lacking > 0)
        assert found.to_record() == answer.to_record()
        assert (judged[0], judged[-1]) == (0, 40)
        assert any(0 < n < 40 for n in judged)


@pytest.mark.parametrize(
    "settings",
    [
        {"margin": 1e-320},
        {"margin": 1e-200},
        {"margin": np.nextafter(1, 0)},
        {"level": np.nextafter(1, 0)},
        {"level": np.nextafter(0.5, 1)},
        {"budget": 1e308},
        {"budget": 5e-324},
        {"margin": np.float32(0.01), "level": np.float32(0.9), "budget": np.float32(3)},
        {"costs": np.full(6, 1e-100)},
        {"costs": [1e99, 1, 1, 1e-99, 1, 1]},
    ],
)
def test_the_smallest_and_largest_numbers(data, tmp_path, settings):
    answer = recommend(data, out=tmp_path, folds=3, **ONE, **settings)
    write_recommendation(answer, tmp_path, figures=False)
    assert load_recommendation(tmp_path).to_record() == answer.to_record()
    assert len(answer.sentence) < 600  # no number of three hundred digits


def test_a_high_confidence_is_not_rounded_to_certainty(data, answer):
    assert "with 95% confidence" in answer.sentence
    assert "with 99.99% confidence" in recommend(data, level=0.9999, **ONE).sentence


@pytest.mark.parametrize("details", [False, True])
def test_a_mean_of_zero(tmp_path, details):
    """Under letor4, NDCG@10 of lists with fewer than ten documents is 0."""
    data = planted(20)
    answer = recommend(data, convention="letor4", out=tmp_path, **ONE | {"details": details})
    assert answer.claim.with_all == 0
    assert all(point.change == 0 for point in answer.front)
    assert load_recommendation(tmp_path).to_record() == answer.to_record()


def test_a_single_query_judges(data, tmp_path):
    split = data.take_queries(range(39)), data.take_queries([39])
    answer = recommend(split, out=tmp_path, **ONE | {"details": True}, pairs=1)
    assert not answer.claim.is_shown
    assert {kept.loss for kept in answer.kept} == {None}  # there is no interval
    assert load_recommendation(tmp_path).to_record() == answer.to_record()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"folds": 2}, "at least 3 parts"),
        ({"folds": 50}, "cannot be divided"),
        ({"margin": 1.5}, "margin"),
        ({"margin": "1%"}, "margin must lie between 0 and 1, got '1%'"),
        ({"budget": "12"}, "budget must be a finite number"),
        ({"rule": "guess"}, "rule"),
        ({"measure": "nice@10"}, "nice"),
        ({"selectors": ["gas-x"]}, "gas-x"),
        ({"costs": [1, 2]}, "one number for each of 6"),
        ({"parameters": {"rankrls": {"depth": 3}}}, "depth"),
        ({"level": 0.4}, "level must lie between 0.5 and 1"),
        ({"level": 0.5}, "level must lie between 0.5 and 1"),
        ({"budget": np.inf}, "budget must be a finite number of at least 0, got inf"),
        ({"budget": np.nan}, "budget must be a finite number of at least 0, got nan"),
        ({"costs": np.full(6, 1e308)}, r"add up to more than 1e\+100.* use a larger unit"),
        ({"include": ["nothing"]}, "^include: no feature is named 'nothing'"),
        ({"pairs": -1}, "pairs must be at least 0, got -1"),
        ({"time": np.nan}, "the time limit must be at least 0 seconds, got nan"),
        ({"confirm": "nowhere.txt"}, "nowhere.txt"),
        ({"confirm": planted()}, "query"),
    ],
)
def test_bad_input_costs_no_work(data, tmp_path, wrong, message):
    with pytest.raises(ValueError, match=message):
        recommend(data, out=tmp_path / "out", **QUICK | wrong)
    assert not (tmp_path / "out").exists()


class TestModels:
    """Which queries train the models to deploy, and that they are those of the answer."""

    @pytest.fixture
    def parts(self, data):
        return [data.take_queries(range(*ends)) for ends in ((0, 20), (20, 30), (30, 40))]

    @pytest.mark.parametrize("has_vali", [True, False])
    def test_test_queries_train_no_model(self, data, parts, tmp_path, has_vali):
        train, _, test = parts
        deployed = data.take_queries(range(30)) if has_vali else train
        split = tuple(parts) if has_vali else (train, test)
        answer = recommend(split, out=tmp_path, title="mine", **QUICK)
        words = "the training and validation queries" if has_vali else "the training queries"
        assert answer.trained_on == TrainedOn(words, deployed.n_queries, fingerprint(deployed))
        for name, own in ((MODEL, sorted(answer.features)), (MODEL_OF_ALL, range(6))):
            model = load_model(tmp_path / name)
            expected = RankRLS().fit(deployed.take_features(list(own)))
            assert np.array_equal(model.coef_, expected.coef_)
            assert model.trained_on_ == answer.trained_on
        said = f"{words} ({deployed.n_queries})"
        assert f"; models trained on {said}; " in answer.protocol
        write_recommendation(answer, tmp_path, figures=False)
        assert f"trained on {said}." in (tmp_path / "report.html").read_text()
        checked = check(tmp_path, test)
        assert checked.claim.with_chosen == answer.claim.with_chosen
        assert checked.claim.with_all == answer.claim.with_all
        assert f"Both rankers were trained on {said} of mine." in checked.sentence
        for known in (deployed, concatenate(split)):
            assert "exactly this data, so it tests nothing" in check(tmp_path, known).sentence

    def test_without_a_split_all_queries_do(self, data, tmp_path):
        answer = recommend(data, out=tmp_path, **QUICK)
        assert answer.trained_on == TrainedOn("all queries", 40, fingerprint(data))
        assert "exactly this data, so it tests nothing" in check(tmp_path, data).sentence
        assert "tests nothing" not in check(tmp_path, data.take_queries(range(20))).sentence

    def test_other_queries_confirm_what_is_deployed(self, data, parts):
        train, _, test = parts
        other = planted(30, seed=1)
        other = RankingData(other.X, other.y, [f"new {query}" for query in other.qid])
        answer = recommend((train, test), confirm=other, **QUICK)
        expected = slow_values(train, other, answer.features).mean()
        assert answer.confirmed.with_chosen == pytest.approx(expected, rel=1e-9)

    def test_no_feature_is_checked_against_all(self, data, tmp_path):
        given = useless(data)
        assert recommend(given, out=tmp_path, **QUICK).models.keys() == {MODEL_OF_ALL}
        assert check(tmp_path, given).claim.change == 0

    def test_without_time_there_are_none(self, data, tmp_path):
        recommend(data, out=tmp_path, **QUICK)
        (tmp_path / LEDGER).unlink()
        answer = recommend(data, time=1e-6, out=tmp_path, **QUICK)
        assert answer.models == {}
        assert load_recommendation(tmp_path).to_record() == answer.to_record()
        assert not (tmp_path / MODEL).exists()  # of the answer before
        with pytest.raises(DataError, match="has no models to check with"):
            check(tmp_path, data)

    def test_a_ranker_without_model_files_is_noted(self, data, tmp_path):
        answer = recommend(data, out=tmp_path, **ONE | {"ranker": Ridge()})
        assert answer.notes[0].startswith("No models were written: ")
        assert load_recommendation(tmp_path).models == {}

    def test_models_of_two_runs_are_refused(self, data, tmp_path):
        for margin, name in ((0.05, "a"), (0.5, "b")):
            recommend(data, margin=margin, out=tmp_path / name, include=["5"], **QUICK)
        first, other = tmp_path / "a", tmp_path / "b"
        assert (first / MODEL_OF_ALL).read_bytes() == (other / MODEL_OF_ALL).read_bytes()
        os.replace(other / MODEL, first / MODEL)
        refused = pytest.raises(DataError, match="is not the model that belongs to recommendation")
        with refused:
            check(first, data)
        with refused:
            load_recommendation(first)
        with refused:
            load_model(first / MODEL)
        with refused:
            export_model(first / MODEL, "solr", tmp_path / "engine")
        assert load_model(first / MODEL_OF_ALL).n_features_in_ == 6
        os.replace(first / MODEL, first / "mine.json")
        assert load_model(first / "mine.json").trained_on_ is not None  # a name of the user's own
        assert load_recommendation(first).models.keys() == {MODEL, MODEL_OF_ALL}
        with pytest.raises(DataError, match=r"model\.json: no such file"):
            check(first, data)

    def test_a_model_that_cannot_be_written_is_an_error(self, data, tmp_path, monkeypatch):
        before = recommend(data, margin=0.05, out=tmp_path, **QUICK)
        save = RankRLS.save_model

        def fail(ranker, path, **other):
            if path.name == MODEL_OF_ALL:
                raise DataError(f"{path}: cannot be written: No space left on device")
            save(ranker, path, **other)

        monkeypatch.setattr(RankRLS, "save_model", fail)
        with pytest.raises(DataError, match="No space left on device"):
            recommend(data, margin=0.5, out=tmp_path, **QUICK)
        assert load_recommendation(tmp_path).to_record() == before.to_record()
        assert check(tmp_path, data).claim.margin == 0.05

    @pytest.mark.parametrize("n_moved", [0, 1, 4])
    def test_an_answer_changes_at_once(self, data, tmp_path, monkeypatch, n_moved):
        """The process dies after so many of the new files are in their places."""
        recommend(data, margin=0.05, out=tmp_path, **QUICK)
        move, moved = os.replace, []

        def die(source, target):
            if Path(source).parent.name == ".next":
                moved.append(target)
                if len(moved) > n_moved:
                    raise KeyboardInterrupt
            move(source, target)

        monkeypatch.setattr(os, "replace", die)
        with suppress(KeyboardInterrupt):
            recommend(data, margin=0.5, out=tmp_path, **QUICK)
        monkeypatch.undo()
        found = load_recommendation(tmp_path)
        assert found.settings["margin"] == 0.5
        assert found.evidence is not None
        assert check(tmp_path, data).claim.margin == 0.5
        again = recommend(data, margin=0.5, out=tmp_path, **QUICK)
        assert again.to_record() == found.to_record()
        assert load_model(tmp_path / MODEL).trained_on_ == found.trained_on
        assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


class TestCheck:
    def test_dropped_features_are_no_help(self, data, tmp_path):
        assert recommend(data, exclude=["6"], out=tmp_path, **QUICK).names == ["5"]
        assert [helpful.feature for helpful in check(tmp_path, data).helpful] == ["2"]

    def test_new_data_is_treated_like_the_old(self, tmp_path):
        data = planted(30, n_informative=3)
        X = np.array(data.X)
        X[::5, 0] = np.nan
        gaps = RankingData(X, data.y, data.qid)
        first = recommend(gaps, missing="query-min+indicators", out=tmp_path, **QUICK)
        found = check(tmp_path, gaps)
        by_hand = recommend(
            gaps.with_missing("query-min+indicators"), out=tmp_path / "other", **QUICK
        )
        assert by_hand.features == first.features
        other = check(tmp_path / "other", gaps)
        assert found.claim.with_chosen == other.claim.with_chosen
        assert all(one.shift == 0 for one in found.drift)

    def test_kept_missing_values(self, tmp_path):
        data = planted(30)
        X = np.array(data.X)
        X[::5, 0] = np.nan
        gaps = RankingData(X, data.y, data.qid)
        how = {"missing": "keep", "parameters": {"lambdamart": {"n_estimators": 5}}}
        answer = recommend(
            gaps, "lambdamart", selectors=["top"], details=False, out=tmp_path, **how
        )
        assert check(tmp_path, gaps).claim.n_queries == 30
        assert answer.settings["missing"] == "keep"

    def test_other_features_and_new_ones_that_help(self, tmp_path):
        rng = np.random.default_rng(0)
        qid = np.repeat(np.arange(40), 8)
        X = rng.normal(size=(320, 4))
        y = np.digitize(X[:, 0] + 0.1 * rng.normal(size=320), [0, 1])
        names = ["a", "b", "c", "d"]
        old = RankingData(X, y, qid, feature_names=names)
        assert recommend(old, margin=0.05, out=tmp_path, **QUICK).names == ["a"]
        y = np.digitize(X[:, 0] + 2 * X[:, 2] + X[:, 3] + 0.1 * rng.normal(size=320), [0, 2])
        new = RankingData(X[:, [3, 2, 1, 0]], y, qid, feature_names=["new", "c", "b", "a"])
        with pytest.raises(DataError, match="lacks feature 'd'"):
            check(tmp_path, new)
        both = RankingData(
            np.column_stack([X, X[:, 3]])[:, [4, 2, 1, 0, 3]],
            y,
            qid,
            feature_names=["new", "c", "b", "a", "d"],
        )
        found = check(tmp_path, both)
        assert found.helpful[0].feature == "c"
        assert {one.feature: one.is_new for one in found.helpful}.items() >= {"c": False}.items()
        assert found.drift[0].is_notable


def test_nothing_keeps_the_data_when_the_answer_is_there(monkeypatch):
    given, parts = planted(20), []
    open_trial = Trial.open

    def opened(trial):
        made = open_trial(trial)
        parts.append(weakref.ref(made.train))
        return made

    monkeypatch.setattr(Trial, "open", opened)
    recommend(given, costs=[1, 1, 1, 1, 1, 2], **ONE)
    parts.append(weakref.ref(given))
    del given
    gc.collect()
    assert len(parts) > 5
    assert not any(part() is not None for part in parts)
