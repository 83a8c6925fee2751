"""Recommendations: who chooses, who judges, and what is recommended."""

import gc
import weakref
from dataclasses import replace

import numpy as np
import pytest

from ranksieve import DataError, FeatureCosts, RankingData, make_ranking, recommend
from ranksieve.experiments import Trial
from ranksieve.metrics import evaluate
from ranksieve.rankers import RankRLS
from ranksieve.recommendation import nested
from ranksieve.recommendation import task as tasks
from ranksieve.recommendation.directory import LEDGER
from ranksieve.recommendation.nested import Candidate, choose_candidate, plan_stages
from ranksieve.recommendation.task import Rule, divide
from ranksieve.selectors.registry import make_selector
from ranksieve.significance import non_inferiority
from ranksieve.sums.similarity import Similarity, feature_similarity
from tests.oracles import prune_by_cost

QUICK = {"ranker": "rankrls", "selectors": ["greedy-rankrls", "top"], "details": False}
ONE = QUICK | {"selectors": ["top"]}


def planted(n_queries=40, seed=0, **other):
    how = {"n_informative": 2, "n_redundant": 1, "n_noise": 3, "noise": 0.2} | other
    return make_ranking(n_queries, docs_per_query=(4, 9), random_state=seed, **how)[0]


def useless(data):
    """Two features that are the same for all documents."""
    return RankingData(np.ones((data.n_rows, 2)), data.y, data.qid)


def with_gaps(data):
    """The first feature misses values."""
    X = np.array(data.X)
    X[::5, 0] = np.nan
    return RankingData(X, data.y, data.qid)


@pytest.fixture(scope="module")
def data():
    return planted()


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    return tmp_path_factory.mktemp("recommendation")


@pytest.fixture(scope="module")
def answer(data, directory):
    return recommend(data, margin=0.05, out=directory, **QUICK)


def slow_values(train, test, features):
    columns, scores = sorted(features), np.zeros(test.n_rows)
    if columns:
        scores = RankRLS().fit(train.take_features(columns)).predict(test.take_features(columns))
    return evaluate(test.y, scores, test.qid, ["ndcg@10"]).per_query["NDCG@10"]


def slow_fold_values(data, queries, folds, features_of):
    """Values of the queries of all folds, with features by trial."""
    values = []
    for trial, part in folds:
        train, test = (data.take_queries(own) for own in (trial.sets.train, queries.parts[part]))
        values.append(slow_values(train, test, features_of(trial)))
    return np.concatenate(values)


def slow_choice(data, queries, stage, margin, selectors=tuple(QUICK["selectors"])):
    def values(features_of):
        return slow_fold_values(data, queries, stage.folds, features_of)

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


class TestDivision:
    def test_no_stage_trains_or_chooses_by_the_queries_that_judge(self, data):
        queries = divide(data, 5, 0)
        every = np.arange(data.n_queries)
        assert np.array_equal(np.sort(queries.positions(list(queries.parts))), every)
        for stage in plan_stages(queries)[:-1]:
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
        names = {trial.name for stage in plan_stages(queries) for trial, _ in stage.folds}
        assert len(names) == 7
        trial = queries.without("2")
        sample = queries.to_select(trial).sets.train
        assert len(sample) == 400  # 20,000 rows
        assert set(sample) < set(trial.sets.train)

    def test_the_test_queries_of_a_split_judge_alone(self, data):
        train, test = data.take_queries(range(25)), data.take_queries(range(25, 40))
        answer = recommend((train, test), **QUICK)
        assert (answer.claim.about, answer.claim.n_queries) == ("set", 15)
        expected = slow_values(train, test, answer.features).mean()
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
    @pytest.mark.slow
    @pytest.mark.parametrize("is_large", [False, True])
    def test_equal_to_a_slow_version(self, data, is_large, monkeypatch):
        """Each step written out, for two selectors with sizes from 1 to 5."""
        if is_large:
            monkeypatch.setattr(tasks, "_MANY_ROWS", 100)
            monkeypatch.setattr(tasks, "ROWS_TO_SELECT", 60)
        found, queries = recommend(data, margin=0.05, **QUICK), divide(data, 5, 0)
        *stages, last = plan_stages(queries)
        parts = found.evidence.outcomes
        assert found.features == slow_choice(data, queries, last, margin=0.05)
        assert [one.part for one in parts] == list(queries.parts)
        for one, stage in zip(parts, stages, strict=True):
            assert one.features == slow_choice(data, queries, stage, margin=0.05)
            where = data, queries, [(stage.final, one.part)]
            values = slow_fold_values(*where, lambda trial, features=one.features: features)
            assert one.with_chosen == pytest.approx(values, rel=1e-12)
            assert one.with_all == pytest.approx(slow_fold_values(*where, lambda trial: range(6)))
            assert one.queries == [str(q) for q in data.query_ids[queries.parts[one.part]]]
            assert one.cost == len(one.features)
        values, base = (
            np.concatenate(own)
            for own in zip(*((one.with_chosen, one.with_all) for one in parts), strict=True)
        )
        tested = non_inferiority(values, base, 0.05)
        assert found.claim.with_chosen == pytest.approx(values.mean(), rel=1e-12)
        assert found.claim.bound == pytest.approx(tested.lower, rel=1e-12)
        assert found.claim.is_shown == tested.non_inferior

    @pytest.mark.slow
    @pytest.mark.parametrize("costs", [None, [3, 1, 4, 1, 5, 2]])
    def test_queries_that_judge_do_not_change_the_choice(self, data, costs):
        judges = np.isin(data.query_codes, divide(data, 5, 0).parts["3"])
        rng = np.random.default_rng(1)
        X = np.where(judges[:, None], rng.normal(size=data.X.shape), data.X)
        y = np.where(judges, rng.integers(0, 3, data.n_rows), data.y)
        other = RankingData(X, y, data.qid)
        before, after = (stage_choices(one, costs)["3"] for one in (data, other))
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
        chosen = choose_candidate(Rule(name, margin=0.02), candidates, base, None)
        assert chosen.size == expected

    def test_the_best_within_a_budget_is_taken(self):
        base = np.full(10, 0.5)
        candidates = [Candidate("s", k, 2.0 * k, base + 0.01 * k) for k in (1, 2, 3)]
        rule = Rule("half-margin", 0.01, budget=4.5)
        assert choose_candidate(rule, candidates, base, None).size == 2


def stage_choices(data, costs):
    """Choices of all stages, by the part that judges."""
    kept, original = {}, nested.choose

    async def choose(task, stage, run):
        kept[stage.judge] = choice = await original(task, stage, run)
        return choice

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nested, "choose", choose)
        recommend(data, margin=0.05, costs=costs, **QUICK)
    return kept


def test_losses_without_single_features(data):
    found = recommend(data, margin=0.05, **QUICK | {"details": True})
    for kept in found.kept:
        assert kept.lower < kept.loss < kept.upper
        assert 0 <= kept.stability <= kept.cluster_stability <= 1
    queries, best = divide(data, 5, 0), max(found.kept, key=lambda kept: kept.loss)
    rest = [f for f in found.features if f != best.feature]
    without, full, whole = (
        slow_fold_values(data, queries, queries.judged, lambda trial, own=own: own).mean()
        for own in (rest, found.features, range(6))
    )
    assert best.loss == pytest.approx((full - without) / whole, rel=1e-9)


def test_include_and_exclude(data):
    found = recommend(data, include=[5], exclude=[0], margin=0.05, **QUICK)
    assert 5 in found.features
    assert 0 not in found.features
    assert found.cost_of_all == 5
    assert found.settings["exclude"] == ["1"]


@pytest.mark.parametrize("is_split", [False, True])
def test_other_queries_confirm_what_is_deployed(data, is_split):
    other = planted(30, seed=1)
    other = RankingData(other.X, other.y, [f"new {query}" for query in other.qid])
    train = data.take_queries(range(30)) if is_split else data
    given = (train, data.take_queries(range(30, 40))) if is_split else data
    found = recommend(given, margin=0.05, confirm=other, **QUICK)
    assert (found.confirmed.about, found.confirmed.n_queries) == ("set", 30)
    expected = slow_values(train, other, found.features).mean()
    assert found.confirmed.with_chosen == pytest.approx(expected, rel=1e-9)
    with pytest.raises(DataError, match="leaks"):
        recommend(given, confirm=data, **QUICK)


class TestCosts:
    @pytest.mark.slow
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
        folds = plan_stages(queries)[-1].folds

        def value(features):
            return slow_fold_values(data, queries, folds, lambda trial: features).mean()

        limit = value(range(6)) * (1 - 0.2 / 2)
        path, size = make_selector("top", 5).fit(data).selected_.tolist(), found.size
        while size < 5 and value(path[:size]) < limit:
            size += 1
        like = feature_similarity(data, Similarity("tau_b", absolute=True))
        others = {}
        for f in range(6):
            near = [g for g in range(6) if g != f and like[f, g] >= 0.5]
            others[f] = sorted(near, key=lambda g, f=f: -like[f, g])
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

    @pytest.mark.slow
    def test_a_budget_is_kept(self, data, answer):
        found = recommend(data, budget=2, costs=[1, 2, 1, 2, 1, 2], **QUICK)
        assert 0 < found.cost <= 2
        assert "Keep no feature" in recommend(data, budget=0.5, **QUICK).sentence
        first, costs = answer.features[0], np.ones(6)
        costs[first] = 5  # passed over
        found = recommend(data, budget=3, costs=costs, **ONE)
        assert first not in found.features
        assert 0 < found.cost <= 3


class TestResuming:
    @pytest.fixture
    def begun(self, directory, answer, tmp_path):
        """A directory with half of the work."""
        lines = (directory / LEDGER).read_text().splitlines(keepends=True)
        (tmp_path / LEDGER).write_text("".join(lines[: len(lines) // 2]) + lines[-1][:20])
        return tmp_path

    def test_a_cut_ledger_gives_the_same_answer(self, data, begun, answer, directory):
        again = recommend(data, margin=0.05, out=begun, **QUICK)
        assert again.to_record() == answer.to_record()
        assert again.evidence.n_resumed > 0
        size = (begun / LEDGER).stat().st_size
        recommend(data, margin=0.05, level=0.9, out=begun, **QUICK)  # needs no other work
        assert (begun / LEDGER).stat().st_size == size

    def test_other_data_and_damage_are_refused(self, data, begun):
        with pytest.raises(DataError, match="other data"):
            recommend(planted(seed=1), margin=0.05, out=begun, **QUICK)
        (begun / LEDGER).write_text((begun / LEDGER).read_text().replace("0.9", "0.8", 1))
        with pytest.raises(DataError, match=LEDGER):
            recommend(data, margin=0.05, out=begun, **QUICK)

    def test_workers_give_the_same_answer(self, data, client):
        how = ONE | {"folds": 3, "margin": 0.05}
        here, there = recommend(data, **how), recommend(data, client=client, **how)
        assert there.to_record() == here.to_record()


class TestTime:
    def test_no_time_at_all(self, data):
        found = recommend(data, margin=0.05, time=1e-6, **QUICK | {"details": True})
        assert found.features == [*range(6)]
        assert not found.claim.is_shown
        assert "Nothing is claimed" in found.sentence
        assert found.notes == [
            "The time limit of 1e-06 s was reached: no smaller set of features was tried; 5 of 5 "
            "parts of the queries were not tested."
        ]
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
        kept_nothing = replace(answer, models={}, trained_on=None)
        assert found.to_record() == kept_nothing.to_record()
        assert (judged[0], judged[-1]) == (0, 40)
        assert any(0 < n < 40 for n in judged)


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
        ({"budget": 0.5, "include": [0]}, "more than the budget"),
    ],
)
def test_bad_input_costs_no_work(data, tmp_path, wrong, message):
    with pytest.raises(ValueError, match=message):
        recommend(data, out=tmp_path / "out", **QUICK | wrong)
    assert not (tmp_path / "out").exists()


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
