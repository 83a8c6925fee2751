"""The command line with rankers and selectors of other libraries, and of users."""

import json
import sys

import catboost
import lightgbm
import numpy as np
import pytest
import xgboost

from ranksieve import DataError, load_model, make_ranking, read_letor, write_letor
from ranksieve.io.records import checksum_of
from ranksieve.rankers import LambdaMART, as_ranker
from ranksieve.rankers.parameter_files import parameters_from, read_parameters
from ranksieve.rankers.registry import RANKERS
from ranksieve.study import load_study

MODULE = '''
"""Somebody's code."""

import numpy as np
from lightgbm import LGBMRanker


class Spread:
    """Features by their spread."""

    def __init__(self, n_features_to_select=4, power=1):
        self.n_features_to_select = n_features_to_select
        self.power = power

    def fit(self, X, y, qid=None):
        order = np.argsort(-X.std(axis=0) ** self.power, kind="stable")
        self.selected_ = order[: self.n_features_to_select]


class Column:
    """A ranker by one feature."""

    def __init__(self, place=0):
        self.place = place

    def fit(self, X, y):
        pass

    def predict(self, X):
        return X[:, self.place]


class Broken(Column):
    def fit(self, X, y):
        raise RuntimeError("it does not work")


tuned = LGBMRanker(n_estimators=3, n_jobs=1, num_leaves=5)
number = 3
'''

SMALL = dict(n_informative=3, n_redundant=2, n_noise=3, docs_per_query=(3, 10))
FEW = ("--ks", "2", "--protocol", "kfold:3", "--seeds", "1", "--no-baselines", "--no-figures")


@pytest.fixture(scope="module")
def data():
    return make_ranking(24, **SMALL, random_state=3)[0]


@pytest.fixture
def here(tmp_path, monkeypatch, data):
    """A directory with data and code, where the user is."""
    write_letor(data, tmp_path / "data.txt")
    (tmp_path / "somebody.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "somebody", raising=False)
    return tmp_path


def test_a_selector_of_the_user(succeed, here):
    output = succeed("select", "data.txt", "--method", "somebody:Spread", "-k", 2)
    assert "Spread: 2 of 8 features" in output
    best = np.argsort(-read_letor("data.txt").X.std(axis=0), kind="stable")[:2] + 1
    rows = [line.split() for line in output.splitlines()]
    assert [row[1] for row in rows if row and row[0] in ("1", "2")] == [str(f) for f in best]
    command = ["select", "data.txt", "--method", "somebody:Spread", "--param", "power=-1"]
    assert "Spread (power=-1): 4 of 8 features" in succeed(*command, "--out", "s.json")
    succeed("train", "data.txt", "--selection", "s.json")


def test_a_ranker_of_the_user(succeed, here):
    output = succeed("train", "data.txt", "--ranker", "somebody:tuned", "--out", "m.json")
    assert "tuned, trained on 8 features" in output
    assert load_model("m.json").estimator.num_leaves == 5
    output = succeed("train", "data.txt", "--ranker", "somebody:Column", "--param", "place=1")
    assert "Column (place=1), trained on 8 features" in output


@pytest.mark.parametrize("name", ["lightgbm", "xgboost", "catboost"])
def test_the_libraries_by_name(run, succeed, here, name):
    trees = "iterations" if name == "catboost" else "n_estimators"
    command = ["train", "data.txt", "--ranker", name, "--param", f"{trees}=3", "--seed", 1]
    output = succeed(*command, "--out", "m.json")
    assert f"{name} ({trees}=3" in " ".join(output.split())
    assert run("predict", "m.json", "data.txt")[0] == 0


def test_a_ranker_inside_a_selector(run, here):
    command = ["select", "data.txt", "--method", "elimination", "-k", 2, "--ranker"]
    assert run(*command, "lightgbm", "--ranker-param", "num_iterations=3")[0] == 0
    (here / "p.json").write_text('{"n_estimators": 3, "num_leaves": 4}')
    assert run(*command, "somebody:tuned", "--ranker-param-file", "p.json")[0] == 0


class TestCompare:
    @pytest.mark.slow
    def test_own_code(self, run, here):
        own = ["--selectors", "top,somebody:Spread", "--rankers", "lightgbm,mine=somebody:Column"]
        more = ["--param", "lightgbm.num_iterations=3", "--grid", "mine.place=0,1"]
        status, output, error = run("compare", "data.txt", *own, *more, *FEW, "--out", "s")
        assert status == 0, error
        assert "Quality of selectors with mine on data.txt" in output
        result = load_study(here / "s")
        assert (result.selectors, result.rankers) == (["top", "Spread"], ["lightgbm", "mine"])
        before = (here / "s" / "ledger.jsonl").read_bytes()
        assert run("compare", "--plan", "s/study.toml", "--no-figures", "--out", "s")[0] == 0
        assert (here / "s" / "ledger.jsonl").read_bytes() == before
        # Without the code, results can be read but not extended.
        (here / "somebody.py").unlink()
        del sys.modules["somebody"]
        assert run("report", "s")[0] == 0
        status, _, error = run("compare", "--plan", "s/study.toml", "--out", "s")
        assert status != 0
        assert "No module named 'somebody'" in error
        options = ["--selectors", "top", "--rankers", "lightgbm", "--no-figures", "--out", "s"]
        assert run("compare", "--plan", "s/study.toml", *options)[0] == 0

    def test_parameters_from_files(self, run, here):
        files = {
            "both.json": {"lightgbm": {"num_trees": 3, "verbosity": -1}, "xgboost": {"eta": 0.5}},
            "one.json": {"n_estimators": 2, "lambdarank_pair_method": "topk", "missing": None},
        }
        for name, content in files.items():
            (here / name).write_text(json.dumps(content))
        given = [option for name in files for option in ("--param-file", name)]
        own = ["--selectors", "top", "--rankers", "lightgbm,xgboost", "--param", "xgboost.eta=0.25"]
        assert run("compare", "data.txt", *own, *given, *FEW, "--out", "s")[0] == 0
        plan = (here / "s" / "study.toml").read_text()
        assert "n_estimators = 3" in plan.partition("[parameters.lightgbm]")[2]
        xgb = plan.partition("[parameters.xgboost]")[2].partition("[")[0]
        assert xgb.split("\n")[1:-2] == [
            *("learning_rate = 0.5", "n_estimators = 2", 'lambdarank_pair_method = "topk"'),
            "eta = 0.25",
        ]


class TestModels:
    """Parameters of models that somebody trained."""

    @pytest.fixture
    def trained(self, data):
        groups = dict(group=data.group_counts)
        trees = lightgbm.LGBMRanker(
            **dict(n_estimators=5, num_leaves=4, reg_lambda=0.5, subsample=0.5, subsample_freq=1),
            **dict(verbosity=-1, n_jobs=1, monotone_constraints=[1] * 8, random_state=3),
        ).fit(data.X, data.y, **groups)
        boost = xgboost.XGBRanker(
            n_estimators=4, max_depth=2, learning_rate=0.5, gamma=0.25, reg_lambda=3, n_jobs=1
        ).fit(data.X, data.y, **groups)
        cat = catboost.CatBoostRanker(
            iterations=4, depth=2, verbose=False, allow_writing_files=False
        )
        return trees, boost, cat.fit(data.X, data.y, group_id=data.query_codes)

    def test_what_is_taken(self, tmp_path, trained, data):
        trees, boost, cat = trained
        trees.booster_.save_model(tmp_path / "lgb.txt")
        kind, found = read_parameters(tmp_path / "lgb.txt")
        assert kind == "LGBMRanker"
        assert found == {
            **dict(num_iterations=5, num_leaves=4, lambda_l2=0.5, bagging_fraction=0.5),
            **dict(bagging_freq=1, monotone_constraints=[1] * 8, seed=3),
        }
        (tmp_path / "xgb.json").write_text(boost.get_booster().save_config())
        assert read_parameters(tmp_path / "xgb.json") == (
            "XGBRanker",
            dict(n_estimators=4, max_depth=2, learning_rate=0.5, gamma=0.25, reg_lambda=3),
        )
        (tmp_path / "params.json").write_text(json.dumps(boost.get_params()))  # with NaN
        assert read_parameters(tmp_path / "params.json").parameters["max_depth"] == 2
        expected = dict(iterations=4, depth=2, loss_function="YetiRank")
        for name, form in (("cat.cbm", "cbm"), ("cat.json", "json")):
            cat.save_model(str(tmp_path / name), format=form)
            assert read_parameters(tmp_path / name) == ("CatBoostRanker", expected)
        as_ranker(lightgbm.LGBMRanker(n_estimators=2)).fit(data).save_model(tmp_path / "o.json")
        assert read_parameters(tmp_path / "o.json") == ("LGBMRanker", {"n_estimators": 2})
        LambdaMART(2, num_leaves=3).fit(data).save_model(tmp_path / "l.json")
        kind, found = read_parameters(tmp_path / "l.json")
        assert (kind, found["n_estimators"], found["num_leaves"]) == ("LambdaMART", 2, 3)

    def test_files_and_machines_of_a_model_are_left_out(self, tmp_path, data):
        """They are of the training that made it; another training must not write or call there."""
        path = tmp_path / "model.json"
        ranker = as_ranker(lightgbm.LGBMRanker(n_estimators=2, num_leaves=3)).fit(data)
        for kind, method, hostile in (
            ("lightgbm.LGBMRanker", "lightgbm", {"workers": "evil:1", "model_output": "x"}),
            ("catboost.CatBoostRanker", "catboost", {"train_dir": "x", "save_snapshot": True}),
        ):
            ranker.save_model(path)
            record = json.loads(path.read_text())
            estimator = {"class": kind, "parameters": {"random_state": 3, **hostile}}
            record["parameters"]["estimator"] = estimator
            del record["checksum"]
            path.write_text(json.dumps(record | {"checksum": checksum_of(record)}))
            found = parameters_from(path, {method: RANKERS[method]})
            assert found == {method: {"random_state": 3}}

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (lambda r: r.update(objective=[]), "'objective' should be an object"),
            (lambda r: r["objective"].update(name={}), "XGBoost has no objective"),
            (lambda r: r["objective"].update(name="rank:x"), "XGBoost has no objective 'rank:x'"),
            (lambda r: r.update(gradient_booster=3), "'gradient_booster' should be an object"),
            (
                lambda r: r["gradient_booster"]["tree_train_param"].update(max_depth={}),
                "'max_depth' should be a text",
            ),
        ],
    )
    def test_damaged_configurations_of_xgboost(self, tmp_path, trained, change, message):
        record = json.loads(trained[1].get_booster().save_config())
        change(record["learner"])
        path = tmp_path / "xgb.json"
        path.write_text(json.dumps(record))
        with pytest.raises(DataError, match=message) as error:
            read_parameters(path)
        assert str(error.value).startswith(f"{path}: ")

    def test_names_that_appear_twice(self, tmp_path):
        path = tmp_path / "params.json"
        path.write_text('{"num_leaves": 5, "num_leaves": 50}')
        with pytest.raises(DataError, match="'num_leaves' appears twice"):
            read_parameters(path)

    def test_the_trees_are_the_same_again(self, run, here, trained):
        trees, boost, _ = trained
        trees.booster_.save_model(here / "lgb.txt")
        (here / "xgb.json").write_text(boost.get_booster().save_config())
        for name, file, model in (("lightgbm", "lgb.txt", trees), ("xgboost", "xgb.json", boost)):
            command = ["train", "data.txt", "--ranker", name, "--param-file", file]
            assert run(*command, "--out", "m.json")[0] == 0
            same = read_letor("data.txt").X
            np.testing.assert_allclose(
                load_model("m.json").predict(same), model.predict(same), rtol=1e-6
            )

    def test_a_model_that_stopped_early_has_its_number_of_trees(self, tmp_path, data):
        held_out = dict(eval_X=(data.X,), eval_y=(-data.y + data.y.max(),))
        stop = [lightgbm.early_stopping(1, verbose=False)]
        trees = lightgbm.LGBMRanker(n_estimators=50, verbosity=-1, n_jobs=1)
        trees.fit(
            *(data.X, data.y),
            **dict(group=data.group_counts, eval_group=[data.group_counts], callbacks=stop),
            **held_out,
        )
        trees.booster_.save_model(tmp_path / "lgb.txt")
        found = read_parameters(tmp_path / "lgb.txt").parameters
        assert found["num_iterations"] == trees.best_iteration_ < 50

    def test_another_ranker_is_refused(self, run, here, trained):
        trees, boost, _ = trained
        trees.booster_.save_model(here / "lgb.txt")
        boost.save_model(here / "xgb.json")
        status, _, error = run(
            "train", "data.txt", "--ranker", "xgboost", "--param-file", "lgb.txt"
        )
        assert status == 1
        assert "lgb.txt has parameters of LGBMRanker, which no ranker takes" in error
        command = ["train", "data.txt", "--ranker", "xgboost", "--param-file", "xgb.json"]
        status, _, error = run(*command)
        assert status == 1
        assert "models of XGBoost do not contain their training parameters" in error

    @pytest.mark.parametrize(
        "content",
        [
            *(b"tree\nversion=v4\n", b"CBM1 no model", b"{", b"\xff\xfe", b"[" * 100_000),
            *(b'{"learner": {}}', b'{"model_info": {}}', b'{"format": "ranksieve-model"}'),
            *(b"tree\nparameters:\n[num_leaves: x]\nend of parameters", b"", b"null"),
        ],
    )
    def test_damaged_files_are_refused(self, run, here, content):
        (here / "file").write_bytes(content)
        command = ["train", "data.txt", "--ranker", "catboost", "--param-file", "file"]
        status, _, error = run(*command)
        assert status == 1
        assert error.startswith("error: file")
        assert "Traceback" not in error
