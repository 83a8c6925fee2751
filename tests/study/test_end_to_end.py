"""What a search engineer brings, all at once: a frame with gaps, weights and dates."""

import json

import numpy as np
import pytest
from lightgbm import LGBMRanker
from xgboost import XGBRanker

from ranksieve import Columns, Study, load_demo
from ranksieve.report import write_report
from ranksieve.study import SplitByTime, load_study

polars = pytest.importorskip("polars")

TREES = {"n_estimators": 8, "random_state": 0, "n_jobs": 1}


class MostPresent:
    """An own selector: the features with the most values, the first of equals first."""

    def __init__(self, n_features_to_select=5):
        self.n_features_to_select = n_features_to_select

    def get_params(self, deep=True):
        return {"n_features_to_select": self.n_features_to_select}

    def fit(self, X, y, qid, sample_weight=None):
        missing = np.isnan(X).T @ (np.ones(len(y)) if sample_weight is None else sample_weight)
        self.selected_ = np.argsort(missing, kind="stable")[: self.n_features_to_select]
        return self


@pytest.fixture(scope="module")
def table():
    """The demo as a frame: 60 queries, weights, dates, and 5 % of the values missing."""
    demo = load_demo()[0].take_queries(range(60))
    gaps = np.random.default_rng(0).random(demo.X.shape) < 0.05
    X = np.where(gaps, np.nan, demo.X)
    number = demo.query_codes
    return polars.DataFrame(
        {
            "query_id": demo.qid,
            "relevance": demo.y.astype(int),
            "weight": 1.0 + number % 3,
            "shop_id": np.arange(demo.n_rows) % 40,
            "date": np.datetime64("2026-01-01") + number,
            **{name: X[:, place] for place, name in enumerate(demo.feature_names)},
        }
    )


def make_study(table, out):
    return Study(
        table,
        out=out,
        columns=Columns(ignore=["shop_id"]),
        split=SplitByTime("date", after="2026-02-08"),
        resamples=2,
        missing="keep",
        selectors=[MostPresent(), "gas-e", "bt-influence"],
        rankers=[("mine", LGBMRanker(verbosity=-1, **TREES)), XGBRanker(**TREES)],
        grids={"mine": {"num_leaves": [3, 7]}, "gas-e": {}, "bt-influence": {}},
        exclude=["index_tier"],
        ks=[3, 6],
        measures=["ndcg@10"],
        tune="ndcg@10",
        seeds=1,
    )


@pytest.mark.slow
def test_all_of_it_runs_and_resumes(table, tmp_path):
    out = tmp_path / "study"
    result = make_study(table, out).run()
    assert result.rankers == ["mine", "XGBRanker"]
    assert result.selectors[0] == "MostPresent"
    assert result.query_weights is not None
    excluded = list(result.feature_names).index("index_tier")
    for run in result.runs.values():
        for features in run.chosen.selections:
            assert excluded not in features

    ledger = out / "ledger.jsonl"
    lines = ledger.read_text().splitlines(keepends=True)
    trainings = [json.loads(line)["cell"] for line in lines[1:] if '"ranker"' in line]
    assert all("lightgbm" in str(c) or "xgboost" in str(c) for c in trainings)
    ledger.write_text("".join(lines[: len(lines) // 2]))  # as if it had been killed
    again = make_study(table, out).run()
    for key, run in result.runs.items():
        for measure in result.measures:
            np.testing.assert_array_equal(
                again.runs[key].chosen.values(measure), run.chosen.values(measure)
            )
    write_report(load_study(out), out, figures=False)
    report = (out / "report.html").read_text()
    assert "weighted" in report
    assert "Missing values: keep" in report
    assert "MostPresent" in report
