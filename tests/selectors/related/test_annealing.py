"""Simulated annealing against all subsets, and against a walk of one step at a time."""

from itertools import combinations

import numpy as np
import pytest

from ranksieve import DataError, make_ranking
from ranksieve.metrics import evaluate
from ranksieve.rankers import RankRLS
from ranksieve.selectors import SimulatedAnnealing
from ranksieve.selectors.related import annealing


@pytest.fixture(scope="module")
def parts():
    data, _ = make_ranking(
        90, docs_per_query=(1, 15), n_informative=4, n_redundant=2, n_noise=3, noise=1.0
    )
    return data.take_queries(range(60)), data.take_queries(range(60, 90))


def value_of(train, test, subset, measure="ndcg@10", lam=1.0):
    """Measure of RankRLS on a subset, the long way."""
    ranker = RankRLS(lam).fit(train.take_features(list(subset)))
    scores = ranker.predict(test.take_features(list(subset)))
    result = evaluate(test.y, scores, test.qid, [measure], ties="average")
    return float(next(iter(result.mean.values())))


def slow_walk(train, test, k, n_steps, hot, cold, seed):
    """Annealing with nothing remembered: the value after each step, and the best subset."""
    rng = np.random.RandomState(seed)
    order = rng.permutation(train.n_features).tolist()
    inside, outside = sorted(order[:k]), sorted(order[k:])
    value = best_value = value_of(train, test, inside)
    best, values = list(inside), [value]
    leaving, coming, chance = rng.random_sample((3, n_steps))
    for t in range(n_steps):
        out, new = inside[int(leaving[t] * k)], outside[int(coming[t] * len(outside))]
        proposal = sorted({*inside, new} - {out})
        proposed = value_of(train, test, proposal)
        temperature = hot * (cold / hot) ** (t / (n_steps - 1))
        if proposed >= value or chance[t] < np.exp((proposed - value) / temperature):
            inside, outside = proposal, sorted({*outside, out} - {new})
            value = proposed
            if value > best_value:
                best, best_value = list(inside), value
        values.append(value)
    return values, best


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_best_of_all_subsets_is_found(parts, seed):
    train, test = parts
    values = {
        subset: value_of(train, test, subset) for subset in combinations(range(train.n_features), 3)
    }
    assert len(values) == 84
    selector = SimulatedAnnealing(3, random_state=seed).fit(train, eval_set=test)
    best = max(values.values())
    assert sorted(values.values())[-2] < best - 1e-4  # it is the only one
    assert selector.value_ == pytest.approx(best, abs=1e-12)
    assert values[tuple(sorted(selector.selected_.tolist()))] == best


@pytest.mark.parametrize("seed", [0, 5])
def test_the_walk_is_that_of_one_step_at_a_time(parts, seed):
    train, test = parts
    walk, best = slow_walk(train, test, 4, 60, 0.05, 0.01, seed)
    assert len(set(walk)) > 10
    assert min(np.diff(walk)) < 0  # some worse subsets were accepted
    selector = SimulatedAnnealing(
        4, n_steps=60, start_temperature=0.05, end_temperature=0.01, random_state=seed
    ).fit(train, eval_set=test)
    np.testing.assert_allclose(selector.walk_, walk, atol=1e-12)
    assert sorted(selector.selected_) == best
    assert selector.value_ == pytest.approx(selector.walk_.max(), abs=1e-12)


@pytest.mark.parametrize("at_once", [1, 3])
def test_looking_ahead_does_not_change_the_walk(parts, monkeypatch, at_once):
    train, test = parts
    expected = SimulatedAnnealing(3, n_steps=200).fit(train, eval_set=test)
    monkeypatch.setattr(annealing, "_MOST_AT_ONCE", at_once)
    found = SimulatedAnnealing(3, n_steps=200).fit(train, eval_set=test)
    np.testing.assert_array_equal(found.walk_, expected.walk_)
    np.testing.assert_array_equal(found.selected_, expected.selected_)
    assert found.n_trained_ <= expected.n_trained_


def test_no_subset_is_trained_twice(parts, monkeypatch):
    train, test = parts
    trained, fit_subset = [], annealing.fit_subset

    def counting(products, features, lam):
        trained.append(tuple(features))
        return fit_subset(products, features, lam)

    monkeypatch.setattr(annealing, "fit_subset", counting)
    selector = SimulatedAnnealing(3, n_steps=500).fit(train, eval_set=test)
    *searched, last = trained  # the last one is the model of the selected features
    assert len(searched) == len(set(searched)) == selector.n_trained_ <= 84
    assert last in searched
    assert list(last) == sorted(selector.selected_)


def test_a_cold_walk_only_climbs_and_a_hot_one_takes_all(parts):
    train, test = parts
    cold = SimulatedAnnealing(3, n_steps=150, start_temperature=1e-9, end_temperature=1e-9)
    assert (np.diff(cold.fit(train, eval_set=test).walk_) >= 0).all()
    hot = SimulatedAnnealing(3, n_steps=150, start_temperature=1e9, end_temperature=1e9)
    steps = np.diff(hot.fit(train, eval_set=test).walk_)
    assert (steps != 0).mean() > 0.95
    assert (steps < 0).mean() > 0.3


def test_order_and_weights_are_those_of_the_model(parts):
    train, test = parts
    selector = SimulatedAnnealing(4, lam=0.5).fit(train, eval_set=test)
    chosen = selector.selected_
    coef = RankRLS(0.5).fit(train.take_features(chosen)).coef_
    np.testing.assert_allclose(selector.coef_[chosen], coef, rtol=1e-8)
    means = np.add.reduceat(train.X, train.query_ptr[:-1]) / train.group_counts[:, None]
    centered = train.X - means[train.query_codes]
    scores = np.abs(coef) * np.sqrt((centered[:, chosen] ** 2).sum(axis=0))
    np.testing.assert_allclose(selector.scores_[chosen], scores, rtol=1e-8)
    assert (np.diff(scores) <= 0).all()
    assert not selector.scores_[~selector.support_].any()
    assert selector.reasons() == [f"weight {weight:+.3g}" for weight in coef]


def test_a_measure_of_which_less_is_better(parts):
    train, test = parts
    values = [
        value_of(train, test, subset, "pairwise-error")
        for subset in combinations(range(train.n_features), 3)
    ]
    selector = SimulatedAnnealing(3, measure="pairwise-error").fit(train, eval_set=test)
    assert selector.value_ == pytest.approx(min(values), abs=1e-12)
    assert selector.value_ == pytest.approx(selector.walk_.min(), abs=1e-12)


def test_a_part_of_the_queries_is_held_out(parts):
    train, _ = parts
    order = np.random.RandomState(3).permutation(60)
    held_out = np.sort(order[:12])
    rest = np.setdiff1d(np.arange(60), held_out)
    selector = SimulatedAnnealing(3, validation_fraction=0.2, n_steps=40, random_state=3)
    selector.fit(train)
    chosen, trained_on = selector.selected_, train.take_queries(rest)
    expected = value_of(trained_on, train.take_queries(held_out), chosen)
    assert selector.value_ == pytest.approx(expected, abs=1e-12)
    coef = RankRLS().fit(trained_on.take_features(chosen)).coef_
    np.testing.assert_allclose(selector.coef_[chosen], coef, rtol=1e-8)


def test_bad_input(parts):
    train, _ = parts
    with pytest.raises(DataError, match="must not be larger than start_temperature=0.01"):
        SimulatedAnnealing(2, end_temperature=1.0).fit(train)
    with pytest.raises(ValueError, match="n_steps"):
        SimulatedAnnealing(2, n_steps=0).fit(train)


@pytest.mark.filterwarnings("ignore:.*encountered in matmul")
def test_products_that_overflow(parts):
    train, _ = parts
    with pytest.raises(DataError, match="too large to multiply; scale the features first"):
        SimulatedAnnealing(2).fit(train.X * 1e200, train.y, qid=train.qid)
