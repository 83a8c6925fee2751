"""The same results in other threads and processes."""

import multiprocessing

import numpy as np
import pytest
from joblib import Parallel, delayed

from ranksieve import make_ranking
from ranksieve.rankers.registry import RANKERS
from ranksieve.selectors.registry import SELECTORS
from tests.every_method import make_quick

SOME = ["rankrls", "ranksvm", "gas-e", "greedy-rankrls", "elimination"]


def found(name):
    data, _ = make_ranking(12, n_informative=2, n_redundant=0, n_noise=2)
    made = make_quick(name).fit(data)
    return made.predict(data) if name in RANKERS else made.selected_


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_all_methods_side_by_side_in_threads():
    names = [*RANKERS, *SELECTORS]
    expected = [found(name) for name in names]
    together = Parallel(4, backend="threading")(delayed(found)(name) for name in 2 * names)
    for name, ours, alone in zip(2 * names, together, 2 * expected, strict=True):
        np.testing.assert_array_equal(ours, alone, err_msg=name)


@pytest.mark.slow
@pytest.mark.parametrize("way", ["loky", "fork"])  # new interpreters, and copies of this one
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
