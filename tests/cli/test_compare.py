"""ranksieve compare and report, as a user runs them."""

import csv
import hashlib
import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

from ranksieve import DataError, make_ranking, write_letor
from ranksieve.cli import main
from ranksieve.report.files import ReportFiles
from ranksieve.report.study import write_data_figures
from ranksieve.study import Study, load_study
from ranksieve.study.plan import Plan

SMALL = dict(n_informative=3, n_redundant=3, n_noise=4, docs_per_query=(3, 12))
OPTIONS = ("--rankers", "rankrls", "--ks", "1,3", "--seeds", "2", "--grid", "rankrls.lam=0.1,10")


def run(*arguments):
    try:
        main([str(argument) for argument in arguments])
    except SystemExit as end:
        if end.code:
            raise


@pytest.fixture(scope="module")
def letor_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "queries.txt"
    write_letor(make_ranking(40, **SMALL, random_state=5)[0], path)
    return path


def test_a_study_leaves_tables_figures_and_a_page(letor_file, tmp_path, capsys):
    out = tmp_path / "study"
    run("compare", letor_file, "--selectors", "gas-e,fs-ed", *OPTIONS, "--out", out)
    told = capsys.readouterr().out
    assert "Quality of selectors with rankrls on queries.txt" in told
    assert "convention standard" in told
    assert "5 folds over queries" in told
    for selector in ("gas-e", "fs-ed", "all", "random"):
        assert selector in told
    assert max(map(len, told.splitlines())) <= 80
    assert "".join(told.split()).endswith("report.htmlfirst")
    assert '<section id="similar-features">' in (out / "report.html").read_text()
    page = (out / "report.md").read_text()
    for figure in (out / "figures").glob("*.svg"):
        assert ET.parse(figure).getroot().tag.endswith("svg")
        assert figure.with_suffix(".png").read_bytes().startswith(b"\x89PNG")
    named = {line.split("(figures/")[1][:-5] for line in page.splitlines() if "(figures/" in line}
    assert named == {figure.stem for figure in (out / "figures").glob("*.svg")}
    stems = {table.stem for table in (out / "tables").iterdir()}
    assert {"comparison-rankrls", "folds-rankrls-map", "statistics-all"} <= stems
    for stem in stems:
        suffixes = {path.suffix for path in (out / "tables").glob(f"{stem}.*")}
        assert suffixes == {".md", ".tex", ".csv", ".json"}
    with (out / "tables" / "comparison-rankrls.csv").open() as file:
        rows = {row["selector"]: row for row in csv.DictReader(file)}
    result = load_study(out)
    assert float(rows["gas-e"]["MAP"]) == result.run("gas-e", "rankrls").chosen.mean("MAP")


def test_help_tells_the_defaults_of_a_plan(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    run("compare", "--help")
    told = " ".join(capsys.readouterr().out.lower().split()).replace("- ", "-")  # broken words
    plan = vars(Plan(baselines=False))
    for name in ("selectors", "rankers", "ks", "measures"):
        usual = ",".join(map(str, plan[name])).lower()
        assert re.search(rf"--{name} [^:]*default: {usual}[.]", told)
    for name in ("tune", "convention", "scale", "choose", "seeds", "seed"):
        usual = str(plan[name]).lower()
        assert re.search(rf"--{name} .*?default: {usual}[.,]", told)


def test_a_plan_file_does_the_same_as_options(letor_file, tmp_path, capsys):
    plan = tmp_path / "plan.toml"
    plan.write_text(
        f'data = "{letor_file}"\n'
        'selectors = ["gas-e"]\nrankers = ["rankrls"]\nks = [1, "all"]\nseeds = 2\n'
        'measures = ["ndcg@3"]\ntune = "ndcg@3"\nconvention = "letor4"\nchoose = "one-se"\n'
        "[grids.rankrls]\nlam = [0.1, 10]\n[parameters.gas-e]\nc = 0.1\n"
    )
    run("compare", "--plan", plan, "--out", tmp_path / "a", "--no-figures")
    run(
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


def test_report_writes_the_tables_again(letor_file, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    out = Path("study")
    run("compare", letor_file, "--selectors", "top", *OPTIONS, "--out", out, "--no-figures")
    tables, what_was_written, _ = capsys.readouterr().out.partition(
        "\nTables and the ledger are in study; open"
    )
    assert what_was_written
    assert not (out / "figures").exists()
    table = out / "tables" / "comparison-rankrls.md"
    before = table.read_text()
    table.unlink()
    run("report", out)
    assert table.read_text() == before
    assert "(1)" in tables
    told = capsys.readouterr().out
    assert tables in told
    assert "\nTables, figures and the ledger are in study; open" in told
    assert (out / "figures" / "curves-rankrls-map.svg").exists()


def test_the_plan_of_a_study_can_be_run_again_and_changed(letor_file, tmp_path, capsys):
    one = tmp_path / "one"
    run(
        *("compare", letor_file, "--selectors", "gas-e,top", *OPTIONS, "--protocol", "kfold:4"),
        *("--grid", "gas-e.c=0.1,1", "--no-figures", "--out", one),
    )
    plan = one / "study.toml"
    run("compare", "--plan", plan, "--no-figures", "--out", tmp_path / "again")
    again = load_study(tmp_path / "again")
    first = load_study(one)
    assert len(again.folds) == 4
    for key, expected in first.runs.items():
        assert again.runs[key].chosen.selections == expected.chosen.selections
    # An option wins, and what the file says of methods left out does not matter.
    run("compare", "--plan", plan, "--selectors", "top", "--no-figures", "--out", tmp_path / "top")
    assert load_study(tmp_path / "top").selectors == ["top", "all", "random"]


@pytest.mark.parametrize(
    ("selectors", "seen"),
    [
        (["fs-ed", "top"], {"importance", "densities"}),
        (["gas-l"], {"importance", "similarity"}),
        (["greedy-rankrls"], {"validation"}),
        (["ig"], set()),
    ],
)
def test_figures_of_the_data_are_those_of_the_plan(letor_file, tmp_path, selectors, seen):
    write_data_figures(Study(letor_file, selectors=selectors), tmp_path)
    assert {figure.stem for figure in tmp_path.glob("figures/*.svg")} == seen


def files_in(out):
    """Tables and figures, and those that the page refers to."""
    page = (out / "report.md").read_text()
    shown = {
        f"{stem}{suffix}"
        for stem in re.findall(r"\((figures/.*?)\.svg\)", page)
        for suffix in (".svg", ".png", ".txt")
    }
    found = {f"{path.parent.name}/{path.name}" for path in out.glob("*/*.*")}
    return found, shown


def test_nothing_of_an_earlier_run_is_left_or_shown(letor_file, tmp_path, capsys):
    out, new = tmp_path / "study", tmp_path / "new"
    common = ("compare", letor_file, *OPTIONS)
    run(*common, "--selectors", "gas-e,top", "--rankers", "rankrls,ranksvm", "--out", out)
    earlier, shown = files_in(out)
    assert {"figures/similarity.svg", "figures/importance.svg", "tables/pairs.csv"} <= earlier
    assert {name for name in earlier if name.startswith("figures/")} == shown
    others = {"figures/mine.txt", "tables/comparison-other.csv"}
    for name in others:
        (out / name).write_text("of somebody else")
    # The report alone keeps what only the run with the data can draw.
    run("report", out)
    assert files_in(out) == (earlier | others, shown)
    # Another plan leaves what it writes itself, and nothing else that we wrote, as we wrote it.
    changed = out / "tables" / "curves-ranksvm-map.md"
    changed.write_text("changed by somebody else")
    for directory in (out, new):
        run(*common, "--selectors", "top", "--no-figures", "--out", directory)
    assert files_in(out)[0] == files_in(new)[0] | others | {"tables/curves-ranksvm-map.md"}
    assert files_in(out)[1] == set()
    assert changed.read_text() == "changed by somebody else"


def test_facts_of_an_earlier_study_are_not_shown(letor_file, tmp_path, capsys, monkeypatch):
    def refuse(*_):
        raise DataError("not for this data")

    out = tmp_path / "study"
    common = ("compare", letor_file, "--selectors", "top", *OPTIONS, "--no-figures", "--out", out)
    run(*common)
    assert '<section id="similar-features">' in (out / "report.html").read_text()
    monkeypatch.setattr("ranksieve.report.study.describe_first_fold", refuse)
    run(*common)
    assert '<section id="similar-features">' not in (out / "report.html").read_text()


@pytest.mark.parametrize("name", ["../mine.md", "tables/../../mine.md", "{}/mine.md", "mine.md"])
def test_a_record_cannot_name_files_of_others(tmp_path, name):
    out = tmp_path / "study"
    (out / "tables").mkdir(parents=True)
    name = name.format(tmp_path)
    (out / name).write_text("mine")
    files = {name: hashlib.sha256(b"mine").hexdigest(), "tables": "", "tables/none.md": ""}
    (out / "report-files.json").write_text(json.dumps({"parts": {"report": files}}))
    with ReportFiles(out):
        pass
    assert (out / name).read_text() == "mine"
    (out / "report-files.json").write_text('{"parts": [1')  # damaged: nothing is known
    with ReportFiles(out):
        pass


def test_lack_of_memory_is_told_and_what_is_finished_is_kept(letor_file, tmp_path, capsys):
    out = tmp_path / "study"
    common = (*OPTIONS, "--no-figures", "--out", out)
    run("compare", letor_file, "--selectors", "top", *common)
    finished = (out / "ledger.jsonl").read_bytes()
    message = rf"error: out of memory \(Unable to allocate .*\); finished work is kept in {out}"
    with pytest.raises(SystemExit, match=message):
        run("compare", letor_file, "--selectors", "ig", "--param", f"ig.n_bins={10**14}", *common)
    assert (out / "ledger.jsonl").read_bytes().startswith(finished)
    run("report", out)


def test_one_of_a_thing_is_told_as_one(letor_file, tmp_path, capsys):
    out = tmp_path / "study"
    only = ("--measures", "map", "--no-figures", "--out", out)
    run("compare", letor_file, "--selectors", "random", *OPTIONS, *only)
    told = " ".join(capsys.readouterr().out.split())
    assert "unified rank: that of the FS-SCPR paper, over 1 measure; 1 is best" in told
    assert "correction for the one comparison of the study" in told
    page = (out / "report.md").read_text()
    assert "Holm: adjusted for the one comparison." in page


def test_the_fold_of_plain_files_is_not_named_as_a_selector(tmp_path, capsys):
    data, _ = make_ranking(45, **SMALL, random_state=1)
    for number, name in enumerate(("train.txt", "vali.txt", "test.txt")):
        write_letor(data.take_queries(np.arange(15) + 15 * number), tmp_path / name)
    out = tmp_path / "study"
    run("compare", tmp_path, "--selectors", "top", *OPTIONS, "--no-figures", "--out", out)
    with (out / "tables" / "folds-rankrls-map.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["selector", "Fold1", "average"]
    assert [row["selector"] for row in rows] == ["top", "all", "random"]


@pytest.mark.parametrize("selectors", ["random", " all , random "])
def test_baselines_alone_have_a_report(letor_file, tmp_path, capsys, selectors):
    out = tmp_path / "study"
    run("compare", letor_file, "--selectors", selectors, *OPTIONS, "--out", out)
    assert (out / "report.md").exists()
    drawn = {figure.stem for figure in (out / "figures").glob("*.svg")}
    assert "curves-rankrls-map" in drawn
    assert "frequency-rankrls" not in drawn


def test_all_features_alone_have_a_report(letor_file, tmp_path, capsys):
    out = tmp_path / "study"
    run("compare", letor_file, "--selectors", "all", "--no-baselines", *OPTIONS, "--out", out)
    assert "no selector to test" in capsys.readouterr().out
    assert (out / "tables" / "comparison-rankrls.csv").exists()
