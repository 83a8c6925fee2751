"""The command line on data with missing values."""

import json
from typing import NamedTuple

import numpy as np
import pytest

from ranksieve import RankingData, make_ranking, read_letor, read_parquet, write_letor
from ranksieve.io.selection import read_selection
from ranksieve.io.shards import open_shards
from ranksieve.rankers import load_model
from ranksieve.selectors.registry import make_selector


class Output(NamedTuple):
    out: str
    err: str


@pytest.fixture
def run(run):
    """Run a command that ends with the given status."""

    def run_with(*arguments, code=0):
        status, *output = run(*arguments)
        assert status == code, output
        return Output(*output)

    return run_with


def with_gaps(seed, columns):
    data, _ = make_ranking(20, docs_per_query=6, n_informative=3, n_noise=3, random_state=seed)
    data = data.take_features(range(6))
    X = data.X.copy()
    gaps = np.random.default_rng(seed).random(X.shape) < 0.2
    gaps[:, [feature for feature in range(6) if feature not in columns]] = False
    gaps[0, columns] = True
    X[gaps] = np.nan
    return RankingData(X, data.y, data.qid, feature_names=list("abcdef"))


@pytest.fixture
def train(tmp_path):
    """Data whose first four features have gaps, as text."""
    write_letor(with_gaps(0, range(4)), tmp_path / "train.txt")
    return tmp_path / "train.txt"


@pytest.fixture
def test(tmp_path):
    """Data whose features have gaps at other places."""
    write_letor(with_gaps(1, range(2, 6)), tmp_path / "test.txt")
    return tmp_path / "test.txt"


def test_inspect_counts_them(run, train):
    shown = run("inspect", train).out
    assert "of the values are neither zero nor missing)" in " ".join(shown.split())
    assert "missing values" in shown
    assert "of 4 features; trees take them as they are" in " ".join(shown.split())
    assert "Best single features" in shown
    found = json.loads(run("inspect", train, "--format", "json").out)
    data = read_letor(train)
    assert found["n_missing"] == np.isnan(data.X).sum()
    counts = dict(zip("abcd", np.isnan(data.X).sum(axis=0).tolist(), strict=False))
    assert found["missing"] == counts
    filled = json.loads(run("inspect", train, "--missing", "zero", "--format", "json").out)
    assert filled["n_missing"] == 0


def test_select_keeps_them_or_says_how_to_fill_them_in(run, train):
    for method in ("gas-e", "ig", "bt-influence"):
        chosen = run("select", train, "--method", method, "-k", 2)
        assert chosen == run("select", train, "--method", method, "-k", 2, "--missing", "keep")
    error = run("select", train, "--method", "fs-ed", "-k", 2, code=1).err
    assert "FSED cannot use missing values" in error
    assert "fill in missing values with --missing query-median, query-min or zero" in error
    run("select", train, "--method", "fs-ed", "-k", 2, "--missing", "query-median")
    assert "missing must be one of keep" in run("select", train, "--missing", "x", code=1).err


def test_a_selection_knows_the_policy(run, train, test, tmp_path):
    out = tmp_path / "selected.json"
    how = ("--method", "top", "-k", 8, "--missing", "query-min+indicators", "--out", out)
    run("select", train, *how)
    selection = read_selection(out)
    expected = read_letor(train).with_missing("query-min+indicators")
    assert selection.missing == expected.missing
    assert selection.n_features_in == 10
    chosen = make_selector("top", 8).fit(expected).selected_
    assert [feature.index for feature in selection.features] == chosen.tolist()
    # The same features of other data, whose gaps are elsewhere.
    for name, policy in [("a.txt", ()), ("b.txt", ("--missing", "query-min+indicators"))]:
        run("convert", test, tmp_path / name, "--selection", out, *policy)
        kept = read_letor(test).with_missing(expected.missing).take_features(np.sort(chosen))
        found = read_letor(tmp_path / name)
        assert found.feature_names.tolist() == kept.feature_names.tolist()
        np.testing.assert_array_equal(found.X, kept.X)
    run("convert", test, tmp_path / "all.shards")
    run("convert", tmp_path / "all.shards", tmp_path / "some.shards", "--selection", out)
    with open_shards(tmp_path / "some.shards") as shards:
        np.testing.assert_array_equal(shards.read().X, kept.X)


def test_a_model_knows_the_policy(run, train, test, tmp_path):
    selected, model = tmp_path / "selected.json", tmp_path / "model.json"
    policy = ("--missing", "query-median+indicators")
    run("select", train, "--method", "top", "-k", 8, *policy, "--out", selected)
    run("train", train, "--selection", selected, "--vali", test, "--out", model)
    ranker = load_model(model)
    assert ranker.missing_ == read_selection(selected).missing
    scores = np.array(run("predict", model, test).out.split(), dtype=float)
    data = read_letor(test, n_features=6)
    np.testing.assert_array_equal(scores, ranker.predict(data))
    filled = data.with_missing(ranker.missing_)
    np.testing.assert_array_equal(scores, ranker.predict(filled))
    run("train", train, "--ranker", "rankrls", "--missing", "zero", "--out", model)
    np.testing.assert_array_equal(
        np.array(run("predict", model, test, "--missing", "query-min").out.split(), dtype=float),
        load_model(model).predict(data.with_missing("query-min")),
    )
    assert "cannot use missing values" in run("train", train, "--missing", "keep", code=1).err
    run("train", train, "--ranker", "lambdamart", "--missing", "keep", "--vali", test)


@pytest.mark.parametrize("name", ["filled.txt", "filled.parquet", "filled.shards"])
def test_convert_fills_them_in(run, train, tmp_path, name):
    run("convert", train, tmp_path / name, "--missing", "query-min")
    expected = read_letor(train).with_missing("query-min")
    if name.endswith("txt"):
        found = read_letor(tmp_path / name)
    elif name.endswith("parquet"):
        found = read_parquet(tmp_path / name)
    else:
        with open_shards(tmp_path / name) as shards:
            found = shards.read()
    np.testing.assert_array_equal(found.X, expected.X)


def test_convert_scales_what_is_there(run, train, tmp_path):
    run("convert", train, tmp_path / "scaled.txt", "--scale", "min-max")
    X, scaled = read_letor(train).X, read_letor(tmp_path / "scaled.txt").X
    np.testing.assert_array_equal(np.isnan(scaled), np.isnan(X))
    assert np.nanmin(scaled) == 0
    assert np.nanmax(scaled) == 1


def test_indicators_of_shards_take_two_steps(run, train, tmp_path):
    policy = ("--missing", "zero+indicators")
    error = run("convert", train, tmp_path / "no.shards", *policy, code=1).err
    assert "convert to shards without indicators first" in error
    run("convert", train, tmp_path / "raw.shards")
    run("convert", tmp_path / "raw.shards", tmp_path / "marked.shards", *policy)
    with open_shards(tmp_path / "marked.shards") as shards:
        assert shards.feature_names.tolist()[6:] == [f"{name} is missing" for name in "abcd"]
    run("select", tmp_path / "raw.shards", "--method", "ig", "-k", 7, *policy)


def test_methods_that_take_them_are_listed(run):
    rows = run("select", "--methods", "--format", "csv").out.splitlines()
    traits = {row.split(",")[0]: row for row in rows}
    assert "missing" in traits["gas-e"]
    assert "missing" not in traits["greedy-rankrls"]
