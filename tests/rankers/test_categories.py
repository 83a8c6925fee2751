"""Rankers on features that are categories: as the libraries do, in files, and on later data."""

import json

import numpy as np
import pandas as pd
import pytest
from catboost import CatBoostRanker, Pool
from lightgbm import LGBMRanker
from xgboost import XGBRanker

from ranksieve import DataError, RankingData
from ranksieve.rankers import LambdaMART, RankNet, RankRLS, as_ranker, load_model
from ranksieve.rankers.registry import RANKERS
from tests.every_method import make_quick

SHOPS = [
    'a,b"c',
    "two\nlines",
    "1",
    "1.0",
    " 1",
    "NaN",
    "x" * 500,
    "ü\t",
    "'; DROP",
    "<b>",
    "k",
    "l",
]
N_DOCUMENTS = 8


def frame_of(seed=0, n_queries=60, unused=(), effect=1):
    """A table whose labels depend on its categories, some of which are missing."""
    rng, n = np.random.default_rng(seed), n_queries * N_DOCUMENTS
    shop, kind = rng.integers(-1, len(SHOPS), n), rng.integers(0, 3, n)
    size = rng.normal(size=n)
    score = effect * np.sin(3 * shop) + (kind == 1) + 0.5 * size + 0.5 * rng.normal(size=n)
    return pd.DataFrame(
        {
            "size": size,
            "shop": pd.Categorical.from_codes(shop, [*SHOPS, *unused]),
            "noise": rng.normal(size=n),
            "kind": pd.Categorical.from_codes(kind, ["small", "medium", "large"]),
        }
    ), np.digitize(score, [0, 1.2]).astype(float)


def qid_of(frame):
    return np.arange(len(frame)) // N_DOCUMENTS


def data_of(frame, y):
    return RankingData(frame, y, qid_of(frame))


def as_catboost(frame):
    """The frame as users of CatBoost have it: text, empty where it is missing."""
    return frame.assign(
        **{name: frame[name].astype(object).fillna("") for name in ("shop", "kind")}
    )


TREES = {"n_estimators": 12, "n_jobs": 1, "random_state": 0}
LIBRARIES = {
    "lightgbm": LGBMRanker(**TREES, verbose=-1, min_child_samples=3),
    "xgboost": XGBRanker(**TREES, max_cat_to_onehot=2),
    "catboost": CatBoostRanker(
        iterations=12, thread_count=1, random_seed=0, verbose=False, allow_writing_files=False
    ),
}


def scores_of_library(name, frame, y, later):
    """Scores by the library alone, used as its users do."""
    estimator, qid = LIBRARIES[name], qid_of(frame)
    estimator = type(estimator)(**estimator.get_params())
    if name == "lightgbm":
        return estimator.fit(frame, y, group=np.bincount(qid)).predict(later)
    if name == "xgboost":
        estimator.set_params(enable_categorical=True)
        return estimator.fit(frame, y, qid=qid).predict(later)
    pool = Pool(as_catboost(frame), y, group_id=qid, cat_features=["shop", "kind"])
    return estimator.fit(pool).predict(as_catboost(later))


@pytest.mark.parametrize("name", LIBRARIES)
def test_the_same_bits_as_the_library(name, tmp_path):
    (frame, y), (later, later_y) = frame_of(), frame_of(1)
    expected = scores_of_library(name, frame, y, later)
    ranker = as_ranker(LIBRARIES[name]).fit(data_of(frame, y))
    new = data_of(later, later_y)
    np.testing.assert_array_equal(ranker.predict(new), expected)
    np.testing.assert_array_equal(ranker.predict(later), expected)
    numbers = [data.take_features(["size", "noise"]) for data in (data_of(frame, y), new)]
    without = as_ranker(LIBRARIES[name]).fit(numbers[0])
    assert ranker.score(new) > without.score(numbers[1]) + 0.1  # categories are used
    ranker.save_model(tmp_path / "model.json")
    loaded = load_model(tmp_path / "model.json")
    np.testing.assert_array_equal(loaded.predict(new), expected)
    np.testing.assert_array_equal(loaded.predict(later), expected)
    saved = json.loads((tmp_path / "model.json").read_text())
    assert saved["categories"]["shop"] == SHOPS
    loaded.save_model(tmp_path / "again.json")
    np.testing.assert_array_equal(load_model(tmp_path / "again.json").predict(new), expected)


@pytest.mark.parametrize("name", LIBRARIES)
def test_held_out_queries_stop_early_as_in_the_library(name):
    (frame, y), (held_out, held_out_y) = frame_of(), frame_of(1, 20)
    estimator, qid = LIBRARIES[name], qid_of(frame)
    own = {"early_stopping_rounds": 2, "iterations" if name == "catboost" else "n_estimators": 60}
    estimator = type(estimator)(**estimator.get_params() | own)
    ranker = as_ranker(estimator).fit(data_of(frame, y), eval_set=data_of(held_out, held_out_y))
    other = type(estimator)(**estimator.get_params())
    if name == "catboost":
        pools = [
            Pool(as_catboost(X), label, group_id=qid_of(X), cat_features=["shop", "kind"])
            for X, label in ((frame, y), (held_out, held_out_y))
        ]
        expected = other.fit(pools[0], eval_set=pools[1]).predict(as_catboost(held_out))
    elif name == "xgboost":
        other.set_params(enable_categorical=True)
        pair = {"eval_set": [(held_out, held_out_y)], "eval_qid": [qid_of(held_out)]}
        expected = other.fit(frame, y, qid=qid, verbose=False, **pair).predict(held_out)
    else:
        pair = {"eval_X": (held_out,), "eval_y": (held_out_y,)}
        groups = {"group": np.bincount(qid), "eval_group": [np.bincount(qid_of(held_out))]}
        expected = other.fit(frame, y, **groups, **pair).predict(held_out)
    np.testing.assert_array_equal(ranker.predict(held_out), expected)


def test_lambdamart_has_the_bits_of_its_booster_on_a_frame(tmp_path):
    import lightgbm

    (frame, y), (later, later_y) = frame_of(), frame_of(1)
    ranker = LambdaMART(n_estimators=12).fit(data_of(frame, y))
    dataset = lightgbm.Dataset(frame, y, group=np.bincount(qid_of(frame)))
    booster = lightgbm.train(ranker._dataset_parameters(), dataset, 12)
    new = data_of(later, later_y)
    np.testing.assert_array_equal(ranker.predict(new), booster.predict(later))
    ranker.save_model(tmp_path / "model.json")
    np.testing.assert_array_equal(
        load_model(tmp_path / "model.json").predict(new), ranker.predict(new)
    )


@pytest.mark.parametrize("name", [*LIBRARIES, "rankrls"])
def test_an_unknown_category_is_a_missing_one(name):
    frame, y = frame_of()
    ranker = as_ranker(LIBRARIES[name]) if name in LIBRARIES else RankRLS()
    ranker.fit(data_of(frame, y))
    later, later_y = frame_of(1, unused=["new"])
    missing, unknown = later.copy(), later.copy()
    missing.loc[:40, "shop"] = np.nan
    unknown.loc[:40, "shop"] = "new"
    found = [ranker.predict(data_of(one, later_y)) for one in (missing, unknown)]
    np.testing.assert_array_equal(*found)
    np.testing.assert_array_equal(ranker.predict(unknown), found[0])


def test_linear_rankers_get_numbers(tmp_path):
    (frame, y), (later, later_y) = frame_of(), frame_of(1)
    data, new = data_of(frame, y), data_of(later, later_y)
    ranker = RankRLS().fit(data)
    numbers = [one.take_features(["size", "noise"]) for one in (data, new)]
    assert ranker.score(new) > RankRLS().fit(numbers[0]).score(numbers[1]) + 0.05
    ranker.save_model(tmp_path / "model.json")
    loaded = load_model(tmp_path / "model.json")
    for rows in (new, later):
        np.testing.assert_array_equal(loaded.predict(rows), ranker.predict(new))
    coded = new.with_categories(ranker.categories_)
    with pytest.warns(UserWarning, match="valid feature names"):
        np.testing.assert_array_equal(ranker.predict(coded.X), ranker.predict(new))
    saved = json.loads((tmp_path / "model.json").read_text())
    saved["encoding"]["values"]["kind"].pop()
    saved.pop("checksum")
    (tmp_path / "model.json").write_text(json.dumps(saved))
    with pytest.raises(DataError):
        load_model(tmp_path / "model.json")
    held_out = RankNet(epochs=3).fit(data, eval_set=new)
    assert np.isfinite(held_out.predict(new)).all()


@pytest.mark.parametrize("name", RANKERS)
def test_every_ranker_takes_them(name):
    frame, y = frame_of(n_queries=20)
    data = data_of(frame, y)
    ranker = make_quick(name).fit(data)
    assert np.isfinite(ranker.predict(data)).all()
    assert hasattr(ranker, "encoding_") == (not ranker.takes_categories)
    numbers = data.take_features(["size", "noise"])
    refitted = ranker.fit(numbers)
    assert not hasattr(refitted, "categories_")
    assert not hasattr(refitted, "encoding_")


def test_two_declarations_are_refused():
    data = data_of(*frame_of(n_queries=10))
    message = "the data says which features are categories \\('shop', 'kind'\\)"
    for ranker in (
        LambdaMART(params={"cat_feature": [1]}),
        as_ranker(LGBMRanker(categorical_feature=[1])),
        as_ranker(XGBRanker(feature_types=["q", "c", "q", "c"])),
        as_ranker(CatBoostRanker(cat_features=[1])),
    ):
        with pytest.raises(DataError, match=message):
            ranker.fit(data)
