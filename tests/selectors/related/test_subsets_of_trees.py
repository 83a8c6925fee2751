"""Searches over subsets by boosted trees against LightGBM itself, step by step."""

import numpy as np
import pytest

from ranksieve import RankingData, make_ranking
from ranksieve.metrics import evaluate
from ranksieve.rankers import LambdaMART
from ranksieve.selectors import GeneticBoostedTrees, RandomizedBoostedTrees
from tests.selectors.test_boosted_trees import FEW, trained

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def parts():
    data, _ = make_ranking(
        120, docs_per_query=(2, 20), n_informative=4, n_redundant=4, n_noise=3, noise=0.5
    )
    return data.take_queries(range(80)), data.take_queries(range(80, 120))


class TestRandomized:
    def test_one_subset_of_all_features_is_backward_elimination(self, parts):
        train, test = parts
        features = list(range(train.n_features))  # 11, then 8, 6, 5 and 4
        while len(features) > 4:
            gain = trained(train.take_features(features)).feature_importances_
            n_dropped = min(len(features) - 4, max(1, int(0.3 * len(features))))
            by_gain = sorted(range(len(features)), key=lambda place: (-gain[place], place))
            features = sorted(features[place] for place in by_gain[: len(features) - n_dropped])
        selector = RandomizedBoostedTrees(
            4, n_subsets=1, subset_size=1.0, elimination=0.3, **FEW
        ).fit(train, eval_set=test)
        assert sorted(selector.selected_) == features
        ranker = trained(train.take_features(features))
        gain = ranker.feature_importances_
        expected = [feature for _, feature in sorted(zip(-gain, features, strict=True))]
        assert selector.selected_.tolist() == expected
        np.testing.assert_allclose(selector.scores_[features], gain / gain.max())
        assert not selector.scores_[~selector.support_].any()
        scores = ranker.predict(test.X[:, features])
        value = evaluate(test.y, scores, test.qid, ["ndcg@10"], ties="average").mean["NDCG@10"]
        assert selector.trials_[0].value == pytest.approx(value, abs=1e-12)

    @pytest.mark.parametrize("measure", ["map", "pairwise-error"])
    def test_the_best_trial_is_selected(self, parts, measure):
        train, test = parts
        selector = RandomizedBoostedTrees(3, n_subsets=6, measure=measure, **FEW)
        selector.fit(train, eval_set=test)
        values = []
        for trial in selector.trials_:
            assert len(set(trial.features)) == 3
            ranker = trained(train.take_features(list(trial.features)))
            gain = ranker.feature_importances_
            np.testing.assert_allclose(trial.influence, gain / gain.max())
            scores = ranker.predict(test.X[:, list(trial.features)])
            result = evaluate(test.y, scores, test.qid, [measure], ties="average")
            values.append(float(next(iter(result.mean.values()))))
            assert trial.value == pytest.approx(values[-1], abs=1e-12)
        assert len({trial.features for trial in selector.trials_}) > 2
        best_of = np.argmax if measure == "map" else np.argmin
        assert selector.best_trial_ == int(best_of(values))
        best = selector.trials_[selector.best_trial_]
        assert sorted(selector.selected_) == list(best.features)

    def test_labels_of_held_out_queries_do_not_train(self, parts):
        train, _ = parts
        held_out = np.zeros(train.n_queries, dtype=bool)
        held_out[np.random.RandomState(7).permutation(train.n_queries)[:16]] = True
        turned = train.y.max() - train.y
        y = np.where(held_out[train.query_codes], turned, train.y)
        settings = {"n_subsets": 1, "subset_size": 1.0, "elimination": 0.9, **FEW}
        selector = RandomizedBoostedTrees(
            4, validation_fraction=0.2, random_state=7, measure="pairwise-error", **settings
        )
        changed = RankingData(train.X, y, train.qid)
        [before] = selector.fit(train).trials_
        [after] = selector.fit(changed).trials_
        assert after.features == before.features
        assert after.influence == before.influence
        # Every pair that was right is wrong; queries without pairs do not count.
        assert before.value + after.value == pytest.approx(1)

    def test_no_subset_is_trained_twice(self, parts, monkeypatch):
        train, test = parts
        seen, fit = [], LambdaMART.fit

        def counting(self, X, *arguments, **named):
            seen.append(tuple(X.feature_names))
            return fit(self, X, *arguments, **named)

        monkeypatch.setattr(LambdaMART, "fit", counting)
        selector = RandomizedBoostedTrees(4, n_subsets=5, subset_size=1.0, **FEW)
        selector.fit(train, eval_set=test)
        assert [len(names) for names in seen] == [11, 6, 4]
        assert len(set(selector.trials_)) == 1
        seen.clear()
        RandomizedBoostedTrees(9, n_subsets=12, **FEW).fit(train, eval_set=test)
        assert len(seen) == len(set(seen))
        assert {len(names) for names in seen} == {9}


class TestGenetic:
    def test_children_descend_from_the_best_so_far(self, parts):
        train, test = parts
        selector = GeneticBoostedTrees(
            4, population_size=3, n_generations=6, exchange=0.2, random_state=1, **FEW
        ).fit(train, eval_set=test)
        trials = selector.trials_
        assert len(trials) == 18
        for first in range(3, 18, 3):
            best = max(trials[:first], key=lambda trial: trial.value)  # the first of equals
            for child in trials[first : first + 3]:
                assert len(child.features) == 4
                assert child.features != best.features
        shared = [
            len(
                {*trials[n].features} & {*max(trials[: n // 3 * 3], key=lambda t: t.value).features}
            )
            for n in range(3, 18)
        ]
        assert np.mean(shared) > 2.5  # a random subset would share 16 / 11

    def test_the_best_trial_is_selected(self, parts):
        train, test = parts
        selector = GeneticBoostedTrees(3, population_size=3, n_generations=3, **FEW)
        selector.fit(train, eval_set=test)
        best = selector.trials_[selector.best_trial_]
        assert best.value == max(trial.value for trial in selector.trials_)
        assert set(selector.selected_) == set(best.features)
        chosen = list(best.features)
        ranker = trained(train.take_features(chosen))
        result = evaluate(test.y, ranker.predict(test.X[:, chosen]), test.qid, ["ndcg@10"])
        assert best.value == pytest.approx(result.mean["NDCG@10"])

    def test_everything_is_exchanged_or_one_feature(self, parts):
        train, test = parts
        few = {"population_size": 4, "n_generations": 2, **FEW}
        for exchange, n_shared in ((0.0, 2), (1.0, 0)):
            selector = GeneticBoostedTrees(3, exchange=exchange, **few).fit(train, eval_set=test)
            best = max(selector.trials_[:4], key=lambda trial: trial.value)
            for child in selector.trials_[4:]:
                assert len({*child.features} & {*best.features}) == n_shared
