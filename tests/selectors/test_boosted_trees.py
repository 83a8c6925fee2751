"""Selection by boosted trees against LightGBM itself, step by step."""

import lightgbm
import numpy as np
import pytest

from ranksieve import DataError, RankingData, make_ranking
from ranksieve.selectors import (
    BoostedTrees,
    DiscountedBoostedTrees,
    GeneticBoostedTrees,
    RandomizedBoostedTrees,
)
from ranksieve.selectors.filters.gas import objective
from ranksieve.sums.similarity import Similarity

KINDS = (BoostedTrees, DiscountedBoostedTrees, RandomizedBoostedTrees, GeneticBoostedTrees)
FEW = {"n_estimators": 15, "num_leaves": 6}


pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def parts():
    data, _ = make_ranking(
        120, docs_per_query=(2, 20), n_informative=4, n_redundant=4, n_noise=3, noise=0.5
    )
    return data.take_queries(range(80)), data.take_queries(range(80, 120))


def trained(data, weights=None):
    """LightGBM's trees with the parameters of FEW."""
    ranker = lightgbm.LGBMRanker(
        **FEW,
        learning_rate=0.1,
        min_child_samples=20,
        deterministic=True,
        force_row_wise=True,
        num_threads=1,
        verbosity=-1,
        importance_type="gain",
    )
    return ranker.fit(data.X, data.y, group=data.group_counts, sample_weight=weights)


def test_scores_are_shares_of_the_gain(parts):
    train, _ = parts
    gain = trained(train).feature_importances_
    selector = BoostedTrees(5, **FEW).fit(train)
    np.testing.assert_allclose(selector.scores_, gain / gain.max())
    np.testing.assert_array_equal(selector.selected_, np.argsort(-gain, kind="stable")[:5])
    assert selector.reasons() == [f"gain {share:.3g}" for _, share in selector.path_]


def test_features_in_no_tree_come_in_their_order(parts):
    train, _ = parts
    selector = BoostedTrees(train.n_features, n_estimators=1, num_leaves=2).fit(train)
    first = int(selector.selected_[0])
    rest = [feature for feature in range(train.n_features) if feature != first]
    assert selector.selected_.tolist() == [first, *rest]
    assert selector.reasons() == ["gain 1", *["in no tree"] * len(rest)]


def test_too_few_documents_for_a_split():
    data = RankingData([[1.0, 3.0], [2.0, 1.0], [3.0, 2.0]], [0, 1, 2], [1, 1, 1])
    assert BoostedTrees(1).fit(data).scores_.tolist() == [0, 0]
    small = {"min_child_samples": 1, "params": {"min_sum_hessian_in_leaf": 0, "min_data_in_bin": 1}}
    assert BoostedTrees(1, **small).fit(data).selected_.tolist() == [0]
    assert BoostedTrees(1, **small).fit(data).scores_[0] == 1


def test_parameters_reach_the_trees(parts):
    train, _ = parts
    usual = BoostedTrees(3, **FEW).fit(train).scores_
    for other in (
        {"n_estimators": 5},
        {"learning_rate": 0.5},
        {"num_leaves": 3},
        {"min_child_samples": 60},
        {"params": {"max_bin": 5}},
    ):
        assert not np.array_equal(BoostedTrees(3, **FEW | other).fit(train).scores_, usual)
    sampled = FEW | {"params": {"feature_fraction": 0.5}}
    seeds = [BoostedTrees(3, **sampled, random_state=n).fit(train).scores_ for n in (0, 0, 1)]
    np.testing.assert_array_equal(seeds[0], seeds[1])
    assert not np.array_equal(seeds[0], seeds[2])


class TestDiscounted:
    def test_without_discount_influence_counts_alone(self, parts):
        train, _ = parts
        expected = BoostedTrees(6, **FEW).fit(train)
        found = DiscountedBoostedTrees(6, c=0, **FEW).fit(train)
        np.testing.assert_array_equal(found.selected_, expected.selected_)
        np.testing.assert_array_equal(found.scores_, expected.scores_)

    @pytest.mark.parametrize("c", [0.01, 0.1, 0.5])
    @pytest.mark.parametrize("similarity", ["tau_b", "concordance"])
    def test_weights_fall_as_features_are_taken(self, parts, c, similarity):
        train, _ = parts
        e = Similarity(similarity, absolute=True)(train)
        w = BoostedTrees(1, **FEW).fit(train).scores_
        taken, weights = [], []
        while len(taken) < 6:
            lowered = [
                -np.inf if f in taken else w[f] - 2 * c * sum(e[f, g] for g in taken)
                for f in range(train.n_features)
            ]
            taken.append(int(np.argmax(lowered)))
            weights.append(max(lowered))
        selector = DiscountedBoostedTrees(6, c=c, similarity=similarity, **FEW).fit(train)
        assert selector.selected_.tolist() == taken
        np.testing.assert_allclose([step.score for step in selector.path_], weights)
        np.testing.assert_array_equal(selector.similarity_, e)
        assert selector.objective_ == pytest.approx(objective(w, e, c, taken))

    def test_a_feature_turned_round_is_alike(self, parts):
        train, _ = parts
        noisy = train.X + np.random.default_rng(0).normal(scale=0.01, size=train.X.shape)
        both = RankingData(np.column_stack([train.X, -noisy]), train.y, train.qid)
        n = train.n_features
        chosen = DiscountedBoostedTrees(3, c=0.5, **FEW).fit(both).selected_ % n
        assert len(set(chosen.tolist())) == 3


@pytest.mark.parametrize("kind", KINDS)
def test_labels_must_be_whole(kind, parts):
    train, _ = parts
    with pytest.raises(DataError, match="needs whole labels from 0 to 30"):
        kind(n_features_to_select=2).fit(train.X, train.y + 0.5, qid=train.qid)
