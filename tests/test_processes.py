"""The same results in other threads and processes."""

import multiprocessing

import numpy as np
import pytest
from joblib import Parallel, delayed

from ranksieve import make_ranking
from ranksieve.rankers.registry import RANKERS, make_ranker
from ranksieve.selectors.registry import SELECTORS, make_selector

FEW = {
    "lambdamart": {"n_estimators": 5},
    "lambdarank": {"epochs": 5},
    "coordinate-ascent": {"n_restarts": 1},
    "rankboost": {"n_rounds": 10},
    "annealing": {"n_steps": 20},
    "sequential": {"cv": 2},
}
SOME = ["rankrls", "ranksvm", "gas-e", "greedy-rankrls", "elimination"]


def found(name):
    data, _ = make_ranking(30, n_informative=2, n_redundant=0, n_noise=2)
    if name in RANKERS:
        return make_ranker(name, **FEW.get(name, {})).fit(data).predict(data)
    k = 2 if "n_features_to_select" in SELECTORS[name].defaults else None
    return make_selector(name, k, **FEW.get(name, {})).fit(data).selected_


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_all_methods_side_by_side_in_threads():
    names = [*RANKERS, *SELECTORS]
    expected = [found(name) for name in names]
    together = Parallel(4, backend="threading")(delayed(found)(name) for name in 2 * names)
    for name, ours, alone in zip(2 * names, together, 2 * expected, strict=True):
        np.testing.assert_array_equal(ours, alone, err_msg=name)


@pytest.mark.parametrize("way", ["spawn", "loky", "fork"])
def test_in_another_process(way):
    expected = [found(name) for name in SOME]
    if way == "loky":
        others = Parallel(2, backend="loky")(delayed(found)(name) for name in SOME)
    elif way not in multiprocessing.get_all_start_methods():
        pytest.skip(f"there is no {way} here")
    else:
        with multiprocessing.get_context(way).Pool(1) as pool:
            others = pool.map(found, SOME)
    for name, ours, alone in zip(SOME, others, expected, strict=True):
        np.testing.assert_array_equal(ours, alone, err_msg=name)
