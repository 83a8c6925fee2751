"""Published results of selectors on MQ2008, made again."""

import json

import numpy as np
import pytest
from rich.console import Console

from ranksieve import make_ranking
from ranksieve.metrics import evaluate
from ranksieve.rankers import RankSVM
from ranksieve.reproduction import SelectorsReproduction, reproduce_selectors
from ranksieve.reproduction.selectors import MEASURES, ROWS, Fold, SelectorResult
from ranksieve.tables import selectors_reproduction_tables
from tests.test_cli import runner


@pytest.fixture(scope="module")
def reproduced(mq2008_dir):
    return reproduce_selectors(mq2008_dir, ["all", "fsmrank"])


def test_no_selection_is_the_published_ranksvm(reproduced):
    for measure in MEASURES:
        number = reproduced.number("all", measure)
        assert number.ours == pytest.approx(number.published, abs=0.0002)


def test_fsmrank_is_as_near_as_the_aim(reproduced):
    assert reproduced.number("fsmrank", "MAP").is_within
    assert reproduced.mean("fsmrank", "MAP") == pytest.approx(0.4728, abs=0.0005)
    assert reproduced.results["fsmrank"].n_features[0] < 20


def test_the_command(capsys, mq2008_dir):
    run = runner(capsys)
    command = ["reproduce", "selectors", "--data", mq2008_dir, "--method", "all", "--json"]
    status, output, _ = run(*command)
    assert status == 0
    record = json.loads(output)["methods"]["all"]
    assert record["values"]["MAP"]["published"] == 0.4744
    assert record["values"]["MAP"]["within"]
    for wrong, message in (
        (["--method", "svm"], "method 'svm' is not compared; those are all, gas-e"),
        (["--ranker", "ranksvm"], "--ranker is for reproduce rankers"),
    ):
        status, _, error = run("reproduce", "selectors", "--data", mq2008_dir, *wrong)
        assert status != 0
        assert message in error


class TestTuning:
    @pytest.fixture
    def fold(self):
        data, _ = make_ranking(60, n_informative=3, n_redundant=0, n_noise=3, random_state=6)
        parts = (range(30), range(30, 45), range(45, 60))
        return Fold(*(data.take_queries(part) for part in parts))

    def test_equal_to_every_choice_by_hand(self, fold):
        subsets = [(0, 2), (3, 1), (5, 4, 0), (2, 0)]
        best = max(
            (
                (self.value(fold, subset, C), -place, tuple(sorted(subset)))
                for place, (subset, C) in enumerate(
                    (subset, C) for subset in subsets for C in (0.01, 0.1, 1, 10, 100)
                )
            ),
        )
        found = fold.best_of(subsets)
        assert found.features == best[2]
        assert found.validation == pytest.approx(best[0], abs=2e-3)

    def value(self, fold, subset, C):
        columns = sorted(subset)
        ranker = RankSVM(C=C).fit(fold.train.take_features(columns))
        scores = ranker.predict(fold.vali.take_features(columns))
        return evaluate(fold.vali.y, scores, fold.vali.qid, "map", "letor4").mean["MAP"]

    def test_no_subset_is_trained_twice(self, fold, monkeypatch):
        trained = []
        train = Fold._ranksvm
        monkeypatch.setattr(Fold, "_ranksvm", lambda self, s: trained.append(s) or train(self, s))
        again = Fold(fold.train, fold.vali, fold.test)
        again.best_of([(0, 1), (1, 0), (2,)])
        again.best_of([(2,), (3,)])
        assert trained == [(0, 1), (2,), (3,)]

    def test_nothing_of_the_test_queries_is_chosen_by(self, fold):
        blind = Fold(fold.train, fold.vali, test=None)
        assert blind.best_of([(0, 1), (2, 3)]).features == fold.best_of([(0, 1), (2, 3)]).features


def made_up(**values):
    results = {
        name: SelectorResult(dict.fromkeys(MEASURES, maps), [9.5] * len(maps))
        for name, maps in values.items()
    }
    return SelectorsReproduction(results)


def test_what_does_not_beat_random_orders_is_told():
    result = made_up(all=[0.47, 0.5], fsmrank=[0.45], gas=[0.43], random=[0.44, 0.48])
    assert result.random_below("all") == 1
    assert result.random_below("fsmrank") == 0.5
    assert result.random_below("gas") == 0
    assert result.random_below("random") is None
    assert result.spread("fsmrank", "MAP") is None
    assert result.spread("random", "MAP") == pytest.approx(np.sqrt(0.0008))
    assert made_up(all=[0.47]).random_below("all") is None


def test_tables_fit_a_terminal():
    result = made_up(**{name: [0.4721, 0.3] for name in ROWS})
    console = Console(width=80, highlight=False)
    with console.capture() as capture:
        console.print(selectors_reproduction_tables(result))
    text = capture.get()
    assert max(len(line.rstrip()) for line in text.splitlines()) <= 80
    assert "-0.0883*" in text  # further than the aim
    assert text.count("spread") == 1 + len(ROWS)
