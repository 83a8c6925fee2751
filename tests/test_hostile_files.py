"""Results, models and data of somebody else: they are read, and nothing that they name is run."""

import json
import os
import shutil
import sys

import pytest
from catboost import CatBoostRanker
from lightgbm import LGBMRanker
from xgboost import XGBRanker

from ranksieve import Study, make_ranking, recommend, write_letor
from ranksieve.cli import main
from ranksieve.io.record_log import checksum
from ranksieve.io.records import checksum_of
from ranksieve.rankers import RankSVM, as_ranker
from ranksieve.rankers.libraries import trial
from ranksieve.report import write_report
from ranksieve.study.plan_file import read_plan

# A module that only a hostile file names. Importing it, or calling what is in it, leaves a trace.
CANARY = """
import os


def function(*arguments):
    with open(os.environ["CANARY"], "a") as trace:
        trace.write("touched ")


function()


class Ranker:
    def __init__(self):
        function()

    def fit(self, X, y, qid):
        return self

    def predict(self, X):
        return X[:, 0]
"""
STARTS = ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn")  # of another program
TREES = {
    "lightgbm": dict(n_estimators=2),
    "xgboost": dict(n_estimators=2),
    "catboost": dict(iterations=2),
}


@pytest.fixture(scope="module")
def data():
    return make_ranking(24, n_informative=3, n_redundant=1, n_noise=1, random_state=0)[0]


@pytest.fixture(scope="module")
def honest(data, tmp_path_factory):
    """A study that somebody has run."""
    out = tmp_path_factory.mktemp("honest") / "study"
    plan = dict(selectors=["top"], rankers=["rankrls"], ks=[2], baselines=False, seeds=1)
    write_report(Study(data, **plan, protocol="kfold:3", out=out).run(), out, figures=False)
    return out


def watch(commands, folder, canary, log):
    """Run commands in a process of its own, and write what they did that only code does."""
    sys.path.insert(0, str(folder))
    os.environ["CANARY"] = str(canary)
    seen = []

    def hook(event, arguments):
        if event in STARTS and not is_trial(event, arguments):
            seen.append(f"{event} {arguments!r:.200}")

    sys.addaudithook(hook)
    errors = [error_of(command) for command in commands]
    seen += [f"import {name}" for name in ("canary", "this") if name in sys.modules]
    log.write_text(json.dumps([seen, errors]))


def is_trial(event, arguments):
    """Whether a process starts that tries models."""
    return event == "subprocess.Popen" and str(trial._PROGRAM) in map(os.fsdecode, arguments[1])


def error_of(command):
    """Message with which a command ends; None if it succeeds."""
    try:
        main(command)
    except SystemExit as end:
        return str(end) if end.code else None
    return None


@pytest.fixture
def watched(start_program, tmp_path):
    """Check that commands only read and write in a process of their own; return their errors."""
    (tmp_path / "canary.py").write_text(CANARY)

    def run(*commands):
        texts = [[str(word) for word in command] for command in commands]
        log, canary = tmp_path / "log", tmp_path / "trace"
        status, _, crash = start_program(watch, texts, tmp_path, canary, log).wait()
        assert status == 0, crash
        seen, errors = json.loads(log.read_text())
        assert not seen
        assert not canary.exists(), canary.read_text()
        return errors

    return run


def change_plan(honest, out, *, text="", **replaced):
    """Copy a study, and change its plan as anybody can: the checksum needs no key."""
    shutil.copytree(honest, out)
    path = out / "study.toml"
    lines = path.read_text().rpartition("# checksum: ")[0].splitlines()
    gone = {line for line in lines if line.endswith(" = {}") or line.split(" = ")[0] in replaced}
    kept = [line for line in lines if line not in gone]
    added = [f"{name} = {json.dumps(value)}" for name, value in replaced.items()]
    whole = "\n".join([*added, *kept, text, ""])
    path.write_text(f"{whole}# checksum: {checksum(whole.encode())}\n")
    return out


OWN = """
[own.x]
class = "{path}"
{version}
[own.x.parameters]
args = ["true"]
"""
PART = '{class = "canary:Ranker", parameters = {}, version = "1"}'
STUDIES = {
    "a class without a version": (
        OWN.format(path="subprocess:Popen", version=""),
        dict(rankers=["x"]),
    ),
    "a class with a version": (
        OWN.format(path="subprocess:Popen", version='version = "1"'),
        dict(rankers=["x"]),
    ),
    "an object": ("", dict(rankers=["this:s"])),
    "an object with a name": ("", dict(rankers=["x=canary:Ranker"])),
    "an object as a selector": ("", dict(selectors=["canary:Ranker"])),
    "a pair": ("", dict(selectors=[["x", "canary:Ranker"]])),
    "a ranker inside a selector": (
        OWN.format(path="canary:Ranker", version='version = "1"')
        + '[parameters.elimination]\nranker = "x"\n',
        dict(selectors=["elimination"]),
    ),
    "an object inside a selector": (
        '[parameters.elimination]\nranker = "canary:Ranker"\n',
        dict(selectors=["elimination"]),
    ),
    "a selector inside a selector": (
        '[parameters.stability]\nselector = "canary:Ranker"\n',
        dict(selectors=["stability"]),
    ),
    "selectors inside a selector": (
        '[parameters.borda]\nselectors = ["canary:Ranker"]\n',
        dict(selectors=["borda"]),
    ),
    "parts of parameters": (
        '[own.x]\nclass = "sklearn.pipeline:Pipeline"\nversion = "1"\n[own.x.parameters]\n'
        f'steps = [["a", {PART}]]\nf = {{function = "canary:function", version = "1"}}\n',
        dict(rankers=["x"]),
    ),
}


def test_reports_of_hostile_studies_run_nothing(honest, tmp_path, watched):
    commands = [
        ["report", change_plan(honest, tmp_path / name, text=text, **replaced)]
        for name, (text, replaced) in STUDIES.items()
    ]
    assert all(error.startswith("error: ") for error in watched(*commands))


def test_a_plan_that_is_read_back_cannot_make_anything(honest):
    assert not hasattr(read_plan(honest)[0], "make_selector")


def test_own_code_is_shown_without_it(data, tmp_path, watched, monkeypatch):
    """A study of somebody's own class, whose module would be found here, is shown by its labels."""
    (tmp_path / "canary.py").write_text(CANARY)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("CANARY", str(tmp_path / "elsewhere"))
    plan = dict(selectors=["elimination"], rankers=["mine=canary:Ranker"], ks=[1, 2], seeds=1)
    inside = {"elimination": {"ranker": "mine", "importance": "permutation"}}
    out = tmp_path / "study"
    study = Study(data, **plan, parameters=inside, protocol="kfold:3", baselines=False, out=out)
    write_report(study.run(), out, figures=False)
    before = [path.read_text() for path in sorted((out / "tables").iterdir())]
    assert watched(["report", out]) == [None]
    assert [path.read_text() for path in sorted((out / "tables").iterdir())] == before


def change_record(path, **changed):
    """Change a record of JSON, with a checksum that matches."""
    record = json.loads(path.read_text())
    record |= changed
    del record["checksum"]
    path.write_text(json.dumps(record | {"checksum": checksum_of(record)}))


def test_models_with_hostile_parameters_run_nothing(data, tmp_path, watched):
    """Parameters that make a library read, write or call something are for its training alone."""
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "precious").write_text("precious")
    path, file = str(victim), str(victim / "precious")
    hostile = {
        "lightgbm": dict(
            output_model=file, input_model=file, forcedsplits_filename=file, data=file
        ),
        "xgboost": dict(callbacks=["canary:function"], device="cuda"),
        "catboost": dict(train_dir=path, save_snapshot=True, snapshot_file=file, name=file),
    }
    write_letor(data, tmp_path / "data.txt")
    commands = []
    kinds = {"lightgbm": LGBMRanker, "xgboost": XGBRanker, "catboost": CatBoostRanker}
    for name, kind in kinds.items():
        model = tmp_path / f"{name}.json"
        as_ranker(kind(**TREES[name])).fit(data).save_model(model)
        estimator = {"class": f"{name}.{kind.__name__}", "parameters": hostile[name]}
        change_record(model, parameters={"estimator": estimator, "verbose": False})
        commands.append(
            ["predict", model, tmp_path / "data.txt", "--out", tmp_path / f"{name}.out"]
        )
        commands.append(["export", model, "--to", "python", "--out", tmp_path / f"{name}-py"])
    linear = tmp_path / "linear.json"
    RankSVM().fit(data).save_model(linear)
    for kind in ("canary:Ranker", "RankerAdapter", "subprocess.Popen", "load_model", "__class__"):
        other = tmp_path / f"{kind}.json".replace(":", "-")
        shutil.copy(linear, other)
        estimator = {"class": "subprocess.Popen", "parameters": {"args": ["true"]}}
        change_record(other, ranker=kind, parameters={"estimator": estimator})
        commands.append(["predict", other, tmp_path / "data.txt"])
    errors = watched(*commands)
    assert errors[:6] == [None] * 6
    assert all(error.startswith("error: ") for error in errors[6:])
    assert [entry.name for entry in victim.iterdir()] == ["precious"]
    assert (victim / "precious").read_text() == "precious"


def test_recommendations_name_no_code(data, tmp_path, watched):
    out = tmp_path / "answer"
    answer = recommend(data, out=out, ranker="rankrls", selectors=["top"], folds=3)
    write_report(answer, out, figures=False)
    record = json.loads((out / "recommendation.json").read_text())
    settings = record["settings"] | {"ranker": "canary:Ranker", "path": "canary:Ranker"}
    settings["ranker_parameters"] = {"class": "canary:Ranker", "parameters": {}}
    change_record(out / "recommendation.json", settings=settings)
    (out / "evidence.json").unlink()
    write_letor(data, tmp_path / "data.txt")
    # The data is that of the training, so check cannot judge by it.
    assert watched(["report", out], ["check", out, tmp_path / "data.txt"]) == [None, "2"]


def test_reports_do_not_follow_links(honest, tmp_path):
    """A directory of somebody else may have links to files of ours."""
    precious = tmp_path / "precious"
    precious.mkdir()
    for name in ("report.html", "tables", "tables/comparison-rankrls.csv"):
        out = tmp_path / name.replace("/", "-")
        shutil.copytree(honest, out)
        path = out / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()
        path.symlink_to(precious if name == "tables" else precious / "file")
        with pytest.raises(SystemExit, match=f"{name}: is a symbolic link, to {precious}"):
            main(["report", str(out)])
    assert not list(precious.iterdir())


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("compare", "report-files.json"),
        ("compare", "study.toml"),
        ("compare", "tables"),
        ("recommend", "model.json"),
        ("recommend", "report.html"),
        ("reproduce", "figures"),
    ],
)
def test_files_of_others_are_not_replaced(tmp_path, command, name):
    path = tmp_path / name
    if name in ("tables", "figures"):
        path.mkdir()
        (path / "precious").touch()
    else:
        path.write_text("precious")
    words = [command, *(["greedy-rankrls", "--data", "."] if command == "reproduce" else [])]
    with pytest.raises(SystemExit, match=f"{path}: would be replaced, but there is no "):
        main([*words, "--out", str(tmp_path)])
    assert [entry.name for entry in tmp_path.iterdir()] == [name]
