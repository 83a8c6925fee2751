"""Studies on data with missing values."""

import json
from dataclasses import replace

import numpy as np
import pytest

from ranksieve import DataError, RankingData, make_ranking, write_parquet
from ranksieve.cli import main
from ranksieve.report.sheets.study_quality import setting_of
from ranksieve.study import Study, load_study
from tests.every_method import QUICK_TREES
from tests.study.test_study import without_times

QUICK = {
    "selectors": ["gas-e", "ig", "bt-influence"],
    "rankers": ["lambdamart"],
    "ks": [2, 4],
    "seeds": 1,
    "parameters": {
        "lambdamart": {"n_estimators": 5, "params": QUICK_TREES},
        "bt-influence": {"n_estimators": 3, "params": QUICK_TREES},
    },
    "grids": {
        "gas-e": {"c": [0.0, 0.1]},
        "bt-influence": {"num_leaves": [5]},
        "lambdamart": {"num_leaves": [5]},
    },
    "protocol": "kfold:3",
}


@pytest.fixture(scope="module")
def data():
    """5 % of the values are missing."""
    whole, _ = make_ranking(30, docs_per_query=8, n_informative=3, n_redundant=2, n_noise=3)
    X = whole.X.copy()
    gaps = np.random.default_rng(0).random(X.shape) < 0.05
    gaps[:, -2:] = False
    gaps[3, -2] = True  # a single one
    X[gaps] = np.nan
    return RankingData(X, whole.y, whole.qid)


@pytest.mark.parametrize("policy", ["keep", "query-min", "zero+indicators"])
def test_from_end_to_end(data, tmp_path, policy):
    study = Study(data, out=tmp_path, missing=policy, scale="min-max", **QUICK)
    result = study.run()
    assert result.missing == policy
    assert f"Missing values: {policy}." in setting_of(result)
    head = json.loads((tmp_path / "ledger.jsonl").read_text().splitlines()[0])
    assert policy in json.dumps(head)
    assert without_times(load_study(tmp_path)) == without_times(result)
    resumed = Study(data, out=tmp_path, missing=policy, scale="min-max", **QUICK).run()
    assert without_times(resumed) == without_times(result)
    n_indicators = 7 if policy.endswith("indicators") else 0
    assert len(result.feature_names) == 8 + n_indicators
    with pytest.raises(DataError, match="these are results with missing"):
        Study(data, out=tmp_path, missing="query-median", scale="min-max", **QUICK).run()


@pytest.mark.slow
def test_the_policy_of_the_data_counts_unless_another_is_given(data):
    kept = data.with_missing("keep")
    own, given = Study(kept, **QUICK), Study(data, missing="keep", **QUICK)
    assert own.plan.missing == "keep"
    assert without_times(own.run()) == without_times(given.run())
    filled = Study(kept, missing="zero", **QUICK)
    fold = filled.trials[0].open()
    assert not np.isnan(fold.train.X).any()
    marked = data.with_missing("keep+indicators")
    fold = Study(marked, **QUICK).trials[0].open()
    assert fold.train.n_features == marked.n_features


@pytest.mark.parametrize("policy", ["keep", "query-min+indicators"])
def test_parts_are_treated_like_the_training_part(data, policy):
    parts = [data.take_queries(queries) for queries in (range(18), range(18, 24), range(24, 30))]
    own = (parts[0].with_missing(policy), *parts[1:])
    wanted = {name: value for name, value in QUICK.items() if name != "protocol"}
    study = Study(own, **wanted)
    assert study.plan.missing == policy
    fold = study.trials[0].open()
    assert {part.missing for part in fold.parts} == {own[0].missing}
    assert {part.n_features for part in fold.parts} == {own[0].n_features}
    study.run()


def test_all_folds_have_the_same_indicators(data):
    study = Study(data, missing="query-min+indicators", **QUICK)
    folds = [trial.open() for trial in study.trials]
    names = {tuple(part.feature_names) for fold in folds for part in fold.parts}
    assert len(names) == 1
    # The single gap of the seventh feature is in the training queries of some folds only.
    assert {bool(fold.train.X[:, -1].any()) for fold in folds} == {True, False}


def test_methods_that_cannot_are_named_before_anything_runs(data, tmp_path):
    wanted = QUICK | {"selectors": ["gas-e", "fs-ed"], "rankers": ["ranksvm", "lambdamart"]}
    wanted |= {"parameters": {}, "grids": {}}
    for missing in ("none", "keep"):
        with pytest.raises(DataError, match=r"fs-ed and ranksvm cannot use: fill .* query-median"):
            Study(data, out=tmp_path / "study", missing=missing, **wanted).run()
        assert not (tmp_path / "study").exists()
    wrapped = QUICK | {
        "selectors": ["elimination"],
        "parameters": {"elimination": {"ranker": "lambdamart"}},
        "grids": {},
    }
    study = Study(data.take_features([0, 7]), missing="keep", **wrapped | {"ks": [1]})
    assert study.run().selectors[0] == "elimination"


def test_without_a_policy_they_are_kept(data):
    kept = Study(data, missing="keep", **QUICK).run()
    assert without_times(replace(Study(data, **QUICK).run(), missing="keep")) == without_times(kept)


def test_compare_takes_a_policy(data, tmp_path, capsys):
    write_parquet(data, tmp_path / "data.parquet")
    arguments = ["compare", tmp_path / "data.parquet", "--out", tmp_path / "study"]
    arguments += ["--selectors", "ig", "--rankers", "lambdamart", "--ks", "2", "--seeds", "1"]
    arguments += ["--protocol", "kfold:3", "--param", "lambdamart.n_estimators=3"]
    arguments += ["--grid", "lambdamart.num_leaves=5", "--missing", "keep", "--no-figures"]
    with pytest.raises(SystemExit, match="0"):
        main([str(argument) for argument in arguments])
    assert "Missing values: keep." in " ".join(capsys.readouterr().out.split())
    assert 'missing = "keep"' in (tmp_path / "study" / "study.toml").read_text()
