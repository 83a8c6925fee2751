"""Which fits of a wrapper run at the same time."""

from threading import Barrier, Lock

import pytest

from ranksieve import limit_threads
from ranksieve.rankers.registry import RANKERS
from ranksieve.selectors._search.wrapper import in_parallel
from ranksieve.selectors.registry import SELECTORS

METHODS = {**RANKERS, **SELECTORS}
FEW, MANY = 19_999, 20_000


def test_a_wrapper_knows_what_its_ranker_does():
    make = SELECTORS["sequential"].make
    assert make(ranker=RANKERS["ranksvm"].make()).steps_in_python
    assert not make(ranker=RANKERS["lambdamart"].make()).steps_in_python
    # Without a ranker it is not known, so its cells run at the same time, as any other.
    assert not SELECTORS["sequential"].steps_in_python


@pytest.mark.parametrize(
    ("ranker", "n_rows", "together"),
    [("ranksvm", FEW, False), ("ranksvm", MANY, True), ("lambdamart", FEW, True)],
)
def test_fits_of_wrappers(ranker, n_rows, together):
    running, most, lock, meeting = 0, 0, Lock(), Barrier(2)

    def fit(number):
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        if together:
            meeting.wait(timeout=60)
        with lock:
            running -= 1
        return number

    with limit_threads(2):
        found = list(in_parallel(fit, range(4), RANKERS[ranker].make(), n_rows))
    assert found == [0, 1, 2, 3]
    assert most == (2 if together else 1)
