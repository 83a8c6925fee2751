"""The commands of the page about clicks print what it shows; the options work everywhere."""

import doctest
import os
import re
import shlex
from pathlib import Path

import polars as pl
import pytest

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


def blocks():
    """Each command of the page, with what it shows: runs of words between lines of dots."""
    for block in re.findall(r"```console\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL):
        command, _, shown = block.partition("\n")
        runs = [" ".join(run.split()) for run in re.split(r"^\.\.\.$", shown, flags=re.MULTILINE)]
        yield shlex.split(command)[2:], [run for run in runs if run]


@pytest.mark.slow
@pytest.mark.parametrize(("command", "shown"), list(blocks()))
def test_the_page_shows_what_commands_print(run, here, tmp_path, command, shown):
    directory = ["--out", tmp_path / "answer"] if command[0] == "recommend" else []
    status, output, errors = run(*command, *directory)
    printed = " ".join(f"{output} {errors}".split())
    assert shown
    for words in shown:
        assert words in printed
    assert status == (1 if shown[0].startswith("error") else 0)


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
