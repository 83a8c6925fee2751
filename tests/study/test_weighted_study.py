"""Studies of queries that have weights."""

import numpy as np
import pytest

from ranksieve import make_ranking
from ranksieve.data import DataError
from ranksieve.report import write_report
from ranksieve.report.sheets.study_quality import setting_of
from ranksieve.study import Study, load_study
from tests.study.test_study import SMALL

PLAN = dict(
    selectors=["gas-e", "fs-ed", "all"],
    rankers=["rankrls"],
    ks=[1, 3],
    grids={"gas-e": {"c": [0.0, 0.3]}, "rankrls": {"lam": [0.1, 10.0]}},
    parameters={},
)


@pytest.fixture(scope="module")
def data():
    data, _ = make_ranking(40, **SMALL, random_state=3)
    weights = np.random.default_rng(0).choice([0.25, 1.0, 4.0], 40)
    return data.with_weights(weights)


def test_results_have_the_weights(data, tmp_path):
    result = Study(data, out=tmp_path, **PLAN, measures=["map"], seeds=1).run()
    weight_of = dict(zip(data.query_ids.tolist(), data.query_weights.tolist(), strict=True))
    for fold in result.folds:
        assert list(fold.query_weights) == [weight_of[query] for query in fold.query_ids]
    again = load_study(tmp_path)
    assert [fold.query_weights for fold in again.folds] == [f.query_weights for f in result.folds]
    assert again.run("gas-e", "rankrls").chosen.mean("MAP") == pytest.approx(
        result.run("gas-e", "rankrls").chosen.mean("MAP"), rel=1e-15
    )
    assert "test queries, weighted (as informative as 2" in setting_of(again)
    write_report(again, tmp_path, figures=False)
    assert "40 test queries, weighted" in (tmp_path / "report.html").read_text()
    with pytest.raises(DataError, match="has other data"):
        Study(data.with_weights(None), out=tmp_path, **PLAN, measures=["map"], seeds=1).run()


def test_queries_of_weight_zero_are_not_there(data):
    weights = np.ones(40)
    weights[::4] = 0.0
    plan = {"selectors": ["gas-e"], "rankers": ["rankrls"], "ks": [2], "seeds": 1}
    ours = Study(data.with_weights(weights), **plan).run()
    theirs = Study(data.with_weights(None).take_queries(weights > 0), **plan).run()
    assert ours.n_queries == theirs.n_queries == 30
    for key, run in ours.runs.items():
        found, expected = run.chosen, theirs.runs[key].chosen
        assert found.selections == expected.selections
        np.testing.assert_array_equal(found.per_query("MAP"), expected.per_query("MAP"))
        assert found.mean("MAP") == pytest.approx(expected.mean("MAP"), rel=1e-12)
