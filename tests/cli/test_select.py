"""The command line: selecting features, and keeping the selected ones."""

import csv
import json
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from ranksieve import (
    FeatureCosts,
    RankingData,
    __version__,
    datasets,
    load_demo,
    make_ranking,
    read_letor,
    read_parquet,
    write_letor,
    write_parquet,
)
from ranksieve.datasets import demo_costs
from ranksieve.io.selection import read_selection
from ranksieve.io.shards import open_shards, write_shards
from ranksieve.rankers import RankSVM
from ranksieve.selectors import (
    FSED,
    EliminationSelector,
    GreedyRankRLSCV,
    Importance,
    Similarity,
)
from ranksieve.selectors.registry import SELECTORS, make_selector
from tests.cli.test_data_commands import options_of
from tests.io.test_letor import assert_identical
from tests.processes import forked_workers


@pytest.fixture
def demo_cost_files():
    """What features and groups of the demo cost."""
    return [Path(datasets.__file__).parent / f"demo_{what}.csv" for what in ("costs", "groups")]


@pytest.fixture(scope="module")
def planted():
    data, _ = make_ranking(60, n_informative=4, n_redundant=4, n_noise=4, random_state=5)
    names = [f"feature-{letter}" for letter in "abcdefghijkl"]
    return RankingData(data.X, data.y, data.qid, feature_names=names)


@pytest.fixture(scope="module")
def small_demo(tmp_path_factory):
    """Some queries of the demo, and a file of them."""
    data, path = load_demo()[0].take_queries(range(40)), tmp_path_factory.mktemp("demo") / "demo"
    write_letor(data, path)
    return data, path


@pytest.fixture
def stored(planted, tmp_path):
    """The same data as text, as a Parquet file and as shards."""
    paths = {name: tmp_path / f"data.{name}" for name in ("txt", "parquet", "shards")}
    write_letor(planted, paths["txt"])
    write_parquet(planted, paths["parquet"])
    write_shards(planted, paths["shards"], shard_bytes=20_000)
    return paths


def read(path):
    """Read what convert wrote."""
    if path.is_dir():
        with open_shards(path, verify=True) as shards:
            return shards.read()
    return (read_parquet if path.suffix == ".parquet" else read_letor)(path)


# Selecting


@pytest.mark.parametrize("method", SELECTORS)
def test_every_method(succeed, method, planted, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data = planted.take_queries(range(20))
    write_letor(data, "data.txt")
    number = [] if method == "all" else ["-k", 6]
    settings = options_of(SELECTORS[method].trial)
    output = succeed("select", "data.txt", "--method", method, *number, *settings)
    heading, table = output.split("\n\n")
    columns, *rows = table.splitlines()
    n = 12 if method == "all" else 6
    assert heading.startswith(f"{method} (" if settings else f"{method}:")
    assert " ".join(heading.split()).endswith(f": {n} of 12 features of data.txt")
    assert columns.split()[:2] == ["rank", "feature"]
    assert [row.split()[0] for row in rows] == [str(rank) for rank in range(1, n + 1)]
    assert max(map(len, output.splitlines())) <= 80
    size = {} if method == "all" else {"k": 6}
    selector = make_selector(method, **size, **SELECTORS[method].trial).fit(data)
    assert [row.split()[1] for row in rows] == data.feature_names[selector.selected_].tolist()


def test_the_table(succeed, stored, planted):
    output = succeed("select", stored["txt"], "--method", "gas-e", "-k", 3, "--param", "c=0.2")
    heading, table = output.split("\n\n")
    columns, *rows = table.splitlines()
    assert "gas-e (c=0.2): 3 of 12 features of" in heading
    assert columns.split() == ["rank", "feature", "score", "reason"]
    selector = make_selector("gas-e", 3, c=0.2).fit(planted)
    for rank, row in enumerate(rows):
        name = planted.feature_names[selector.selected_[rank]]
        reason = selector.reasons()[rank].split()
        assert row.split() == [f"{rank + 1}", name, f"{selector.path_[rank].score:.4f}", *reason]


def test_json_is_printed_as_it_is_written(run, succeed, stored, planted, tmp_path):
    out = tmp_path / "selected.json"
    command = ["select", stored["txt"], "--method", "mmr", "-k", "0.25", "--out", out]
    command += ["--param", "similarity=tau_b", "--param", "similarity.absolute=true"]
    output = succeed(*command, "--format", "json")
    assert output == out.read_text()
    found = json.loads(output)
    selector = make_selector("mmr", 0.25, similarity=Similarity("tau_b", absolute=True)).fit(
        planted
    )
    assert found["method"] == "mmr"
    assert found["parameters"] == selector.get_params() | {
        "importance": asdict(Importance("map")),
        "similarity": asdict(selector.similarity),
    }
    assert make_selector("mmr", **found["parameters"]).get_params() == selector.get_params()
    assert found["n_features_in"] == 12
    assert found["data"] == [str(stored["txt"])]
    assert found["ranksieve"] == __version__
    assert found["features"] == [
        {
            "index": step.feature,
            "name": planted.feature_names[step.feature],
            "score": step.score,
            "reason": reason,
        }
        for step, reason in zip(selector.path_, selector.reasons(), strict=True)
    ]
    heading = run(*command)[1].splitlines()[0]
    assert "mmr (similarity=tau_b, similarity.absolute=True): 3 of 12 features" in heading


@forked_workers()
def test_the_same_wherever_the_data_lives(run, stored, client):
    def features(*arguments):
        how = ["--method", "gas-e", "-k", 5, "--format", "json"]
        status, output, errors = run("select", *arguments, *how)
        assert (status, errors) == (0, "")
        return [(f["index"], f["name"], f["reason"]) for f in json.loads(output)["features"]]

    expected = features(stored["txt"])
    for arguments in (
        [stored["parquet"]],
        [stored["shards"], "--verify"],
        [stored["shards"], "--dask", client.scheduler.address],
        [stored["shards"], "--workers", 2],
    ):
        assert features(*arguments) == expected


@pytest.mark.parametrize(
    ("options", "parameters"),
    [
        (["-k", 8], {"k": 8}),
        (["-k", "0.2"], {"k": 0.2}),
        (["-k", "best"], {"k": "best"}),
        (["-k", "one-se"], {"k": "one-se"}),
        (["-k", 5, "--param", "lam=0.5"], {"k": 5, "lam": 0.5}),
        (
            ["-k", 4, "--param", 'include=["spam_score"]', "--param", "exclude=bm25_body"],
            {"k": 4, "include": ["spam_score"], "exclude": "bm25_body"},
        ),
        (["-k", 4, "--param", "criterion=map"], {"k": 4, "criterion": "map"}),
        (["-k", 4, "--param", "search=floating"], {"k": 4, "search": "floating"}),
    ],
)
def test_the_path_of_greedy_rankrls(succeed, small_demo, options, parameters):
    data, path = small_demo
    output = succeed("select", path, "--method", "greedy-rankrls", *options)
    assert max(map(len, output.splitlines())) <= 80
    selector = make_selector("greedy-rankrls", **parameters).fit(data)
    heading, table = output.split("\n\n")
    columns, *rows = table.splitlines()
    assert columns.split() == ["rank", "feature", "score", "reason"]
    assert len(rows) == len(selector.selected_)
    errors_ = np.array([step.score for step in selector.path_])
    for rank, row in enumerate(rows):
        cells = row.split()
        assert cells[1] == data.feature_names[selector.selected_[rank]]
        assert float(cells[2]) == pytest.approx(errors_[rank], rel=1e-3)
    # The bar falls with the error: longest at the worst model, none at the best.
    bars = np.array([row.count("#") for row in rows])
    assert (bars.max(), bars.min()) == (20, 0)
    assert bars[np.argmax(errors_)] == 20
    assert bars[np.argmin(errors_)] == 0
    for name, value in parameters.items():
        if name != "k" or isinstance(value, str):
            name = "n_features_to_select" if name == "k" else name
            assert f"{name}={value}" in " ".join(heading.split())


def test_greedy_rankrls_names_features_as_the_collection_does(run, succeed, mq2008_dir):
    command = ["select", mq2008_dir, "--method", "greedy-rankrls", "-k", 3]
    output = succeed(*command, "--param", 'include=["39"]', "--param", "lam=0.5")
    first = output.split("\n\n")[1].splitlines()[1]
    assert first.split()[:2] == ["1", "39"]
    assert "no feature is named '47'" in run(*command, "--param", 'include=["47"]')[2]


@pytest.mark.parametrize("include", ["5", '["5"]'])
def test_features_are_told_by_the_numbers_that_tables_show(run, succeed, tmp_path, include):
    data, _ = make_ranking(40, n_informative=3, n_redundant=0, n_noise=5)
    write_letor(RankingData(data.X, data.y, data.qid), tmp_path / "data.txt")
    for method in ("greedy-rankrls", "greedy-rankrls-cv", "elimination", "sequential"):
        command = ["select", tmp_path / "data.txt", "--method", method, "-k", 2, "--format", "json"]
        output = succeed(*command, "--param", f"include={include}")
        assert "5" in [feature["name"] for feature in json.loads(output)["features"]]
        output = succeed(*command, "--param", f"exclude={include}")
        assert "5" not in [feature["name"] for feature in json.loads(output)["features"]]
    status, _, errors = run(*command, "--param", "exclude=9")
    assert (status, errors) == (1, "error: exclude: no feature is named '9'")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("groups.json", "[[1, 2, 3, 4], [5, 6, 7]]"),
        ("groups.json", '{"a": [1, 2, 3, 4], "b": ["5", "6", "7"]}'),
        ("groups.csv", "feature,group\n1,a\n2,a\n3,a\n4,a\n5,b\n6,b\n7,b\n"),
        ("groups.tsv", "group\tfeature\na\t1\na\t2\na\t3\na\t4\nb\t5\nb\t6\nb\t7\n"),
        (None, "[[1, 2, 3, 4], [5, 6, 7]]"),
    ],
)
def test_tables_say_what_was_counted(run, succeed, tmp_path, name, text):
    data, _ = make_ranking(40, n_informative=3, n_redundant=0, n_noise=5)
    write_letor(RankingData(data.X, data.y, data.qid), tmp_path / "data.txt")
    given = ["--param", f"groups={text}"]
    if name is not None:
        (tmp_path / name).write_text(text)
        given = ["--groups", tmp_path / name]
    command = ["select", tmp_path / "data.txt", "--method", "elimination", *given]
    lists = [[0, 1, 2, 3], [4, 5, 6]]
    for count, k, expected in (("groups", 2, "2 groups, {} of 8"), ("features", 5, "{} of 8")):
        selector = make_selector("elimination", k, groups=lists, count=count).fit(data)
        options = ["-k", k, "--count", count]
        output = succeed(*command, *options, "--format", "json")
        found = json.loads(output)
        assert [feature["index"] for feature in found["features"]] == selector.selected_.tolist()
        assert found["parameters"]["count"] == count
        heading = f"elimination: {expected.format(len(selector.selected_))} features"
        if count == "features":
            groups = selector.n_groups_
            heading += f" in {groups} group{'s' if groups > 1 else ''}"
        assert run(*command, *options)[1].startswith(f"{heading} of ")


def test_what_is_worth_adding_to_what_there_is(succeed):
    options = ["--include", "spam_score, url_depth", "--include", "pagerank"]
    command = ["select", "--demo", "--method", "gas-e", "-k", 5, "--format", "json"]
    output = succeed(*command, *options, "--exclude", "bm25_body,bm25_title")
    data, _ = load_demo()
    names, left_out = ["spam_score", "url_depth", "pagerank"], ["bm25_body", "bm25_title"]
    expected = make_selector("gas-e", 5, include=names, exclude=left_out).fit(data)
    features = json.loads(output)["features"]
    found = [feature["name"] for feature in features]
    assert found == data.feature_names[expected.selected_].tolist()
    assert found[:3] == names
    assert features[0]["reason"] == "included"
    assert [feature["reason"].startswith("included, ") for feature in features[1:]] == [
        True,
        True,
        False,
        False,
    ]


def test_features_for_what_they_cost(run, succeed, small_demo, demo_cost_files):
    costs, groups = demo_cost_files
    data, path = small_demo
    command = ["select", path, "--method", "greedy-rankrls", "--costs", costs]
    command += ["--group-costs", groups, "--budget", 12]
    expected = make_selector("greedy-rankrls", "best", costs=demo_costs(), budget=12).fit(data)
    output = succeed(*command, "--format", "json")
    found = json.loads(output)
    assert [feature["index"] for feature in found["features"]] == expected.selected_.tolist()
    assert FeatureCosts.make(found["parameters"]["costs"], data.feature_names) == demo_costs()
    output = succeed(*command)
    assert f"Together they cost {expected.cost_:.4g} of 115.9 for all features." in output
    output = run(*command, "-k", 2, "--format", "csv")[1]
    added = [float(row["cost"]) for row in csv.DictReader(output.splitlines())]
    two = make_selector("greedy-rankrls", 2, costs=demo_costs(), budget=12).fit(data)
    assert sum(added) == pytest.approx(two.cost_)


@pytest.mark.slow
def test_a_catalogue_with_a_unit(succeed, small_demo, demo_cost_files, tmp_path):
    """What the data does not have is noted, and not stored."""
    costs, groups = demo_cost_files
    catalogue = tmp_path / "catalogue.csv"
    catalogue.write_text(costs.read_text().replace("cost", "cost_us", 1) + "maxsim,6.5,\n")
    command = ["select", small_demo[1], "-k", 2, "--costs", catalogue, "--group-costs", groups]
    text = " ".join(succeed(*command).split())
    assert "(us)" in text
    assert "us of 115.9 us for all features. The costs also list 1 feature (maxsim)" in text
    found = json.loads(succeed(*command, "--cost-unit", "ns", "--format", "json"))
    assert "maxsim" not in found["parameters"]["costs"]["features"]
    assert "ns of 115.9 ns for all features" in succeed(*command, "--cost-unit", "ns")
    (tmp_path / "columns.toml").write_text('cost_unit = "EUR"\n')
    assert "EUR for all" in succeed(*command, "--columns", tmp_path / "columns.toml")


def test_without_a_method_one_that_knows_of_costs_selects(succeed, small_demo, demo_cost_files):
    costs, groups = demo_cost_files
    both = ["--costs", costs, "--group-costs", groups]
    for options, method in ((both, "cegb"), ([*both, "--budget", 5], "greedy-rankrls")):
        output = succeed("select", small_demo[1], "-k", 2, *options, "--format", "json")
        assert json.loads(output)["method"] == method


@pytest.mark.slow
def test_greedy_rankrls_validated_on_held_out_data(succeed, divided):
    folder, _ = divided
    train, vali = (read_letor(folder / f"{name}.txt") for name in ("train", "vali"))
    for rule in ("best", "one-se", "knee", "penalized", "pareto", "3"):
        output = succeed(
            "select",
            folder / "train.shards",
            "--method",
            "greedy-rankrls-cv",
            "-k",
            rule,
            "--param",
            "lams=[0.25, 4, 64]",
            "--vali",
            folder / "vali.shards",
            "--format",
            "json",
        )
        k = int(rule) if rule.isdecimal() else rule
        selector = GreedyRankRLSCV(k, lams=[0.25, 4, 64]).fit(train, eval_set=vali)
        found = json.loads(output)
        indices = [feature["index"] for feature in found["features"]]
        assert indices == selector.selected_.tolist()
        assert found["parameters"]["lams"] == [0.25, 4, 64]


def test_the_seed(run):
    orders = [
        run("select", "--demo", "--method", "random", "--seed", seed)[1].splitlines()[1:]
        for seed in (1, 1, 2)
    ]
    assert orders[0] == orders[1] != orders[2]
    assert "(random_state=1)" in run("select", "--demo", "--method", "random", "--seed", 1)[1]


@pytest.fixture
def divided(planted, tmp_path):
    """Data to select on, and held-out data, as text and as shards."""
    train = planted.take_queries(np.arange(40))
    held_out = planted.take_queries(np.arange(40, 60))
    for name, part in (("train", train), ("vali", held_out)):
        write_letor(part, tmp_path / f"{name}.txt")
        write_shards(part, tmp_path / f"{name}.shards", shard_bytes=20_000)
    return tmp_path, FSED(4).fit(train, eval_set=held_out).selected_.tolist()


@pytest.mark.parametrize(
    ("train", "vali", "options"),
    [
        ("train.txt", "vali.txt", []),
        ("train.txt", "vali.shards", []),
        ("train.shards", "vali.txt", []),
        ("train.shards", "vali.shards", ["--verify"]),
    ],
)
def test_held_out_data(succeed, divided, train, vali, options):
    folder, expected = divided
    assert selected_by(succeed, folder / train, folder / vali, *options) == expected


def test_held_out_data_on_a_cluster(succeed, divided, scheduler):
    folder, expected = divided
    parts = folder / "train.shards", folder / "vali.shards"
    assert selected_by(succeed, *parts, "--dask", scheduler) == expected


def selected_by(succeed, train, vali, *options):
    """Features that FS-ED selects with held-out data."""
    output = succeed(
        "select", train, "--method", "fs-ed", "-k", 4, "--vali", vali, "--format", "json", *options
    )
    return [feature["index"] for feature in json.loads(output)["features"]]


def test_held_out_data_have_the_features_of_the_data(run, planted, divided):
    folder, _ = divided
    command = ["select", folder / "train.txt", "--method", "fs-ed", "-k", 2, "--vali"]
    narrow = folder / "narrow.txt"  # features that it leaves out are zero
    narrow.write_text("2 qid:1 1:3\n0 qid:1 2:4\n1 qid:1 2:5\n")
    assert run(*command, narrow)[0] == 0
    wide = folder / "wide.txt"
    wide.write_text("2 qid:1 13:3\n0 qid:1 2:4\n")
    assert run(*command, wide)[2].startswith(f"error: {wide}:1: index 13 is beyond n_features=12")
    other = folder / "other.parquet"
    write_parquet(planted.take_features(np.arange(11)), other)
    assert (
        "other.parquet: it has 11 features, but the training data has 12" in run(*command, other)[2]
    )
    write_parquet(planted, other)
    in_order = run(*command, other)
    write_parquet(planted.take_features(np.arange(12)[::-1]), other)  # the names tell
    assert run(*command, other) == in_order
    names = [f"other {number}" for number in range(12)]
    write_parquet(RankingData(planted.X, planted.y, planted.qid, feature_names=names), other)
    assert "other.parquet: the names of its features differ from" in run(*command, other)[2]


def test_a_convention_with_a_label(succeed):
    command = ["select", "--demo", "--method", "gas-e", "-k", 3, "--format", "json", "--param"]
    output = succeed(*command, "importance.convention=standard:2")
    assert json.loads(output)["parameters"]["importance"]["convention"] == "standard:2"


def test_the_list_of_methods(succeed):
    output = succeed("select", "--methods")
    assert max(map(len, output.splitlines())) <= 80
    starts = [line.split(" ")[0] for line in output.splitlines()[3:]]
    assert [start for start in starts if start in SELECTORS] == list(SELECTORS)
    output = succeed("select", "--methods", "--format", "csv")
    rows = list(csv.DictReader(output.splitlines()))
    told = {name: method.description for name, method in SELECTORS.items()}
    assert {row["method"]: row["description"] for row in rows} == told


# Keeping the selected features


@pytest.fixture
def selection(run, stored, tmp_path):
    """A selection made by the command line, and the data that transform makes with it."""
    path = tmp_path / "selected.json"
    assert run("select", stored["txt"], "--method", "gas-e", "-k", 5, "--out", path)[0] == 0
    return path


@pytest.mark.parametrize("source", ["txt", "parquet", "shards"])
@pytest.mark.parametrize("destination", ["kept.txt", "kept.parquet", "kept.shards", "kept"])
def test_convert_does_what_transform_does(
    succeed, stored, planted, selection, tmp_path, source, destination
):
    target = tmp_path / destination
    output = succeed("convert", stored[source], target, "--selection", selection)
    assert output == f"{target}: {planted.n_rows:,} rows, 60 queries, 5 features\n"
    assert_identical(make_selector("gas-e", 5).fit(planted).transform(planted), read(target))
    assert target.is_dir() == (destination in ("kept.shards", "kept"))


@pytest.mark.parametrize("destination", ["kept.txt", "kept.shards"])
def test_sparse_conversion(run, stored, planted, selection, tmp_path, destination):
    target = tmp_path / destination
    assert run("convert", stored["txt"], target, "--selection", selection, "--sparse")[0] == 0
    kept = read(target)
    assert kept.is_sparse == (destination == "kept.shards")
    X = kept.X.toarray() if kept.is_sparse else kept.X
    np.testing.assert_array_equal(X, planted.X[:, read_selection(selection).columns])


def test_features_without_names_keep_their_numbers(run, planted, selection, tmp_path):
    bare = tmp_path / "bare.txt"
    write_letor(RankingData(planted.X, planted.y, planted.qid), bare)
    numbers = [str(column + 1) for column in read_selection(selection).columns]
    for destination in ("kept.txt", "kept.shards"):
        target = tmp_path / destination
        assert run("convert", bare, target, "--selection", selection)[0] == 0
        assert read(target).feature_names.tolist() == numbers


def test_a_collection(run, mq2008_dir, tmp_path):
    out = tmp_path / "selected.json"
    status, output, _ = run("select", mq2008_dir, "--method", "top", "-k", 3, "--out", out)
    assert status == 0
    assert "39" in [line.split()[1] for line in output.splitlines()[2:]]
    for destination in ("kept.txt", "kept.shards"):
        target = tmp_path / destination
        status, output, _ = run("convert", mq2008_dir, target, "--selection", out)
        assert (status, output) == (0, f"{target}: 15,211 rows, 784 queries, 3 features\n")
    assert_identical(read(tmp_path / "kept.txt"), read(tmp_path / "kept.shards"))


class TestAroundARanker:
    def test_any_ranker(self, succeed, stored, planted):
        command = ["select", stored["txt"], "--method", "elimination", "-k", 3, "--format", "json"]
        output = succeed(*command, "--ranker", "ranksvm", "--ranker-param", "C=0.5")
        record = json.loads(output)
        expected = EliminationSelector(RankSVM(C=0.5), 3).fit(planted).selected_
        assert [feature["index"] for feature in record["features"]] == expected.tolist()
        assert record["parameters"]["ranker"] == "RankSVM(C=0.5)"

    def test_a_checkpoint(self, run, stored, tmp_path):
        path = tmp_path / "search.jsonl"
        command = ["select", stored["txt"], "--method", "sequential", "-k", 2]
        first = run(*command, "--param", f"checkpoint={path}")
        n_lines = len(path.read_bytes().splitlines())
        assert n_lines > 12
        assert run(*command, "--param", f"checkpoint={path}") == first
        assert len(path.read_bytes().splitlines()) == n_lines


def test_several_methods_together(succeed, planted, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_letor(planted, "data.txt")
    together = ["--method", "borda", "--param", 'selectors=["ig", "top"]', "--param", "depth=5"]
    output = succeed(
        "select", "data.txt", *together, "--param", 'parameters={"ig": {"n_bins": 4}}', "-k", 4
    )
    alone = make_selector(
        "borda", 4, selectors=["ig", "top"], parameters={"ig": {"n_bins": 4}}, depth=5
    ).fit(planted)
    rows = output.splitlines()[-4:]
    assert [row.split()[1] for row in rows] == planted.feature_names[alone.selected_].tolist()
    assert "ig 1" in output
