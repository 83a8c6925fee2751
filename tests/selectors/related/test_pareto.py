"""MOFSRank and risk-sensitive selection, against all subsets of few features."""

from itertools import chain, combinations

import numpy as np
import pytest

from ranksieve import DataError, make_ranking
from ranksieve.metrics import evaluate
from ranksieve.rankers import RankRLS
from ranksieve.selectors import MOFSRank, RiskPareto
from ranksieve.significance import u_risk

KINDS = (MOFSRank, RiskPareto)
FEW = {"population_size": 10, "n_generations": 5}


@pytest.fixture(scope="module")
def parts():
    data, _ = make_ranking(
        90, docs_per_query=(1, 15), n_informative=3, n_redundant=2, n_noise=2, noise=1.0
    )
    return data.take_queries(range(60)), data.take_queries(range(60, 90))


def subsets_of(n_features):
    sizes = range(1, n_features + 1)
    return list(chain.from_iterable(combinations(range(n_features), size) for size in sizes))


def values_of(train, test, subset, measure="ndcg@10"):
    """Measure of each held-out query by RankRLS on a subset, the long way."""
    ranker = RankRLS(1.0).fit(train.take_features(list(subset)))
    scores = ranker.predict(test.take_features(list(subset)))
    result = evaluate(test.y, scores, test.qid, [measure], ties="average")
    values = next(iter(result.per_query.values()))
    return values[~np.isnan(values)]


def not_beaten(points):
    """Subsets of which no other one is as good in all objectives, and better in one."""
    return {
        subset
        for subset, own in points.items()
        if not any((other <= own).all() and (other < own).any() for other in points.values())
    }


class TestRiskPareto:
    @pytest.mark.parametrize("measure", ["ndcg@10", "pairwise-error"])
    def test_the_front_is_that_of_all_subsets(self, parts, measure):
        train, test = parts
        sign = -1 if measure == "ndcg@10" else 1
        every = values_of(train, test, range(train.n_features), measure)
        points, values = {}, {}
        for subset in subsets_of(train.n_features):
            values[subset] = values_of(train, test, subset, measure)
            lost = np.maximum(0, sign * (values[subset] - every)).mean()
            points[subset] = np.round([len(subset), sign * values[subset].mean(), lost], 10)
        selector = RiskPareto(3, measure=measure).fit(train, eval_set=test)
        assert {point.features for point in selector.front_} == not_beaten(points)
        for point in selector.front_:
            _, value, lost = points[point.features]
            assert point.value == pytest.approx(sign * value, abs=1e-9)
            assert point.risk == pytest.approx(lost, abs=1e-9)
        assert [len(point.features) for point in selector.front_] == sorted(
            len(point.features) for point in selector.front_
        )

    @pytest.mark.parametrize("alpha", [0.0, 1.0, 50.0])
    def test_the_best_urisk_of_the_size_is_selected(self, parts, alpha):
        train, test = parts
        every = values_of(train, test, range(train.n_features))
        risks = {
            subset: u_risk(values_of(train, test, subset), every, alpha)
            for subset in subsets_of(train.n_features)
        }
        for k in (2, 4):
            selector = RiskPareto(k, alpha=alpha).fit(train, eval_set=test)
            best = max(risk for subset, risk in risks.items() if len(subset) <= k)
            chosen = selector.front_[selector.best_].features
            assert risks[chosen] == pytest.approx(best, abs=1e-9)
            assert set(selector.selected_[: len(chosen)]) == set(chosen)

    def test_a_smaller_subset_is_filled_up(self, parts):
        train, test = parts
        selector = RiskPareto(train.n_features).fit(train, eval_set=test)
        chosen = selector.front_[selector.best_].features
        assert len(chosen) < train.n_features
        rest = selector.selected_[len(chosen) :]
        assert (np.diff(selector.scores_[rest]) <= 0).all()
        shares = [
            np.mean([feature in point.features for point in selector.front_])
            for feature in range(train.n_features)
        ]
        np.testing.assert_allclose(selector.scores_, shares)

    def test_all_features_lose_nothing(self, parts):
        train, test = parts
        selector = RiskPareto(3, **FEW).fit(train, eval_set=test)
        assert min(point.risk for point in selector.front_) == 0


class TestMOFSRank:
    def test_the_front_of_all_queries_is_that_of_all_subsets(self, parts):
        train, test = parts
        means = np.add.reduceat(train.X, train.query_ptr[:-1]) / train.group_counts[:, None]
        centered = train.X - means[train.query_codes]
        norms = np.sqrt((centered**2).sum(axis=0))
        shared = np.abs(centered.T @ centered) / np.outer(norms, norms)
        points = {}
        for subset in subsets_of(train.n_features):
            redundancy = sum(shared[pair] for pair in combinations(subset, 2))
            value = values_of(train, test, subset).mean()
            points[subset] = np.round([-value, redundancy], 10)
        selector = MOFSRank(3, n_draws=2, n_samples=1, sample_size=1.0).fit(train, eval_set=test)
        found = {point.features: point for point in selector.front_}
        assert found.keys() == not_beaten(points)
        for subset, point in found.items():
            assert [-point.value, point.redundancy] == pytest.approx(points[subset], abs=1e-9)
        votes = [sum(feature in subset for subset in found) for feature in range(train.n_features)]
        np.testing.assert_allclose(selector.scores_, np.array(votes) / len(found))
        assert (np.diff(selector.scores_[selector.selected_]) <= 0).all()

    def test_the_samples_that_rank_best_are_kept(self, parts):
        train, test = parts
        rng = np.random.RandomState(4)
        drawn = [np.sort(rng.permutation(60)[:30]) for _ in range(6)]
        everything = range(train.n_features)
        means = [
            values_of(train.take_queries(queries), test, everything).mean() for queries in drawn
        ]
        best = train.take_queries(drawn[int(np.argmax(means))])
        selector = MOFSRank(3, n_draws=6, n_samples=1, random_state=4, **FEW)
        for point in selector.fit(train, eval_set=test).front_:
            expected = values_of(best, test, point.features).mean()
            assert point.value == pytest.approx(expected, abs=1e-9)

    def test_every_sample_votes(self, parts):
        train, test = parts
        one, three = (
            MOFSRank(3, n_samples=n, **FEW).fit(train, eval_set=test).front_ for n in (1, 3)
        )
        assert three[: len(one)] == one
        assert len(three) > len(one) + 2

    def test_more_samples_than_draws(self, parts):
        with pytest.raises(DataError, match="n_samples=3 must not be larger than n_draws=2"):
            MOFSRank(3, n_draws=2).fit(parts[0])


@pytest.mark.parametrize("kind", KINDS)
class TestBoth:
    def test_planted_features_are_found(self, kind):
        data, truth = make_ranking(
            60, docs_per_query=12, n_informative=3, n_redundant=0, n_noise=4, noise=0.1, tied=0
        )
        selector = kind(n_features_to_select=3).fit(data)
        assert sorted(selector.selected_) == truth.informative.tolist()
        assert all(reason.endswith("% of the front") for reason in selector.reasons())

    def test_a_part_of_the_queries_is_held_out(self, kind, parts):
        train, _ = parts
        held_out = np.sort(np.random.RandomState(3).permutation(60)[:12])
        rest = np.setdiff1d(np.arange(60), held_out)
        own = {"n_draws": 1, "n_samples": 1, "sample_size": 1.0} if kind is MOFSRank else {}
        selector = kind(3, validation_fraction=0.2, random_state=3, **FEW, **own).fit(train)
        for point in selector.front_:
            values = values_of(
                train.take_queries(rest), train.take_queries(held_out), point.features
            )
            assert point.value == pytest.approx(values.mean(), abs=1e-9)

    def test_a_population_of_one_is_refused(self, kind, parts):
        with pytest.raises(ValueError, match="population_size"):
            kind(2, population_size=1).fit(parts[0])
