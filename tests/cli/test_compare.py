"""ranksieve compare and report, as a user runs them."""

import csv
import re
from pathlib import Path

import numpy as np
import pytest

from ranksieve import DataError, make_ranking, write_letor
from ranksieve.study import load_study
from ranksieve.study.plan import Plan

SMALL = dict(n_informative=3, n_redundant=3, n_noise=4, docs_per_query=(3, 12))
OPTIONS = ("--rankers", "rankrls", "--ks", "1,3", "--seeds", "2", "--grid", "rankrls.lam=0.1,10")


@pytest.fixture(scope="module")
def letor_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "queries.txt"
    write_letor(make_ranking(40, **SMALL, random_state=5)[0], path)
    return path


@pytest.mark.slow
def test_a_study_leaves_tables_figures_and_a_page(letor_file, tmp_path, succeed):
    out = tmp_path / "study"
    told = succeed("compare", letor_file, "--selectors", "gas-e,fs-ed", *OPTIONS, "--out", out)
    assert "Quality of selectors with rankrls on queries.txt" in told
    assert "convention standard" in told
    assert "5 folds over queries" in told
    for selector in ("gas-e", "fs-ed", "all", "random"):
        assert selector in told
    assert max(map(len, told.splitlines())) <= 80
    assert "".join(told.split()).endswith("report.htmlfirst")
    assert '<section id="similar-features">' in (out / "report.html").read_text()
    assert {"curves-rankrls-map", "densities"} <= {f.stem for f in (out / "figures").iterdir()}
    stems = {table.stem for table in (out / "tables").iterdir()}
    assert {"comparison-rankrls", "folds-rankrls-map", "statistics-all"} <= stems
    with (out / "tables" / "comparison-rankrls.csv").open() as file:
        rows = {row["selector"]: row for row in csv.DictReader(file)}
    result = load_study(out)
    assert float(rows["gas-e"]["MAP"]) == result.run("gas-e", "rankrls").chosen.mean("MAP")


def test_help_tells_the_defaults_of_a_plan(succeed, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    told = " ".join(succeed("compare", "--help").lower().split()).replace("- ", "-")  # broken words
    plan = vars(Plan(baselines=False))
    for name in ("selectors", "rankers", "ks", "measures"):
        usual = ",".join(map(str, plan[name])).lower()
        assert re.search(rf"--{name} [^:]*default: {usual}[.]", told)
    for name in ("tune", "convention", "scale", "choose", "seeds", "seed"):
        usual = str(plan[name]).lower()
        assert re.search(rf"--{name} .*?default: {usual}[.,]", told)


def test_a_plan_file_does_the_same_as_options(letor_file, tmp_path, succeed):
    plan = tmp_path / "plan.toml"
    plan.write_text(
        f'data = "{letor_file}"\n'
        'selectors = ["gas-e"]\nrankers = ["rankrls"]\nks = [1, "all"]\nseeds = 2\n'
        'measures = ["ndcg@3"]\ntune = "ndcg@3"\nconvention = "letor4"\nchoose = "one-se"\n'
        "[grids.rankrls]\nlam = [0.1, 10]\n[parameters.gas-e]\nc = 0.1\n"
    )
    succeed("compare", "--plan", plan, "--out", tmp_path / "a", "--no-figures")
    succeed(
        *("compare", letor_file, "--selectors", "gas-e", "--rankers", "rankrls", "--ks", "1,all"),
        *("--measures", "ndcg@3", "--tune", "ndcg@3", "--convention", "letor4", "--seeds", "2"),
        *("--choose", "one-se", "--grid", "rankrls.lam=0.1,10", "--param", "gas-e.c=0.1"),
        *("--out", tmp_path / "b", "--no-figures"),
    )
    one, other = load_study(tmp_path / "a"), load_study(tmp_path / "b")
    assert one.measures == ["NDCG@3"]
    for key in one.runs:
        assert one.runs[key].chosen.mean("NDCG@3") == other.runs[key].chosen.mean("NDCG@3")
        assert one.runs[key].chosen.selections == other.runs[key].chosen.selections
    assert not (tmp_path / "a" / "figures").exists()


@pytest.mark.slow
def test_report_writes_the_tables_again(letor_file, tmp_path, succeed, monkeypatch):
    monkeypatch.chdir(tmp_path)
    out = Path("study")
    told = succeed(
        "compare", letor_file, "--selectors", "top", *OPTIONS, "--out", out, "--no-figures"
    )
    assert "(1)" in told
    assert "\nAll of this is in study; open" in told
    assert not (out / "figures").exists()
    table = out / "tables" / "comparison-rankrls.csv"
    before = table.read_text()
    page = (out / "report.html").read_text()
    table.unlink()
    assert succeed("report", out) == told
    assert table.read_text() == before
    assert (out / "report.html").read_text() == page
    assert (out / "figures" / "curves-rankrls-map.svg").exists()


@pytest.mark.slow
def test_the_plan_of_a_study_can_be_run_again_and_changed(letor_file, tmp_path, succeed):
    one = tmp_path / "one"
    succeed(
        *("compare", letor_file, "--selectors", "gas-e,top", *OPTIONS, "--protocol", "kfold:4"),
        *("--grid", "gas-e.c=0.1,1", "--no-figures", "--out", one),
    )
    plan = one / "study.toml"
    succeed("compare", "--plan", plan, "--no-figures", "--out", tmp_path / "again")
    again = load_study(tmp_path / "again")
    first = load_study(one)
    assert len(again.folds) == 4
    for key, expected in first.runs.items():
        assert again.runs[key].chosen.selections == expected.chosen.selections
    # An option wins, and what the file says of methods left out does not matter.
    succeed(
        "compare", "--plan", plan, "--selectors", "top", "--no-figures", "--out", tmp_path / "top"
    )
    assert load_study(tmp_path / "top").selectors == ["top", "all", "random"]


@pytest.mark.slow
def test_facts_of_an_earlier_study_are_not_shown(letor_file, tmp_path, succeed, monkeypatch):
    def refuse(*_):
        raise DataError("not for this data")

    out = tmp_path / "study"
    common = ("compare", letor_file, "--selectors", "top", *OPTIONS, "--no-figures", "--out", out)
    succeed(*common)
    assert '<section id="similar-features">' in (out / "report.html").read_text()
    monkeypatch.setattr("ranksieve.study.first_fold.describe_first_fold", refuse)
    succeed(*common)
    assert '<section id="similar-features">' not in (out / "report.html").read_text()


@pytest.mark.slow
def test_lack_of_memory_is_told_and_what_is_finished_is_kept(run, succeed, letor_file, tmp_path):
    out = tmp_path / "study"
    common = (*OPTIONS, "--no-figures", "--out", out)
    succeed("compare", letor_file, "--selectors", "top", *common)
    finished = (out / "ledger.jsonl").read_bytes()
    many = ("--selectors", "ig", "--param", f"ig.n_bins={10**14}")
    status, _, errors = run("compare", letor_file, *many, *common)
    assert status == 1
    told = rf"error: out of memory \(Unable to allocate .*\); finished work is kept in {out}"
    assert re.match(told, errors)
    assert (out / "ledger.jsonl").read_bytes().startswith(finished)
    succeed("report", out)


def test_one_of_a_thing_is_told_as_one(letor_file, tmp_path, succeed):
    out = tmp_path / "study"
    only = ("--measures", "map", "--no-figures", "--out", out)
    told = " ".join(
        succeed("compare", letor_file, "--selectors", "random", *OPTIONS, *only).split()
    )
    assert "unified rank: that of the FS-SCPR paper, over 1 measure; 1 is best" in told
    assert "correction for the one comparison of the study" in told
    page = (out / "report.html").read_text()
    assert "Holm: adjusted for the one comparison." in page


def test_the_fold_of_plain_files_is_not_named_as_a_selector(tmp_path, succeed):
    data, _ = make_ranking(45, **SMALL, random_state=1)
    for number, name in enumerate(("train.txt", "vali.txt", "test.txt")):
        write_letor(data.take_queries(np.arange(15) + 15 * number), tmp_path / name)
    out = tmp_path / "study"
    succeed("compare", tmp_path, "--selectors", "top", *OPTIONS, "--no-figures", "--out", out)
    with (out / "tables" / "folds-rankrls-map.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["selector", "Fold1", "average"]
    assert [row["selector"] for row in rows] == ["top", "all", "random"]


@pytest.mark.slow
@pytest.mark.parametrize("selectors", ["random", " all , random "])
def test_baselines_alone_have_a_report(letor_file, tmp_path, succeed, selectors):
    out = tmp_path / "study"
    succeed("compare", letor_file, "--selectors", selectors, *OPTIONS, "--out", out)
    assert (out / "report.html").exists()
    drawn = {figure.stem for figure in (out / "figures").glob("*.svg")}
    assert "curves-rankrls-map" in drawn
    assert "selected-rankrls" not in drawn


def test_all_features_alone_have_a_report(letor_file, tmp_path, succeed):
    out = tmp_path / "study"
    told = succeed(
        "compare", letor_file, "--selectors", "all", "--no-baselines", *OPTIONS, "--out", out
    )
    assert "no selector to test" in told
    assert (out / "tables" / "comparison-rankrls.csv").exists()
