"""Names that are formulas, commands, marks or too long, in all that is printed or written."""

import csv
import json
import os
import re
import sys
import xml.etree.ElementTree as ET
from contextlib import redirect_stderr, redirect_stdout
from io import BytesIO, StringIO, TextIOWrapper
from pathlib import Path

import numpy as np
import pytest
from markdown_it import MarkdownIt

from ranksieve import RankingData, make_ranking
from ranksieve.cli import main
from ranksieve.io.formats import write_data
from ranksieve.report import report_of
from ranksieve.report.formats.latex import to_latex
from ranksieve.report.formats.plain_text import to_csv, to_markdown
from ranksieve.report.formats.terminal import show, to_terminal
from ranksieve.report.sheets.sheet import Column, Entry, Sheet
from ranksieve.study import load_study
from ranksieve.study.results import FoldSummary, Outcome, Outcomes, Run, StudyResult

pytestmark = pytest.mark.slow

NAMES = [
    "$x$",
    "$\\frac{$",
    "\\alpha^{2}~",
    "a\x1b[31mred\x1b[0m",
    "\x1b]0;title\x07\x9b2J",
    "two\nlines\r\ttab",
    "nul\0byte",
    "=cmd|' /C calc'!A0",
    "+1",
    "-x--y",
    "@sum(1)",
    "\t=1+1",
    "[red]x[/red][/]",
    "<script>alert(1)</script>",
    "a|b\\|c",
    "`b` ''c'' *d* _e_",
    "% & _ # {} ![i](u)",
    "\u202egnp.exe \u2066x",
    "\U0001f600 \u5b57\u5b57 \u05d0\u0628",
    "",
]
LONG = "W" * 300
# The surrogate stands for a byte of a file's name that is no text.
TITLE = "$d$ \x1b[31m[b]\u202e\n|<b>_\U0001f600\x7f\udcff"


def ranking(names, n_queries=30):
    """Data whose features, queries and documents have odd names."""
    made = make_ranking(
        n_queries, n_informative=4, n_redundant=4, n_noise=len(names) - 8, docs_per_query=(4, 8)
    )[0]
    queries = {query: f"{NAMES[i % len(NAMES)]}{i}" for i, query in enumerate(made.query_ids)}
    qid = np.array([queries[query] for query in made.qid.tolist()], dtype=object)
    doc_ids = [f"{NAMES[row % len(NAMES)]}{row}" for row in range(made.n_rows)]
    return RankingData(made.X, made.y, qid, feature_names=names, doc_ids=doc_ids)


def run(*arguments):
    """Status, output and errors of a command."""
    out, errors, status = StringIO(), StringIO(), 0
    with redirect_stdout(out), redirect_stderr(errors):
        try:
            main([str(argument) for argument in arguments])
        except SystemExit as end:
            status = end.code or 0
            if isinstance(status, str):
                print(status, file=errors)
                status = 1
    return status, out.getvalue(), errors.getvalue()


def assert_tame(text):
    """There is nothing that a terminal obeys or that hides what is there."""
    odd = {sign for sign in text.replace("\n", "") if not sign.isprintable()}
    assert not odd


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("hostile")


@pytest.fixture(scope="module")
def told(place):
    """What every command says about such data."""
    data = place / "data.parquet"
    write_data(ranking(NAMES), data)
    shards, out = place / f"{TITLE}.shards", place / TITLE
    features = [{"name": name} for name in [*NAMES, *(f"{name} not used" for name in NAMES)]]
    (place / "features.json").write_text(json.dumps({"features": features}))
    quick = "--method", "gas-e", "-k", len(NAMES)
    return {
        "inspect": run("inspect", data, "--top", len(NAMES)),
        "inspect as json": run("inspect", data, "--format", "json"),
        "select": run("select", data, "-k", len(NAMES)),
        "select as json": run(
            "select", data, *quick, "--format", "json", "--out", place / "chosen.json"
        ),
        **{
            f"select as {form}": run("select", data, *quick, "--format", form)
            for form in ("markdown", "latex", "html", "csv")
        },
        "convert": run("convert", data, shards),
        "train": run("train", shards, "--ranker", "rankrls", "--out", place / "model.json"),
        "predict": run("predict", place / "model.json", data, "--out", place / "scores.txt"),
        "export": run(
            *("export", place / "model.json", "--to", "opensearch-ltr", "--out", place / "engine"),
            *("--feature-set", place / "features.json", "--verify", data),
        ),
        "evaluate": run("evaluate", data, place / "scores.txt", "--per-query"),
        "compare": run(
            *("compare", shards, "--out", out, "--selectors", "gas-e", "--rankers", "rankrls"),
            *("--ks", "5,all", "--protocol", "kfold:3", "--seeds", "1"),
        ),
        "report": run("report", out),
        "inspect --html": run("inspect", shards, "--html", place / "page.html"),
        "recommend": run(
            *("recommend", shards, "--out", place / f"r{TITLE}", "--selectors", "gas-e"),
            *("--ranker", "rankrls", "--folds", "3", "--margin", "20%"),
        ),
        "check": run("check", place / f"r{TITLE}", data),
        "report of recommend": run("report", place / f"r{TITLE}"),
    }


@pytest.fixture(scope="module", params=["compare", "recommend"])
def written(request, told, place):
    """A directory with tables and pages."""
    return place / (TITLE if request.param == "compare" else f"r{TITLE}")


@pytest.fixture(scope="module")
def study(told, place):
    return place / TITLE


COMMANDS = [
    *("inspect", "inspect as json", "select", "select as json", "convert"),
    *("select as markdown", "select as latex", "select as html", "select as csv"),
    *("train", "predict", "export", "evaluate", "compare", "report"),
    *("inspect --html", "recommend", "check", "report of recommend"),
]


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_end_well_and_their_output_is_tame(told, command):
    status, out, errors = told[command]
    expected = 2 if command == "check" else 0  # with so few queries, it cannot be judged
    assert (status, errors) == (expected, "")
    assert_tame(out)


def test_names_are_shown_on_the_terminal(told):
    for command in ("inspect", "select"):
        shown = told[command][1]
        for name in (
            "$x$",
            "a\\x1b[31mred\\x1b[0m",
            "[red]x[/red][/]",
            "nul\\x00byte",
            "\\u202egnp",
        ):
            assert name in shown, command
    in_one_line = " ".join(told["compare"][1].split())  # where lines end depends on the directory
    assert "[b]\\u202e |<b>_" in in_one_line
    assert "=cmd|' /C calc'!A07" in told["evaluate"][1]


def test_json_has_names_as_they_are(told, place):
    chosen = json.loads(told["select as json"][1])
    assert {feature["name"] for feature in chosen["features"]} == set(NAMES)
    assert json.loads((place / "chosen.json").read_text()) == chosen


def test_a_study_is_read_again(study):
    result = load_study(study)
    assert result.title == f"{TITLE[:-1]}\\udcff.shards"
    assert list(result.feature_names) == NAMES


def test_csv_has_no_formulas(written):
    tables = sorted((written / "tables").glob("*.csv"))
    assert tables
    for table in tables:
        assert_tame(table.read_text(encoding="utf-8"))
        with table.open(encoding="utf-8", newline="") as file:
            rows = list(csv.reader(file))
        assert len({len(row) for row in rows}) == 1
        for cell in (cell for row in rows for cell in row):
            assert not cell.startswith(tuple("=+-@\t\r")) or np.isfinite(float(cell))


def test_html_has_no_markup_of_names(told, written, place):
    table = told["select as html"][1]
    pages = [written / "report.html", place / "page.html"]
    for text in (table, *(page.read_text(encoding="utf-8") for page in pages)):
        assert_tame(text)
        assert "<script>alert(1)" not in text
        assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
        assert "<b>_" not in text


def test_latex_is_balanced_and_escaped(written, study):
    tables = sorted((written / "tables").glob("*.tex"))
    assert tables
    for table in tables:
        text = table.read_text(encoding="utf-8")
        assert_tame(text)
        bare = re.sub(r"\\[\\{}$&#_%]", "", text)
        assert bare.count("{") == bare.count("}")
        assert bare.count("$") % 2 == 0
        assert all("%" not in line for line in bare.splitlines()[1:])
    chosen = (study / "tables" / "selected-rankrls.tex").read_text(encoding="utf-8")
    assert r"\$x\$" in chosen
    assert r"\textbackslash{}alpha\textasciicircum{}\{2\}\textasciitilde{}" in chosen
    assert r"a\textbackslash{}x1b{[}31mred" in chosen


def test_markdown_has_the_cells_that_its_heading_has(told):
    text = told["select as markdown"][1]
    assert_tame(text)
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    inner = [child for token in tokens for child in token.children or ()]
    assert not [token for token in (*tokens, *inner) if token.type.startswith("html")]
    for table in text.split("\n\n"):
        rows = [line for line in table.splitlines() if line.startswith("|")]
        assert len({len(re.findall(r"(?<!\\)(?:\\\\)*\|", row)) for row in rows}) <= 1


def texts_of(svg):
    """All text in an SVG, which must be XML."""
    root = ET.parse(svg).getroot()
    return ["".join(node.itertext()) for node in root.iter() if node.tag.endswith("text")]


def test_figures_show_names_as_they_are(study):
    for stem in ("selected-rankrls", "alone", "similarity"):
        found = texts_of(study / "figures" / f"{stem}.svg")
        for name in ("$x$", "$\\frac{$", "a\\x1b[31mred\\x1b[0m", "<script>alert(1)</script>"):
            assert name in found, stem
    for figure in (study / "figures").glob("*.svg"):
        for text in texts_of(figure):
            assert_tame(text)
    drawn = {path.stem for path in (study / "figures").glob("*.svg")}
    assert len(drawn) == 8
    assert {path.stem for path in (study / "figures").glob("*.pdf")} == drawn


SEVERE = [
    LONG,
    "\u5b57" * 300,
    "\x1b" * 300,
    "$" * 299,
    "\\",
    "$\\$$",
    "_",
    "\udcff",
    "\ufffe",
    " ",
]


def test_figures_of_any_name(tmp_path):
    """No warning, which would be an error here."""
    for part in report_of(study_of(SEVERE)).parts:
        if part.chart is not None:
            for suffix in (".svg", ".pdf"):
                part.chart.write(tmp_path / f"figure{suffix}")
            assert texts_of(tmp_path / "figure.svg")


def study_of(names):
    """A study whose selectors have odd names, too."""
    fold = FoldSummary("=fold", n_train=6, n_vali=2, query_ids=[1, 2, 3])
    everything = tuple(range(len(names)))
    values = {"MAP": np.array([0.2, 0.4, 0.9])}
    outcome = Outcome(len(names), everything, {}, {}, 0.5, 0.1, values, 0.1, 0.2)
    tested = Outcomes([[outcome]], [fold])
    selectors = [name for name in names if not name.startswith("_")]  # matplotlib hides these
    runs = {(name, "ranker"): Run(name, "ranker", tested, {1: tested}) for name in selectors}
    return StudyResult(TITLE, "one", "standard", "MAP", ["MAP"], [fold], names, runs)


@pytest.mark.parametrize("names", [NAMES, SEVERE])
def test_sheets_of_any_name(names, capsys):
    columns = [
        Column("selector", is_name=True),
        *(Column(f"{name}{i}") for i, name in enumerate(names)),
    ]
    values = [[Entry(name), *(Entry(-0.5, ".4f") for _ in names)] for name in names]
    sheet = Sheet("a", names[0], names[1], columns, [values], [f"1. {name}" for name in names])
    show(to_terminal(sheet))
    for text in (capsys.readouterr().out, to_markdown(sheet), to_latex(sheet), to_csv(sheet)):
        assert_tame(text)
        text.encode("utf-8")
    rows = list(csv.reader(StringIO(to_csv(sheet), newline="")))
    assert {len(row) for row in rows} == {len(columns)}
    texts = [*rows[0], *(row[0] for row in rows)]
    assert not [text for text in texts if re.match(r"[=@\t\r]|[-+](?!\d+$)", text)]
    assert {value for row in rows[1:] for value in row[1:]} == {"-0.5"}


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("=1+1", "'=1+1"),
        (" \n=1+1", "' \n=1+1"),
        ("\uff1d1+1", "'\uff1d1+1"),
        ("-x", "'-x"),
        ("\r=1", "'\\r=1"),
        ("--", "'--"),
        ("-1.5e-3", "-1.5e-3"),
        ("+.5", "+.5"),
        ("-inf", "'-inf"),
        ("'x", "'x"),
        ("a=b", "a=b"),
    ],
)
def test_only_formulas_are_marked(name, written):
    text = to_csv(
        Sheet("a", "", "", [Column("selector"), Column("x")], [[[Entry(name), Entry(1)]]])
    )
    assert list(csv.reader(StringIO(text, newline="")))[1] == [written, "1"]


def test_errors_are_tame(place):
    missing = place / "no\x1b[31m\nerror: such.txt"
    status, out, errors = run("inspect", missing)
    assert (status, out) == (1, "")
    assert_tame(errors)
    assert errors.startswith(f"error: {place}/no\\x1b[31m\n  error: such.txt: no such file")
    damaged = ranking([*NAMES[3:12], "y"], 10)
    damaged.X[0, 0] = np.nan
    write_data(damaged, place / "damaged.parquet")
    status, _, errors = run("select", place / "damaged.parquet", "--method", "greedy-rankrls")
    assert (status, errors.count("\n")) == (1, 1)
    assert "a\\x1b[31mred" in errors
    assert_tame(errors)


def test_names_of_files_that_are_no_text(place):
    """Their bytes reach Python as surrogates, which no encoding can write."""
    path = os.fsdecode(os.fsencode(place) + b"/\xff\x1b.txt")
    Path(path).write_text("x\n")
    status, _, errors = run("inspect", path)
    assert status == 1
    assert errors.startswith(f"error: {place}/\\udcff\\x1b.txt:1: ")


def test_a_terminal_of_few_letters(told, place, monkeypatch):
    written = BytesIO()
    monkeypatch.setattr(sys, "stdout", TextIOWrapper(written, encoding="ascii"))
    with pytest.raises(SystemExit) as end:
        main(["inspect", str(place / "data.parquet"), "--top", "20"])
    sys.stdout.flush()
    assert not end.value.code
    assert b"\\U0001f600" in written.getvalue()
