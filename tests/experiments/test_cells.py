"""Cells: what they compute, share, and say of errors."""

import numpy as np
import pytest

from ranksieve import RankingData, Study, make_ranking
from ranksieve.data import DataError
from ranksieve.experiments import QuerySets, Select, Train, Trial, TrialSource
from ranksieve.metrics import evaluate
from ranksieve.rankers.registry import RANKERS, make_ranker
from ranksieve.selectors.registry import SELECTORS
from ranksieve.solvers.rankrls import ridge


@pytest.fixture(scope="module")
def data():
    return make_ranking(30, random_state=0)[0]


def trial_of(data, vali=True):
    judged = {"a": np.arange(20, 24), "b": np.arange(24, 30)}
    sets = QuerySets(np.arange(14), np.arange(14, 20) if vali else None, judged)
    return Trial("A", TrialSource.of(data), sets).open()


def training(*features, grid=({},)):
    return Train(RANKERS["rankrls"], {}, None, features, "MAP", ["MAP", "NDCG@5"], "standard", grid)


def test_a_training_chooses_and_judges(data):
    trial, columns = trial_of(data), [1, 3]
    grid = [{"lam": lam} for lam in (1e6, 1.0, 1e-6)]
    result = training(*columns, grid=grid).run(trial)
    rankers = [
        make_ranker("rankrls", **point).fit(trial.train.take_features(columns)) for point in grid
    ]

    def values(ranker, part, measure="MAP"):
        scores = ranker.predict(part.take_features(columns))
        return evaluate(part.y, scores, part.qid, [measure], "standard").per_query[measure]

    means = [values(ranker, trial.vali).mean() for ranker in rankers]
    best = int(np.argmax(means))
    assert result.parameters == grid[best]
    assert result.validation == means[best]
    of_best = values(rankers[best], trial.vali)
    assert result.validation_error == pytest.approx(of_best.std(ddof=1) / np.sqrt(6))
    for name, part in trial.judged.items():
        for measure in ("MAP", "NDCG@5"):
            assert result.values[name][measure] == values(rankers[best], part, measure).tolist()


def test_a_training_without_validation_queries(data):
    trial = trial_of(data, vali=False)
    result = training(0, 2, grid=[{"lam": 2.0}]).run(trial)
    assert (result.validation, result.validation_error) == (None, None)
    model = training(0, 2, grid=[{"lam": 2.0}]).train(trial.train)
    part = trial.judged["a"]
    scores = model.predict(part.take_features([0, 2]))
    expected = evaluate(part.y, scores, part.qid, ["MAP"], "standard").per_query["MAP"]
    assert result.values["a"]["MAP"] == expected.tolist()
    nothing = training().run(trial)  # all documents of a query are tied
    equal = evaluate(part.y, np.zeros(part.n_rows), part.qid, ["MAP"], "standard")
    assert nothing.values["a"]["MAP"] == equal.per_query["MAP"].tolist()


class TooMany:
    """A selector that does not do as it is told."""

    def __init__(self, k=2):
        self.k = k

    def fit(self, X, y):
        self.selected_ = list(range(self.k + 1))


class Broken(TooMany):
    def fit(self, X, y):
        raise KeyError("lost")


@pytest.mark.parametrize(
    ("selector", "message"),
    [
        (TooMany(), "A, TooMany: selected 3 features instead of 2"),
        (Broken(), "A, Broken: KeyError: 'lost'"),
    ],
)
def test_errors_name_the_trial_and_the_method(data, selector, message):
    with pytest.raises(DataError, match=message):
        Select(SELECTORS.find(selector), {}, {}, None, 2).run(trial_of(data))


def test_bad_data_is_named(data):
    X = data.X.copy()
    X[5, 2] = np.inf
    trial = trial_of(RankingData(X, data.y, data.qid))
    with pytest.raises(DataError, match=r"A, gas-e \(c=1\): X has infinity in row 5"):
        Select(SELECTORS["gas-e"], {}, {"c": 1}, None, 2).run(trial)
    X[5, 2] = np.nan
    trial = trial_of(RankingData(X, data.y, data.qid))
    with pytest.raises(DataError, match="A, rankrls on 2 features: RankRLS .*: X has NaN in row 5"):
        training(1, 2).run(trial)


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
