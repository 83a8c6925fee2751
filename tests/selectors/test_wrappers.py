"""Selectors around a ranker: equal to slow versions, interrupted and resumed, groups and rules."""

import itertools
import json
import weakref

import numpy as np
import pytest
from catboost import CatBoostRanker
from lightgbm import LGBMRanker
from sklearn.base import clone
from xgboost import XGBRanker

from ranksieve import DataError, RankingData, limit_threads, make_ranking
from ranksieve.io.record_log import checksum
from ranksieve.metrics import evaluate
from ranksieve.preprocessing import QueryStandardScaler
from ranksieve.rankers import CoordinateAscent, LambdaMART, RankRLS, RankSVM
from ranksieve.selectors import EliminationSelector, GreedyRankRLS, SequentialSelector
from ranksieve.selectors._search.held_out import make_folds
from ranksieve.selectors._search.importances import importances
from ranksieve.splits import query_kfold
from tests.every_method import QUICK_TREES
from tests.oracles import shap_within_queries

FEW_TREES = LGBMRanker(
    n_estimators=8, num_leaves=7, n_jobs=1, verbosity=-1, objective="rank_xendcg"
)


@pytest.fixture(scope="module")
def planted():
    return make_ranking(
        40, docs_per_query=12, n_informative=3, n_redundant=0, n_noise=3, noise=0.1, random_state=4
    )


def parts_of_folds(data, n):
    """Training data and held-out data of each fold."""
    return [(fold.train.take(), fold.test.take()) for fold in make_folds(data, n, 0)]


def held_out_values(data, features, ranker, folds, measure="ndcg@10"):
    """Value of each held-out query, the slow and obvious way."""
    values = []
    for fold in folds:
        train, test = (part.take_features(sorted(features)) for part in fold)
        scores = clone(ranker).fit(train).predict(test)
        found = evaluate(test.y, scores, test.qid, measure, ties="average")
        values.append(next(iter(found.per_query.values())))
    return np.concatenate(values)


@pytest.mark.parametrize(
    "selector",
    [
        SequentialSelector(RankRLS(), 1, cv="leave-query-out"),
        EliminationSelector(RankRLS(), "best", cv="leave-query-out", step=5),
    ],
    ids=lambda selector: type(selector).__name__,
)
def test_folds_are_not_copies_of_the_data(selector, planted, monkeypatch):
    taken, most, take = [], [0], RankingData.take_queries

    def take_and_count(self, queries):
        found = take(self, queries)
        taken.append(weakref.ref(found))
        most.append(sum(one() is not None for one in taken))
        return found

    data, _ = planted
    monkeypatch.setattr(RankingData, "take_queries", take_and_count)
    with limit_threads(2):
        selector.fit(data)
    assert len(taken) >= 2 * data.n_queries  # to train and to judge, for each query
    assert max(most) <= 12


class TestSequential:
    @pytest.mark.parametrize("direction", ["forward", "backward"])
    def test_equal_to_brute_force(self, planted, direction):
        data, _ = planted
        ranker, folds = RankSVM(), parts_of_folds(data, 2)

        def mean(features):
            return held_out_values(data, features, ranker, folds).mean()

        everything = set(range(data.n_features))
        chosen, path = (set(), []) if direction == "forward" else (everything, [])
        while len(chosen) != 3:
            if direction == "forward":
                chosen = max((chosen | {f} for f in sorted(everything - chosen)), key=mean)
            else:
                chosen = max((chosen - {f} for f in sorted(chosen)), key=mean)
            path.append((chosen, mean(chosen)))
        selector = SequentialSelector(ranker, 3, direction=direction, cv=2).fit(data)
        assert set(selector.selected_.tolist()) == chosen
        sizes = {len(fit.features): fit for fit in selector.fits_}
        for subset, value in path:
            fit = sizes[len(subset)]
            assert set(fit.features) == subset
            assert fit.value == pytest.approx(value)

    def test_values_of_queries(self, planted):
        data, _ = planted
        selector = SequentialSelector(RankSVM(), 2, measure="map", cv=4).fit(data)
        folds = parts_of_folds(data, 4)
        for fit, values in zip(selector.fits_, selector.values_, strict=True):
            expected = held_out_values(data, fit.features, RankSVM(), folds, "map")
            np.testing.assert_allclose(values, expected)
            assert fit.value == pytest.approx(np.mean(expected))
            spread = np.std(expected, ddof=1) / np.sqrt(len(expected))
            assert fit.deviation == pytest.approx(spread)

    @pytest.mark.slow
    @pytest.mark.parametrize("criterion", ["ndcg@10", "map"])
    def test_leave_query_out_with_rankrls_is_greedy_rankrls(self, criterion):
        data, _ = make_ranking(
            10, docs_per_query=(2, 8), n_informative=3, n_redundant=1, n_noise=3, random_state=8
        )
        for lam in (0.01, 1.0, 50.0):
            slow = SequentialSelector(RankRLS(lam), 4, cv="leave-query-out", measure=criterion)
            fast = GreedyRankRLS(4, lam=lam, criterion=criterion).fit(data)
            np.testing.assert_array_equal(slow.fit(data).selected_, fast.selected_)
            values = [fit.value for fit in slow.fits_]
            np.testing.assert_allclose(values, [fit.value for fit in fast.fits_])

    def test_floating_search_is_the_exhaustive_optimum_where_greedy_is_not(self):
        data = nesting_trap()
        folds = parts_of_folds(data, 3)

        def mean(features):
            return held_out_values(data, features, RankRLS(), folds).mean()

        pairs = itertools.combinations(range(data.n_features), 2)
        best = max(pairs, key=mean)
        greedy = SequentialSelector(RankRLS(), 2, cv=3).fit(data)
        floating = SequentialSelector(RankRLS(), 2, cv=3, floating=True).fit(data)
        assert set(greedy.selected_.tolist()) != set(best)
        assert set(floating.selected_.tolist()) == set(best)
        assert floating.path_[-1].score == pytest.approx(mean(best))

    def test_no_subset_is_trained_twice(self, planted, monkeypatch):
        data, _ = planted
        trained = []
        train = RankRLS._train

        def counted(self, source, *rest):
            trained.append((source.n_queries, tuple(source.feature_names)))
            return train(self, source, *rest)

        monkeypatch.setattr(RankRLS, "_train", counted)
        selector = SequentialSelector(RankRLS(), 4, floating=True, cv=2).fit(data)
        on_folds = [names for n_queries, names in trained if n_queries < data.n_queries]
        assert len(on_folds) == 2 * len(set(on_folds)) == 2 * selector.n_trained_

    def test_eval_set_judges_instead_of_folds(self, planted):
        data, _ = planted
        train, held_out = data.take_queries(range(25)), data.take_queries(range(25, 40))
        selector = SequentialSelector(RankSVM(), 2).fit(train, eval_set=held_out)
        expected = held_out_values(data, selector.selected_, RankSVM(), [(train, held_out)])
        np.testing.assert_allclose(selector.values_[-1], expected)

    def test_folds_can_be_given(self, planted):
        data, _ = planted
        splits = query_kfold(data.n_queries, 4)
        pairs = [(split.train, split.test) for split in splits]
        for cv in (splits, pairs):
            selector = SequentialSelector(RankRLS(), 2, cv=cv).fit(data)
            assert selector.values_.shape == (2, data.n_queries)
        with pytest.raises(DataError, match="in both the training part and the held-out part"):
            SequentialSelector(RankRLS(), 2, cv=[([0, 1], [1, 2])]).fit(data)
        for wrong in (1, "ab", ([0],), ([0], [1], [2]), ([0], [999]), ([-1], [0]), ([0.5], [1])):
            with pytest.raises(DataError, match="cv: a fold should be a split, or a pair of lists"):
                SequentialSelector(RankRLS(), 2, cv=[wrong]).fit(data)

        with pytest.raises(DataError, match="cv: in fold 0, a query is listed twice"):
            SequentialSelector(RankRLS(), 2, cv=[([0, 0], [1])]).fit(data)

    def test_the_final_ranker(self, planted):
        data, _ = planted
        selector = SequentialSelector(RankSVM(), 3).fit(data.X, data.y, qid=data.qid)
        expected = RankSVM().fit(data.X[:, selector.support_], data.y, qid=data.qid)
        np.testing.assert_array_equal(
            selector.predict(data.X), expected.predict(data.X[:, selector.support_])
        )
        np.testing.assert_array_equal(selector.predict(data), selector.predict(data.X))

    def test_patience(self):
        data, _ = make_ranking(30, n_informative=2, n_redundant=0, n_noise=5, random_state=4)
        how = dict(n_features_to_select="best", cv=2)
        whole = SequentialSelector(RankSVM(), **how).fit(data)
        ended = SequentialSelector(RankSVM(), patience=1, **how).fit(data)
        values = [fit.value for fit in whole.fits_]
        last = next(n for n in range(1, 7) if values[n] <= max(values[:n]))
        assert len(ended.fits_) == last + 1
        assert ended.n_trained_ < whole.n_trained_

    def test_floating_backward_is_refused(self, planted):
        with pytest.raises(ValueError, match="floating=True needs direction='forward'"):
            SequentialSelector(None, 2, direction="backward", floating=True).fit(planted[0])

    def test_one_query_cannot_be_held_out(self):
        data = RankingData([[1.0], [2.0]], [0, 1], [1, 1])
        with pytest.raises(DataError, match="cannot hold out the only query"):
            SequentialSelector(n_features_to_select=1).fit(data)
        selector = SequentialSelector(n_features_to_select=1).fit(data, eval_set=data)
        assert selector.selected_.tolist() == [0]


def nesting_trap():
    """Two features that rank well only together, and a third that is the best alone."""
    rng = np.random.default_rng(3)
    n_queries, n_documents = 60, 12
    utility = rng.normal(size=n_queries * n_documents)
    hidden = 3 * rng.normal(size=len(utility))
    alone = utility + 0.9 * rng.normal(size=len(utility))
    weak = utility + 3 * rng.normal(size=len(utility))
    X = np.column_stack([alone, utility + hidden, hidden, weak])
    return RankingData(X, np.digitize(utility, [0.5, 1.2]), np.arange(len(X)) // n_documents)


@pytest.mark.parametrize("kind", [SequentialSelector, EliminationSelector])
class TestBoth:
    def test_rules_for_the_number(self, kind, planted):
        data, _ = planted
        found = {
            rule: kind(RankSVM(), rule, cv=2, tol=0.02).fit(data)
            for rule in ("best", "one-se", "tolerance")
        }
        fits, values = found["best"].fits_, found["best"].values_
        means = values.mean(axis=1)
        sizes = np.array([len(fit.features) for fit in fits])
        best = np.argmax(means)
        error = values[best].std(ddof=1) / np.sqrt(values.shape[1])
        expected = {
            "best": sizes[best],
            "one-se": sizes[means >= means[best] - error].min(),
            "tolerance": sizes[means >= means[best] - 0.02].min(),
        }
        assert {rule: len(s.selected_) for rule, s in found.items()} == expected
        assert expected["one-se"] <= expected["best"]

    def test_states_of_random_numbers(self, kind, planted):
        """Every training begins with the same state, whatever runs beside it."""
        data = planted[0].take_features(range(4))
        found = []
        for n_threads in (1, 3):
            ranker = CoordinateAscent(n_restarts=2, random_state=np.random.RandomState(5))
            selector = kind(ranker, "best", cv=3, random_state=np.random.RandomState(7))
            with limit_threads(n_threads):
                found.append(selector.fit(data))
        np.testing.assert_array_equal(found[0].selected_, found[1].selected_)
        np.testing.assert_array_equal(found[0].values_, found[1].values_)

    def test_rankers_of_others(self, kind, planted):
        data, truth = planted
        selector = kind(FEW_TREES, 3, cv=3).fit(data.X, data.y, qid=data.qid)
        assert sorted(selector.selected_.tolist()) == truth.informative.tolist()
        with pytest.raises(TypeError, match="expected a ranker"):
            kind(QueryStandardScaler(), 3).fit(data)

    def test_interrupted_and_resumed(self, kind, planted, tmp_path, monkeypatch):
        data, _ = planted
        expected = kind(RankSVM(), "one-se", cv=3).fit(data)
        train, calls = RankSVM._train, []

        def interrupted(self, *arguments):
            calls.append(1)
            if len(calls) == 12:
                raise KeyboardInterrupt
            return train(self, *arguments)

        path = tmp_path / "search.jsonl"
        monkeypatch.setattr(RankSVM, "_train", interrupted)
        with pytest.raises(KeyboardInterrupt):
            kind(RankSVM(), "one-se", cv=3, checkpoint=path).fit(data)
        n_before = len(path.read_bytes().splitlines())
        assert n_before > 1
        with path.open("ab") as file:
            file.write(b'{"key": [1, 2')  # as if killed while writing
        calls[:] = [1] * 100
        resumed = kind(RankSVM(), "one-se", cv=3, checkpoint=path).fit(data)
        n_resumed = len(calls) - 100
        np.testing.assert_array_equal(resumed.selected_, expected.selected_)
        np.testing.assert_array_equal(resumed.values_, expected.values_)
        assert [fit.value for fit in resumed.fits_] == [fit.value for fit in expected.fits_]
        calls[:] = [1] * 100
        again = kind(RankSVM(), "one-se", cv=3, checkpoint=path).fit(data)
        np.testing.assert_array_equal(again.selected_, expected.selected_)
        assert len(calls) - 100 == 1 < n_resumed  # only the final ranker

    def test_a_file_of_another_search_is_refused(self, kind, planted, tmp_path):
        data, _ = planted
        path = tmp_path / "search.jsonl"
        kind(RankSVM(), 2, cv=3, checkpoint=path).fit(data)
        for changes, message in (
            (dict(ranker=RankSVM(C=2.0)), "with other ranker"),
            (dict(measure="map"), "with other measure"),
            (dict(data=data.take_queries(range(30))), "with other data"),
        ):
            ranker = changes.pop("ranker", RankSVM())
            source = changes.pop("data", data)
            with pytest.raises(DataError, match=message):
                kind(ranker, 2, cv=3, checkpoint=path, **changes).fit(source)
        path.write_text("something else\n")
        with pytest.raises(DataError, match="search.jsonl:1: not the results of a search"):
            kind(RankSVM(), 2, cv=3, checkpoint=path).fit(data)

    def test_a_damaged_file_is_refused(self, kind, planted, tmp_path):
        """Values and lists that changed, with the right checksum."""
        data, _ = planted
        path = tmp_path / "search.jsonl"
        kind(RankSVM(), "best", cv=3, checkpoint=path).fit(data)
        lines = path.read_bytes().splitlines(keepends=True)

        def refused(changed, message):
            path.write_bytes(b"".join(changed))
            with pytest.raises(DataError, match=message):
                kind(RankSVM(), "best", cv=3, checkpoint=path).fit(data)

        cell, [*values] = (json.loads(lines[-1])[name] for name in ("cell", "result"))
        for cell_, result in (
            *((cell, [*values[:-1], values[-1][:-1]]), (cell, values[:-1]), (cell, None)),
            *((cell, [*values[:-1], ["1"] * len(values[-1])]), (cell, [None]), ("x", values)),
            *((None, values), ([1.5], values), ([-9, 1], values), ([True], values)),
            (cell, [*values[:-1], [float("nan")] * len(values[-1])]),
        ):
            body = json.dumps({"cell": cell_, "result": result}).encode()[:-1]
            line = body + f', "checksum": "{checksum(body)}"}}\n'.encode()
            refused([lines[0], line], r"search.jsonl:2: damaged")


class TestElimination:
    @pytest.mark.parametrize("importance", ["gain", "permutation", "shap"])
    @pytest.mark.parametrize(
        "ranker",
        [
            XGBRanker(n_estimators=5, n_jobs=1),
            CatBoostRanker(iterations=8, thread_count=1, verbose=False, allow_writing_files=False),
        ],
        ids=["xgboost", "catboost"],
    )
    def test_rankers_of_other_libraries(self, planted, ranker, importance):
        data, truth = planted
        selector = EliminationSelector(ranker, 3, importance=importance).fit(data)
        assert sorted(selector.selected_.tolist()) == truth.informative.tolist()

    def test_equal_to_a_slow_elimination(self, planted):
        data, _ = planted
        left, gone = list(range(data.n_features)), []
        while len(left) > 1:
            weights = RankSVM().fit(data.take_features(left)).coef_
            spreads = [np.std(data.X[:, f] - query_means(data, f)) for f in left]
            worst = left[int(np.argmin(np.abs(weights) * spreads))]
            left.remove(worst)
            gone.append(worst)
        selector = EliminationSelector(RankSVM(), 4).fit(data)
        assert selector.selected_.tolist() == [*left, *gone[::-1]][:4]
        assert selector.ranking_.tolist() == [
            1 if f in selector.selected_ else 2 + gone[:2][::-1].index(f) for f in range(6)
        ]

    def test_the_curve_is_that_of_folds_that_eliminate_alone(self, planted):
        data, _ = planted
        selector = EliminationSelector(RankSVM(), "best", cv=2).fit(data)
        folds = parts_of_folds(data, 2)
        for fit, values in zip(selector.fits_, selector.values_, strict=True):
            k = len(fit.features)
            expected = []
            for train, test in folds:
                kept = np.sort(EliminationSelector(RankSVM(), k).fit(train).selected_)
                expected.append(held_out_values(data, kept, RankSVM(), [(train, test)]))
            np.testing.assert_allclose(values, np.concatenate(expected))

    @pytest.mark.parametrize("k", [2, "best"])
    def test_nothing_is_trained_without_need(self, k, planted, monkeypatch):
        train, sizes = RankRLS._train, []

        def counted(self, source, *rest):
            sizes.append(source.n_features)
            return train(self, source, *rest)

        data, n = planted[0], planted[0].n_features
        monkeypatch.setattr(RankRLS, "_train", counted)
        selector = EliminationSelector(RankRLS(), k, cv=3).fit(data)
        # On all data, the last feature is left without a training.
        expected = [*range(n, 1, -1), len(selector.selected_)]
        expected += [] if k == 2 else 3 * list(range(n, 0, -1))
        assert sorted(sizes) == sorted(expected)

    def test_steps(self, planted):
        data, _ = planted
        for step, sizes in ((2, [6, 4, 2, 1]), (0.5, [6, 3, 2, 1]), (10, [6, 1])):
            selector = EliminationSelector(RankSVM(), "best", step=step, cv=2).fit(data)
            assert sorted((len(f.features) for f in selector.fits_), reverse=True) == sizes
        assert len(EliminationSelector(RankSVM(), 3, step=2).fit(data).selected_) == 3

    @pytest.mark.parametrize("importance", ["coef", "gain", "permutation", "shap"])
    @pytest.mark.parametrize("ranker", [RankSVM(), LambdaMART(10, params=QUICK_TREES)])
    def test_every_importance_keeps_the_informative_features(self, planted, importance, ranker):
        data, truth = planted
        selector = EliminationSelector(ranker, 3, importance=importance)
        if importance == "gain" and isinstance(ranker, RankSVM):
            data = QueryStandardScaler().fit_transform(data)  # weights alone compare like scales
        if importance == "coef" and isinstance(ranker, LambdaMART):
            with pytest.raises(ValueError, match="LambdaMART has no weights"):
                selector.fit(data)
            return
        assert sorted(selector.fit(data).selected_.tolist()) == truth.informative.tolist()


def query_means(data, feature):
    values = data.X[:, feature]
    means = np.add.reduceat(values, data.query_ptr[:-1]) / data.group_counts
    return np.repeat(means, data.group_counts)


class TestImportances:
    def judge(self, data):
        def values(scores):
            found = evaluate(data.y, scores, data.qid, "ndcg@10", ties="average")
            return found.per_query["NDCG@10"]

        return values

    def test_shap_values_of_a_linear_ranker(self, planted):
        data, _ = planted
        ranker = RankSVM().fit(data)
        found = importances(ranker, "shap", data, data, self.judge(data))
        expected = shap_within_queries(data.X * ranker.coef_, data.qid)
        np.testing.assert_allclose(found, expected)

    def test_shap_values_of_trees_add_up_to_the_scores(self, planted):
        data, _ = planted
        ranker = LambdaMART(5, params={"num_threads": 1}).fit(data)
        parts = ranker._contributions(data.X)
        rest = ranker.predict(data) - parts.sum(axis=1)
        np.testing.assert_allclose(rest, rest[0])

    def test_a_feature_that_is_not_used_loses_nothing(self, planted):
        data, _ = planted
        ranker = RankSVM().fit(data)
        ranker.coef_[2] = 0.0
        losses = importances(ranker, "permutation", data, data, self.judge(data))
        assert losses[2] == 0
        assert losses.max() > 0.1
