"""Recommendations on features that are categories, and the check of them on later data."""

import logging

import numpy as np
import pytest
from catboost import CatBoostRanker
from lightgbm import LGBMRanker
from xgboost import XGBRanker

from ranksieve import FeatureCosts, recommend
from ranksieve.rankers import load_model
from ranksieve.recommendation import check
from tests.rankers.test_categories import data_of, frame_of

QUICK = {"margin": 0.1, "folds": 3, "details": False, "selectors": ["bt-influence"]}
QUICK |= {"parameters": {"bt-influence": {"n_estimators": 5}}}
RANKERS = {
    "lightgbm": LGBMRanker(
        n_estimators=5,
        n_jobs=1,
        verbose=-1,
        min_child_samples=3,
        min_data_per_group=5,
        cat_smooth=1,
    ),
    "xgboost": XGBRanker(n_estimators=5, n_jobs=1),
    "catboost": CatBoostRanker(iterations=5, depth=3, thread_count=1, allow_writing_files=False),
    "linear": "rankrls",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", RANKERS)
def test_they_are_kept_if_they_matter_and_checked_later(name, tmp_path, caplog):
    frame, y = frame_of(n_queries=45, effect=5)
    data = data_of(frame, y)
    quick = QUICK if name != "linear" else QUICK | {"selectors": None, "parameters": {}}
    answer = recommend(data, RANKERS[name], out=tmp_path, **quick)
    kept = {answer.feature_names[feature] for feature in answer.features}
    assert "shop" in kept
    later, later_y = frame_of(1, 30, unused=["brand new"], effect=5)
    later.loc[:9, "shop"] = "brand new"
    new = data_of(later, later_y)
    with caplog.at_level(logging.INFO, logger="ranksieve"):
        result = check(tmp_path, new)
    told = "Feature shop has categories that were not in training, in 10 rows: brand new; they"
    assert told in caplog.text
    model = load_model(tmp_path / "model.json")
    scores = model.predict(new.take_features(sorted(answer.features)))
    np.testing.assert_array_equal(model.predict(new), scores)
    assert np.isfinite([result.claim.with_chosen, result.claim.with_all]).all()


@pytest.mark.slow
@pytest.mark.parametrize("ranker", ["lightgbm", "linear"])
def test_sets_are_searched_for_with_costs(ranker):
    data = data_of(*frame_of(n_queries=45, effect=5))
    costs = FeatureCosts({"size": 1.0, "shop": 2.0, "noise": 1.0, "kind": 1.0})
    quick = {name: QUICK[name] for name in ("margin", "folds", "details")}
    answer = recommend(data, RANKERS[ranker], costs=costs, **quick)
    assert "shop" in {answer.feature_names[feature] for feature in answer.features}


@pytest.mark.slow
def test_what_ranks_alone_is_measured_on_other_queries():
    frame, y = frame_of(n_queries=45, effect=5)
    rng = np.random.default_rng(5)
    frame["useless"] = rng.integers(0, 150, len(frame)).astype(str)
    frame["useless"] = frame["useless"].astype("category")
    answer = recommend(data_of(frame, y), RANKERS["lightgbm"], **QUICK)
    alone = dict(zip(answer.feature_names, answer.evidence.alone.values, strict=True))
    chance = answer.evidence.alone.chance
    assert alone["shop"] > alone["noise"] + 0.1
    assert abs(alone["useless"] - alone["noise"]) < (alone["shop"] - chance) / 2
