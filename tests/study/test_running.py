"""Which cells of a fold and which fits of a wrapper run at the same time, and what they share."""

from threading import Barrier, BrokenBarrierError, Lock
from types import SimpleNamespace

import pytest

from ranksieve import Study, limit_threads, make_ranking
from ranksieve.rankers.registry import RANKERS
from ranksieve.selectors._search.subset_values import in_parallel
from ranksieve.selectors.registry import SELECTORS
from ranksieve.solvers.rankrls import ridge
from ranksieve.study.cells import run_on_threads

METHODS = {**RANKERS, **SELECTORS}
FEW, MANY = 19_999, 20_000


class Work:
    """A cell that tells whether another one ran at the same time."""

    def __init__(self, method, meeting):
        self.method, self.meeting = method, meeting

    def run(self, fold):
        try:
            self.meeting.wait(timeout=fold.patience)
        except BrokenBarrierError:
            return False
        return True


def met(names, n_rows, patience):
    """Whether each of two cells met the other."""
    fold = SimpleNamespace(name="fold", n_rows=n_rows, patience=patience)
    meeting = Barrier(2)
    cells = [Work(METHODS[name], meeting) for name in names]
    with limit_threads(2), run_on_threads(fold) as run:
        return [together for _, together in run(cells)]


@pytest.mark.parametrize("name", ["ranksvm", "rankrls", "listnet", "ranksvm-l1", "egrank"])
def test_short_steps_on_few_rows_are_not_mixed(name):
    assert met([name, name], FEW, patience=0.05) == [False, False]


@pytest.mark.parametrize(
    ("names", "n_rows"),
    [
        (["ranksvm", "ranksvm"], MANY),
        (["lambdamart", "lambdamart"], FEW),
        (["gas-e", "gas-e"], FEW),
        (["ranksvm", "lambdamart"], FEW),
    ],
)
def test_others_run_at_the_same_time(names, n_rows):
    assert met(names, n_rows, patience=60) == [True, True]


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


def test_models_of_a_grid_share_what_depends_on_the_data_alone(monkeypatch):
    sizes, decompose = [], ridge.decompose

    def counted(xx, xy):
        sizes.append(len(xx))
        return decompose(xx, xy)

    monkeypatch.setattr(ridge, "decompose", counted)
    data, _ = make_ranking(30, random_state=0)
    study = Study(data, selectors=["top"], rankers=["rankrls"], ks=[2, 3], baselines=False)
    study.run()
    assert len(RANKERS["rankrls"].grid["lam"]) > 1
    assert sorted(sizes) == [2] * 5 + [3] * 5  # once for each fold and number of features
