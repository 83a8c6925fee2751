"""Damaged model files of LightGBM and XGBoost are refused: their parsers trust them."""

import json
import random
from pathlib import Path

import numpy as np
import pytest

from ranksieve import DataError, RankingData, load_model, make_ranking
from ranksieve.io.records import checksum_of
from ranksieve.rankers import LambdaMART
from ranksieve.rankers.model_checks import check_json, check_text

lightgbm = pytest.importorskip("lightgbm")
xgboost = pytest.importorskip("xgboost")


@pytest.fixture(scope="module")
def data() -> RankingData:
    return make_ranking(30, n_informative=3, n_noise=3, random_state=1)[0]


@pytest.fixture(scope="module")
def text(data) -> str:
    """A small model of LightGBM, without the sizes of its trees, which need not be there."""
    ranker = lightgbm.LGBMRanker(n_estimators=3, num_leaves=6, min_child_samples=5, verbose=-1)
    ranker.fit(data.X, data.y.astype(int), group=data.group_counts)
    lines = ranker.booster_.model_to_string().split("\n")
    return "\n".join(line for line in lines if not line.startswith("tree_sizes"))


@pytest.fixture(scope="module")
def document(data) -> str:
    ranker = xgboost.XGBRanker(n_estimators=3, max_depth=3)
    ranker.fit(data.X, data.y.astype(int), qid=data.query_codes)
    return ranker.get_booster().save_raw("json").decode()


def changed(text: str, name: str, value: str, place: int = 0) -> str:
    """The model with another value in the first line of this name."""
    before, _, rest = text.partition(f"\n{name}=")
    line, _, after = rest.partition("\n")
    words = line.split(" ")
    words[place] = value
    return f"{before}\n{name}={' '.join(words)}\n{after}"


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("left_child", "0", "do not form a tree"),  # LightGBM does not come back from it
        ("left_child", "77", "do not form a tree"),  # and from these it reads foreign memory
        ("right_child", "-99", "do not form a tree"),
        ("split_feature", "2000000000", "'split_feature' has 2000000000, but should be in 0.."),
        ("split_feature", "-1", "'split_feature' has -1"),
        ("num_leaves", "100000000", "there are fewer leaf values"),
        ("num_tree_per_iteration", "0", "several scores"),
        ("leaf_value", "nan", "'leaf_value' should be 6 finite numbers"),
        ("leaf_value", "1e999", "too large"),
        ("threshold", "1e5 7", "'threshold' should be 5 finite numbers"),
        (
            "decision_type",
            "3",
            "'cat_boundaries' should be",
        ),  # a set of categories that there is not
        ("max_feature_idx", "3", "4 feature names"),
    ],
)
def test_damaged_text_of_lightgbm_is_refused(text, tmp_path, name, value, message):
    path = tmp_path / "model.txt"
    path.write_text(text)
    load_model(path)
    path.write_text(changed(text, name, value))
    with pytest.raises(DataError, match=message) as error:
        load_model(path)
    assert str(error.value).startswith(f"{path}: ")


def test_sizes_of_trees_are_those_of_the_text(data, text):
    whole = lightgbm.Booster(model_str=text).model_to_string()
    check_text(whole)
    with pytest.raises(DataError, match="'tree_sizes' does not match the trees"):
        check_text(changed(whole, "tree_sizes", "999999999"))
    with pytest.raises(DataError, match="not a complete text model"):
        check_text(whole.replace("shrinkage", "\0shrinkage"))


@pytest.mark.parametrize(
    "parameters",
    [
        {"boosting": "dart"},
        {"boosting": "rf", "bagging_freq": 1, "bagging_fraction": 0.5},
        {"linear_tree": True},
        {"categorical_feature": [0, 1], "max_cat_to_onehot": 2},
        {"zero_as_missing": True, "objective": "binary"},
        {"min_data_in_leaf": 1000},
    ],
    ids=str,
)
def test_all_that_lightgbm_writes_is_read(parameters):
    rng = np.random.default_rng(0)
    X = np.c_[rng.integers(0, 40, 300), rng.integers(0, 5, 300), rng.normal(size=(300, 3))]
    X[::7, 2] = np.nan
    y = (X[:, 0] % 3 + (X[:, 1] == 2) + X[:, 3] > 1).astype(float)
    settings = {"objective": "regression", "verbose": -1, "min_data_in_leaf": 5} | parameters
    categories = settings.pop("categorical_feature", "auto")
    rows = lightgbm.Dataset(X, y, categorical_feature=categories)
    booster = lightgbm.train(settings, rows, 10)
    check_text(booster.model_to_string())
    check_text(booster.model_to_string(num_iteration=2))


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("left_children", 0, "do not form a tree"),
        ("left_children", 2**31 - 1, "'left_children' should be whole numbers in -1.."),
        ("right_children", 1, "do not form a tree"),
        ("split_indices", 2**31 - 1, "'split_indices' should be in 0.."),
        ("parents", -1, "'parents' should be whole numbers"),
        ("parents", 2, "'parents' do not match the children"),
        ("split_conditions", None, "'split_conditions' should be"),
        ("default_left", 7, "'default_left' should be"),
    ],
)
def test_damaged_json_of_xgboost_is_refused(document, tmp_path, name, value, message):
    path = tmp_path / "model.json"
    path.write_text(document)
    load_model(path)
    record = json.loads(document)
    tree = record["learner"]["gradient_booster"]["model"]["trees"][1]
    tree[name][1 if name == "parents" else 0] = value
    path.write_text(json.dumps(record))
    with pytest.raises(DataError, match=message) as error:
        load_model(path)
    assert str(error.value).startswith(f"{path}: ")


def test_ids_and_groups_of_trees_of_xgboost(document):
    def damaged(change) -> str:
        record = json.loads(document)
        change(record["learner"]["gradient_booster"]["model"])
        return json.dumps(record)

    check_json(damaged(lambda model: None))
    with pytest.raises(DataError, match="the 'id' of each tree should be"):
        check_json(damaged(lambda model: model["trees"][2].update(id=0)))
    with pytest.raises(DataError, match="'tree_info' should be"):
        check_json(damaged(lambda model: model["tree_info"].__setitem__(0, 5)))
    with pytest.raises(DataError, match="'iteration_indptr' should ascend"):
        check_json(damaged(lambda model: model["iteration_indptr"].__setitem__(-1, 1)))
    with pytest.raises(DataError, match="nested too deeply"):
        check_json(document.replace('"trees":', f'"x":{"[" * 5000}{"]" * 5000},"trees":', 1))


@pytest.mark.parametrize(
    "parameters",
    [{"booster": "dart"}, {"booster": "gblinear"}, {"gamma": 5, "tree_method": "exact"},
     {"num_parallel_tree": 3}, {"grow_policy": "lossguide", "max_leaves": 9}],
    ids=str,
)  # fmt: skip
def test_all_that_xgboost_writes_is_read(data, parameters):
    rows = xgboost.DMatrix(data.X, data.y)
    check_json(xgboost.train(parameters, rows, 5).save_raw("json").decode())


def test_trees_within_our_models_are_checked_too(data, tmp_path):
    path = tmp_path / "model.json"
    LambdaMART(n_estimators=3, num_leaves=6, min_child_samples=5).fit(data).save_model(path)
    good = json.loads(path.read_text())
    for name, value, message in (
        ("best_iteration", 2**40, "but there are 3 trees"),
        ("best_iteration", -3, "but there are 3 trees"),
        ("booster", good["learned"]["booster"].replace("\nleft_child=1", "\nleft_child=0", 1), "."),
        ("booster", good["learned"]["booster"] + "{", "LightGBM cannot read"),
    ):
        record = good | {"learned": good["learned"] | {name: value}}
        assert record["learned"] != good["learned"]
        del record["checksum"]
        path.write_text(json.dumps(record | {"checksum": checksum_of(record)}))
        with pytest.raises(DataError, match=message):
            load_model(path)


def test_other_forms_of_xgboost(document, data, tmp_path):
    path = tmp_path / "model.json"
    path.write_text(document)
    scores = load_model(path).predict(data)
    path.write_text(json.dumps(json.loads(document), indent=2))
    assert load_model(path).predict(data).tolist() == scores.tolist()
    path.write_text(document.replace('"num_feature"', '"num_feature":"9","num_feature"', 1))
    with pytest.raises(DataError, match="'num_feature' appears twice"):
        load_model(path)
    booster = xgboost.Booster(model_file=bytearray(document.encode()))
    booster.save_model(tmp_path / "model.ubj")
    with pytest.raises(DataError, match=r"model.ubj: .* ends in .json"):
        load_model(tmp_path / "model.ubj")


@pytest.mark.parametrize("kind", ["text", "document"])
def test_random_damage(kind, data, tmp_path, request):
    """Nothing gets through that the library would take for memory, or never come back from."""
    whole = request.getfixturevalue(kind).encode()
    rng, path = random.Random(3), Path(tmp_path / "model")
    tokens = [b"", b"-1", b"0", b"7", b"99999999", b"nan", b"[", b"\n", b"=", b"\0", b"1e999"]
    refused = 0
    for _ in range(300):
        at = rng.randrange(len(whole))
        path.write_bytes(whole[:at] + rng.choice(tokens) + whole[at + rng.choice((0, 1, 1, 3)) :])
        try:
            scores = load_model(path).predict(RankingData(data.X, data.y, data.qid))
        except DataError:
            refused += 1
        else:
            assert np.isfinite(scores).all()
    assert refused > 100
