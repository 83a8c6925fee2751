"""The command line: training rankers and applying them."""

import json
import re

import numpy as np
import pytest

from ranksieve import (
    load_model,
    make_ranking,
    read_letor,
    write_letor,
    write_parquet,
    write_shards,
)
from ranksieve.io.letor import read_scores
from ranksieve.metrics import evaluate
from ranksieve.rankers import RankSVM
from ranksieve.rankers.registry import RANKERS, make_ranker
from tests.cli.test_data_commands import options_of


@pytest.fixture(scope="module")
def planted():
    data, _ = make_ranking(60, n_informative=4, n_redundant=2, n_noise=2, random_state=5)
    return data


@pytest.fixture
def stored(planted, tmp_path):
    """Training data as text, as a Parquet file and as shards, and other queries as text."""
    paths = {name: tmp_path / f"data.{name}" for name in ("txt", "parquet", "shards", "other")}
    train, other = planted.take_queries(range(45)), planted.take_queries(range(45, 60))
    write_letor(train, paths["txt"])
    write_parquet(train, paths["parquet"])
    write_shards(train, paths["shards"], shard_bytes=20_000)
    write_letor(other, paths["other"])
    return paths


@pytest.mark.parametrize("name", RANKERS)
def test_every_ranker(run, stored, tmp_path, name):
    model, scores = tmp_path / "model.json", tmp_path / "scores.txt"
    settings = options_of(RANKERS[name].trial)
    assert run("train", stored["txt"], "--ranker", name, *settings, "--out", model)[0] == 0
    assert run("predict", model, stored["other"], "--out", scores)[0] == 0
    expected = make_ranker(name, **RANKERS[name].trial).fit(read_letor(stored["txt"]))
    np.testing.assert_array_equal(
        read_scores(scores), expected.predict(read_letor(stored["other"]))
    )


def test_a_number_of_features_that_is_given_counts(run, stored, tmp_path):
    model = tmp_path / "model.json"
    assert run("train", stored["txt"], "--out", model)[0] == 0
    given, not_given = (
        run("predict", model, stored["other"], *options) for options in (["--n-features", "8"], [])
    )
    assert given == not_given


def test_scores_fit_evaluate(run, stored, tmp_path):
    model, scores = tmp_path / "model.json", tmp_path / "scores.txt.gz"
    _, told, _ = run("train", stored["txt"], "--vali", stored["other"], "--out", model)
    run("predict", model, stored["other"], "--out", scores)
    _, output, _ = run(
        "evaluate", stored["other"], scores, "--measures", "map,ndcg@10", "--format", "json"
    )
    found = json.loads(output)["mean"]
    numbers = re.findall(r"\b0\.\d{4}\b", told)
    assert numbers[-2:] == [f"{found['MAP']:.4f}", f"{found['NDCG@10']:.4f}"]


def test_scores_are_in_the_order_of_the_lines(succeed, planted, tmp_path):
    order = np.random.default_rng(0).permutation(planted.n_rows)
    path, model = tmp_path / "shuffled.txt", tmp_path / "model.json"
    lines = []
    for row in order:
        values = " ".join(f"{n}:{v!r}" for n, v in enumerate(planted.X[row].tolist(), start=1))
        lines.append(f"{planted.y[row]:g} qid:{planted.qid[row]} {values}\n")
    path.write_text("".join(lines))
    ranker = RankSVM().fit(planted)
    ranker.save_model(model)
    output = succeed("predict", model, path)
    printed = [float(line) for line in output.splitlines()]
    np.testing.assert_array_equal(printed, ranker.predict(planted.X)[order])


def test_selected_features(run, succeed, stored, tmp_path):
    chosen, model = tmp_path / "selected.json", tmp_path / "model.json"
    run("select", stored["txt"], "--method", "top", "-k", 3, "--out", chosen)
    results = []
    for form in ("txt", "parquet", "shards"):
        command = ["train", stored[form], "--selection", chosen, "--vali", stored["other"]]
        output = succeed(*command, "--out", model)
        assert "ranksvm, trained on 3 features" in output
        ranker = load_model(model)
        assert (ranker.n_features_in_, len(ranker.selection_.features)) == (3, 3)
        results.append(run("predict", model, stored["other"])[1])
        shards = run("predict", model, stored["shards"])[1]
        assert shards == run("predict", model, stored["txt"])[1]
    columns = load_model(model).selection_.columns
    train, other = (read_letor(stored[name]).take_features(columns) for name in ("txt", "other"))
    expected = RankSVM().fit(train).predict(other)
    for result in results:
        np.testing.assert_allclose([float(line) for line in result.splitlines()], expected)


def test_held_out_data_are_used(run, stored, tmp_path):
    model = tmp_path / "model.json"
    command = ["train", stored["txt"], "--ranker", "rankboost", "--param", "n_rounds=40"]
    run(*command, "--vali", stored["other"], "--out", model)
    train, other = read_letor(stored["txt"]), read_letor(stored["other"])
    expected = make_ranker("rankboost", n_rounds=40).fit(train, eval_set=other)
    assert len(load_model(model).rounds_) == expected.best_round_


def test_what_is_printed(succeed, stored):
    output = succeed("train", stored["txt"], "--param", "C=0.1", "--convention", "letor4")
    heading, setting, _, columns, values, *_ = output.splitlines()  # a long path is folded
    assert heading.rstrip() == "ranksvm (C=0.1), trained on 8 features"
    assert setting.rstrip() == "Means over queries, convention letor4."
    assert columns.split() == ["data", "MAP", "NDCG@10"]
    data = read_letor(stored["txt"])
    scores = RankSVM(C=0.1).fit(data).predict(data)
    found = evaluate(data.y, scores, data.qid, ["map", "ndcg@10"], "letor4").mean
    assert values.split()[-2:] == [f"{value:.4f}" for value in found.values()]


def test_shards_and_cluster_and_demo(run, succeed, stored, scheduler):
    _, expected, _ = run("train", stored["txt"])
    for options in ([], ["--dask", scheduler]):
        output = succeed("train", stored["shards"], *options)
        assert output.splitlines()[-1].split()[1:] == expected.splitlines()[-1].split()[1:]
    assert run("train", "--demo")[0] == 0


def test_seed(run, stored, tmp_path):
    model = tmp_path / "model.json"
    command = ["train", stored["txt"], "--ranker", "coordinate-ascent", "--seed", 7]
    run(*command, "--out", model)
    assert load_model(model).random_state == 7
