"""Wrong options and input of commands: one line says why, and nothing is overwritten."""

import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ranksieve import make_ranking, write_letor
from ranksieve.cli import main
from ranksieve.rankers import RankSVM

DATA, _ = make_ranking(6, docs_per_query=4, n_informative=2, n_redundant=0, n_noise=1)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current directory, with data, scores and times."""
    monkeypatch.chdir(tmp_path)
    write_letor(DATA, "a.txt")
    Path("scores.txt").write_text("1\n" * DATA.n_rows)
    Path("odd.txt").write_text("1_0\n" * DATA.n_rows)
    Path("costs.csv").write_text("feature,cost\n1,2\n2,2\n3,2\n")
    Path("plan.toml").write_text("[columns]\nignore = 5\n")
    frame = pd.DataFrame(DATA.X, columns=["a", "b", "c"])
    frame["qid"], frame["label"], frame["day"] = DATA.qid, DATA.y, pd.Timestamp("2026-01-01")
    frame.to_parquet("t.parquet")
    return tmp_path


BY_TIME = ["compare", "t.parquet", "--time-column", "day", "--test-queries-after"]
DEEP = "[" * 100_000


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["inspect", "a.txt", "--n-features", "9" * 20], "n_features must be from 1 to 2,147,483"),
        (
            ["convert", "a.txt", "b.txt", "--dtype", "float99"],
            "dtype must be float64 or float32, g",
        ),
        (["evaluate", "a.txt", "odd.txt"], "odd.txt:1: the score is not a number: '1_0'"),
        (["evaluate", "a.txt", "scores.txt", "--measures", ","], "there is no measure to evaluate"),
        (
            ["evaluate", "a.txt", "scores.txt", "--measures", "p(rel=nan)@5"],
            "'nan' is not a finite",
        ),
        (
            ["evaluate", "a.txt", "scores.txt", "--measures", "err(max_grade=2000)"],
            "from 1 to 1000",
        ),
        (["convert", "a.txt", "a.txt"], "a.txt: is an input, which would be overwritten"),
        (["convert", "a.*", "a.txt"], "a.txt: is an input, which would be overwritten"),
        (["select", "a.*", "--out", "a.txt", "--method", "gas-e"], "a.txt: is an input, which wou"),
        (
            ["select", "a.txt", "--costs", "costs.csv", "--out", "costs.csv"],
            "costs.csv: is an input, which would be overwritten",
        ),
        (["select", "a.txt", "--method", ""], "unknown method ''"),
        (
            ["select", "a.txt", "--method", "gas-e", "--param", f"c={DEEP}"],
            "The 'c' parameter of G",
        ),
        (["compare", "a.txt", "--convention", "sklearn"], "convention 'sklearn' has no MAP"),
        (["compare", "--plan", "plan.toml"], "plan.toml: ignore must name columns, got 5"),
        ([*BY_TIME, "9999-12-31"], "'9999-12-31' is too early or too late for a date"),
        ([*BY_TIME, "0001-01-01T00:00+05:00"], "00:00+05:00' is too early or too late for a date"),
        (
            ["compare", "a.txt", "--param", "gas-e.c=1", "--param", "gas-e.c=2"],
            "gas-e.c is given twice",
        ),
        (
            ["compare", "a.txt", "--ks", "99", "--rankers", "ranksvm"],
            "the data has only 3 features;",
        ),
        (["report", "a.txt"], "a.txt/study.toml: Not a directory"),
        (
            ["export", "a.txt", "--to", "c", "--out", "x", "--group-costs", "costs.csv"],
            "--group-costs needs --costs",
        ),
        (["check", "a.txt", "a.txt", "--missing", "zero"], "No such option: --missing"),
    ],
)
def test_errors_are_one_line(run, folder, arguments, message):
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    status, output, errors = run(*arguments)
    assert status != 0
    assert message in errors
    assert "Traceback" not in errors
    assert output == ""
    after = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    assert after == before


@pytest.mark.parametrize("option", [["--n-features", "2"], ["--zero-based"]])
def test_options_of_text_are_refused_for_other_data(run, folder, option):
    run("convert", "t.parquet", "t.shards", "--ignore", "day")
    run("train", "t.shards", "--out", "model.json")
    csv = "\n".join(f"{n % 2},{n},{n // 3},{-n}" for n in range(6))
    Path("t.csv").write_text(f"label,a,qid,b\n{csv}\n")
    ignore = ["--ignore", "day"]
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


def test_options_of_text_are_used_for_the_part_that_is_text(run, folder):
    run("convert", "t.parquet", "t.shards", "--ignore", "day")
    Path("zero.txt").write_text("1 qid:100 0:1\n0 qid:100 2:2\n1 qid:101 0:2\n0 qid:101 1:0\n")
    run("convert", "a.txt", "a.shards")
    quick = ["--selectors", "gas-e", "--rankers", "rankrls", "--ks", "1", "--no-figures"]
    status, _, errors = run("compare", "a.shards", "--test", "zero.txt", "--zero-based", *quick)
    assert (status, errors) == (0, "")
    status, _, errors = run("train", "zero.txt", "--zero-based", "--vali", "a.shards")
    assert (status, errors) == (0, "")


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
def test_training_is_measured_as_the_convention_can(run, folder, convention, measures):
    ties = "".join(f"{label} qid:1 1:1 # d{label}\n" for label in range(3))
    Path("ties.txt").write_text(f"{ties}1 qid:2 1:1 # a\n0 qid:2 1:0 # b\n")
    status, output, _ = run("train", "ties.txt", "--convention", convention, "--format", "json")
    assert status == 0
    assert [name for name in ("MAP", "NDCG@10") if name in output] == measures


def test_names_that_begin_at_0_are_not_numbers_of_features(run, folder):
    frame = pd.DataFrame(DATA.X, columns=["0", "1", "2"])
    ranker = RankSVM().fit(frame, DATA.y, qid=DATA.qid)
    ranker.save_model("model.json")
    status, output, _ = run("predict", "model.json", "a.txt")
    assert status == 0
    scores = [float(line) for line in output.split()]
    np.testing.assert_array_equal(scores, ranker.predict(frame))


def test_features_that_the_model_uses_must_be_there(run, folder):
    run("select", "a.txt", "--method", "gas-e", "-k", "1", "--include", "3", "--out", "s.json")
    status, _, _ = run("train", "a.txt", "--selection", "s.json", "--out", "model.json")
    assert status == 0
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
    write_letor(DATA._replace(X=1e300 * DATA.X), "large.txt")
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
