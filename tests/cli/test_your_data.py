"""Columns and splits on the command line: every command that reads data takes them."""

import json
import shlex
import subprocess

import numpy as np
import polars as pl
import pytest

from ranksieve import make_ranking, read_csv, read_parquet
from ranksieve.data.columns import Columns
from ranksieve.io.shards import open_shards

OPTIONS = ("--selectors", "top", "--rankers", "rankrls", "--ks", "2", "--seeds", "1")
QUICK = (*OPTIONS, "--param", "rankrls.lam=1", "--no-figures")
NOTE = "Columns: label = relevance, query = query_id, weight = weight; "


@pytest.fixture(scope="module")
def data():
    found, _ = make_ranking(
        30, n_informative=3, n_redundant=1, n_noise=1, docs_per_query=(3, 7), random_state=2
    )
    return found


@pytest.fixture(scope="module")
def frame(data):
    return pl.DataFrame(
        {
            "query_id": data.qid,
            "relevance": data.y,
            "weight": 1.0 + data.qid % 2,
            "shop_id": np.arange(data.n_rows) % 5,
            "title": [f"title {row}" for row in range(data.n_rows)],
            "date": np.datetime64("2026-01-01") + data.qid,
            "fold": data.qid % 3,
        }
        | {f"f{n}": data.X[:, n] for n in range(data.n_features)}
    )


@pytest.fixture
def table(frame, tmp_path):
    frame.write_csv(tmp_path / "clicks.csv")
    return tmp_path / "clicks.csv"


def test_every_command_that_reads_data_takes_columns(run, table, data, tmp_path):
    model, chosen, scores = (tmp_path / name for name in ("m.json", "s.json", "scores.txt"))
    own = ("--features", "f0,f1", "--features", "f2")
    note = NOTE + "3 features: f0, f1, f2; left out: shop_id, title, date, fold, f3, f4\n"
    for command in (
        ["inspect", table, *own],
        ["select", table, "--method", "top", "-k", 2, "--out", chosen, *own],
        ["train", table, "--ranker", "rankrls", "--vali", table, "--out", model, *own],
        ["train", table, "--ranker", "rankrls", "--selection", chosen, *own],
        ["predict", model, table, "--out", scores, *own],
        ["evaluate", table, scores, *own],
        ["convert", table, tmp_path / "few.parquet", *own],
        ["convert", table, tmp_path / "few.shards", *own],
        ["compare", table, *QUICK, "--out", tmp_path / "study", *own],
    ):
        status, _, errors = run(*command)
        assert (status, errors.partition("The same without a guess:")[0]) == (0, note), command
    assert len(scores.read_text().split()) == data.n_rows
    expected = read_csv(table, Columns(features=["f0", "f1", "f2"]))
    back = read_parquet(tmp_path / "few.parquet")
    np.testing.assert_array_equal(back.X, expected.X)
    assert back.query_weights.tolist() == expected.query_weights.tolist()
    with open_shards(tmp_path / "few.shards") as shards:
        assert shards.query_weights.tolist() == expected.query_weights.tolist()


def test_what_to_do_is_said_and_works(run, table):
    status, _, errors = run("select", table, "--method", "top", "-k", 2)
    assert status == 1
    assert "'shop_id' looks like an id" in errors
    assert "'title' holds text, such as 'title 0' in row 2, not numbers" in errors
    corrected = [line for line in errors.splitlines() if line.startswith("  ranksieve ")]
    assert corrected == [
        f"  ranksieve select {table} --method top -k 2 --label relevance --qid query_id "
        "--weight weight --ignore shop_id,title,date"
    ]
    assert "  if 'shop_id' is a feature, do not ignore it, but add --features '*'" in errors
    status, _, errors = run(*shlex.split(corrected[0])[1:])
    assert status == 0
    assert errors.startswith(NOTE + "6 features: fold, f0, f1")
    assert errors.endswith("left out: shop_id, title, date\n")


def test_inspect_leaves_out_what_is_no_feature_and_writes_what_columns_are(run, table, tmp_path):
    file = tmp_path / "columns.toml"
    status, output, errors = run("inspect", table, "--missing", "zero")
    assert status == 0
    assert errors.startswith(NOTE + "6 features: fold, f0, f1")
    command = errors.splitlines()[2]
    assert command.endswith("--ignore shop_id,title,date")
    assert run(*shlex.split(command)[1:])[1] == output  # and there is nothing to guess
    status, again, errors = run("inspect", table, "--missing", "zero", "--write-columns", file)
    assert (status, again) == (0, output)
    assert errors.splitlines()[1] == f"What the columns are is in {file}"
    text = file.read_text()
    assert "    \"title\",  # text, such as 'title 0' in row 2\n" in text
    assert 'missing = "zero"\n' in text
    assert '"fold",\n    "f0",\n    "f1",' in text
    status, again, errors = run("inspect", table, "--columns", file)
    assert (status, again, errors.count("\n")) == (0, output, 1)
    assert "columns.toml exists; name" in run("inspect", table, "--write-columns", file)[2]
    assert "only tables have columns" in run("inspect", "--demo", "--write-columns", "new.toml")[2]


def test_options_go_before_the_file_of_columns(run, table, tmp_path):
    file = tmp_path / "columns.toml"
    Columns("relevance", "query_id", features=["f?", "shop_id"], missing="keep").save(file)
    status, _, errors = run("inspect", table, "--columns", file, "--ignore", "f0", "--label=fold")
    assert status == 0
    assert errors.startswith(
        "Columns: label = fold, query = query_id, weight = weight; 5 features: shop_id, f1, f2, f3"
    )
    told = run("convert", table, tmp_path / "b.parquet", "--columns", tmp_path / "none.toml")[2]
    assert told == f"error: {tmp_path}/none.toml: no such file"


def test_the_corrected_command_can_be_pasted_whatever_the_names_are(run, data, tmp_path):
    names = [
        "a,b",
        "it's",
        'q"u"o',
        "new\nline",
        "\x1b[31m",
        "$(exit 1)",
        "*",
        "\\",
        " x ",
        "\u202e",
    ]
    names += ["<\u5c0f>", "-n", "'"]
    folder = tmp_path / "it's $HOME"
    folder.mkdir()
    table = {"query_id": data.qid, "grade": data.y, "f": data.X[:, 0]}
    table |= {name: ["text"] * data.n_rows for name in names}
    pl.DataFrame(table).write_parquet(folder / "log.parquet")
    status, _, errors = run("select", folder / "log.parquet", "--method", "top", "-k", 1)
    assert status == 1
    (command,) = [line for line in errors.splitlines() if line.startswith("  ranksieve ")]
    shown = subprocess.run(
        ["bash", "-c", f'ranksieve() {{ printf "%s\\0" "$@"; }}; {command}'],
        capture_output=True,
        check=True,
    )
    status, _, errors = run(*shown.stdout.decode().split("\0")[:-1])
    assert (status, errors.partition(";")[0]) == (0, "Columns: label = grade, query = query_id")


def test_roles_can_be_said(run, frame, tmp_path):
    renamed = frame.rename({"query_id": "visit", "relevance": "clicked", "weight": "importance"})
    renamed.write_csv(tmp_path / "a.tsv", separator="\t")
    command = ["inspect", tmp_path / "a.tsv", "--features", "f?", "--label", "clicked"]
    assert "no column is named like the query" in run(*command)[2]
    command += ["--qid", "visit", "--doc-id", "title", "--weight", "importance"]
    status, _, errors = run(*command)
    assert status == 0
    assert errors.startswith(
        "Columns: label = clicked, query = visit, document = title, weight = importance; 5 feat"
    )


def test_weights_cannot_be_written_as_text(run, table, tmp_path):
    errors = run("convert", table, tmp_path / "b.txt", "--features", "f?")[2]
    assert "b.txt: LETOR text cannot store the weights of queries" in errors
    done = run("convert", table, tmp_path / "b.txt", "--features", "f?", "--ignore", "weight")
    assert done[0] == 0


def test_predict_finds_the_features_of_the_model_by_name(run, table, frame, tmp_path):
    """Also in files with other columns, in another order."""
    model = tmp_path / "model.json"
    assert run("train", table, "--ranker", "rankrls", "--features", "f?", "--out", model)[0] == 0
    _, expected, _ = run("predict", model, table, "--features", "f?")
    assert run("predict", model, table)[1] == expected
    other = tmp_path / "other.parquet"
    frame.select(sorted(frame.columns, reverse=True)).write_parquet(other)
    assert run("predict", model, other)[1] == expected
    frame.drop("f1").write_parquet(other)
    assert (
        "other.parquet: it lacks feature 'f1', which the model" in run("predict", model, other)[2]
    )


def test_types_are_kept_unless_another_is_asked_for(run, frame, tmp_path):
    path = tmp_path / "single.parquet"
    frame.with_columns(pl.col("^f\\d$").cast(pl.Float32)).write_parquet(path)
    for target, options, kind in (
        ("a.parquet", (), np.float32),
        ("b.shards", (), np.float32),
        ("c.parquet", ("--dtype", "float64"), np.float64),
    ):
        target = tmp_path / target
        assert run("convert", path, target, "--features", "f?", *options)[0] == 0
        opened = open_shards(target) if target.suffix == ".shards" else read_parquet(target).X
        assert opened.dtype == kind


def test_a_cluster_does_not_silence_the_note_about_columns(run, table, scheduler, tmp_path):
    command = ["compare", table, *QUICK, "--features", "f?", "--dask", scheduler]
    status, _, errors = run(*command, "--out", tmp_path / "study")
    note = NOTE + "5 features: f0, f1, f2, f3, f4; left out: shop_id, title, date, fold\n"
    assert (status, errors) == (0, note)


# Splits.


@pytest.fixture
def parts(frame, tmp_path):
    names = {"train": (0, 18), "vali": (18, 24), "test": (24, 99)}
    for name, (first, last) in names.items():
        kept = pl.col("query_id").is_between(first, last - 1)
        frame.filter(kept).write_parquet(tmp_path / f"{name}.parquet")
    return [tmp_path / f"{name}.parquet" for name in names]


def compare(run, out, *arguments):
    status, output, errors = run("compare", *arguments, *QUICK, "--features", "f?", "--out", out)
    assert status == 0, errors
    return " ".join(output.split())


def table_of(out):
    return (out / "tables" / "comparison-rankrls.csv").read_text()


@pytest.mark.slow
def test_files_that_train_tune_and_test(run, parts, tmp_path):
    train, vali, test = parts
    told = compare(run, tmp_path / "a", train, "--vali", vali, "--test", test)
    assert "Quality of selectors with rankrls on train.parquet" in told
    assert "Protocol: one split, as given." in told
    told = compare(run, tmp_path / "b", tmp_path)  # a directory with the same files
    assert "Protocol: one split, by the files of the directory." in told
    assert table_of(tmp_path / "a") == table_of(tmp_path / "b")
    told = compare(run, tmp_path / "c", train, "--test", test, "--resamples", 3)
    assert "one in five training queries tunes (seed 0); 3 resamples select and train" in told
    assert "Resample3" in (tmp_path / "c" / "tables" / "folds-rankrls-map.csv").read_text()


@pytest.mark.slow
def test_columns_and_times_that_divide(run, table, tmp_path):
    told = compare(run, tmp_path / "a", table, "--split-column", "fold")
    assert (
        "Protocol: 3 folds, by the numbers in column 'fold': FoldN tests on the queries of N"
        in told
    )
    times = ("--time-column", "date", "--test-queries-after", "2026-01-21")
    told = compare(run, tmp_path / "b", table, *times)
    assert (
        "one split, by column 'date': tests on queries after 2026-01-21; one in five train" in told
    )
    plan = tmp_path / "b" / "study.toml"
    status, _, errors = run("compare", "--plan", plan, "--no-figures", "--out", tmp_path / "c")
    assert status == 0, errors
    assert table_of(tmp_path / "b") == table_of(tmp_path / "c")
    other = run(
        "compare", "--plan", plan, "--test-queries-after", "2026-01-15", "--time-column", "date",
        "--no-figures", "--out", tmp_path / "d",
    )  # fmt: skip
    assert "tests on queries after 2026-01-15" in " ".join(other[1].split())


@pytest.mark.slow
def test_options_add_to_the_columns_of_a_plan(run, table, tmp_path):
    plan = tmp_path / "plan.toml"
    plan.write_text(
        f"data = {json.dumps(str(table))}\nselectors = ['top']\nrankers = ['rankrls']\nks = [2]\n"
        "seeds = 1\n[columns]\nlabel = 'relevance'\nfeatures = ['f?']\n"
    )
    command = ["compare", "--plan", plan, "--no-figures", "--out", tmp_path / "s"]
    status, _, errors = run(*command, "--ignore", "f4")
    assert status == 0
    assert errors.startswith(NOTE + "4 features: f0, f1, f2, f3; left out")


def test_files_are_pooled_if_asked_for(run, parts, tmp_path):
    told = compare(run, tmp_path / "s", tmp_path / "*.parquet", "--pool")
    assert "on test.parquet and 2 more files" in told
    assert "Protocol: 5 folds over queries" in told


def test_notes_are_printed_once_and_not_into_the_output(run, table):
    _, output, errors = run("inspect", table, "--features", "f?", "--format", "json")
    assert json.loads(output)["n_features"] == 5
    assert errors.count("Columns:") == 1
