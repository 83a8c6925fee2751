"""A messy log, from the first look to the nightly check: columns are said once."""

import json
import shlex

import polars as pl
import pytest

from ranksieve import Columns, load_model, read_parquet
from ranksieve.cli import main
from ranksieve.datasets import write_demo_table
from ranksieve.recommendation import check, load_recommendation

QUICK = ("--ranker", "rankrls", "--selectors", "top", "--folds", 3, "--margin", "20%")


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    """Some sessions of the messy log of the demo, and some later ones."""
    folder = tmp_path_factory.mktemp("logs")
    table = write_demo_table(folder / "demo")
    for name, path in (("log", table.log), ("later", table.later)):
        frame = pl.read_parquet(path)
        few = frame["session_id"].unique(maintain_order=True)[:60]
        kept = frame.filter(pl.col("session_id").is_in(few.implode()))
        kept.write_parquet(folder / f"{name}.parquet")
    return folder


@pytest.fixture(scope="module")
def later(logs):
    return pl.read_parquet(logs / "later.parquet")


def corrected(errors):
    (command,) = [line for line in errors.splitlines() if line.startswith("  ranksieve ")]
    return shlex.split(command)[1:]


@pytest.fixture(scope="module")
def recommended(logs):
    """Directory of a recommendation whose columns were said once, to inspect."""
    log, file, out = (logs / name for name in ("log.parquet", "columns.toml", "rec"))
    look = ["inspect", log, "--ignore", "clicked,shown_position", "--write-columns", file]
    for command in (
        [*look, "--missing", "query-min+indicators"],
        ["recommend", log, "--columns", file, *QUICK, "--no-figures", "--out", out],
    ):
        with pytest.raises(SystemExit) as stop:
            main([str(word) for word in command])
        assert not stop.value.code
    return out


@pytest.mark.slow
def test_a_messy_log_from_the_first_look_to_the_nightly_check(run, logs, recommended):
    log, later = logs / "log.parquet", logs / "later.parquet"
    status, output, errors = run("inspect", log)
    assert status == 0
    command = corrected(errors)
    assert dict(zip(command[2::2], command[3::2], strict=True)) == {
        "--label": "grade",
        "--qid": "session_id",
        "--doc-id": "doc_id",
        "--ignore": "shown_at,query_text",
        "--categorical": "device,page_class",
    }
    assert run(*command) == (0, output, errors.partition("The same")[0])
    status, _, errors = run("select", log, "--method", "top", "-k", 2)
    assert status == 1
    assert run(*corrected(errors))[0] == 0

    settings = load_recommendation(recommended).settings
    assert settings["columns"].qid == "session_id"
    assert settings["treated"].name == "query-min+indicators"
    status, output, errors = run("check", recommended, later, "--format", "json")
    assert status in (0, 1)
    assert json.loads(output)["claim"]["n_queries"] == 60
    assert errors.startswith("Columns: label = grade, query = session_id, document = doc_id; 45 f")
    assert check(recommended, str(later)).to_record() == json.loads(output)
    status, output, _ = run("report", recommended)
    assert status == 0
    assert "Keep" in output


@pytest.mark.slow
def test_check_says_what_is_lacking_and_takes_what_is_said(run, logs, later, recommended, tmp_path):
    renamed = tmp_path / "renamed.parquet"
    later.rename({"session_id": "visit"}).with_columns(user_id=1, note=pl.lit("x")).write_parquet(
        renamed
    )
    status, _, errors = run("check", recommended, renamed)
    assert status not in (0, None)
    assert (
        "renamed.parquet: there is no column 'session_id', which the recommendation rem" in errors
    )
    expected = run("check", recommended, logs / "later.parquet", "--format", "json")[:2]
    assert run("check", recommended, renamed, "--qid", "visit", "--format", "json")[:2] == expected
    later.drop("bm25_body").write_parquet(renamed)
    assert "it lacks feature 'bm25_body', which the reco" in run("check", recommended, renamed)[2]


@pytest.mark.slow
def test_a_model_remembers_its_columns(run, logs, later, tmp_path):
    log, model, scores = logs / "log.parquet", tmp_path / "model.json", tmp_path / "scores.txt"
    command = ["train", log, "--ranker", "rankrls", "--missing", "zero", "--out", model]
    # Models of categories cannot be exported.
    status, _, errors = run(*command, "--ignore", "clicked,shown_position,device,page_class")
    assert status == 1
    assert run(*corrected(errors))[0] == 0
    ranker = load_model(model)
    assert (ranker.columns_.label, ranker.columns_.qid) == ("grade", "session_id")
    assert ranker.columns_.missing is None  # it is in missing_
    assert ranker.missing_.name == "zero"
    status, _, errors = run("predict", model, logs / "later.parquet", "--out", scores)
    assert status == 0, errors
    data = read_parquet(
        logs / "later.parquet",
        Columns("grade", "session_id", "doc_id", features=ranker.feature_names_in_.tolist()),
    )
    expected = [repr(score) for score in data.to_input_order(ranker.predict(data)).tolist()]
    assert scores.read_text().split() == expected
    unlabeled = tmp_path / "unlabeled.parquet"
    later.drop("grade", "clicked", "doc_id").rename({"session_id": "visit"}).write_parquet(
        unlabeled
    )
    status, _, errors = run("predict", model, unlabeled)
    assert "no column 'session_id', which the model remembers as the query: name it" in errors
    status, output, errors = run("predict", model, unlabeled, "--qid", "visit")
    assert (status, output.split()) == (0, expected)
    command = ["export", model, "--to", "python", "--verify", logs / "later.parquet"]
    status, output, errors = run(*command, "--out", tmp_path / "export")
    assert status == 0, errors
    errors = run(*command[:-1], unlabeled, "--qid", "visit", "--out", tmp_path / "no")[2]
    assert "there is no column 'grade', which the model remembers as the label" in errors


@pytest.mark.slow
def test_a_study_remembers_its_columns(run, logs, tmp_path):
    out = tmp_path / "study"
    options = ("--selectors", "top", "--rankers", "rankrls", "--ks", 2, "--seeds", 1)
    command = ["compare", logs / "log.parquet", *options, "--no-baselines", "--no-figures"]
    command += ["--missing", "zero", "--time-column", "shown_at"]
    command += ["--test-queries-after", "2026-03-03T06:00:00"]
    command += ["--param", "rankrls.lam=1", "--out", out]
    status, _, errors = run(*command)
    assert status == 1
    assert run(*corrected(errors))[0] == 0
    plan = (out / "study.toml").read_text()
    assert 'qid = "session_id"' in plan
    status, _, errors = run("compare", "--plan", out / "study.toml", "--out", tmp_path / "b")
    assert status == 0, errors
    assert run("report", out)[0] == 0
