"""Recommendations: who builds, who trains, who judges, and what is recommended."""

import gc
import weakref
from dataclasses import replace

import numpy as np
import pytest

from ranksieve import DataError, FeatureCosts, RankingData, make_ranking, recommend
from ranksieve.experiments import Trial
from ranksieve.metrics import evaluate
from ranksieve.rankers import LambdaMART, RankRLS
from ranksieve.recommendation import queries as queries_module
from ranksieve.recommendation.answer import CurvePoint
from ranksieve.recommendation.crossfit import smooth
from ranksieve.recommendation.directory import LEDGER
from ranksieve.recommendation.naming import choose_point
from ranksieve.recommendation.queries import divide
from ranksieve.selectors.registry import make_selector
from ranksieve.significance import simultaneous_band

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


def slow_order(data, names):
    """All features by the sum of their places in the lists of several selectors."""
    lists = [make_selector(name, 6).fit(data).selected_.tolist() for name in names]
    return sorted(range(6), key=lambda f: (sum(own.index(f) for own in lists), f))


def slow_path(data, queries, trial, names):
    """Orders from what selectors see of a trial."""
    return slow_order(data.take_queries(queries.to_select(trial).sets.train), names)


def slow_named(sets):
    """What is most like the sets of all paths: one of them, the last of equals, or their mode."""

    def likeness(own):
        return np.mean([len({*own} & {*other}) / max(1, len({*own} | {*other})) for other in sets])

    counts = [sum(f in own for own in sets) for f in range(6)]
    last = [*sets[-1], *(f for f in range(6) if f not in sets[-1])]
    frequent = sorted(range(6), key=lambda f: (-counts[f], last.index(f)))[: len(sets[-1])]
    return max([*reversed(sets), frequent], key=lambda own: round(likeness(own), 9))


class TestProcedure:
    @pytest.mark.parametrize("is_large", [False, True])
    def test_equal_to_a_slow_version(self, data, is_large, monkeypatch):
        """Each step written out, for two selectors and sets of 0 to 5 features."""
        sizes = [0, 1, 2, 3, 4, 5]
        if is_large:  # selectors see samples, and there are fewer sets
            sizes = [0, 1, 2, 4]
            monkeypatch.setattr(queries_module, "MANY_ROWS", 100)
            monkeypatch.setattr(queries_module, "ROWS_TO_SELECT", 60)
        found, queries = recommend(data, margin=0.05, **QUICK), divide(data, 5, 0)
        names, n, repeats = QUICK["selectors"], data.n_queries, found.evidence.repeats
        sums, base, n_base, orders = np.zeros((len(sizes), n)), np.zeros(n), 0, []
        for repeat in range(repeats):
            for division in range(4 * repeat, 4 * repeat + 4):  # the others only train all
                for trial in queries.division(division):
                    (judges,) = trial.sets.judged.values()
                    where = data.take_queries(trial.sets.train), data.take_queries(judges)
                    base[judges] += slow_values(*where, range(6))
                    if division == 4 * repeat:
                        order = slow_path(data, queries, trial, names)
                        orders.append(order)
                        sums[:, judges] += [slow_values(*where, order[:k]) for k in sizes]
                n_base += 1
        base, means = base / n_base, sums / repeats
        orders.append(slow_path(data, queries, queries.to_deploy, names))
        named = [slow_named([order[:k] for order in orders]) for k in sizes]
        assert [point.features for point in found.curve] == named
        changes = smooth(means - base, 1).mean(axis=1) / base.mean()
        assert [point.change for point in found.curve] == pytest.approx(changes, rel=1e-9)
        assert found.claim.with_all == pytest.approx(base.mean(), rel=1e-9)
        enough = [place for place, point in enumerate(found.curve) if point.bound > -0.05]
        assert found.features == named[enough[0]]
        assert found.evidence.judges.with_chosen == pytest.approx(means[enough[0]], rel=1e-9)
        for k, shares in zip(sizes, found.evidence.shares, strict=True):
            assert shares == {
                f: pytest.approx(np.mean([f in order[:k] for order in orders]))
                for f in range(6)
                if any(f in order[:k] for order in orders)
            }

    def test_the_bound_is_that_of_the_band(self, data, answer):
        """Without a deviation of paths, which widens it where sets lose something."""
        judges = answer.evidence.judges
        difference = np.subtract(judges.with_chosen, judges.with_all)
        alone = simultaneous_band(difference, judges.with_all, variance_factor=1.25)
        assert answer.claim.bound <= answer.claim.change - alone.quantile * 0.5 * alone.error[0]
        assert answer.claim.is_shown == (answer.claim.bound > -0.05)
        assert answer.claim.bound == answer.recommended.bound

    def test_queries_that_judge_do_not_change_paths_or_models(self, data):
        """What a part judges is what the others have made, whatever the part is like."""
        queries = divide(data, 5, 0)
        trial = next(queries.division(0))
        (judges,) = trial.sets.judged.values()
        is_judge = np.isin(data.query_codes, judges)
        rng = np.random.default_rng(1)
        X = np.where(is_judge[:, None], rng.normal(size=data.X.shape), data.X)
        y = np.where(is_judge, rng.integers(0, 3, data.n_rows), data.y)
        orders = []
        for one in (data, RankingData(X, y, data.qid)):
            kept = []
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr("ranksieve.recommendation.procedure.cross_fit", keep_curve(kept))
                recommend(one, margin=0.05, **QUICK)
            orders.append(kept[0].paths)
        assert orders[0][0] == orders[1][0]  # the path that this part judges
        assert orders[0][1:5] != orders[1][1:5]  # the others have seen it

    def test_the_order_of_rows_and_features_does_not_matter(self, data):
        rng = np.random.default_rng(0)
        columns, rows = rng.permutation(6), rng.permutation(data.n_rows)
        rows = rows[np.argsort(data.query_codes[rows], kind="stable")]
        names = np.array([f"f{number}" for number in range(6)])
        other = RankingData(
            data.X[rows][:, columns], data.y[rows], data.qid[rows], feature_names=names[columns]
        )
        first, same = recommend(data, margin=0.05, **ONE), recommend(other, margin=0.05, **ONE)
        assert [int(name[1:]) for name in same.names] == first.features
        assert same.claim.bound == pytest.approx(first.claim.bound, rel=1e-9)

    def test_a_ranker_that_draws_is_trained_with_seeds_of_its_own(self, data):
        """Each repeat has another model, so their luck averages out."""
        forest = LambdaMART(5, num_leaves=4, params={"bagging_fraction": 0.5, "bagging_freq": 1})
        how = {"selectors": ["top"], "details": False, "margin": 0.05}
        found = recommend(data, forest, **how)
        assert found.evidence.repeats > 1
        assert 0 < found.evidence.noise < 1
        assert found.to_record() == recommend(data, forest, **how).to_record()


def keep_curve(kept):
    from ranksieve.recommendation.crossfit import cross_fit

    async def wrapped(*arguments):
        kept.append(await cross_fit(*arguments))
        return kept[-1]

    return wrapped


class TestChoice:
    def point(self, cost, change, bound):
        return CurvePoint([*range(cost)], float(cost), change, 0.01, bound)

    def test_the_cheapest_whose_bound_is_within_the_margin(self):
        points = [
            self.point(1, -0.001, -0.03),
            self.point(2, -0.009, -0.0099),
            self.point(3, 0.01, -0.02),
            self.point(4, 0.0, -0.001),
        ]
        assert choose_point(points, 0.01, None, tested=False) == 1
        assert choose_point(points, 0.0005, None, tested=False) is None
        assert choose_point(points, 0.0005, None, tested=True) == 2  # which a test may show
        assert choose_point(points, 0.01, 3.0, tested=False) == 3  # all are within the budget
        assert choose_point([], 0.01, None, tested=True) is None


def test_losses_without_single_features(data):
    found = recommend(data, margin=0.05, **QUICK | {"details": True})
    queries, n = divide(data, 5, 0), data.n_queries
    numbers = [0, 4][: found.evidence.repeats]
    for kept in found.kept:
        assert kept.lower < kept.loss < kept.upper
        assert 0 < kept.stability <= kept.cluster_stability <= 1
        rest = [f for f in found.features if f != kept.feature]
        full, without, base = np.zeros(n), np.zeros(n), np.zeros(n)
        for number in numbers:
            for trial in queries.division(number):
                (judges,) = trial.sets.judged.values()
                where = data.take_queries(trial.sets.train), data.take_queries(judges)
                for own, features in ((full, found.features), (without, rest), (base, range(6))):
                    own[judges] += slow_values(*where, features)
        assert kept.loss == pytest.approx((full - without).mean() / base.mean(), rel=1e-9)


def test_include_and_exclude(data):
    found = recommend(data, include=[5], exclude=[0], margin=0.05, **QUICK)
    assert all(5 in point.features and 0 not in point.features for point in found.curve)
    assert 5 in found.features
    assert 0 not in found.features
    assert found.cost_of_all == 5
    assert found.settings["exclude"] == ["1"]


class TestOtherQueries:
    def test_the_test_queries_of_a_split_test_once(self, data):
        train, test = data.take_queries(range(25)), data.take_queries(range(25, 40))
        answer = recommend((train, test), margin=0.05, **QUICK)
        assert answer.claim.n_queries == 25
        assert (answer.confirmed.about, answer.confirmed.n_queries) == ("test", 15)
        expected = slow_values(train, test, answer.features).mean()
        assert answer.confirmed.with_chosen == pytest.approx(expected, rel=1e-12)
        assert answer.is_shown == answer.confirmed.is_shown

    @pytest.mark.parametrize("is_split", [False, True])
    def test_others_confirm_what_is_deployed(self, data, is_split):
        other = planted(30, seed=1)
        other = RankingData(other.X, other.y, [f"new {query}" for query in other.qid])
        train, test = data.take_queries(range(30)), data.take_queries(range(30, 40))
        found = recommend((train, test) if is_split else data, margin=0.05, confirm=other, **QUICK)
        n_tested = 40 if is_split else 30
        assert (found.confirmed.about, found.confirmed.n_queries) == ("test", n_tested)
        judges = [slow_values(train if is_split else data, other, found.features)]
        if is_split:
            judges.append(slow_values(train, test, found.features))
        assert found.confirmed.with_chosen == pytest.approx(np.concatenate(judges).mean(), rel=1e-9)

    def test_a_noisy_ranker_is_retrained_for_the_test(self, data):
        other = planted(30, seed=1)
        other = RankingData(other.X, other.y, [f"new {query}" for query in other.qid])
        params = {"bagging_fraction": 0.5, "bagging_freq": 1}
        how = {"n_estimators": 5, "num_leaves": 4, "min_child_samples": 2, "params": params}
        given = {"selectors": ["top"], "include": [0, 1], "details": False}
        found = recommend(data, LambdaMART(**how), confirm=other, margin=0.3, **given)
        values = []
        for seed in range(5):
            columns = sorted(found.features)
            ranker = LambdaMART(**how, random_state=seed)
            scores = ranker.fit(data.take_features(columns)).predict(other.take_features(columns))
            values.append(evaluate(other.y, scores, other.qid, ["ndcg@10"]).mean["NDCG@10"])
        assert found.confirmed.with_chosen == pytest.approx(np.mean(values), rel=1e-9)
        assert len(set(values)) > 1

    def test_a_query_on_both_sides_is_refused(self, data):
        with pytest.raises(DataError, match="leaks"):
            recommend((data, data.take_queries([0])), **QUICK)
        with pytest.raises(DataError, match="leaks"):
            recommend(data, confirm=data, **QUICK)


class TestCosts:
    def test_a_dear_feature_is_exchanged_for_a_cheaper_one_that_is_like_it(self, data):
        best = recommend(data, margin=0.05, **ONE).features[0]
        rng = np.random.default_rng(0)
        copy = data.X[:, best] + 0.1 * data.X[:, best].std() * rng.normal(size=data.n_rows)
        both = RankingData(np.column_stack([data.X, copy]), data.y, data.qid)
        costs = np.ones(7)
        costs[best] = 10
        found = recommend(both, "rankrls", margin=0.1, costs=costs, details=False)
        assert best not in found.features
        assert 6 in found.features
        assert found.cost < 10

    def test_exact_copies_leave_first_the_dearest_before_the_others(self, data):
        both = RankingData(np.column_stack([data.X, 3 * data.X, -data.X]), data.y, data.qid)
        costs = np.repeat([2.0, 1.0, 5.0], 6)
        found = recommend(both, "rankrls", margin=0.1, costs=costs, details=False)
        assert all(6 <= f < 12 for point in found.curve for f in point.features)
        reasons = {one.feature: one.reason for one in found.dropped}
        assert reasons[0] == "exact copy of 7"
        assert found.cost_of_all == 48

    @pytest.mark.parametrize("costs", [None, [1.0, 2.0]])
    def test_features_that_never_vary_leave_nothing_to_choose_from(self, data, costs):
        found = recommend(useless(data), "rankrls", costs=costs, details=False)
        assert found.features == []
        assert found.claim.change == pytest.approx(0, abs=1e-12)
        assert found.evidence.noise == 0

    def test_sets_rise_in_cost(self, data):
        costs = np.random.default_rng(0).uniform(0.1, 9, 6)
        found = recommend(data, "rankrls", margin=0.05, costs=costs, details=False)
        prices = [point.cost for point in found.curve]
        assert prices == sorted(prices)
        assert len(prices) > 2
        assert len({frozenset(point.features) for point in found.curve}) == len(prices)

    def test_a_group_is_paid_once(self, data):
        groups = {"1": "call", "3": "call", "5": "call"}
        given = FeatureCosts({str(f): 1.0 for f in range(1, 7)}, groups, {"call": 4.0})
        found = recommend(data, "rankrls", margin=0.1, costs=given, details=False)
        for point in found.curve:
            paid = len(point.features) + 4 * any(f in (0, 2, 4) for f in point.features)
            assert point.cost == paid
        assert found.cost_of_all == 10

    def test_features_of_selectors_of_ones_own_are_taken_as_long_as_they_fit(self, data):
        costs, kept = [3.0, 1.0, 4.0, 1.0, 5.0, 2.0], []
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("ranksieve.recommendation.procedure.cross_fit", keep_curve(kept))
            recommend(data, budget=6, costs=costs, **ONE)
        queries = divide(data, 5, 0)
        order, own = slow_path(data, queries, next(queries.division(0)), ["top"]), []
        for f in order:
            if sum(costs[g] for g in [*own, f]) <= 6:  # the last level is the budget
                own.append(f)
        assert list(kept[0].paths[0][-1]) == own

    def test_costs_of_nothing_are_none(self, data, answer):
        found = recommend(data, margin=0.05, costs=np.zeros(6), **QUICK)
        assert found.features == answer.features
        assert found.cost == len(found.features)
        assert found.warnings == ["No feature costs anything: the fewest features are recommended."]

    def test_a_budget_is_kept_and_used(self, data):
        costs = [1, 2, 1, 2, 1, 2]
        found = recommend(data, "rankrls", budget=4, costs=costs, details=False)
        assert 2 < found.cost <= 4
        within = [point.bound for point in found.curve if point.cost <= 4]
        assert found.claim.bound == max(within)
        assert "the best within the budget of 4" in found.advice
        assert "Keep no feature" in recommend(data, budget=0.5, **QUICK).sentence

    def test_a_budget_for_everything_does_not_bind(self, data, answer):
        found = recommend(data, margin=0.05, budget=6, **QUICK)
        assert found.features == answer.features


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

    @pytest.mark.parametrize("costs", [None, [3, 1, 4, 1, 5, 2]])
    def test_workers_give_the_same_answer(self, data, client, costs):
        how = {"ranker": "rankrls", "folds": 3, "margin": 0.05, "costs": costs, "details": False}
        here, there = recommend(data, **how), recommend(data, client=client, **how)
        assert there.to_record() == here.to_record()


class TestTime:
    def test_no_time_at_all(self, data):
        found = recommend(data, margin=0.05, time=1e-6, **QUICK | {"details": True})
        assert found.features == [*range(6)]
        assert not found.claim.is_shown
        assert "Nothing is claimed" in found.sentence
        (limit,) = found.warnings
        assert limit == "The time limit was reached: no smaller set of features was tried."
        with pytest.raises(DataError, match="no time to find features within the budget"):
            recommend(data, budget=2, time=1e-6, **QUICK)

    def test_as_many_queries_judge_as_there_is_time_for(self, data, answer, monkeypatch):
        """By a clock that ticks whenever it is read."""
        judged = []
        for limit in (*range(20, 220, 20), 100_000):
            ticks = iter(range(10**6))
            monkeypatch.setattr("ranksieve.experiments.runner.monotonic", ticks.__next__)
            found = recommend(data, margin=0.05, time=limit, **QUICK)
            judged.append(found.claim.n_queries)
            told = f"{40 - judged[-1]} queries did not judge"
            assert any(told in warning for warning in found.warnings) == (0 < judged[-1] < 40)
        kept_nothing = replace(answer, models={}, trained_on=None)
        assert found.to_record() == kept_nothing.to_record()
        assert judged[-1] == 40
        assert any(0 < n < 40 for n in judged)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"folds": 1}, "at least 2 parts"),
        ({"folds": 50}, "cannot be divided"),
        ({"margin": 1.5}, "margin"),
        ({"margin": "1%"}, "margin must lie between 0 and 1, got '1%'"),
        ({"budget": "12"}, "budget must be a finite number"),
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


def test_a_ranker_without_missing_values_is_refused_first(data, tmp_path):
    gappy, how = with_gaps(data), ONE | {"out": tmp_path / "out"}
    remedy = (
        r"\(NaN\), which rankrls cannot use: fill in missing values with --missing query-median"
    )
    for wrong in (how, how | {"missing": "keep"}):
        with pytest.raises(DataError, match=remedy):
            recommend(gappy, **wrong)
    with pytest.raises(DataError, match=remedy):
        recommend(data.take_queries(range(30)), confirm=gappy.take_queries(range(30, 40)), **how)
    assert not how["out"].exists()
    assert recommend(gappy, missing="query-median", **how).settings["missing"] == "query-median"


@pytest.mark.parametrize(
    ("labels", "queries", "message"),
    [(0, None, "all documents of each query have equal labels"), (None, 1, "no query has two")],
)
def test_data_that_tells_nothing_is_refused_first(data, tmp_path, labels, queries, message):
    y = data.y if labels is None else np.full(data.n_rows, labels)
    qid = data.qid if queries is None else np.arange(data.n_rows)
    with pytest.raises(DataError, match=f"^{message}"):
        recommend(RankingData(data.X, y, qid), **ONE | {"out": tmp_path / "out"})
    assert not (tmp_path / "out").exists()


def test_missing_values_are_kept_for_trees(data):
    trees = ONE | {"ranker": LambdaMART(n_estimators=3, min_child_samples=3)}
    kept = recommend(with_gaps(data), **trees)
    declared = recommend(with_gaps(data), missing="keep", **trees)
    assert kept.curve == declared.curve


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
