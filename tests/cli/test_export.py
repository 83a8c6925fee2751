"""The command line: exports, and predictions with the files of libraries."""

import json

import numpy as np
import pytest

from ranksieve import RankingData, load_model, write_letor, write_parquet
from ranksieve.export import TARGETS
from ranksieve.io.letor import read_scores
from tests.export.trained import NAMES, ranker_of, rows_for


@pytest.fixture
def saved(tmp_path):
    """A model file, data with names, and the model."""
    ranker = ranker_of("lambdamart")
    data = rows_for(ranker, sharp=False)
    model, table = tmp_path / "model.json", tmp_path / "data.parquet"
    ranker.save_model(model)
    write_parquet(data, table)
    return model, table, ranker


def refused(run, *command):
    status, output, error = run(*command)
    assert status != 0
    assert output == ""
    return error


def test_verified_export(succeed, saved, tmp_path):
    model, table, _ = saved
    out = tmp_path / "out"
    output = succeed("export", model, "--to", "elasticsearch-ltr", "--out", out, "--verify", table)
    assert "Model for elasticsearch-ltr" in output
    assert "on 80 rows of" in output
    lines = [line.split() for line in output.splitlines()]
    assert ["queries", "whose", "order", "changes", "0"] in lines
    found = json.loads((out / "model.json").read_text())
    assert found["model"]["name"] == "model"


def test_feature_sets_and_names(run, succeed, saved, tmp_path):
    model, _, _ = saved
    features = [{"name": name, "template": {}} for name in [*NAMES, "other"]]
    chosen = tmp_path / "set.json"
    chosen.write_text(json.dumps({"features": features}))
    command = ["export", model, "--to", "opensearch-ltr", "--out", tmp_path / "out"]
    output = succeed(*command, "--feature-set", chosen, "--name", "mine")
    assert "The files were not verified" in output
    assert "1 feature to switch off" in output
    written = json.loads((tmp_path / "out" / "featureset.json").read_text())
    assert written == {"featureset": {"features": features[:-1]}}
    assert json.loads((tmp_path / "out" / "model.json").read_text())["model"]["name"] == "mine"
    chosen.write_text(json.dumps({"features": features[1:]}))
    error = refused(run, *command, "--feature-set", chosen)
    assert f"{chosen}: the feature set lacks 'bm25 title', which the model uses" in error


def test_nothing_of_the_user_is_overwritten(run, saved, tmp_path):
    model, _, _ = saved
    chosen, readme = tmp_path / "featureset.json", tmp_path / "README.md"
    features = [{"name": name, "template": {}} for name in [*NAMES, "other"]]
    chosen.write_text(json.dumps({"features": features}))
    readme.write_text("# My search engine\n")
    before = {path: path.read_bytes() for path in (model, chosen, readme)}
    command = ["export", model, "--out", tmp_path, "--to"]
    error = refused(run, *command, "opensearch-ltr")
    assert f"{model}: is an input, and would be overwritten: choose another directory" in error
    other = model.rename(tmp_path / "trained.json")
    command[1] = other
    error = refused(run, *command, "elasticsearch-ltr", "--feature-set", chosen)
    assert f"{chosen}: is an input, and would be overwritten" in error
    error = refused(run, *command, "c")
    assert f"{tmp_path}: is neither empty nor an earlier export" in error
    assert "use --overwrite to replace model.c, README.md" in error
    other.rename(model)
    assert {path: path.read_bytes() for path in before} == before


class TestDirectory:
    """An export writes to an empty directory, to an earlier export, or where it is told to."""

    @pytest.fixture
    def command(self, saved, tmp_path):
        return ["export", saved[0], "--out", tmp_path / "out", "--to", "python"]

    @pytest.fixture
    def out(self, tmp_path):
        (tmp_path / "out").mkdir()
        return tmp_path / "out"

    def test_files_of_a_project_stay(self, run, command, out):
        (out / "model.py").write_text("mine = 1\n")
        assert "is neither empty nor an earlier export" in refused(run, *command)
        assert [(path.name, path.read_text()) for path in out.iterdir()] == [
            ("model.py", "mine = 1\n")
        ]
        assert run(*command, "--overwrite")[0] == 0
        assert "def score" in (out / "model.py").read_text()

    def test_files_that_were_changed_stay(self, run, command, out):
        assert run(*command)[0] == 0
        changed = (out / "README.md").read_text() + "Ours since May.\n"
        (out / "README.md").write_text(changed)
        (out / "notes.txt").write_text("mine")  # of another name: nothing happens to it
        error = refused(run, *command)
        assert f"{out / 'README.md'}: was changed after its export, and would be replaced" in error
        assert (out / "README.md").read_text() == changed
        assert run(*command, "--overwrite")[0] == 0
        assert run(*command)[0] == 0
        assert (out / "notes.txt").read_text() == "mine"

    def test_files_that_came_later_stay(self, run, command, out):
        assert run(*command)[0] == 0
        (out / "model.c").write_text("int mine;\n")
        error = refused(run, *command[:-1], "c")
        assert f"{out / 'model.c'}: was not written by an export, and would be replaced" in error

    @pytest.mark.parametrize("options", [[], ["--overwrite"]])
    def test_links_are_not_followed(self, run, command, out, tmp_path, options):
        precious = tmp_path / "precious.py"
        precious.write_text("mine = 1\n")
        assert run(*command)[0] == 0
        (out / "model.py").unlink()
        (out / "model.py").symlink_to(precious)
        assert f"{out / 'model.py'}: is a symbolic link" in refused(run, *command, *options)
        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir()
        (out / "models").symlink_to(elsewhere)
        error = refused(run, *command[:-1], "vespa", *options)
        assert f"{out / 'models'}: is a symbolic link" in error
        assert precious.read_text() == "mine = 1\n"
        assert not list(elsewhere.iterdir())

    def test_a_list_of_files_that_is_damaged(self, run, command, out):
        assert run(*command)[0] == 0
        path = out / "ranksieve-export.json"
        path.write_text(path.read_text().replace("model.py", "model.PY"))
        assert f"{path}: it is damaged" in refused(run, *command)
        assert run(*command, "--overwrite")[0] == 0
        assert run(*command)[0] == 0


@pytest.mark.parametrize("target", sorted(TARGETS.keys() - {"xgboost", "catboost"}))
def test_an_export_may_be_repeated(run, saved, tmp_path, target):
    command = ["export", saved[0], "--to", target, "--out", tmp_path / "out"]
    assert run(*command, "--verify", saved[1])[0] == 0
    assert run(*command, "--verify", saved[1], "--name", "mine")[0] == 0


def test_list_of_targets(succeed):
    output = succeed("export", "--targets")
    assert all(f"\n{name} " in output for name in TARGETS)
    assert max(map(len, output.splitlines())) <= 80


@pytest.mark.parametrize("kind", ["lightgbm", "xgboost"])
def test_predictions_with_files_of_libraries(run, tmp_path, kind):
    ranker = ranker_of(kind, gaps=True)
    names = ["a", "b", "c", "d", "e"]
    data = rows_for(ranker, gaps=True)
    data = RankingData(data.X, data.y, data.qid, feature_names=names)
    ranker.feature_names_in_ = np.array(names, dtype=object)
    model, table, scores = tmp_path / "model.json", tmp_path / "data.parquet", tmp_path / "scores"
    try:
        ranker.save_model(model)
        write_parquet(data.take_features([4, 3, 2, 1, 0]), table)  # in another order
        run("export", model, "--to", kind, "--out", tmp_path / "out")
        file = tmp_path / "out" / ("model.txt" if kind == "lightgbm" else "model.json")
        assert run("predict", file, table, "--out", scores)[0] == 0
        np.testing.assert_array_equal(read_scores(scores), ranker.predict(data))
    finally:
        ranker.feature_names_in_ = np.array(NAMES, dtype=object)


def test_reduced_models_take_their_columns_of_text(run, succeed, tmp_path):
    data = rows_for(ranker_of("rankboost"), names=False)
    paths = {name: tmp_path / name for name in ("data.txt", "chosen.json", "model.json", "scores")}
    write_letor(data, paths["data.txt"])
    run("select", paths["data.txt"], "--method", "top", "-k", 2, "--out", paths["chosen.json"])
    command = ["train", paths["data.txt"], "--selection", paths["chosen.json"]]
    lightgbm = ["--ranker", "lambdamart", "--param", "n_estimators=5"]
    run(*command, *lightgbm, "--out", paths["model.json"])
    out = tmp_path / "out"
    succeed("export", paths["model.json"], "--to", "lightgbm", "--out", out)
    run("predict", out / "model.txt", paths["data.txt"], "--out", paths["scores"])
    expected = load_model(paths["model.json"]).predict(data)
    np.testing.assert_array_equal(read_scores(paths["scores"]), expected)
    narrow = tmp_path / "narrow.txt"  # whose last features are all 0
    narrow.write_text("1 qid:1 1:0.5\n0 qid:1 1:0.25\n")
    assert run("predict", out / "model.txt", narrow)[0] == 0


class TestErrors:
    def test_the_rule_for_missing_values(self, run, succeed, tmp_path):
        ranker = ranker_of("lambdamart", gaps=True)
        model, table = tmp_path / "model.json", tmp_path / "data.parquet"
        ranker.save_model(model)
        write_parquet(rows_for(ranker, gaps=True), table)
        command = ["export", model, "--to", "vespa", "--out", tmp_path / "out", "--verify", table]
        error = refused(run, *command)
        assert "zeros change NDCG@10 from" in error
        output = succeed(*command, "--missing", "zero")
        assert "NDCG@10 with missing values as in training" in output
