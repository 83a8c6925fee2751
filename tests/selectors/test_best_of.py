"""The best of several lists, judged by held-out queries."""

import numpy as np
import pytest

from ranksieve import RankingData, make_ranking
from ranksieve.metrics import evaluate
from ranksieve.rankers import RankRLS
from ranksieve.selectors import BestOf, make_selector
from ranksieve.selectors._search.held_out import make_folds
from ranksieve.selectors.wrappers.best_of import _winner


@pytest.fixture(scope="module")
def data():
    return make_ranking(40, docs_per_query=(4, 9), n_noise=4, noise=0.2, random_state=1)[0]


def test_equal_to_a_slow_version(data):
    names = ["top", "greedy-rankrls", "ig"]
    found = BestOf(3, selectors=names, ranker="rankrls", sizes=[2, 4]).fit(data)
    train, judges = (part.take() for part in make_folds(data, 5, 0)[0])
    values = []
    for name in names:
        order = make_selector(name, data.n_features).fit(train).selected_
        own = []
        for size in (2, 4):
            columns = sorted(order[:size].tolist())
            ranker = RankRLS().fit(train.take_features(columns))
            scores = ranker.predict(judges.take_features(columns))
            own.append(evaluate(judges.y, scores, judges.qid, ["ndcg@10"]).per_query["NDCG@10"])
        values.append(np.mean(own, axis=0))
    np.testing.assert_allclose(found.values_, values, rtol=1e-12)
    best = _winner(np.array(values), None)
    assert found.best_ == names[best]
    expected = make_selector(names[best], data.n_features).fit(train).selected_[:3]
    assert found.selected_.tolist() == expected.tolist()


@pytest.mark.parametrize(
    ("fraction", "n_held_out"),
    [(1e-12, 1), (0.01, 1), (0.07, 7), (0.2, 20), (0.4, 40), (0.5, 50), (0.7, 70), (0.999, 99)],
)
def test_the_fraction_of_the_queries_is_held_out(fraction, n_held_out):
    data, _ = make_ranking(100, docs_per_query=3, random_state=1)
    fold = BestOf(validation_fraction=fraction)._fold(data, None)
    train, judges = fold.train.take(), fold.test.take()
    assert (train.n_queries, judges.n_queries) == (100 - n_held_out, n_held_out)
    assert not set(train.query_ids.tolist()) & set(judges.query_ids.tolist())


def test_queries_that_judge_are_those_of_eval_set(data):
    train, judges = data.take_queries(range(30)), data.take_queries(range(30, 40))
    how = {"selectors": ["top", "ig"], "ranker": RankRLS(), "sizes": [2]}
    found = BestOf(3, **how).fit(train, eval_set=judges)
    assert found.values_.shape == (2, 10)


def test_the_first_list_is_preferred_unless_another_is_clearly_better():
    base = np.tile([0.3, 0.7], 20)
    wobble = np.tile([0.1, -0.1, 0.1, -0.1, -0.1, 0.1, -0.1, 0.1], 5)
    assert _winner(np.array([base, base + wobble + 0.01]), None) == 0
    assert _winner(np.array([base, base + wobble + 0.05]), None) == 1
    assert _winner(np.array([base, base + 0.01, base + 0.02]), None) == 2
    assert _winner(np.array([base, base, base - 0.1]), None) == 0


@pytest.mark.slow
def test_defaults_take_few_trainings(data, monkeypatch):
    import lightgbm

    train, counted = lightgbm.train, []
    monkeypatch.setattr(lightgbm, "train", lambda *a, **k: counted.append(1) or train(*a, **k))
    wide = np.column_stack([data.X, np.random.default_rng(0).normal(size=(data.n_rows, 124))])
    BestOf(5).fit(RankingData(wide[:, :136], data.y, data.qid))
    assert len(counted) <= 24


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"selectors": []}, "empty"),
        ({"selectors": ["nope"]}, "nope"),
        ({"sizes": [0]}, "whole numbers of at least 1"),
        ({"sizes": []}, "whole numbers of at least 1"),
        ({"sizes": [2.5]}, "whole numbers of at least 1"),
        ({"sizes": [None]}, "whole numbers of at least 1"),
        ({"ranker": "nope"}, "nope"),
        ({"parameters": {"gas-e": {}}}, "gas-e"),
    ],
)
def test_bad_input(data, wrong, message):
    how = {"selectors": ["top", "ig"], "ranker": "rankrls", "sizes": [2]} | wrong
    with pytest.raises(ValueError, match=message):
        BestOf(2, **how).fit(data)


def test_one_query_is_refused(data):
    with pytest.raises(ValueError, match="cannot hold out the only query"):
        BestOf(2, selectors=["top", "ig"]).fit(data.take_queries([0]))
