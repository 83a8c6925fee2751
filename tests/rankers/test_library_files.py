"""Model files of LightGBM, XGBoost and CatBoost: what is read, and what would do harm."""

import json
import random
import re
from pathlib import Path

import numpy as np
import pytest

from ranksieve import DataError, RankingData, load_model, make_ranking
from ranksieve.io.records import checksum_of
from ranksieve.rankers import LambdaMART
from ranksieve.rankers.libraries import cbm
from ranksieve.rankers.libraries.model_checks import check_json, check_text, load_booster

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
        ("leaf_value", "1_0", "'leaf_value' should be 6 numbers"),
        ("threshold", "1e5 7", "'threshold' should be 5 numbers"),
        ("threshold", "infinity", "'threshold' should be 5 numbers"),
        ("split_feature", "1e0", "'split_feature' should be 5 whole numbers"),
        ("split_gain", "x", "'split_gain' should be 5 numbers"),
        ("leaf_count", "1 2", "'leaf_count' should be 6 numbers"),
        ("shrinkage", "xx1", "'shrinkage' should be 1 number,"),  # LightGBM crashes
        ("decision_type", "3", "'cat_boundaries' should be"),  # there is no set of categories
        ("max_feature_idx", "3", "4 feature names"),
        ("objective", "", "'objective' is empty"),  # LightGBM crashes
        # LightGBM returns other scores, and writes beyond them.
        ("objective", "multiclass num_class:3", "several scores for each row, .* 'multiclass'"),
        ("objective", "multiclassova num_class:3 sigmoid:1", "several scores .* 'multiclassova'"),
        ("objective", "lambdaranks", "Unknown objective type name: lambdaranks"),
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


def test_sizes_of_trees_are_those_of_the_text(text):
    whole = lightgbm.Booster(model_str=text).model_to_string()
    check_text(whole)
    with pytest.raises(DataError, match="'tree_sizes' does not match the trees"):
        check_text(changed(whole, "tree_sizes", "999999999"))
    with pytest.raises(DataError, match="not a complete text model"):
        check_text(whole.replace("shrinkage", "\0shrinkage"))
    with pytest.raises(DataError, match="not a complete text model"):  # a line of its own
        check_text(whole.replace("shrinkage=", "shrinkage=1\rleft_child=9 "))


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


def test_lines_that_lightgbm_does_not_reach(text):
    """It would go on with the trees before them, without a word."""
    more = "".join(f"more{number}=0\n" for number in range(20))
    with pytest.raises(DataError, match="LightGBM reads 1 of 3 trees"):
        load_booster(re.sub("(?m)^shrinkage=", f"{more}shrinkage=", text, count=1))


def missing_against_the_rest() -> RankingData:
    """Only whether the first feature is missing tells anything: LightGBM's threshold is inf."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 3)), rng.integers(0, 3, 400)
    X[y == 0, 0] = np.nan
    return RankingData(X, y, np.repeat(np.arange(20), 20))


def test_thresholds_that_are_infinite(tmp_path):
    data, path = missing_against_the_rest(), tmp_path / "model.json"
    ranker = LambdaMART(5, min_child_samples=5).fit(data)
    assert "\nthreshold=inf " in ranker.booster_.model_to_string()
    ranker.save_model(path)
    assert load_model(path).predict(data).tolist() == ranker.predict(data).tolist()
    ranker.booster_.save_model(path)
    assert load_model(path).predict(data).tolist() == ranker.predict(data).tolist()


def test_numbers_of_linear_trees_that_are_not_finite(text):
    check_text(changed(changed(text, "leaf_value", "-nan"), "leaf_weight", "-inf"))


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
    check_json(damaged(lambda model: model["trees"][0]["loss_changes"].__setitem__(0, np.inf)))
    with pytest.raises(DataError, match="'loss_changes' should be"):
        check_json(damaged(lambda model: model["trees"][0]["loss_changes"].pop()))
    with pytest.raises(DataError, match="several scores"):  # of which XGBoost returns others
        check_json(document.replace('"name":"rank:ndcg"', '"name":"multi:softprob"'))
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
    text = xgboost.train(parameters, rows, 5).save_raw("json").decode()
    check_json(text)
    if parameters.get("booster") == "dart":
        with pytest.raises(DataError, match="'weight_drop' should be 5 numbers"):
            check_json(re.sub(r'"weight_drop":\[[^]]*\]', '"weight_drop":[1]', text))


def test_a_model_of_xgboost_that_is_no_ranker(data, tmp_path):
    path = tmp_path / "model.json"
    rows = xgboost.DMatrix(data.X, data.y > 1)
    booster = xgboost.train({"objective": "binary:logistic"}, rows, 3)
    booster.save_model(path)
    loaded = load_model(path)
    expected = booster.predict(xgboost.DMatrix(data.X)).tolist()
    assert loaded.predict(data).tolist() == expected
    loaded.save_model(path)
    assert load_model(path).predict(data).tolist() == expected


def test_trees_within_our_models_are_checked_too(data, tmp_path):
    path = tmp_path / "model.json"
    LambdaMART(n_estimators=3, num_leaves=6, min_child_samples=5).fit(data).save_model(path)
    good = json.loads(path.read_text())
    for name, value, message in (
        ("best_iteration", 2**40, "but there are 3 trees"),
        ("best_iteration", -3, "but there are 3 trees"),
        ("booster", good["learned"]["booster"].replace("\nleft_child=1", "\nleft_child=0", 1), "."),
        ("booster", good["learned"]["booster"] + "{", "LightGBM cannot read its trees: Extra data"),
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


@pytest.fixture(scope="module")
def blobs(data, tmp_path_factory) -> list[bytes]:
    """Models of CatBoost with oblivious and with other trees."""
    catboost = pytest.importorskip("catboost")
    path = tmp_path_factory.mktemp("catboost") / "model.cbm"
    found = []
    for policy in ("SymmetricTree", "Lossguide"):
        ranker = catboost.CatBoostRanker(
            iterations=3, depth=3, grow_policy=policy, verbose=False, allow_writing_files=False
        )
        ranker.fit(data.X, data.y, group_id=data.query_codes).save_model(str(path))
        found.append(path.read_bytes())
    return found


def test_files_of_catboost(blobs, data, tmp_path):
    from catboost import CatBoost

    path = tmp_path / "model.cbm"
    for blob in blobs:
        path.write_bytes(blob)
        expected = CatBoost().load_model(str(path)).predict(data.X).tolist()
        assert load_model(path).predict(data).tolist() == expected
    for wrong in (blob[:9], blob[:-900], b"CBM1" + b"\xff" * 40, b"CBM1"):
        path.write_bytes(wrong)
        with pytest.raises(DataError, match=r"model.cbm: catboost cannot read this model: it is"):
            load_model(path)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        (cbm._SPLITS, 10**6, "the splits do not fit together"),
        (cbm._SPLITS, -1, "the splits do not fit together"),
        (cbm._BINS, 60_000, "the splits do not fit together"),
        (cbm._SIZES, 3000, "the sizes of trees do not fit together"),
        (cbm._STARTS, 2, "the starts of trees do not fit together"),
        (cbm._STEPS, 50_000, "the nodes do not fit together"),
        (cbm._LEAVES_OF_NODES, 10**6, "the leaves do not fit together"),
    ],
)
def test_damaged_trees_of_catboost_are_refused(blobs, field, value, message):
    """CatBoost itself reads them, and foreign memory with them."""
    damaged = False
    for blob in blobs:
        kind = {cbm._STEPS: "<u2", cbm._BINS: "<u2"}.get(field, "<i4")
        trees = cbm._core(blob).table(cbm._TREES)
        if not len(trees.vector(field, "<i4")):
            continue
        start = 8 + cbm._follow(trees._buffer, trees._place(field)) + 4
        wrong = bytearray(blob)
        wrong[start : start + int(kind[-1])] = np.array(value, kind).tobytes()
        if field == cbm._LEAVES_OF_NODES:  # of all nodes, as those above others have none
            size = 4 * len(trees.vector(field, "<i4"))
            wrong[start : start + size] = np.full(size // 4, value, kind).tobytes()
        with pytest.raises(DataError, match=message):
            cbm.check_cbm(bytes(wrong))
        damaged = True
    assert damaged


@pytest.mark.parametrize("kind", ["text", "document", "blobs"])
def test_random_damage(kind, data, tmp_path, request):
    """Nothing gets through that the library would take for memory, or never come back from."""
    whole = request.getfixturevalue(kind)
    whole = whole[1] if kind == "blobs" else whole.encode()
    rng, path = random.Random(3), Path(tmp_path / "model")
    tokens = [b"", b"-1", b"0", b"7", b"99999999", b"nan", b"[", b"\n", b"=", b"\0", b"1e999"]
    refused = 0
    for _ in range(300):
        at = rng.randrange(4, len(whole))
        path.write_bytes(whole[:at] + rng.choice(tokens) + whole[at + rng.choice((0, 1, 1, 3)) :])
        try:
            load_model(path).predict(RankingData(data.X, data.y, data.qid))
        except DataError:
            refused += 1
    assert refused > 100
