"""The commands of the page about clicks print what it shows; the options work everywhere."""

import doctest
import os
from pathlib import Path

import polars as pl
import pytest

from tests.console_blocks import execute, is_like, read_blocks

PAGE = Path(__file__).parents[2] / "docs" / "clicks.md"


@pytest.fixture(scope="module")
def files():
    """Directory with the tables that the page makes."""
    names = {}
    for example in doctest.DocTestParser().get_examples(PAGE.read_text(encoding="utf-8")):
        exec(compile(example.source, str(PAGE), "single"), names)
    return names["here"]


@pytest.fixture
def here(files, monkeypatch):
    monkeypatch.chdir(files)
    return files


@pytest.mark.slow
def test_the_page_shows_what_commands_print(run, here, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    commands = read_blocks(PAGE.read_text(encoding="utf-8"))
    assert len(commands) == 3
    for command in commands:
        if command.words[1] == "recommend":
            command.words.extend(["--out", str(tmp_path / str(len(command.words)))])
        printed = execute(command, run)
        assert is_like(command.printed, printed), "\n".join([str(command.words), *printed])


def test_other_commands_take_weights_and_positions(run, here, tmp_path):
    os.chdir(tmp_path)
    log = pl.read_parquet(here / "clicks.parquet")
    log.write_csv(tmp_path / "log.csv")
    own = [
        "log.csv",
        "--label",
        "clicked",
        "--row-weight",
        "click_weight",
        "--position",
        "position",
    ]
    status, output, _ = run(
        "train", *own, "--ranker", "lambdamart", "--param", "n_estimators=3", "--out", "m.json"
    )
    assert (status, "NDCG@10" in output, "MAP" in output) == (0, True, False)
    status, output, _ = run("predict", "m.json", *own, "--out", "scores.txt")
    assert status == 0
    status, output, _ = run("evaluate", own[0], "scores.txt", *own[1:], "--measures", "dcg@5,p@5")
    assert status == 0
    assert "Documents count by the weights of their rows." in " ".join(output.split())
    refused = {
        ("evaluate", own[0], "scores.txt", *own[1:]): "MAP takes no weights of rows",
        ("train", *own, "--ranker", "rankrls"): "RankRLS takes no weights of rows",
        (
            "train",
            *own,
            "--ranker",
            "xgboost",
        ): "XGBRanker takes no weights of rows: XGBoost weighs",
        ("select", *own, "--method", "gas-e", "-k", "2"): "takes no weights of rows",
        ("recommend", *own, "--ranker", "rankrls"): "Leave out --row-weight",
    }
    for command, message in refused.items():
        status, _, errors = run(*command)
        assert (status, message in " ".join(errors.split())) == (1, True), (command, errors)
    status, _, _ = run("select", *own, "--method", "bt-influence", "-k", "2", "--out", "s.json")
    assert status == 0
    status, _, _ = run("inspect", *own)
    assert status == 0
