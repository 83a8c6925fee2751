"""Wrong options and input of commands: one line says why, and nothing is overwritten."""

import os
import shlex
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import ranksieve
from ranksieve import (
    RankingData,
    datasets,
    make_ranking,
    write_letor,
    write_parquet,
    write_shards,
)
from ranksieve.cli import main
from ranksieve.io.selection import write_selection
from ranksieve.rankers import RankSVM
from ranksieve.selectors import GAS
from ranksieve.selectors.record import record_selection

DATA, _ = make_ranking(12, docs_per_query=4, n_informative=2, n_redundant=0, n_noise=1)
DEMO = Path(datasets.__file__).parent
TEXTS = {
    "odd.txt": "1_0\n" * DATA.n_rows,
    "scores.txt": "1\n" * DATA.n_rows,
    "few.txt": "1\n2\n",
    "empty.txt": "",
    "letter.txt": "1 qid:1 1:x\n",
    "costs.csv": (DEMO / "demo_costs.csv").read_text(),
    "groups.csv": (DEMO / "demo_groups.csv").read_text(),
    "prices.csv": "feature,cost\n1,2\n2,2\n3,2\n",
    "short.csv": "\n".join((DEMO / "demo_costs.csv").read_text().splitlines()[:-1]),
    "minus.csv": "feature,cost\nbm25_body,1\nbm25,-1\n",
    "groups.json": '{"all": ["bm25_body", "no_such"]}',
    "plan.toml": "[columns]\nignore = 5\n",
    "brace.json": '{\n"a"',
    "object.json": "{}",
    "leafs.json": '{"leafs": 3}',
    "rate.json": '{"learning_rate": 0.1}',
    "list.json": "[1]",
    "other.json": '{"catboost": {"depth": 3}}',
    "tree.txt": "tree\nversion=v4\n",
    "log.jsonl": '{"a\x1b": 1}\n',
    "qrels.txt": "rambo 0 a 2\n",
    "somebody.py": """
class Column:
    def fit(self, X, y):
        pass

    def predict(self, X):
        return X[:, 0]


class Broken(Column):
    def fit(self, X, y):
        raise RuntimeError("it does not work")


number = 3
""",
}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A directory with data, scores, costs, models and files that are none of these."""
    folder = tmp_path_factory.mktemp("files")
    for name, text in TEXTS.items():
        (folder / name).write_text(text)
    write_letor(DATA, folder / "a.txt")
    write_shards(DATA, folder / "a.shards")
    RankSVM().fit(DATA).save_model(folder / "model.json")
    named = RankingData(DATA.X, DATA.y, DATA.qid, feature_names=list("abc"))
    write_selection(record_selection(GAS(2).fit(named), named, "gas-e", []), folder / "s.json")
    others = {"narrow": DATA.take_features([0, 1]), "renamed": named.take_features([2, 1, 0])}
    for name, data in others.items():
        write_letor(data, folder / f"{name}.txt")
        write_parquet(data, folder / f"{name}.parquet")
        write_shards(data, folder / f"{name}.shards")
    wide = RankingData(np.hstack([DATA.X, DATA.X]), DATA.y, DATA.qid)
    write_parquet(wide, folder / "wide.parquet")
    (folder / "cut.gz").write_bytes(b"\x1f\x8b\x08\x00")
    (folder / "link").symlink_to("a.txt")
    frame = pd.DataFrame(DATA.X, columns=["a", "b", "c"])
    frame["qid"], frame["label"], frame["day"] = DATA.qid, DATA.y, pd.Timestamp("2026-01-01")
    frame["fold"], frame["title"] = DATA.qid % 3, [f"title {row}" for row in range(DATA.n_rows)]
    (folder / "nothing").mkdir()
    queries = {"t": range(12), "train": range(8), "vali": [8, 9], "test": [10, 11]}
    for name, positions in queries.items():
        kept = frame["qid"].isin(DATA.query_ids[list(positions)])
        frame[kept].to_parquet(folder / f"{name}.parquet")
    return folder


@pytest.fixture
def folder(files, tmp_path, monkeypatch):
    """The current directory, with a copy of these files."""
    shutil.copytree(files, tmp_path, symlinks=True, dirs_exist_ok=True, copy_function=os.link)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))  # where commands put this directory
    monkeypatch.delitem(sys.modules, "somebody", raising=False)
    return tmp_path


BY_TIME = "compare t.parquet --features ? --time-column day --test-queries-after"
COSTS = "select --demo --method greedy-rankrls"
BOTH = f"{COSTS} --costs costs.csv --group-costs groups.csv"
GAS_E = "select --demo --method gas-e"
PARTS = "compare train.parquet --features ? --selectors top --rankers rankrls"
OWN = "compare a.txt --ks 2 --protocol kfold:3 --no-baselines --no-figures --selectors"
LONG = "x" * 300

WRONG = [
    # inspect
    ("inspect", "name a file, or use --demo"),
    ("inspect a.txt --demo", "name a file, or use --demo"),
    (f"inspect a.txt --n-features {9 * 10**19}", "n_features must be from 1 to 2,147,483"),
    ("inspect a.txt --n-features 1", "error: a.txt:1: index 2 is beyond n_features=1"),
    ("inspect a.txt --measure ndgc", "unknown measure 'ndgc'; choose"),
    ("inspect a.txt --convention x", "unknown convention 'x'"),
    (
        "inspect a.txt --format xml",
        "'xml' is not one of 'terminal', 'markdown', 'latex', 'html', 'csv'",
    ),
    ("inspect a.txt --workers 2", "make them with: ranksieve convert a.txt a.shards"),
    ("inspect a.txt --html a.txt", "a.txt: is an input, which would be overwritten"),
    ("inspect a.txt --ignore x", "a.txt: leave out --ignore: only Parquet"),
    ("inspect --demo --label y", "leave out --label: only Parquet"),
    ("inspect none", "error: none: no such file"),
    ("inspect nothing", "error: nothing: no known layout"),
    ("inspect cut.gz", "error: cut.gz: the compressed file is truncated"),
    ("inspect empty.txt", "error: empty.txt: no rows"),
    ("inspect letter.txt", "error: letter.txt:1: the value is not a number: 'x'"),
    ("inspect log.jsonl", "log.jsonl: a feature log needs judgments: ranksieve convert log.jsonl"),
    # convert
    ("convert a.txt b.txt --dtype float99", "dtype must be float64 or float32, g"),
    ("convert a.txt b.txt --scale log", "scale must be one of none, min-max, standard, got 'log'"),
    ("convert a.txt b --scale min-max", "convert that to shards"),
    ("convert a.txt t.parquet b.txt", "cannot be joined"),
    ("convert a.shards b.shards --ignore x", "a.shards: leave out --ignore"),
    ("convert t.parquet b.csv --features ?", "b.csv: CSV cannot be written; write Parquet"),
    ("convert a.txt a.txt", "a.txt: is an input, which would be overwritten"),
    ("convert a.* a.txt", "a.txt: is an input, which would be overwritten"),
    ("convert a.txt a.shards", "a.shards: is not empty; replace the shards in it with"),
    *(
        (
            f"convert narrow.{source} b.{target} --selection s.json",
            f"error: narrow.{source}: there are 2 features, but the selection was made",
        )
        for source, target in (("txt", "txt"), ("parquet", "shards"), ("shards", "parquet"))
    ),
    *(
        (
            f"convert renamed.{source} b.{target} --selection s.json",
            f"error: renamed.{source}: feature ",
        )
        for source, target in (("txt", "shards"), ("parquet", "txt"), ("shards", "parquet"))
    ),
    ("convert a.txt b.txt --selection brace.json", "error: brace.json:2: not JSON"),
    ("convert a.txt b.shards --selection object.json", "error: object.json: 'method' is missing"),
    ("convert log.jsonl b.txt", "log.jsonl: a feature log needs judgments: ranksieve convert log"),
    ("convert log.jsonl b.txt --unjudged zero", "it needs --judgments"),
    (
        "convert log.jsonl b.txt --judgments qrels.txt --label x",
        "log.jsonl: leave out --label: only",
    ),
    (
        "convert log.jsonl b.txt --judgments qrels.txt",
        "error: log.jsonl:1: not JSON: Invalid control",
    ),
    # evaluate
    ("evaluate a.txt odd.txt", "odd.txt:1: the score is not a number: '1_0'"),
    ("evaluate a.txt few.txt", "error: few.txt:2: 2 scores, but "),
    ("evaluate a.txt empty.txt", "error: empty.txt: no scores"),
    ("evaluate a.txt scores.txt --measures ,", "there is no measure to evaluate"),
    ("evaluate a.txt scores.txt --measures p(rel=nan)@5", "'nan' is not a finite"),
    ("evaluate a.txt scores.txt --measures err(max_grade=2000)", "from 1 to 1000"),
    # select
    ("select", "name a file, or use --demo"),
    (f"{GAS_E} a.txt", "name a file, or use --demo"),
    ("select a.txt --workers 2", "make them with: ranksieve convert a.txt a.shards"),
    (f"{GAS_E} --workers 2", "a cluster works on shards, not on the demo"),
    ("select a.* --out a.txt --method gas-e", "a.txt: is an input, which would be overwritten"),
    (
        "select a.txt --costs prices.csv --out prices.csv",
        "prices.csv: is an input, which would be ov",
    ),
    (f"{GAS_E} --out none/s.json", "none/s.json: there is no directory none"),
    ("select a.txt --method ''", "unknown method ''"),
    ("select --demo --method gas", "error: unknown method 'gas'; choose from fs-ed, fs-scpr, "),
    (f"{GAS_E} --param d=1", "error: method 'gas-e' has no parameter 'd'; it has "),
    (f"{GAS_E} --param k=1", "error: method 'gas-e' has no parameter 'k'; it has "),
    (f"{GAS_E} --param c", "--param needs NAME=VALUE, got 'c'"),
    (f"{GAS_E} --param c=1 --param c=2", "--param c is given twice"),
    (f"{GAS_E} --param c=-1", "error: The 'c' parameter of GAS must be a float in the range [0.0"),
    (f"{GAS_E} --param c={'[' * 100_000}", "The 'c' parameter of GAS"),
    (f"{GAS_E} --param c.ties=stable", "error: method 'gas-e' has no parameter 'c.ties'"),
    (f"{GAS_E} --param importance.convention=x", "error: unknown convention 'x'; choose from "),
    (f"{GAS_E} --param convention=x", "importance, importance.measure, importance.convention, "),
    (f"{GAS_E} --param importance.ties=random", "error: importance: ties must be one of average, "),
    (f"{GAS_E} --param importance=mapp", "error: unknown measure 'mapp'; choose from"),
    (f"{GAS_E} -k 0", "error: The 'n_features_to_select' parameter of GAS must be an int"),
    (f"{GAS_E} -k many", "error: The 'n_features_to_select' parameter of GAS must be an int"),
    (f"{GAS_E} -k 44", "error: n_features_to_select=44, but there are only 43 features"),
    ("select --demo --method all -k 3", "error: method 'all' keeps all features"),
    (f"{GAS_E} --seed 1", "error: method 'gas-e' draws no random numbers: leave out --seed"),
    (
        "select --demo --method random --seed 1 --param random_state=1",
        "error: the seed is given twice, by --seed and by --param random_state",
    ),
    (
        f"{GAS_E} --vali vali.parquet",
        "error: method 'gas-e' does not use validation data: leave out --vali; methods that use it "
        "are fs-ed",
    ),
    (
        f"{GAS_E} --costs costs.csv --group-costs groups.csv",
        "method 'gas-e' takes no costs: leave ",
    ),
    ("select --demo --method cegb --budget 3", "method 'cegb' takes no budget"),
    (f"{BOTH} --param costs=x.csv", "costs is given twice"),
    (f"{COSTS} --group-costs groups.csv", "--group-costs needs --costs"),
    (f"{COSTS} --costs costs.csv", "has no cost: list it in the costs of groups (--group-costs)"),
    (f"{COSTS} --costs none.csv", "none.csv: no such file"),
    (f"{COSTS} --costs minus.csv", "minus.csv:3: the cost of feature 'bm25'"),
    (f"{COSTS} --costs short.csv --group-costs groups.csv", "data has no cost: index_tier: add"),
    (f"{BOTH} --budget 0.01", "within the budget of 0.01"),
    (f"{BOTH} --budget -1", "Invalid value for '--budget'"),
    (f"{BOTH} --budget nan", "Invalid value for '--budget'"),
    (f"{GAS_E} --include no_such", "include: no feature is named 'no_such'"),
    (f"{GAS_E} --include BM25-body", "named 'BM25-body'. Did you mean bm25_body?"),
    (f"{GAS_E} --include bm25_body --exclude bm25_body", "both included and excluded"),
    (f"{GAS_E} --include bm25_body --param include=bm25_body", "include is given twice"),
    (f"{GAS_E} --groups groups.json", "groups: no feature is named 'no_such'"),
    (f"{GAS_E} --groups none.csv", "no such file"),
    (f"{GAS_E} --count groups", "count='groups' needs groups"),
    ("select --demo --method hcas --groups groups.json", "HCAS takes no groups: it keeps one feat"),
    ("select a.txt --method top --ranker ranksvm", "method 'top' takes no ranker"),
    ("select a.txt --ranker-param C=1", "--ranker-param and --ranker-param-file need --ranker"),
    ("select a.txt --ranker-param-file rate.json", "and --ranker-param-file need --ranker"),
    ("select a.txt --method sequential --ranker svm", "unknown ranker 'svm'"),
    ("select a.txt -k 2 --method borda --param selectors=[1]", "1 is not a selector"),
    # train and predict
    ("train a.txt --ranker svm", "unknown ranker 'svm'; choose from adarank-map, "),
    ("train a.txt --param D=1", "ranker 'ranksvm' has no parameter 'D'; it has C, "),
    ("train a.txt --convention x", "unknown convention 'x'"),
    ("train a.txt --seed 7", "ranker 'ranksvm' draws no random numbers"),
    ("train none.txt --out nowhere/model.json", "there is no directory"),
    (
        "train a.txt --ranker somebody:Column --out c.json",
        "Column cannot be written to a model file",
    ),
    ("train wide.parquet --selection s.json", "6 features"),
    ("train a.txt --vali wide.parquet", "6 features"),
    ("train a.txt --out link", "is an input, which would be overwritten"),
    ("predict model.json a.txt --out a.txt", "is an input, which would be overwritten"),
    ("predict model.json a.txt --out model.json", "is an input, which would be overwritten"),
    ("predict model.json a.txt --n-features 99", "99 features"),
    ("predict model.json wide.parquet", "6 features"),
    (f"predict model.json {LONG}", "File name too long"),
    (f"predict model.json a.txt --out {LONG}", "File name too long"),
    ("predict object.json a.txt", "object.json: not a model of ranksieve"),
    ("predict tree.txt a.txt", "tree.txt: lightgbm cannot read this model"),
    # compare and report
    (
        "compare a.txt --selectors gas-x",
        "error: unknown method 'gas-x'; choose from fs-ed, fs-scpr",
    ),
    ("compare a.txt --rankers svm", "error: unknown ranker 'svm'; choose from adarank-map"),
    ("compare a.txt --ks few", "ks must be whole numbers of at least 1, or 'all', got 'few'"),
    ("compare a.txt --ks 99 --rankers ranksvm", "the data has only 3 features;"),
    ("compare a.txt --protocol loo", "unknown protocol 'loo'; choose from letor, split, kfold"),
    ("compare a.txt --protocol letor", "the protocol letor needs the directory of a collection"),
    ("compare a.txt --convention letor9", "letor9"),
    ("compare a.txt --convention sklearn", "convention 'sklearn' has no MAP"),
    ("compare a.txt --plan nowhere.toml", "error: nowhere.toml: no such file"),
    ("compare --plan plan.toml", "plan.toml: ignore must name columns, got 5"),
    ("compare a.txt --param c=0.1", "'c=0.1' should be METHOD.NAME=VALUE"),
    ("compare a.txt --param gas-e.c=1 --param gas-e.c=2", "gas-e.c is given twice"),
    pytest.param(
        "compare a.txt --out /sys/kernel/study",
        "error: /sys/kernel/study: cannot be created",
        marks=pytest.mark.skipif(not Path("/sys/kernel").is_dir(), reason="no read-only files"),
    ),
    (f"{BY_TIME} 9999-12-31", "'9999-12-31' is too early or too late for a date"),
    (f"{BY_TIME} 0001-01-01T00:00+05:00", "00:00+05:00' is too early or too late for a date"),
    (f"{BY_TIME} 2027-01-01", "no query is after 2027-01-01 by column 'day'"),
    (f"{PARTS} test.parquet", "2 files are given as data"),
    (f"{PARTS} --vali vali.parquet", "--vali needs data to test on: add --test"),
    ("compare --test test.parquet", "--test needs data to train on"),
    (f"{PARTS} --time-column day", "--time-column and --test-queries-after"),
    (f"{PARTS} --test-queries-after 5", "--time-column and --test-queries"),
    (f"{PARTS} --split-column part", "there is no column 'part'"),
    (f"{PARTS} --split-column title", "has 'title 0' and 'title 1' in column"),
    (
        f"{PARTS} --split-column fold --time-column day --test-queries-after 2026-01-02",
        "use either --split-column or --time-column, not both",
    ),
    (f"{PARTS} --test test.parquet --split-column fold", "or a split by"),
    (f"{PARTS} --test train.parquet", "is among those to train on and those to"),
    (f"{PARTS} --test none.parquet", "none.parquet: no such file"),
    (f"{PARTS} --resamples 3", "resamples are drawn from the training queries of"),
    (f"{PARTS} --resamples 1", "Invalid value for '--resamples'"),
    (f"{OWN} top --rankers somebody:number", "3 is not a ranker: expected"),
    (f"{OWN} top --rankers somebody:Colum", "there is no 'Colum'; choose from Broken, Column"),
    (f"{OWN} top --rankers nobody:Column", "No module named 'nobody'"),
    (f"{OWN} somebody:Column", "'Column' takes no number of features"),
    (f"{OWN} top --rankers lightgbm --param lightgbm.leafs=3", "has no parameter 'leafs'"),
    (f"{OWN} top --rankers lightgbm --param-file no.json", "no.json: no such file"),
    (f"{OWN} top --rankers lightgbm --param-file a.txt", "a.txt:1: neither JSON"),
    (f"{OWN} top --rankers lightgbm --param-file leafs.json", "no parameter 'leafs'"),
    (f"{OWN} top --rankers lightgbm --param-file list.json", "expected a JSON object with"),
    (
        f"{OWN} top --rankers lightgbm,xgboost --param-file rate.json",
        "the parameters learning_rate, which 2 rankers (lightgbm, xgboost) take; ",
    ),
    (
        f"{OWN} top --rankers lightgbm,xgboost --param-file leafs.json",
        "the parameters leafs, which no ranker takes; the rankers are lightgbm, xgboost",
    ),
    (
        f"{OWN} top --rankers lightgbm --param-file other.json",
        "'catboost' is not among the rankers, which are lightgbm",
    ),
    ("report a.txt", "error: a.txt: there is no study.toml and no recommendation.json; ranksieve"),
    ("report nothing", "error: nothing: there is no study.toml and no recommendation.json"),
    (f"report {LONG}", "File name too long"),
    # recommend and check
    ("recommend a.txt --margin much", "1% or 0.01"),
    ("recommend a.txt --margin 0", "1% or 0.01"),
    ("recommend a.txt --budget inf", "Invalid value for '--budget': inf is not a finite number"),
    ("recommend a.txt --level 0.5", "level must lie between 0.5 and 1, got 0.5"),
    ("recommend a.txt --time soon", "90s, 10m or 2h"),
    ("recommend a.txt --group-costs x.csv", "needs --costs"),
    ("recommend a.txt --resamples 3", "No such option: --resamples"),
    ("recommend a.txt --rule best", "No such option: --rule"),
    ("recommend a.txt --include nope", "nope"),
    ("check nothing a.txt", "there is no recommendation.json"),
    (f"check {LONG} a.txt", "File name too long"),
    ("check a.txt a.txt --missing zero", "No such option: --missing"),
    # export
    ("export model.json --to c", "--out DIR are required"),
    ("export model.json --to d --out x", "unknown target 'd'; choose from lightgbm, "),
    ("export a.txt --to c --out x", "not JSON"),
    ("export model.json --to c --out x --missing mean", "missing must be 'nan' or 'zero'"),
    ("export a.txt --to c --out x --group-costs costs.csv", "--group-costs needs --costs"),
]


def test_no_error_names_line_0():
    for source in sorted(Path(ranksieve.__file__).parent.rglob("*.py")):
        assert "}:0: " not in source.read_text(), source


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(("command", "message"), WRONG, ids=lambda text: text[:80])
def test_errors_are_told_and_nothing_is_overwritten(run, folder, command, message):
    before = contents(folder)
    status, output, errors = run(*shlex.split(command))
    assert status in (1, 2)
    assert message in " ".join(errors.replace("\u2502", " ").split())
    assert "Traceback" not in errors
    assert output == ""
    assert contents(folder).items() >= before.items()


def test_errors_of_code_of_the_user_name_the_cell(run, folder):
    for ranker, told in (
        ("somebody:Broken", "Broken on 2 features: RuntimeError: it does"),
        ("lightgbm --param lightgbm.num_leaves=1", ", lightgbm on 2 features: "),
    ):
        status, _, errors = run(*shlex.split(f"{OWN} top --rankers {ranker} --out s"))
        assert status == 1
        assert told in " ".join(errors.split())
        assert "Traceback" not in errors


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        ("selectors = [", "plan.toml: not TOML"),
        ("selector = ['top']", "unknown setting 'selector'; choose from data, vali"),
        ("seeds = 1.5", "plan.toml: seeds must be a whole number"),
        (f"seeds = 1{'0' * 5000}", "plan.toml: not TOML"),
        ("selectors = [2020-01-01]", "plan.toml: selectors: each must be a string"),
        ("data = 3", "plan.toml: data must be a list, got 3"),
        ("data = [3]", "plan.toml: data: each must be a string, got 3"),
        ("title = []", "plan.toml: title must be a string"),
        ("protocol = 5", "plan.toml: protocol must be a string, got 5"),
        ("parameters.top.n = 2020-01-01", "parameters of top: n must be a finite number"),
        (f"ks = {'[' * 5000}", "plan.toml: not TOML"),
        (f"ks = {'[' * 60}{']' * 60}", "plan.toml: ks must be whole numbers"),
        (f"{'a.' * 3000}b = 1", "plan.toml: "),
    ],
    ids=lambda text: text[:40],
)
def test_bad_plan_files_are_named(run, tmp_path, plan, message):
    path = tmp_path / "plan.toml"
    path.write_text(plan)
    for more in ([], ["--selectors", "top", "--rankers", "rankrls"]):
        status, _, errors = run("compare", "--plan", path, *more, "--out", tmp_path / "s")
        assert status == 1
        assert message in errors


@pytest.mark.parametrize("option", [["--n-features", "2"], ["--zero-based"]])
def test_options_of_text_are_refused_for_other_data(run, folder, option):
    run("convert", "t.parquet", "t.shards", "--ignore", "day,title,fold")
    run("train", "t.shards", "--out", "model.json")
    csv = "\n".join(f"{n % 2},{n},{n // 3},{-n}" for n in range(6))
    Path("t.csv").write_text(f"label,a,qid,b\n{csv}\n")
    ignore = ["--ignore", "day,title,fold"]
    for command in (
        ["inspect", "t.shards"],
        ["inspect", "t.csv"],
        ["select", "t.parquet", *ignore, "--method", "gas-e"],
        ["train", "t.parquet", *ignore],
        ["convert", "t.csv", "other.txt"],
        ["convert", "t.shards", "other.shards"],
        ["convert", "t.shards", "other.txt"],
        ["predict", "model.json", "t.csv"],
        ["predict", "model.json", "t.shards"],
        ["evaluate", "t.parquet", "scores.txt", *ignore],
        ["compare", "t.csv"],
        ["compare", "t.csv", "--test", "t.parquet"],
        ["compare", "t.shards", "--test", "t.shards"],
        ["compare", "t.parquet", "--split-column", "day"],
        ["recommend", "t.parquet", *ignore],
    ):
        status, _, errors = run(*command, *option)
        assert status == 1, command
        message = f"{command[-1 if command[0] == 'predict' else 1]}: leave out {option[0]}: only"
        assert message.removeprefix("t.shards: ") in errors, command
        assert "for LETOR text, not for" in errors
    errors = run("inspect", "--demo", *option)[2]
    assert f"leave out {option[0]}: only for LETOR text, not for the demo" in errors


def test_options_of_text_are_used_for_the_part_that_is_text(run, succeed, folder):
    run("convert", "t.parquet", "t.shards", "--ignore", "day,title,fold")
    Path("zero.txt").write_text("1 qid:100 0:1\n0 qid:100 2:2\n1 qid:101 0:2\n0 qid:101 1:0\n")
    run("convert", "a.txt", "a.shards")
    quick = ["--selectors", "gas-e", "--rankers", "rankrls", "--ks", "1", "--no-figures"]
    compared = succeed("compare", "a.shards", "--test", "zero.txt", "--zero-based", *quick)
    assert "2 test queries" in " ".join(compared.split())
    trained = succeed("train", "zero.txt", "--zero-based", "--vali", "a.shards")
    assert "trained on 3 features" in trained


def test_labels_without_a_measure_are_refused_before_the_training(run, folder, monkeypatch):
    monkeypatch.setattr(RankSVM, "fit", None)
    Path("negative.txt").write_text("-1 qid:1 1:1\n2 qid:1 1:2\n")
    for data in ("negative.txt", "negative.shards"):
        status, _, errors = run("train", data, "--out", "model.json")
        assert (status, errors) == (1, "error: NDCG needs labels of at least 0, but one is -1")
        run("convert", "negative.txt", "negative.shards", "--overwrite")


@pytest.mark.parametrize(
    ("convention", "measures"), [("sklearn", ["NDCG@10"]), ("trec", ["MAP", "NDCG@10"])]
)
def test_training_is_measured_as_the_convention_can(succeed, folder, convention, measures):
    ties = "".join(f"{label} qid:1 1:1 # d{label}\n" for label in range(3))
    Path("ties.txt").write_text(f"{ties}1 qid:2 1:1 # a\n0 qid:2 1:0 # b\n")
    output = succeed("train", "ties.txt", "--convention", convention, "--format", "json")
    assert [name for name in ("MAP", "NDCG@10") if name in output] == measures


def test_names_that_begin_at_0_are_not_numbers_of_features(succeed, folder):
    frame = pd.DataFrame(DATA.X, columns=["0", "1", "2"])
    ranker = RankSVM().fit(frame, DATA.y, qid=DATA.qid)
    ranker.save_model("model.json")
    output = succeed("predict", "model.json", "a.txt")
    scores = [float(line) for line in output.split()]
    np.testing.assert_array_equal(scores, ranker.predict(frame))


def test_features_that_the_model_uses_must_be_there(run, succeed, folder):
    run("select", "a.txt", "--method", "gas-e", "-k", "1", "--include", "3", "--out", "s.json")
    succeed("train", "a.txt", "--selection", "s.json", "--out", "model.json")
    Path("narrow.txt").write_text("1 qid:1 1:1\n0 qid:1 2:2\n")
    assert run("predict", "model.json", "narrow.txt")[0] == 0  # text leaves out zeros
    run("convert", "narrow.txt", "narrow.shards")
    status, _, errors = run("predict", "model.json", "narrow.shards")
    assert status == 1
    assert "narrow.shards: there are 2 features, but the model uses feature 3" in errors


def run_on_a_full_disk(*arguments):
    with open("/dev/full", "w") as full:
        os.dup2(full.fileno(), sys.stdout.fileno())
    main(list(arguments))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device")
@pytest.mark.parametrize("form", ["terminal", "json"])
def test_a_full_disk_is_an_error(form, start_program):
    program = start_program(run_on_a_full_disk, "select", "--methods", "--format", form)
    assert program.wait() == (1, "", "error: No space left on device\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device")
def test_an_interpreter_that_ends_does_not_write_to_a_full_disk_again():
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "ranksieve", "--help"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            env=buffered,
        )
    assert (done.returncode, done.stderr) == (1, "error: No space left on device\n")


def test_closed_output_is_no_error(monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    with pytest.raises(SystemExit) as stop:
        main(["select", "--methods", "--format", "json"])
    sys.stdout.close()
    assert not stop.value.code


@pytest.mark.parametrize("method", ["greedy-rankrls", "ranksvm-l1", "fs-ed", "stepwise-aic"])
def test_numbers_too_large_to_multiply_are_told_in_one_line(run, folder, method):
    few = DATA.take_queries(range(6))
    write_letor(few._replace(X=1e300 * few.X), "large.txt")
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        status, output, error = run("select", "large.txt", "--method", method, "-k", "2")
    assert (status, output) == (1, "")
    assert "scale the features first" in error
    assert "\n" not in error.rstrip()
    assert not [one for one in warned if issubclass(one.category, RuntimeWarning)]


class TestDebug:
    """One way to see where an error comes from, and what it was before it was told in one line."""

    @pytest.fixture
    def told(self, run, folder, monkeypatch):
        def show(*options, **environment):
            for name, value in environment.items():
                monkeypatch.setenv(name, value)
            status, output, error = run(*options, "evaluate", "a.txt", "odd.txt")
            assert status != 0
            assert output == ""
            return error

        return show

    def test_one_line(self, told):
        assert told() == told(RANKSIEVE_DEBUG="0")
        assert told().count("\n") <= 1

    def test_option(self, told):
        error = told("--debug")
        assert error.startswith("Traceback")
        assert "in read_scores" in error
        assert error.rstrip().endswith(told().rstrip())

    def test_environment(self, told):
        assert told(RANKSIEVE_DEBUG="1") == told("--debug", RANKSIEVE_DEBUG="0")

    def test_errors_that_another_one_replaced(self, run, folder):
        Path("bad.json").write_text("{")
        error = run("--debug", "predict", "bad.json", "a.txt")[2]
        assert "JSONDecodeError: Expecting property name" in error
        assert "During handling of the above exception, another exception occurred" in error

    def test_of_the_command_it_is_no_option(self, run, folder):
        assert "No such option: --debug" in run("evaluate", "a.txt", "odd.txt", "--debug")[2]
