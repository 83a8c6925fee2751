"""The command check: its exit status, formats and files."""

import json

import pytest

from tests.recommendation.demo_checks import CHANGED, COLUMNS

pytestmark = pytest.mark.slow  # the demo is read and trained on once

ROLES = ("--label", "grade", "--qid", "session_id", "--features", ",".join(COLUMNS.features))


@pytest.fixture
def checks(run, demo_files, demo_recommendation):
    """Check data by name; returns the exit status, what is printed, and errors."""

    def check(name, *options):
        return run("check", demo_recommendation, getattr(demo_files, name), *ROLES, *options)

    return check


@pytest.mark.parametrize(
    ("name", "status", "first"),
    [("later", 0, "Holds: "), ("changed", 1, "Broken: "), ("few", 2, "Cannot be judged: ")],
)
def test_the_state_comes_first(checks, name, status, first):
    found, text, _ = checks(name)
    assert found == status
    assert text.startswith(first)
    assert max(map(len, text.splitlines())) <= 80
    assert ("Do now:" in text) == (status > 0)
    before, _, after = text.partition("Good to know:")
    assert "Drift of the kept features" in after
    if status == 1:
        assert all(name in before for name in CHANGED)  # what to do comes before what to know


def test_errors_are_not_taken_for_a_broken_recommendation(run, checks, demo_files, tmp_path):
    assert run("check", tmp_path, demo_files.later, *ROLES)[0] == 2
    assert checks("later", "--level", "7")[0] == 2
    assert checks("later", "--out", tmp_path / "no" / "where.json")[0] == 2
    assert run("check")[0] == 2


def test_formats_and_files(checks, tmp_path):
    status, text, _ = checks("few", "--format", "json", "--out", tmp_path / "few.json")
    printed, written = json.loads(text), json.loads((tmp_path / "few.json").read_text())
    assert (status, printed["exit_status"]) == (2, 2)
    assert written == printed
    assert checks("few", "--out", tmp_path / "few.json")[0] == 2  # a check may be replaced
    for name in ("notes.json", "notes.txt"):
        (tmp_path / name).write_text("{}")
        status, text, errors = checks("few", "--out", tmp_path / name)
        assert (status, text) == (2, "")
        assert f"{name}: not the result of a check" in " ".join(errors.split())
        assert (tmp_path / name).read_text() == "{}"
    status, text, _ = checks("changed", "--format", "openmetrics", "--out", tmp_path)
    assert 'ranksieve_check_state{recommendation="log.parquet",state="broken"} 1.0\n' in text
    assert text.endswith("\n# EOF\n")
    (path,) = tmp_path.glob("check-*Z.json")
    assert json.loads(path.read_text())["state"] == "broken"
    status, text, _ = checks("changed", "--format", "csv")
    assert (status, "embedding_cosine" in text) == (1, True)


def test_a_page_of_checks(run, checks, tmp_path):
    place = tmp_path / "checks"  # which is made
    checks("changed", "--out", place)
    status, text, _ = run("report", place)
    assert status == 0
    assert text.startswith("Broken: ")
    assert max(map(len, text.splitlines())) <= 80
    assert "Drift over time" in (place / "report.html").read_text()
    assert run("report", place)[0] == 0  # its own files may be replaced
    status, _, errors = run("report", tmp_path)
    assert status == 1
    assert "check --out writes results of checks" in " ".join(errors.split())
    (tmp_path / "other").mkdir()
    checks("few", "--out", tmp_path / "other")
    (tmp_path / "other" / "report.html").write_text("mine")
    assert run("report", tmp_path / "other")[0] == 1
    assert (tmp_path / "other" / "report.html").read_text() == "mine"
