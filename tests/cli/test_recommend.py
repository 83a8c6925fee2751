"""The commands recommend and check."""

import json
import re

import numpy as np
import pytest

from ranksieve import RankingData, make_ranking
from ranksieve.io.letor import write_letor
from ranksieve.io.parquet import write_parquet

NAMES = ["<b>x</b>", "$x$", '=1+1"', "a,b", "tab\there", "plain"]


@pytest.fixture(scope="module")
def data():
    made, _ = make_ranking(
        30, docs_per_query=(4, 8), n_informative=2, n_redundant=1, n_noise=3, noise=0.2
    )
    return made


@pytest.fixture(scope="module")
def files(data, tmp_path_factory):
    directory = tmp_path_factory.mktemp("data")
    write_letor(data, directory / "data.txt")
    named = RankingData(data.X, data.y, data.qid, feature_names=NAMES)
    write_parquet(named, directory / "named.parquet")
    (directory / "costs.csv").write_text(
        "feature,cost,group\n"
        + "".join(f"{n},{n},{'call' if n > 3 else ''}\n" for n in range(1, 7))
    )
    (directory / "groups.csv").write_text("group,cost\ncall,5\n")
    return directory


@pytest.fixture
def runs(run):
    """Run a command that succeeds; returns its output."""

    def run_well(*arguments):
        status, output, errors = run(*arguments)
        assert status == 0, errors
        return output

    return run_well


@pytest.fixture
def fails(run):
    """Run a command that fails; returns what it says."""

    def run_badly(*arguments):
        status, _, errors = run(*arguments)
        assert status in (1, 2)
        assert "Traceback" not in errors
        return " ".join(errors.split())

    return run_badly


QUICK = ("--ranker", "rankrls", "--selectors", "greedy-rankrls,top", "--no-figures")


def test_answer_tables_and_models(runs, run, files, tmp_path):
    out = tmp_path / "out"
    text = runs("recommend", files / "data.txt", *QUICK, "--margin", "5%", "--out", out)
    assert "of 6 features" in text
    assert "5% of NDCG@10" in " ".join(text.split())
    assert "Features to keep" in text
    assert "Sets of features to choose from" in text
    assert "5%, as asked" in text
    assert max(map(len, text.splitlines())) <= 80
    record = json.loads((out / "recommendation.json").read_text())
    assert record["settings"]["margin"] == 0.05
    tables = {file.name for file in (out / "tables").iterdir()}
    assert {"offers.csv", "curve.csv", "kept.csv", "dropped.csv"} <= tables
    status, text, _ = run("check", out, files / "data.txt")
    assert status == 2
    assert text.startswith("Cannot be judged: this is exactly the data of the recommendation.")
    assert "Drift of the kept features" in text
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.slow
def test_models_with_missing_values(runs, run, tmp_path):
    """LightGBM writes infinite thresholds where only missing values tell anything."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(600, 3)), rng.integers(0, 3, 600)
    X[y == 0, 0] = np.nan
    path, out = tmp_path / "data.parquet", tmp_path / "out"
    names = ["clicks", "price", "age"]
    write_parquet(RankingData(X, y, np.repeat(np.arange(60), 10), feature_names=names), path)
    few = ("--ranker", "lightgbm", "--ranker-param", "n_estimators=3", "--selectors", "top")
    keep = ("--missing", "keep")
    runs("recommend", path, *few, *keep, "--no-figures", "--margin", "5%", "--out", out)
    assert "threshold=inf " in (out / "model.json").read_text()
    status, text, _ = run("check", out, path)
    assert (status, "exactly the data" in text) == (2, True)
    runs("predict", out / "model.json", path, "--out", tmp_path / "scores.txt")
    target = ("--to", "python", "--out", tmp_path / "python", "--missing", "nan")
    runs("export", out / "model.json", *target, "--verify", path)


@pytest.mark.slow
def test_a_catalogue_with_a_unit(runs, files, tmp_path):
    """It lists more than the data has; every text and table says the unit."""
    catalogue = (files / "costs.csv").read_text().replace("cost", "cost_ms", 1)
    (tmp_path / "costs.csv").write_text(f"{catalogue}maxsim,6.5,model\n")
    (tmp_path / "calls.csv").write_text("group,cost_ms\ncall,5\nmodel,7\n")
    costs = ("--costs", tmp_path / "costs.csv", "--group-costs", tmp_path / "calls.csv")
    command = ["recommend", files / "data.txt", *QUICK, *costs, "--margin", "20%"]
    out = ["--out", tmp_path / "out"]
    text = " ".join(runs(*command, *out).split())
    record = json.loads((tmp_path / "out" / "recommendation.json").read_text())
    assert f"which cost {record['cost']:.4g} ms instead of 26 ms." in text
    assert text.count("(ms)") == 5  # offers, kept, cost and saving of groups, dropped
    assert "The costs also list 1 feature (maxsim) and 1 group (model) without use in this" in text
    page = (tmp_path / "out" / "report.html").read_text()
    assert "call 5 ms" in page
    assert len(re.findall(r"[0-9] ms|cost \(ms\)", page)) > 20
    assert record["settings"]["cost_unit"] == "ms"
    record = json.loads(runs(*command, *out, "--cost-unit", "us", "--format", "json"))
    assert record["settings"]["cost_unit"] == "us"


def test_costs_budget_and_json(runs, files, tmp_path):
    costs = ("--costs", files / "costs.csv", "--group-costs", files / "groups.csv")
    text = runs(
        "recommend", files / "data.txt", *QUICK, *costs, "--budget", "6", "--out", tmp_path / "out",
        "--format", "json",
    )  # fmt: skip
    record = json.loads(text)
    assert record["has_costs"]
    assert record["cost"] <= 6
    assert record["cost_of_all"] == 21 + 5
    assert record["settings"]["budget"] == 6


@pytest.mark.slow
def test_another_margin_uses_finished_work_again(runs, files, tmp_path):
    """The claim holds for all sets at once, so an offer may be taken by its margin."""
    out = tmp_path / "out"
    how = ("recommend", files / "data.txt", *QUICK, "--out", out, "--format", "json")
    first = json.loads(runs(*how, "--margin", "1%"))
    n_done = len((out / "recommendation.jsonl").read_text().splitlines())
    loose = json.loads(runs(*how, "--margin", "40%"))
    assert loose["curve"] == first["curve"]
    assert loose["claim"]["is_shown"]
    assert len(loose["features"]) < 6
    evidence = json.loads((out / "evidence.json").read_text())["evidence"]
    assert evidence["n_resumed"] >= n_done / 2


@pytest.mark.slow
def test_hostile_names_are_escaped(runs, files, tmp_path):
    out = tmp_path / "out"
    text = runs("recommend", files / "named.parquet", *QUICK[:4], "--out", out, "--margin", "5%")
    assert "\t" not in text
    assert (out / "figures" / "curve.svg").exists()
    for page in (out / "tables").glob("*.csv"):
        for cell in page.read_text().split(","):
            assert not cell.startswith("=")


@pytest.mark.slow
def test_columns_and_features_are_left_out(runs, files, tmp_path):
    table = ("recommend", files / "named.parquet", *QUICK, "--ignore", "plain", "--format", "json")
    record = json.loads(runs(*table, "--out", tmp_path / "table"))
    assert "plain" not in record["feature_names"]
    text = ("recommend", files / "data.txt", *QUICK, "--exclude", "6", "--format", "json")
    record = json.loads(runs(*text, "--out", tmp_path / "text"))
    assert record["settings"]["exclude"] == ["6"]


@pytest.mark.slow
def test_models_of_another_run_are_refused(runs, fails, files, tmp_path):
    for name, include in (("a", "1"), ("b", "6")):
        how = ("--include", include, "--out", tmp_path / name)
        runs("recommend", files / "data.txt", *QUICK, *how)
    model = tmp_path / "a" / "model.json"
    runs("predict", model, files / "data.txt")
    (tmp_path / "b" / "model.json").replace(model)
    said = "is not the model that belongs to recommendation.json beside it: run recommend again"
    assert said in fails("check", tmp_path / "a", files / "data.txt")
    assert said in fails("report", tmp_path / "a")
    assert said in fails("predict", model, files / "data.txt")
    assert said in fails("export", model, "--to", "solr", "--out", tmp_path / "engine")


@pytest.mark.slow
def test_the_page_is_written_and_can_be_written_again(runs, files, tmp_path):
    out = tmp_path / "out"
    how = "--costs", files / "costs.csv", "--group-costs", files / "groups.csv", "--margin", "5%"
    text = runs("recommend", files / "data.txt", *QUICK, *how, "--out", out)
    assert "".join(text.split()).endswith("out/report.htmlfirst")
    page = (out / "report.html").read_text()
    assert f"--out {out}" in page
    assert "call 5" in page  # what the group costs
    assert {"queries.csv", "shares.csv", "alone.csv", "work.csv"} <= {
        file.name for file in (out / "tables").iterdir()
    }
    (out / "report.html").unlink()
    again = runs("report", out)
    assert again == text
    assert (out / "report.html").read_text() == page


def test_features_with_commas_can_be_included(runs, files):
    command = ["select", files / "named.parquet", "--method", "top", "-k", 3, "--format", "json"]
    found = json.loads(runs(*command, "--include", 'plain, "a,b"', "--exclude", "$x$"))
    assert [feature["name"] for feature in found["features"]][:2] == ["plain", "a,b"]
