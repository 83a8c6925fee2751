"""The command line: what it prints, how fast it starts, and how it fails."""

import json
import os
import re
import subprocess
import sys

import numpy as np
import pytest

from ranksieve import (
    RankingData,
    __version__,
    make_ranking,
    read_letor,
    read_parquet,
    write_letor,
    write_parquet,
)
from ranksieve.datasets.opening import title_of
from ranksieve.io.shards import open_shards
from ranksieve.metrics import evaluate
from ranksieve.preprocessing import QueryMinMaxScaler
from ranksieve.rankers.registry import RANKERS
from ranksieve.selectors.registry import SELECTORS

TEXT = """\
#1:bm25
#2:clicks
2 qid:flights 1:3.5 2:10 # a
0 qid:flights 1:1.5 2:11 # b
1 qid:hotels 1:0.5 2:3 # c
0 qid:hotels 1:0.7 2:1 # d
0 qid:hotels 1:0.1 2:1 # e
"""


@pytest.fixture
def text_file(tmp_path):
    path = tmp_path / "data.txt"
    path.write_text(TEXT)
    return path


def options_of(parameters):
    """Parameters as options of a command."""
    pairs = ((name, json.dumps(value)) for name, value in parameters.items())
    return [part for name, value in pairs for part in ("--param", f"{name}={value}")]


def test_inspect(succeed, text_file):
    output = succeed("inspect", text_file)
    assert re.search(r"rows +5\n", re.sub(" +\n", "\n", output))
    assert re.search(r"queries +2\n", re.sub(" +\n", "\n", output))
    assert "bm25" in output
    assert "NDCG@10" in output
    assert max(map(len, output.splitlines())) <= 80


def test_inspect_as_json(run, text_file):
    status, output, _ = run("inspect", text_file, "--format", "json", "--measure", "map")
    found = json.loads(output)
    assert status == 0
    assert found["n_rows"] == 5
    assert found["labels"] == {"0.0": 3, "1.0": 1, "2.0": 1}
    assert found["measure"] == "MAP"
    assert [feature["name"] for feature in found["best_features"]] == ["bm25", "clicks"]


def test_inspect_the_demo(succeed):
    output = succeed("inspect", "--demo", "--top", "3")
    assert "embedded demo" in output
    table = output.split("Best single features")[1].strip().splitlines()
    assert len(table) == 4 + 3  # title, convention, an empty line and names of columns


class TestFormats:
    """Every table is printed in every format."""

    @pytest.fixture
    def commands(self, text_file, tmp_path):
        scores = tmp_path / "scores.txt"
        scores.write_text("1\n2\n3\n4\n5\n")
        return [
            ["inspect", text_file],
            ["select", text_file, "--method", "top", "-k", 1],
            ["train", text_file, "--ranker", "rankrls"],
            ["evaluate", text_file, scores, "--per-query"],
            ["select", "--methods"],
            ["train", "--rankers"],
        ]

    @pytest.mark.parametrize(
        ("form", "sign"),
        [("terminal", r"\n\n"), ("markdown", r"\| :?---"), ("latex", r"\\toprule"), ("csv", ",")],
    )
    def test_tables(self, succeed, commands, form, sign):
        for command in commands:
            output = succeed(*command, "--format", form)
            assert re.search(sign, output)

    def test_json(self, run, commands):
        found = [json.loads(run(*command, "--format", "json")[1]) for command in commands]
        assert found[0]["n_rows"] == 5
        assert [feature["name"] for feature in found[1]["features"]] == ["bm25"]
        assert found[2]["rows"][0].keys() == {"data", "MAP", "NDCG@10"}
        assert found[3]["query_ids"] == ["flights", "hotels"]
        assert [row["method"] for row in found[4]["rows"]] == list(SELECTORS)
        assert [row["ranker"] for row in found[5]["rows"]] == list(RANKERS)

    def test_csv_has_all_digits(self, run, commands):
        measured = json.loads(run(*commands[3], "--format", "json")[1])
        lines = run(*commands[3], "--format", "csv")[1].splitlines()
        assert lines[0].split(",")[0] == "query"
        assert [float(value) for value in lines[-1].split(",")[1:]] == list(
            measured["mean"].values()
        )


def test_convert_there_and_back(run, text_file, tmp_path):
    parquet, packed = tmp_path / "data.parquet", tmp_path / "back.txt.gz"
    status, output, _ = run("convert", text_file, parquet)
    assert (status, output) == (0, f"{parquet}: 5 rows, 2 queries, 2 features\n")
    assert run("convert", parquet, packed)[0] == 0
    first, second, third = read_letor(text_file), read_parquet(parquet), read_letor(packed)
    for other in (second, third):
        np.testing.assert_array_equal(other.X, first.X)
        assert other.qid.tolist() == first.qid.tolist()
        assert other.doc_ids.tolist() == list("abcde")
        assert other.feature_names.tolist() == ["bm25", "clicks"]


def test_convert_scales_within_queries(run, text_file, tmp_path):
    scaled = tmp_path / "scaled.txt"
    assert run("convert", text_file, scaled, "--scale", "min-max")[0] == 0
    expected = QueryMinMaxScaler().fit_transform(read_letor(text_file))
    np.testing.assert_array_equal(read_letor(scaled).X, expected.X)


def test_convert_joins_files_and_drops_zeros(run, tmp_path):
    parts = [tmp_path / "1.txt", tmp_path / "2.txt"]
    parts[0].write_text("1 qid:1 1:0 2:5\n")
    parts[1].write_text("0 qid:2 1:3 2:0\n")
    joined = tmp_path / "joined.txt"
    assert run("convert", *parts, joined, "--sparse", "--n-features", 3)[0] == 0
    assert joined.read_text() == "1 qid:1 2:5.0 3:0.0\n0 qid:2 1:3.0\n"


@pytest.fixture
def shard_directory(succeed, tmp_path):
    """Shards of a planted ranking, made by the command line, and the text they came from."""
    text = tmp_path / "planted.txt"
    write_letor(make_ranking(60, random_state=2)[0], text)
    directory = tmp_path / "planted.shards"
    output = succeed("convert", text, directory)
    assert output.startswith(f"{directory}: ")
    return text, directory


def test_shards_are_inspected_like_the_text(run, succeed, shard_directory, scheduler):
    text, directory = shard_directory
    expected = run("inspect", text, "--format", "json")[1]
    for options in ([], ["--verify"], ["--dask", scheduler]):
        output = succeed("inspect", directory, "--format", "json", *options)
        ours, theirs = json.loads(output), json.loads(expected)
        for name in ("best_features", "near_duplicates"):
            assert len(ours[name]) == len(theirs[name])
            ours.pop(name), theirs.pop(name)
        assert ours == theirs


def test_shards_are_converted_back(run, shard_directory, tmp_path):
    text, directory = shard_directory
    back = tmp_path / "back.txt"
    assert run("convert", directory, back)[0] == 0
    assert back.read_text() == text.read_text()


def test_shards_become_shards(run, shard_directory, tmp_path):
    _, directory = shard_directory
    copy = tmp_path / "copy.shards"
    assert run("convert", directory, copy, "--dtype", "float32", "--sparse")[0] == 0
    with open_shards(copy) as shards, open_shards(directory) as original:
        assert (shards.dtype, shards.is_sparse) == (np.float32, True)
        assert shards.query_ids.tolist() == original.query_ids.tolist()
        np.testing.assert_array_equal(
            shards.read().X.toarray(), original.read().X.astype(np.float32)
        )
    assert run("convert", copy, copy, "--overwrite")[0] == 0  # read before it is replaced
    with open_shards(copy, verify=True) as shards:
        assert (shards.dtype, shards.is_sparse) == (np.float32, True)  # as they were


def test_shards_are_not_replaced_unless_told(run, shard_directory):
    text, directory = shard_directory
    status, _, errors = run("convert", text, directory)
    assert status == 1
    assert errors.startswith(f"error: {directory}")
    assert run("convert", text, directory, "--overwrite", "--dtype", "float32")[0] == 0
    with open_shards(directory) as shards:
        assert shards.dtype == np.float32


def test_damaged_shards_are_reported(run, shard_directory):
    _, directory = shard_directory
    damaged = max(directory.glob("*.npy"), key=lambda file: file.stat().st_size)
    content = bytearray(damaged.read_bytes())
    content[-1] ^= 1
    damaged.write_bytes(content)
    status, _, errors = run("inspect", directory, "--verify")
    assert status == 1
    assert errors.startswith(f"error: {damaged}")


def test_evaluate_equals_the_library(run, succeed, text_file, tmp_path):
    scores = tmp_path / "scores.txt"
    scores.write_text("0.5\n1\n3e-1\n\n-2\n0\n")
    status, output, _ = run(
        "evaluate",
        text_file,
        scores,
        "--measures",
        "map, ndcg@2",
        "--convention",
        "letor4",
        "--format",
        "json",
    )
    data = read_letor(text_file)
    expected = evaluate(data.y, [0.5, 1, 0.3, -2, 0], data.qid, ["map", "ndcg@2"], "letor4")
    assert status == 0
    assert json.loads(output) == {"convention": "letor4", "mean": expected.mean}
    output = succeed("evaluate", text_file, scores, "--per-query", "--measures", "map")
    heading, table = output.split("\n\n", 1)
    assert "Convention standard." in heading
    assert [line.split() for line in table.splitlines()] == [
        ["query", "MAP"],
        ["flights", "0.5000"],
        ["hotels", "1.0000"],
        [],
        ["mean", "of", "2", "queries", "0.7500"],
    ]
    everything = json.loads(
        run("evaluate", text_file, scores, "--per-query", "--format", "json")[1]
    )
    assert everything["query_ids"] == ["flights", "hotels"]
    assert everything["per_query"]["MAP"] == [0.5, 1.0]


def test_evaluate_has_no_pairwise_error_where_labels_are_equal(run, tmp_path):
    data, scores = tmp_path / "data.txt", tmp_path / "scores.txt"
    data.write_text("0 qid:1 1:1\n1 qid:1 1:1\n1 qid:2 1:1\n1 qid:2 1:1\n")
    scores.write_text("2\n1\n4\n3\n")
    command = ["evaluate", data, scores, "--measures", "pairwise-error", "--per-query"]
    answer = json.loads(run(*command, "--format", "json")[1])
    assert answer["per_query"] == {"PairwiseError": [1.0, None]}
    assert answer["mean"] == {"PairwiseError": 1.0}
    output = run(*command)[1]
    assert "Queries with equal labels have no pairwise error" in " ".join(output.split())
    assert ["2", "-"] in [line.split() for line in output.splitlines()]


def test_evaluate_follows_the_lines_of_ungrouped_files(run, tmp_path):
    data, scores = tmp_path / "data.txt", tmp_path / "scores.txt"
    data.write_text("0 qid:1 1:1\n1 qid:2 1:1\n1 qid:1 1:1\n0 qid:2 1:1\n")
    scores.write_text("qid1\t0\t1.0\nqid2\t0\t2.0\nqid1\t1\t3.0\nqid2\t1\t0.5\n")  # as RankLib
    answer = json.loads(run("evaluate", data, scores, "--measures", "map", "--format", "json")[1])
    assert answer["mean"]["MAP"] == 1.0


def test_published_digits(succeed, mq2008_dir, tmp_path):
    part = mq2008_dir / "S5.txt"
    scores = tmp_path / "scores.txt"
    scores.write_text("".join(f"{value!r}\n" for value in read_letor(part).X[:, 38].tolist()))
    output = succeed("evaluate", part, scores, "--convention", "letor4")
    assert output.splitlines()[-1].split()[-4:] == ["0.4311", "0.1920", "0.2333", "0.4454"]


@pytest.mark.slow
def test_no_traceback_from_the_program_itself(tmp_path):
    path = tmp_path / "bad.txt"
    path.write_text("x\n")
    done = subprocess.run(
        [sys.executable, "-m", "ranksieve", "inspect", str(path)], capture_output=True, text=True
    )
    assert done.returncode == 1
    assert done.stderr == f"error: {path}:1: the label is not a number: 'x'\n"


def test_version_and_help(run, succeed):
    assert run("--version")[1] == f"ranksieve {__version__}\n"
    output = succeed("--help")
    for command in ("inspect", "select", "convert", "evaluate"):
        assert command in output


@pytest.mark.slow
def test_progress_bar_only_on_a_terminal(run, succeed, tmp_path, monkeypatch):
    pty = pytest.importorskip("pty", reason="pseudo-terminals are a Unix matter")
    big = tmp_path / "big.txt"
    big.write_text("".join(f"0 qid:{n} 1:0.123456\n" for n in range(100_000)))
    command = ["inspect", big, "--format", "json"]
    piped = succeed(*command)
    master, slave = pty.openpty()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    with open(slave, "w") as terminal, monkeypatch.context() as here:
        here.setattr(sys, "stderr", terminal)
        here.setattr("ranksieve.progress._QUICK", 0.0)
        here.setattr("ranksieve.progress._TICK", 0.01)
        status, shown, _ = run(*command)
    assert b"Reading" in os.read(master, 100_000)
    os.close(master)
    assert (status, shown) == (0, piped)
    assert json.loads(shown)["n_rows"] == 100_000


def test_one_of_anything_is_no_plural(run, tmp_path):
    path, scores, model = (tmp_path / name for name in ("a.txt", "scores.txt", "model.json"))
    path.write_text("1 qid:1 1:2\n0 qid:1 1:1\n")
    scores.write_text("1\n2\n")
    said = run("convert", path, tmp_path / "a.parquet")[1]
    assert said == f"{tmp_path / 'a.parquet'}: 2 rows, 1 query, 1 feature\n"
    assert "mean of 1 query " in run("evaluate", path, scores)[1]
    assert "trained on 1 feature\n" in run("train", path, "--ranker", "rankrls", "--out", model)[1]
    assert title_of([path, path]).endswith("a.txt and 1 more file")
    (tmp_path / "b.txt").write_text("0 qid:2 1:2\n0 qid:2 1:1\n")
    said = run("inspect", path, tmp_path / "b.txt")[1]
    assert "1 query (50.0%)" in said


def test_inspect_writes_a_page(succeed, tmp_path):
    page = tmp_path / "data <b>.html"
    output = succeed("inspect", "--demo", "--html", page)
    assert f"The page is in {page}" in output
    text = page.read_text()
    assert "How well features rank alone" in text
    assert "inspect --demo --html" in text


@pytest.mark.parametrize("width", [60, 80])
def test_tables_fit_the_terminal(run, tmp_path, monkeypatch, width):
    """No line is wider, and no table is cut in two, with long names and many measures."""
    monkeypatch.setenv("COLUMNS", str(width))
    plain, _ = make_ranking(20, n_noise=30, random_state=3)
    names = [f"a_rather_long_name_of_a_feature_with_number_{n}" for n in range(plain.n_features)]
    file, model, scores = (tmp_path / name for name in ("data.parquet", "model.json", "scores.txt"))
    write_parquet(RankingData(plain.X, plain.y, plain.qid, feature_names=names), file)
    costs = tmp_path / "costs.csv"
    costs.write_text("feature,cost\n" + "".join(f"{name},{len(name) / 7}\n" for name in names))
    measures = ",".join(f"ndcg@{k}" for k in range(1, 13))
    select = ["select", file, "--method", "greedy-rankrls", "-k", "5", "--costs", costs]
    tables = {
        "property": ["inspect", file],
        "rank": select,
        "method": ["select", "--methods"],
        "ranker": ["train", "--rankers"],
        "data": ["train", file, "--ranker", "rankrls", "--vali", file, "--out", model],
        "target": ["export", "--targets"],
        "what": ["export", model, "--to", "c", "--out", tmp_path / "c", "--verify", file],
        "query": ["evaluate", file, scores, "--measures", measures, "--per-query"],
    }
    for first, command in tables.items():
        if first == "query":
            assert run("predict", model, file, "--out", scores)[0] == 0
        status, output, errors = run(*command)
        assert status == 0, errors
        lines = output.splitlines()
        assert max(map(len, lines)) <= width
        assert sum(line.split()[:1] == [first] for line in lines) == 1
    told = " ".join(output.split())
    assert f"To fit {width} columns, left out: NDCG@" in told
    assert "the whole table: --format csv" in told
