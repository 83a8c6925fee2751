"""Checks that every selector must pass, found by the public names."""

import inspect
from dataclasses import KW_ONLY, dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest

from ranksieve import DataError, RankingData, make_ranking, selectors
from ranksieve.base import RankSelector
from ranksieve.io.shards import open_shards
from tests.every_method import quick_parameters


@dataclass(eq=False, repr=False)
class Borda(selectors.Borda):
    """With selectors that are quick; the usual ones are tested here themselves.

    With three, no two of the planted features have the same sum of ranks: ties go by index, and so
    would hang on the order of features.
    """

    _: KW_ONLY
    selectors: Any = ("top", "stepwise-aic", "gas-e")


SELECTORS = [
    Borda if item is selectors.Borda else item
    for item in (getattr(selectors, name) for name in selectors.__all__)
    if inspect.isclass(item)
    and issubclass(item, RankSelector)
    # They have tests of their own: one selects nothing, the other is a selector of someone else.
    and item not in (selectors.AllFeatures, selectors.SelectorAdapter)
]
OF_ONE_SIZE = ("RandomizedBoostedTrees", "GeneticBoostedTrees", "SimulatedAnnealing", "RiskPareto")
SEARCHING = (*OF_ONE_SIZE, "MOFSRank")  # at random, by queries that are held out
NETWORKS = ("SaliencySelector", "GroupLassoNetwork")  # whose first weights are random
DRAWING = ("RandomSelector", "Boruta", "StabilitySelector", "BestOf")
SEEDED = [kind for kind in SELECTORS if kind.__name__ in (*DRAWING, *NETWORKS, *SEARCHING)]
DETERMINED = [kind for kind in SELECTORS if kind not in SEEDED]
TREES = (
    "BoostedTrees",
    "DiscountedBoostedTrees",
    "RandomizedBoostedTrees",
    "GeneticBoostedTrees",
    "CostEfficientTrees",
    "ShapSelector",
)


@cache
def make_planted():
    return make_ranking(
        60,
        docs_per_query=(1, 25),
        n_informative=3,
        n_redundant=2,
        n_noise=3,
        n_constant=1,
        noise=0.2,
        random_state=12,
    )


@cache
def easy(**parts):
    return make_ranking(150, docs_per_query=20, noise=0.05, tied=0, random_state=3, **parts)


@pytest.fixture(scope="module")
def planted():
    return make_planted()


@cache
def take_few():
    return make_planted()[0].take_queries(range(32))


@pytest.fixture(scope="module")
def few():
    """Queries for what would be the same with more."""
    return take_few()


@cache
def usual(kind):
    """A selector that has selected six of the planted features."""
    data, _ = make_planted()
    return plain(kind, 6).fit(data)


# Where it does not matter how much of the same is computed: smaller than by default.
SMALLER = {
    "CostEfficientTrees": {"n_estimators": 20},
    "ShapSelector": {"n_estimators": 20},
    "GreedyBins": {"n_bins": 8},
    "SequentialSelector": {"cv": 3},
}


def plain(kind, k):
    """A selector with its default parameters; one that draws numbers, and draws many, is quick."""
    if kind in SEEDED:
        return quick(kind, k)
    return kind(n_features_to_select=k, **SMALLER.get(kind.__name__, {}))


def quick(kind, k):
    """A selector that does not take long, where its answer does not matter."""
    return kind(n_features_to_select=k, **quick_parameters(kind.methods[0].name))


def dense(data):
    return data.X, data.y, data.qid


@pytest.mark.parametrize("kind", SELECTORS)
class TestEverySelector:
    def test_wrong_numbers(self, kind, few):
        with pytest.raises(DataError, match="but there are only 9 features"):
            kind(n_features_to_select=10).fit(few)
        for wrong in (0, -1, 1.5, "many"):
            with pytest.raises(ValueError, match="n_features_to_select"):
                kind(n_features_to_select=wrong).fit(few)


# One of each family, of those that ask for sums in their own way.
OF_FAMILIES = [
    selectors.GAS,
    selectors.InformationGain,
    selectors.FSED,
    selectors.GreedyRankRLS,
    selectors.SparseRankSVM,
    selectors.FSMRank,
    selectors.BoostedTrees,
    selectors.SequentialSelector,
    selectors.RankFilter,
]


@pytest.mark.parametrize("kind", OF_FAMILIES)
def test_the_same_on_a_cluster(kind, few, stored_shards, client):
    """From weighted queries in shards, the same features are selected as in memory."""
    weights = np.random.default_rng(0).choice([0.0, 0.5, 1.0, 2.7], few.n_queries)
    with open_shards(stored_shards.directory(few, 6_000), client=client) as shards:
        selector = quick(kind, 6).fit(shards.with_weights(weights))
    assert not hasattr(selector, "feature_names_in_")  # there are none
    if kind.__name__ in TREES:  # on several workers, LightGBM makes bins from the rows of each
        assert len(selector.selected_) == 6
    else:
        expected = quick(kind, 6).fit(few, sample_weight=weights).selected_
        np.testing.assert_array_equal(selector.selected_, expected)


@pytest.mark.parametrize("kind", DETERMINED)
class TestEveryDeterminedSelector:
    def test_order_of_rows_and_queries_does_not_matter(self, kind, planted):
        data, _ = planted
        X, y, qid = dense(data)
        # What is held out by default hangs on the order of the queries, as in any seeded split.
        given = {"eval_set": data} if "eval_set" in inspect.signature(kind.fit).parameters else {}
        expected = (plain(kind, 6).fit(data, **given) if given else usual(kind)).selected_
        order = np.random.default_rng(0).permutation(len(y))
        if kind.__name__ in TREES:
            # LightGBM ranks documents of equal score in their order in the data, so they keep it.
            places = np.random.default_rng(0).permutation(data.n_queries)
            order = np.argsort(places[data.query_codes], kind="stable")
        shuffled = plain(kind, 6).fit(X[order], y[order], qid=qid[order], **given)
        np.testing.assert_array_equal(shuffled.selected_, expected)

    def test_order_of_features_permutes_the_answer(self, kind, planted):
        data, _ = planted
        X, y, qid = dense(data)
        expected = usual(kind).selected_
        order = np.random.default_rng(9).permutation(X.shape[1])  # moves every feature
        permuted = plain(kind, 6).fit(X[:, order], y, qid=qid)
        np.testing.assert_array_equal(order[permuted.selected_], expected)

    def test_copies_follow_their_originals_and_constants_come_last(self, kind, planted):
        data, truth = planted
        n, copies = data.n_features, np.column_stack([data.X, data.X])
        selected = plain(kind, 2 * n).fit(copies, data.y, qid=data.qid).selected_
        place = np.argsort(selected)
        assert (place[:n] < place[n:]).all()
        assert {truth.kind[feature % n] for feature in selected[-2:]} == {"constant"}

    def test_planted_features_are_found_on_easy_data(self, kind):
        planted, parameters = dict(n_informative=3, n_redundant=0, n_noise=4), {}
        if kind.__name__ in ("FSSCPR", "HCAS", "Hierarchical"):
            # One feature of each cluster: informative features with noisy copies form clusters.
            planted = dict(n_informative=3, n_redundant=6, n_noise=0, copy_noise=0.3)
        elif kind.__name__ in ("NGAS", "XGAS"):
            # They go by contrast to the last feature, which noise has most of: no noise, and two
            # features with one copy each.
            planted = dict(n_informative=2, n_redundant=2, n_noise=0, copy_noise=0.3)
            parameters = {"p": 0.6} if kind.__name__ == "XGAS" else {}
        data, truth = easy(**planted)
        k = planted["n_informative"]
        selected = plain(kind, k).set_params(**parameters).fit(data).selected_
        assert sorted(selected) == truth.informative.tolist()


def test_labels_that_tell_nothing_are_refused_everywhere(planted, everywhere):
    data, _ = planted
    equal = RankingData(data.X, np.ones(data.n_rows), data.qid)
    alone = RankingData(data.X, data.y, np.arange(data.n_rows))
    with pytest.raises(DataError, match="all documents of each query have equal labels"):
        selectors.GAS(2).fit(everywhere(equal, shard_bytes=40_000))
    with pytest.raises(DataError, match="no query has two documents"):
        selectors.GAS(2).fit(everywhere(alone))


def test_a_random_order_depends_on_its_seed_alone():
    data, _ = make_ranking(5)
    orders = {
        tuple(selectors.RandomSelector(20, random_state=seed).fit(data).selected_)
        for seed in range(5)
    }
    assert len(orders) == 5


def test_all_features_are_kept_in_the_order_of_the_data(planted, everywhere):
    data, _ = planted
    missing = RankingData(
        np.where(np.eye(*data.X.shape) > 0, np.nan, data.X), np.ones(data.n_rows), data.qid
    )
    for source in (data, missing):  # neither labels nor values matter
        selector = selectors.AllFeatures().fit(everywhere(source, shard_bytes=40_000))
        assert selector.selected_.tolist() == list(range(data.n_features))
        assert selector.support_.all()
        assert selector.reasons() == [""] * data.n_features
        assert selector.transform(source).n_features == data.n_features
