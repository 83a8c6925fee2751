"""Selectors whose smaller selections begin larger ones say so, and they alone."""

from functools import cache

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from lightgbm import LGBMRanker

from ranksieve import RankingData, make_ranking
from ranksieve.rankers import LambdaMART
from ranksieve.rankers.rankrls import LAMS
from ranksieve.selectors.registry import SELECTORS, make_selector
from tests.every_method import few_examples, make_quick

NESTED = [name for name, method in SELECTORS.items() if method.is_nested]
OTHERS = [name for name in SELECTORS if name not in NESTED]

SMALL_TREES = LGBMRanker(
    n_estimators=2, num_leaves=3, n_jobs=1, verbosity=-1, objective="rank_xendcg"
)

one_thread = pytest.mark.usefixtures("one_thread")  # hundreds of small fits

# Methods with parameters that matter, and whether they are nested.
VARIANTS = [
    ("gas-e", {"c": 0.3, "similarity": "tau_b", "similarity.align_directions": True}, True),
    ("gas-e", {"c": 0.1, "solver": "exact"}, False),
    ("ig", {"binning": "width", "n_bins": 3}, True),
    ("fs-ed", {"estimator": "integral"}, True),
    ("fs-ed", {"random_state": None}, False),
    ("fs-bfs", {"tol": 0.0, "max_size": 2}, True),
    ("fs-bfs", {"output": "constructed"}, False),
    ("greedy-rankrls", {"criterion": "map"}, True),
    ("backfitting-rankrls", {}, True),
    ("greedy-rankrls", {"kappa": 3}, True),
    ("backfitting-rankrls", {"kappa": 3}, True),
    ("greedy-rankrls", {"memory": "low"}, True),
    ("greedy-rankrls", {"storage": "float32", "lam": 0.01}, True),
    ("greedy-rankrls", {"include": [4], "exclude": [2]}, True),
    ("greedy-rankrls", {"search": "floating"}, False),
    ("greedy-rankrls", {"search": "foba"}, False),
    ("greedy-rankrls", {"kappa": 3, "random_state": None}, False),
    ("greedy-rankrls-cv", {"lams": [0.5]}, True),
    ("mmr", {"trade_off": 0.9}, True),
    ("xgas", {"p": 0.7}, True),
    ("fsmrank", {"lambda1": 0.1, "lambda2": 0.1, "cost": "complement"}, True),
    ("fenchelrank", {"radius": 0.1, "away_steps": False, "max_iter": 50}, True),
    ("sequential", {"cv": 2, "measure": "map", "patience": 1}, True),
    ("sequential", {"cv": 2, "include": [4], "exclude": [2]}, True),
    ("sequential", {"cv": 2, "direction": "backward"}, False),
    ("sequential", {"cv": 2, "floating": True}, False),
    ("sequential", {"cv": 2, "groups": [[0, 1]]}, False),
    ("sequential", {"ranker": LambdaMART(random_state=None)}, False),
    ("sequential", {"cv": 2, "ranker": SMALL_TREES}, True),
    ("elimination", {"ranker": SMALL_TREES}, True),
    ("elimination", {"importance": "permutation"}, True),
    ("elimination", {"include": [4], "exclude": [2]}, True),
    ("elimination", {"step": 3}, False),
    ("elimination", {"step": 0.5}, False),
    ("elimination", {"groups": [[0, 1]]}, False),
    ("elimination", {"importance": "permutation", "random_state": None}, False),
    ("bt-influence", {"random_state": np.random.RandomState(0)}, False),
    ("bt-discounted", {"c": 1.0}, True),
    ("cegb", {"order": "sets"}, False),
    ("rankfilter", {"max_documents": 3}, True),
    ("random", {"random_state": None}, False),
]


@cache
def data_sets():
    """Planted with copies and a constant; tied values without meaning; features much alike."""
    mixed, _ = make_ranking(
        24,
        docs_per_query=(1, 15),
        n_informative=2,
        n_redundant=2,
        n_duplicate=1,
        n_noise=1,
        n_constant=1,
        random_state=1,
    )
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (150, 6)).astype(float)
    X[:, 3], X[:, 5] = X[:, 1], 2.0
    tied = RankingData(X, rng.integers(0, 3, 150), np.repeat(np.arange(15), 10))
    alike, _ = make_ranking(
        24,
        docs_per_query=12,
        n_informative=2,
        n_redundant=3,
        n_noise=1,
        copy_noise=0.05,
        tied=0.5,
        random_state=5,
    )
    return mixed, tied, alike


def sizes_that_differ(name, data, parameters, **beside):
    """Yield numbers of features for which the selection is not the beginning of the largest."""
    least = max(1, len(parameters.get("include", ())))
    most = data.n_features - len(parameters.get("exclude", ()))

    def selected(k):
        return make_quick(name, k, **parameters).fit(data, **beside).selected_.tolist()

    largest = selected(most)
    assert sorted(largest) == sorted(
        set(range(data.n_features)) - set(parameters.get("exclude", ()))
    )
    yield from (k for k in range(least, most) if selected(k) != largest[:k])


@pytest.mark.slow
@one_thread
@pytest.mark.parametrize("name", [name for name in NESTED if name != "all"])
def test_smaller_selections_begin_larger_ones(name):
    for data in data_sets():
        assert not list(sizes_that_differ(name, data, {}))


@one_thread
@pytest.mark.parametrize("name", OTHERS)
def test_others_have_no_reason_to_say_so(name):
    parameters = {"lams": LAMS} if name == "greedy-rankrls-cv" else {}  # all that it tries
    assert any(k for data in data_sets() for k in sizes_that_differ(name, data, parameters))


@pytest.mark.slow
@one_thread
@pytest.mark.parametrize(("name", "parameters", "is_nested"), VARIANTS)
def test_parameters_matter(name, parameters, is_nested):
    assert make_selector(name, 3, **parameters).is_nested == is_nested
    if is_nested:
        of_few_features = [data_sets()[1].take_features(range(5))]
        for data in of_few_features if "ranker" in parameters else data_sets():
            assert not list(sizes_that_differ(name, data, parameters))


@pytest.mark.parametrize("name", ["fs-ed", "greedy-rankrls-cv", "sequential", "elimination"])
def test_with_queries_to_judge_by(name):
    parameters = {"lams": [0.5]} if name == "greedy-rankrls-cv" else {}
    for data in data_sets():
        queries = np.arange(data.n_queries)
        train = data.take_queries(queries[queries % 3 != 0])
        held_out = data.take_queries(queries[queries % 3 == 0])
        assert not list(sizes_that_differ(name, train, parameters, eval_set=held_out))


@pytest.mark.parametrize(
    ("name", "rules"),
    [
        ("greedy-rankrls", ["best", "one-se"]),
        ("sequential", ["best", "tolerance"]),
        ("elimination", ["best", "one-se"]),
        ("fsmrank", [None]),
        ("fenchelrank", [None]),
        ("fs-bfs", [None]),
    ],
)
def test_a_number_that_the_method_finds(name, rules):
    for data in data_sets():
        for rule in rules:
            selector = make_quick(name).set_params(n_features_to_select=rule)
            assert selector.is_nested
            found = selector.fit(data).selected_.tolist()
            # Smaller selections begin this one: that is tested above.
            assert make_quick(name, len(found)).fit(data).selected_.tolist() == found


QUICK = (
    "gas-e",
    "gas-l",
    "ig",
    "chi",
    "greedy-rankrls",
    "mmr",
    "mpt",
    "mrmr",
    "ngas",
    "xgas",
    "top",
)


@pytest.mark.slow
@few_examples
@given(
    X=arrays(np.int64, (20, 5), elements=st.integers(0, 2)),
    y=arrays(np.int64, 20, elements=st.integers(0, 2)),
    copied=st.booleans(),
)
def test_any_ties(X, y, copied):
    if copied:
        X[:, 4] = X[:, 0]
    data = RankingData(X.astype(float), y, np.repeat([1, 2, 3, 4], 5))
    assume(any(len(set(y[start : start + 5].tolist())) > 1 for start in range(0, 20, 5)))
    for name in QUICK:
        assert not list(sizes_that_differ(name, data, {}))
