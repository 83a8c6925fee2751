"""include, exclude, groups and count: every selector takes them, or says why not."""

import weakref
from dataclasses import replace
from functools import cache
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from ranksieve import RankingData, make_ranking
from ranksieve.base import Choices, RankSelector
from ranksieve.base.choices import feature_groups, feature_indices
from ranksieve.data import DataError
from ranksieve.data.inputs import take_columns
from ranksieve.engine.memo import Memo, sharing
from ranksieve.io.shards import open_shards, write_shards
from ranksieve.rankers import LambdaMART
from ranksieve.selectors import (
    GAS,
    EliminationSelector,
    GreedyRankRLS,
    SequentialSelector,
    SparseRank,
    SparseRankSVM,
    StepwiseAIC,
)
from ranksieve.selectors.registry import SELECTORS
from ranksieve.threads import limit_threads
from tests import oracles_margins
from tests.every_method import make_quick

NAMES = [f"f{number}" for number in range(9)]
WITH_GROUPS = [name for name, method in SELECTORS.items() if not method.no_groups]
WITHOUT_GROUPS = [name for name in SELECTORS if name not in WITH_GROUPS]

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
each = pytest.mark.parametrize("name", SELECTORS)


@cache
def planted():
    """Informative features, copies, noise and a constant, in an order that is not theirs."""
    made, truth = make_ranking(
        30,
        docs_per_query=(2, 10),
        n_informative=3,
        n_redundant=2,
        n_noise=3,
        n_constant=1,
        noise=0.3,
        random_state=4,
    )
    return RankingData(made.X, made.y, made.qid, feature_names=NAMES), truth


def fitted(name, data, k=5, **parameters):
    """A quick selector, fitted; ``all`` takes no number."""
    return make_quick(name, k).set_params(**parameters).fit(data)


def attributes(selector):
    """All that a selector has learned."""
    return {name: value for name, value in vars(selector).items() if name.endswith("_")}


@each
class TestEverySelector:
    def test_included_features_come_first_and_excluded_ones_never(self, name):
        data, _ = planted()
        selector = fitted(name, data, include=["f7", 2], exclude=[0, "f5"])
        selected = selector.selected_.tolist()
        assert selected[:2] == [7, 2]
        assert len(set(selected)) == len(selected) == (7 if name == "all" else 5)
        assert not {0, 5} & set(selected)
        assert np.flatnonzero(selector.support_).tolist() == sorted(selected)
        if hasattr(selector, "path_"):
            assert [step.feature for step in selector.path_] == selected
        assert len(selector.reasons()) == len(selected)
        kept = [NAMES[feature] for feature in sorted(selected)]
        assert selector.transform(data).feature_names.tolist() == kept
        for value in attributes(selector).values():  # records of features have their indices
            for record in value if isinstance(value, list) else []:
                for item in record if isinstance(record, list) else [record]:
                    assert not {0, 5} & set(getattr(item, "features", ()))

    def test_exclude_is_as_if_columns_were_not_there(self, name):
        data, _ = planted()
        kept = np.array([0, 1, 2, 4, 6, 7, 8])
        without = fitted(name, data.take_features(kept), k=3)
        selector = fitted(name, data, k=0.4, exclude=[5, 3])  # a share is one of what is left
        assert selector.selected_.tolist() == kept[without.selected_].tolist()
        for attribute, expected in attributes(without).items():
            found = getattr(selector, attribute)
            if attribute in selector._per_feature:
                axes = selector._per_feature[attribute].axes
                for axis in axes:
                    assert found.shape[axis] == data.n_features
                    found = found.take(kept, axis=axis)
                np.testing.assert_array_equal(found, expected, err_msg=attribute)
        assert [s.score for s in getattr(selector, "path_", [])] == [
            s.score for s in getattr(without, "path_", [])
        ]
        if hasattr(selector, "predict"):
            expected = without.predict(data.take_features(kept))
            np.testing.assert_allclose(selector.predict(data), expected, atol=1e-12)

    def test_what_cannot_be(self, name):
        data, _ = planted()
        for wrong, message in (
            (dict(include=[0], exclude="f0"), "feature f0 is both included and excluded"),
            (dict(include="nothing"), "include: no feature is named 'nothing'"),
            (dict(exclude=[9]), "exclude: no feature 9; indices are 0 to 8"),
            (dict(include=[-1]), "include: no feature -1"),
            (dict(include=[1.0]), "include: 1.0 is neither a name nor an index"),
            (dict(exclude=[1, "f1"]), "exclude lists a feature twice"),
            (dict(exclude=range(9)), "all features are excluded"),
            (dict(count="groups"), "count='groups' needs groups"),
        ):
            with pytest.raises(DataError, match=message):
                fitted(name, data, **wrong)
        if name != "all":
            with pytest.raises(DataError, match="include lists 3 features, but 2 are to be"):
                fitted(name, data, k=2, include=[0, 1, 2])
            with pytest.raises(DataError, match="n_features_to_select=5, but only 4 of 9 features"):
                fitted(name, data, exclude=range(5))
        with pytest.raises(ValueError, match="'count' parameter"):
            fitted(name, data, count="rows")


@pytest.mark.parametrize("name", WITH_GROUPS)
class TestGroups:
    def test_groups_of_one_are_features(self, name):
        data, _ = planted()
        expected = fitted(name, data, include=[4], exclude=[2]).selected_
        for count in ("features", "groups"):
            selector = fitted(
                name, data, include=[4], exclude=[2], groups=list("abcdefghi"), count=count
            )
            np.testing.assert_array_equal(selector.selected_, expected)
            assert selector.n_groups_ == len(expected)

    def test_groups_come_and_go_together(self, name):
        data, _ = planted()
        groups = [["f0", "f8"], [7, 1, 6], ["f2", "f3"]]  # 4 and 5 alone
        whole = [{0, 8}, {1, 6, 7}, {2, 3}, {4}, {5}]
        for count, k in (("features", 5), ("groups", 3)):
            selector = fitted(name, data, k=k, groups=groups, count=count)
            chosen = set(selector.selected_.tolist())
            taken = [group for group in whole if group & chosen]
            assert set.union(*taken) == chosen
            assert selector.n_groups_ == len(taken)
            if name != "all":
                assert len(taken) == 3 if count == "groups" else 0 < len(chosen) <= 5

    def test_a_group_is_included_as_a_whole(self, name):
        data, _ = planted()
        groups = {"a": [0, 8], "b": [7, 1, 6]}
        selector = fitted(name, data, k=6, include=[6, "f4"], exclude=["f1"], groups=groups)
        assert selector.selected_[:3].tolist() == [7, 6, 4]
        assert 1 not in selector.selected_
        if name == "all":
            return
        with pytest.raises(DataError, match="include lists 3 features in whole groups, but 2"):
            fitted(name, data, k=2, include=[6], groups=groups)
        with pytest.raises(DataError, match="include lists 2 groups, but 1 is to be selected"):
            fitted(name, data, k=1, include=[6, 0], groups=groups, count="groups")
        with pytest.raises(DataError, match="only 6 groups"):
            fitted(name, data, k=7, groups=groups, count="groups")

    def test_a_first_group_that_does_not_fit(self, name):
        data, _ = planted()
        if name != "all":
            with pytest.raises(DataError, match="the first group to select has [45] features"):
                fitted(name, data, k=2, groups=[0, 0, 0, 0, 1, 1, 1, 1, 1])


@pytest.mark.parametrize("name", WITHOUT_GROUPS)
def test_methods_without_groups_say_why(name):
    data, _ = planted()
    why = SELECTORS[name].no_groups
    assert why[0].islower()
    assert why.endswith(".")
    for groups in ([[0, 1]], [[0, 1], [2]], {"a": [0, 1]}):
        with pytest.raises(DataError) as error:
            fitted(name, data, groups=groups)
        assert str(error.value) == f"{SELECTORS[name].kind.__name__} takes no groups: {why}"


# Of two equal features, one is included; the other must not come before what adds to it.
GIVEN = [
    ("gas-e", {"c": 1.0, "similarity": "tau_b"}),
    ("mmr", {"trade_off": 0.9}),
    ("mrmr", {"trade_off": 0.9}),
    ("bt-discounted", {"c": 1.0}),
    ("hcas", {}),
    ("hierarchical", {}),
    ("fs-scpr", {"similarity": "tau_b", "n_features_to_select": 2}),
    ("greedy-rankrls", {}),
    ("greedy-rankrls", {"search": "floating"}),
    ("greedy-rankrls-cv", {"lams": [1.0]}),
    ("stepwise-aic", {}),
    ("fsmrank", {"lambda1": 1.0, "lambda2": 0.001}),
    ("ranksvm-l1", {}),
    ("ranksvm-mcp", {}),
    ("ranksvm-log", {}),
    ("sparserank", {}),
    ("listmle-l1", {}),
    ("fs-bfs", {}),
    ("sequential", {"cv": 2}),
    ("risk-pareto", {"population_size": 10, "n_generations": 10}),
    ("annealing", {"n_steps": 60}),
]


@pytest.mark.parametrize(("name", "parameters"), GIVEN)
def test_others_are_chosen_given_the_included_ones(name, parameters):
    made, _ = make_ranking(
        60, docs_per_query=10, n_informative=2, n_redundant=0, n_noise=0, noise=0.1, tied=0
    )
    X = np.column_stack([made.X, made.X[:, 0]])
    selector = make_quick(name, 2).set_params(**parameters, include=2)
    assert selector.fit(RankingData(X, made.y, made.qid)).selected_.tolist() == [2, 1]


class TestAgainstSlowVersions:
    def test_gas_by_marginal_gains_of_groups(self):
        data, _ = planted()
        groups = [(0, 8), (1,), (2, 3, 4), (5,), (6, 7)]
        selector = GAS(4, c=0.1, include=[5], groups=[list(g) for g in groups], count="groups").fit(
            data
        )
        worth = [max(selector.importance_[f] for f in group) for group in groups]
        chosen = [3]
        while len(chosen) < 4:
            gains = {
                place: worth[place]
                - 0.2
                * sum(
                    max(selector.similarity_[f, g] for f in groups[place] for g in groups[other])
                    for other in chosen
                )
                for place in range(len(groups))
                if place not in chosen
            }
            chosen.append(max(gains, key=gains.get))
        assert selector.selected_.tolist() == [f for place in chosen for f in groups[place]]

    def test_exact_gas_keeps_what_is_included(self):
        data, _ = planted()
        selector = GAS(4, c=0.3, solver="exact", include=[8, 3]).fit(data)
        w, e = selector.importance_, selector.similarity_

        def value(chosen):
            return w[chosen].sum() - 0.3 * (
                e[np.ix_(chosen, chosen)].sum() - e[chosen, chosen].sum()
            )

        best = max(value([8, 3, *pair]) for pair in combinations([0, 1, 2, 4, 5, 6, 7], 2))
        assert selector.selected_[:2].tolist() == [8, 3]
        assert value(selector.selected_) == pytest.approx(best)

    @pytest.mark.parametrize("kind", [SparseRankSVM, SparseRank])
    def test_included_weights_cost_nothing(self, kind):
        data, _ = planted()
        D = oracles_margins.pair_differences(data)
        selector = kind(include=[6, 3], lam=0.3, standardize=False, tol=1e-8).fit(data)
        slopes = np.abs(oracles_margins.mean_slopes(D, selector.coef_))
        alone = np.zeros(data.n_features)
        alone[[3, 6]] = minimize(
            lambda w: np.mean(np.maximum(0, 1 - D[:, [3, 6]] @ w) ** 2), np.zeros(2), tol=1e-12
        ).x
        others = np.setdiff1d(np.arange(data.n_features), [3, 6])
        price = 0.3 * np.abs(oracles_margins.mean_slopes(D, alone))[others].max()
        np.testing.assert_allclose(slopes[[3, 6]], 0.0, atol=1e-5 * price)
        assert (slopes[others] <= price * (1 + 1e-5)).all()
        at_work = others[selector.coef_[others] != 0]
        np.testing.assert_allclose(slopes[at_work], price, rtol=1e-5)
        assert len(at_work)

    def test_stepwise_by_least_squares(self):
        data, _ = planted()
        starts, counts = data.query_ptr[:-1], data.group_counts

        def centered(values):
            return values - np.repeat(np.add.reduceat(values, starts) / counts[:, None], counts, 0)

        X, y = centered(data.X), centered(data.y[:, None])[:, 0]
        groups = [(0, 8), (1,), (2, 3, 4), (5,), (6, 7)]

        def criterion(places):
            columns = [f for place in places for f in groups[place]]
            rss = np.sum((y - X[:, columns] @ np.linalg.lstsq(X[:, columns], y)[0]) ** 2)
            return len(y) * np.log(rss / len(y)) + 2 * len(columns)

        chosen = [1]
        while len(chosen) < 4:
            free = [place for place in range(5) if place not in chosen]
            chosen.append(min(free, key=lambda place: criterion([*chosen, place])))
        lists = [list(group) for group in groups]
        selector = StepwiseAIC(4, include=[1], groups=lists, count="groups").fit(data)
        assert selector.selected_.tolist() == [f for place in chosen for f in groups[place]]
        assert selector.aic_[-1] == pytest.approx(criterion(chosen))
        rss = (y - X @ selector.coef_) @ (y - X @ selector.coef_)
        assert selector.path_[-1].score == pytest.approx(rss / (y @ y))

    @pytest.mark.parametrize("name", ["hcas", "hierarchical", "fs-scpr", "saliency"])
    def test_included_features_represent_their_clusters(self, name):
        data, _ = planted()
        selector = fitted(name, data, k=5, include=[0, 3, 8])
        clusters = selector.clusters_[selector.selected_]
        others = clusters[3:]
        assert len(set(others)) == 2  # one of each other cluster
        assert not set(others) & set(clusters[:3])
        for place, feature in enumerate(selector.selected_):
            if place == clusters.tolist().index(clusters[place]) and clusters[place] >= 0:
                assert selector.clusters_[feature] == place

    def test_influence_of_groups_is_that_of_their_features_together(self):
        data, _ = planted()
        influence = fitted("bt-influence", data, k=9).scores_
        groups = [(0, 5), (1, 6), (2, 7), (3, 8), (4,)]
        labels = [0, 1, 2, 3, 4, 0, 1, 2, 3]
        selector = fitted("bt-influence", data, k=9, groups=labels)
        order = sorted(groups, key=lambda group: -influence[list(group)].sum())
        assert selector.selected_.tolist() == [f for group in order for f in group]


class TestWhereDataLives:
    @pytest.mark.parametrize("name", ["gas-e", "ranksvm-l1"])
    def test_the_same_everywhere(self, name, everywhere):
        data, _ = planted()
        parameters = dict(include=["f7"], exclude=["f1", 3])
        expected = fitted(name, data, **parameters)
        found = fitted(name, everywhere(data, shard_bytes=4000), **parameters)
        np.testing.assert_array_equal(found.selected_, expected.selected_)
        assert found.feature_names_in_.tolist() == NAMES

    @pytest.mark.parametrize("name", ["top", "gas-e", "ig", "stepwise-aic"])
    def test_few_shards_are_copied_at_a_time(self, name, tmp_path, monkeypatch):
        data, _ = planted()
        write_shards(data, tmp_path / "shards", shard_bytes=1500)
        alive = [0, 0]  # copies now, and at most

        def counted(X, columns):
            copy = take_columns(X, columns)
            alive[0] += 1
            alive[1] = max(alive)
            weakref.finalize(copy, lambda: alive.__setitem__(0, alive[0] - 1))
            return copy

        monkeypatch.setattr("ranksieve.io.shards.shards.take_columns", counted)
        with open_shards(tmp_path / "shards") as shards, limit_threads(1):
            assert shards.n_shards > 5
            fitted(name, shards, exclude=[0])
        assert 1 <= alive[1] <= 2
        assert alive[0] == 0

    def test_held_out_data_lose_the_same_features(self):
        data, _ = planted()
        train, vali = data.take_queries(range(20)), data.take_queries(range(20, 30))
        kept = [0, 2, 3, 4, 6, 7, 8]
        for name in ("fs-ed", "greedy-rankrls-cv", "sequential", "annealing", "bt-genetic"):
            expected = make_quick(name, 3).fit(
                train.take_features(kept), eval_set=vali.take_features(kept)
            )
            selector = make_quick(name, 3).set_params(exclude=[1, 5])
            selector.fit(train, eval_set=(vali.X, vali.y, vali.qid))
            assert selector.selected_.tolist() == np.array(kept)[expected.selected_].tolist()

    def test_selectors_that_share_statistics_share_one_copy(self):
        data, _ = planted()
        memo = Memo()
        for c in (0.0, 0.1):
            with sharing(memo):
                GAS(3, c=c, exclude=[0]).fit(data)
        assert len(memo.costs) == 3  # the copy, importance and similarity

    def test_what_is_excluded_may_be_missing(self):
        data, _ = planted()
        X = data.X.copy()
        X[::3, 4] = np.nan
        broken = RankingData(X, data.y, data.qid)
        with pytest.raises(DataError, match="NaN in row"):
            GreedyRankRLS(3).fit(broken)
        expected = GreedyRankRLS(3, exclude=[4]).fit(data).selected_
        found = GreedyRankRLS(3, exclude=[4]).fit(broken).selected_
        np.testing.assert_array_equal(found, expected)


class TestParametersOfSingleFeatures:
    """Those of trees are given for all features of the data."""

    def constraints(self):
        rising = np.zeros(9, dtype=int)
        rising[[2, 7]] = 1, -1
        return {"monotone_constraints": rising.tolist(), "num_threads": 1}

    @pytest.mark.slow
    @pytest.mark.parametrize("kind", [SequentialSelector, EliminationSelector])
    def test_of_a_ranker(self, kind):
        data, _ = planted()
        kept = [0, 2, 3, 4, 6, 7, 8]
        few = {"n_estimators": 3, "params": self.constraints()}
        cut = few | {"params": few["params"] | {"monotone_constraints": [0, 1, 0, 0, 0, -1, 0]}}
        given = {"cv": 2, "n_features_to_select": 2}
        selector = kind(LambdaMART(**few), exclude=[1, 5], **given).fit(data)
        expected = kind(LambdaMART(**cut), **given).fit(data.take_features(kept))
        assert selector.selected_.tolist() == np.array(kept)[expected.selected_].tolist()
        assert len(selector.ranker_.params["monotone_constraints"]) == 2

    def test_of_trees_themselves(self):
        data, _ = planted()
        for name in ("bt-influence", "bt-randomized"):
            selector = fitted(name, data, exclude=[1, 5], params=self.constraints())
            assert not {1, 5} & set(selector.selected_.tolist())


@each
def test_the_page_says_how(name):
    """The page on these parameters has the sentences that methods declare, for each of them."""
    page = Path(__file__).parents[2] / "docs" / "choosing-from.md"
    table = [line.split(" | ") for line in page.read_text().splitlines() if line[:1] == "|"]
    found = [row[1].removesuffix(" |") for row in table if f"`{name}`" in row[0]]
    method = SELECTORS[name]
    groups = f"Not supported: {method.no_groups}" if method.no_groups else method.kind.with_groups
    assert found == [method.kind.with_include, groups]


class Fixed(RankSelector):
    """A method of somebody else, which starts with nothing that is given."""

    no_include = "it has one order."

    def __init__(self, n_features_to_select=2, *, include=None, progress=True):
        self.n_features_to_select, self.include = n_features_to_select, include
        self.progress = progress

    def _choose(self, source, choices):
        return range(choices.k)


def test_methods_of_others():
    data, _ = planted()
    assert Fixed().fit(data).selected_.tolist() == [0, 1]
    assert SELECTORS["top"].no_include == ""
    with pytest.raises(DataError, match="^Fixed takes no include: it has one order.$"):
        Fixed(include=[3]).fit(data)
    careless = type("Careless", (Fixed,), {"no_include": "", "__init__": Fixed.__init__})
    with pytest.raises(DataError, match="Careless does not start with the included features"):
        careless(include=[3]).fit(data)


class TestLists:
    def test_a_single_feature_and_sets(self):
        assert feature_indices("include", "b", ["a", "b"]) == [1]
        assert feature_indices("include", np.int32(1), ["a", "b"]) == [1]
        assert feature_indices("include", {2, "a"}, ["a", "b", "c"]) == [0, 2]
        for wrong in (True, None, 0.5, b"a", [0]):
            with pytest.raises(DataError, match="is neither a name nor an index"):
                feature_indices("include", [wrong], ["a", "b"])
        for groups in ({"one": 0.5}, [[0], 0.5]):
            with pytest.raises(DataError, match="groups: 0.5 is neither a name nor an index"):
                feature_groups(groups, ["a", "b"])
        with pytest.raises(DataError, match="is not a label or a list of features"):
            feature_groups([{}, 1], ["a", "b"])

    def test_many_groups_do_not_go_through_all_names_for_each(self):
        class Names(list):
            rounds = 0

            def __iter__(self):
                Names.rounds += 1
                return super().__iter__()

        names = Names(f"f{number}" for number in range(200))
        groups = {str(n): [f"f{2 * n}", f"f{2 * n + 1}"] for n in range(100)}
        assert feature_groups(groups, names) == [(2 * n, 2 * n + 1) for n in range(100)]
        assert Names.rounds < 5

    def test_names_are_shown_on_one_line(self):
        X, y, qid = np.arange(8.0).reshape(4, 2), [0, 1, 0, 1], [1, 1, 2, 2]
        data = RankingData(X, y, qid, feature_names=["a\n\x1bb", "c"])
        with pytest.raises(DataError, match=r"feature a \\x1bb is both included and excluded"):
            GAS(1, include=0, exclude=0).fit(data)

    @given(labels=st.lists(st.integers(0, 3), min_size=1, max_size=8), k=st.integers(1, 8))
    def test_beginnings_fit(self, labels, k):
        groups = feature_groups(labels, [str(n) for n in range(len(labels))])
        assert sorted(f for group in groups for f in group) == list(range(len(labels)))
        base = Choices(np.arange(len(labels)), len(labels), None, [], k, False)
        by_features = replace(base, groups=groups)
        by_groups = replace(by_features, counts_groups=True)
        order = list(range(len(groups)))[::-1]
        assert by_groups.take(order) == order[:k]
        if len(groups[order[0]]) > k:
            with pytest.raises(DataError, match="the first group to select has"):
                by_features.take(order)
            return
        taken = by_features.take(order)
        assert by_features.fits(taken)
        assert taken == order or not by_features.fits(order[: len(taken) + 1])
