"""Values of measures that selectors publish: the measure itself, also where smaller is better."""

import numpy as np
import pytest

from ranksieve import make_ranking
from ranksieve.metrics import evaluate, parse_measure
from ranksieve.rankers import LambdaMART, RankRLS
from ranksieve.selectors.registry import SELECTORS

SMALL = dict(n_estimators=5, num_leaves=4, params={"num_threads": 1})


@pytest.fixture(scope="module")
def parts():
    data, _ = make_ranking(
        24, docs_per_query=15, n_informative=3, n_redundant=0, n_noise=3, noise=0.4, tied=0
    )
    return data.take_queries(np.arange(16)), data.take_queries(np.arange(16, 24))


def measured(name, data, scores):
    """Mean of the measure, from its definition."""
    found = evaluate(data.y, scores, data.qid, name, ties="average")
    return found.mean[parse_measure(name).name]


def held_out(name, parts, features, ranker=None):
    """Measure of a ranker that is trained on some features of the first part, on the other."""
    train, test = (part.take_features(sorted(features)) for part in parts)
    return measured(name, test, (ranker or RankRLS()).fit(train).predict(test))


def left_out(name, data, features):
    """Mean over queries of the measure of RankRLS trained without the query."""
    numbers, values = np.arange(data.n_queries), []
    for query in numbers:
        fold = data.take_queries(numbers[numbers != query]), data.take_queries([query])
        values.append(held_out(name, fold, features))
    return np.nanmean(values)


# Each function fits a selector; it returns pairs of a published value and what it should be, the
# values among which the selector chose, and the value of its choice.


def of_fits(selector, expected):
    values = [fit.value for fit in selector.fits_]
    pairs = [(fit.value, expected(fit.features)) for fit in selector.fits_]
    sizes = [len(fit.features) for fit in selector.fits_]
    chosen = values[sizes.index(len(selector.selected_))]
    assert selector.path_[-1].score == chosen
    return pairs, values, chosen


def of_wrapper(name, measure, parts):
    selector = SELECTORS.make(name, measure=measure, n_features_to_select="best")
    selector.fit(parts[0], eval_set=parts[1])
    means = [
        (np.nanmean(row), fit.value)
        for row, fit in zip(selector.values_, selector.fits_, strict=True)
    ]
    pairs, *choice = of_fits(selector, lambda features: held_out(measure, parts, features))
    return pairs + means, *choice


def of_subset_trees(name, measure, parts):
    how = {"n_generations": 4} if name == "bt-genetic" else {"n_subsets": 4}
    selector = SELECTORS.make(name, n_features_to_select=2, measure=measure, **how, **SMALL)
    trials = selector.fit(parts[0], eval_set=parts[1]).trials_
    pairs = [
        (trial.value, held_out(measure, parts, trial.features, LambdaMART(**SMALL)))
        for trial in trials
    ]
    values = [trial.value for trial in trials]
    return pairs, values, values[selector.best_trial_]


def of_best_of(name, measure, parts):
    how = {"selectors": ["random", "top"], "ranker": RankRLS(), "sizes": [1], "random_state": 1}
    selector = SELECTORS.make(name, n_features_to_select=2, measure=measure, **how).fit(
        parts[0], eval_set=parts[1]
    )
    means = np.nanmean(selector.values_, axis=1).tolist()
    pairs = [
        (mean, held_out(measure, parts, ranked.features[:1]))
        for mean, ranked in zip(means, selector.lists_, strict=True)
    ]
    return pairs, means, means[[ranked.name for ranked in selector.lists_].index(selector.best_)]


def of_annealing(name, measure, parts):
    selector = SELECTORS.make(name, n_features_to_select=2, n_steps=40, measure=measure)
    selector.fit(parts[0], eval_set=parts[1])
    pairs = [(selector.value_, held_out(measure, parts, selector.selected_))]
    return pairs, selector.walk_.tolist(), selector.value_


def of_pareto(name, measure, parts):
    how = {"n_features_to_select": 6, "population_size": 10, "n_generations": 4}
    if name == "mofsrank":
        how |= {"n_draws": 1, "n_samples": 1, "sample_size": 1.0}
    selector = SELECTORS.make(name, measure=measure, **how).fit(parts[0], eval_set=parts[1])
    pairs = [(one.value, held_out(measure, parts, one.features)) for one in selector.front_]
    values = [one.value for one in selector.front_]
    better = max if parse_measure(measure).greater_is_better else min
    return pairs, values, better(values)  # a front is no choice


def of_fs_bfs(name, measure, parts):
    data = parts[0]
    selector = SELECTORS.make(name, n_features_to_select=None, measure=measure).fit(data)
    built = selector.construct(data)
    pairs = [
        (subset.score, measured(measure, data, built[:, number]))
        for number, subset in enumerate(selector.subsets_)
    ]
    pairs.append((selector.path_[-1].score, selector.subsets_[-1].score))
    return pairs, selector.scores_.tolist(), selector.path_[0].score


def of_greedy(name, measure, parts):
    selector = SELECTORS.make(name, n_features_to_select="best", criterion=measure).fit(parts[0])
    return of_fits(selector, lambda features: left_out(measure, parts[0], features))


def of_greedy_cv(name, measure, parts):
    how = {"lams": [0.1, 10.0], "measure": measure, "criterion": measure}
    selector = SELECTORS.make(name, **how).fit(parts[0], eval_set=parts[1])
    pairs = [
        (selector.values_[row, size], held_out(measure, parts, fit.features, RankRLS(lam)))
        for row, (lam, path) in enumerate(zip(selector.lams_, selector.paths_, strict=True))
        for size, fit in enumerate(path)
    ]
    alone = SELECTORS.make(name, **how).fit(parts[0])
    for row, path in enumerate(alone.paths_):
        pairs += [(fit.value, alone.values_[row, size]) for size, fit in enumerate(path)]
    return pairs, selector.values_.ravel().tolist(), selector.front_[-1].value


PUBLISHED = {
    "sequential": of_wrapper,
    "elimination": of_wrapper,
    "bt-genetic": of_subset_trees,
    "bt-randomized": of_subset_trees,
    "best-of": of_best_of,
    "annealing": of_annealing,
    "mofsrank": of_pareto,
    "risk-pareto": of_pareto,
    "fs-bfs": of_fs_bfs,
    "greedy-rankrls": of_greedy,
    "greedy-rankrls-cv": of_greedy_cv,
}


@pytest.mark.parametrize("measure", ["ndcg@10", "pairwise-error"])
@pytest.mark.parametrize("name", sorted(PUBLISHED))
def test_published_values_are_the_measure(parts, name, measure):
    pairs, values, chosen = PUBLISHED[name](name, measure, parts)
    found, expected = np.array(pairs).T
    np.testing.assert_allclose(found, expected, atol=1e-9)
    greater = parse_measure(measure).greater_is_better
    assert chosen == (max if greater else min)(values)
    assert all(0 <= value <= 1 for value in values)


def test_every_selector_with_a_measure_is_here():
    judging = {"measure", "criterion"}
    assert {name for name in SELECTORS if judging & SELECTORS[name].defaults.keys()} == set(
        PUBLISHED
    )
