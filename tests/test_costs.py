"""What features cost."""

import copy
import gzip
import json
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranksieve import DataError, FeatureCosts, load_demo
from ranksieve.data.inputs import default_names
from ranksieve.datasets import demo_costs
from ranksieve.parameters import plain_value
from tests.oracles import cost_of_features

NAMES = ["bm25", "cosine", "dot", "clicks"]
TABLE = {
    "feature": NAMES,
    "cost": [1.0, 0.5, 0.25, 2.0],
    "group": [None, "model", "model", "log"],
}
GROUPS = {"group": ["log", "model"], "cost": [3, 20]}
EXPECTED = FeatureCosts(
    dict(zip(NAMES, TABLE["cost"], strict=True)),
    {"cosine": "model", "dot": "model", "clicks": "log"},
    {"model": 20, "log": 3},
)


def as_text(table, separator=","):
    rows = zip(*table.values(), strict=True)
    lines = [[*table], *rows]
    return "".join(
        separator.join("" if v is None else str(v) for v in line) + "\n" for line in lines
    )


def write_table(path, table):
    if path.suffix == ".parquet":
        pq.write_table(pa.table(table), path)
        return path
    text = as_text(table, "\t" if ".tsv" in path.suffixes else ",").encode()
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
    return path


@st.composite
def costs_and_sets(draw):
    """Costs of a few features with groups, and two sets of them."""
    n = draw(st.integers(1, 8))
    names = [f"f{i}" for i in range(n)]
    numbers = st.sampled_from([0.0, 0.1, 0.3, 1.0, 7.5])
    groups = {name: g for name in names if (g := draw(st.sampled_from(["", "a", "b", "c"])))}
    costs = FeatureCosts(
        {name: draw(numbers) for name in names},
        groups,
        {group: draw(numbers) for group in sorted(set(groups.values()))},
    )
    sets = [draw(st.lists(st.sampled_from(names), unique=True)) for _ in range(2)]
    return costs, names, *sets


@given(costs_and_sets())
def test_cost_of_a_set_is_the_definition(drawn):
    costs, names, chosen, _ = drawn
    expected = cost_of_features(chosen, costs.features, costs.groups, costs.group_costs)
    assert costs.total(chosen) == pytest.approx(expected, rel=1e-14)
    assert costs.total(chosen[::-1]) == costs.total(chosen)
    indices = [names.index(name) for name in chosen]
    assert costs.aligned(names).total(indices) == costs.total(chosen)


@given(costs_and_sets())
def test_marginal_cost_is_the_difference_of_two_sets(drawn):
    costs, names, chosen, _ = drawn
    arrays = costs.aligned(names).marginal([names.index(name) for name in chosen])
    for place, name in enumerate(names):
        added = costs.total([*chosen, name]) - costs.total(chosen)
        assert costs.marginal(name, chosen) == arrays[place]
        assert arrays[place] == pytest.approx(added, abs=1e-12)


@given(costs_and_sets())
def test_costs_are_monotone_and_submodular(drawn):
    costs, _, one, other = drawn
    both, common = set(one) | set(other), set(one) & set(other)
    assert costs.total(both) >= costs.total(one)
    together = costs.total(both) + costs.total(common)
    assert together <= costs.total(one) + costs.total(other) + 1e-12


@given(costs_and_sets(), st.randoms(use_true_random=False))
def test_the_order_of_features_does_not_matter(drawn, random):
    costs, names, chosen, _ = drawn
    shuffled = random.sample(names, len(names))
    arrays = costs.aligned(shuffled)
    assert arrays.total([shuffled.index(name) for name in chosen]) == costs.total(chosen)
    kept = sorted(random.sample(range(len(names)), random.randint(1, len(names))))
    part = arrays.take(kept)
    assert part.total(range(len(kept))) == costs.total([shuffled[place] for place in kept])


@pytest.mark.parametrize("suffix", ["csv", "tsv", "csv.gz", "tsv.gz", "parquet", "txt"])
def test_files(tmp_path, suffix):
    costs = write_table(tmp_path / f"costs.{suffix}", TABLE)
    groups = write_table(tmp_path / f"groups.{suffix}", GROUPS)
    found = FeatureCosts.read(costs, groups)
    assert found == EXPECTED
    assert found.total(NAMES) == 26.75


def test_files_without_groups(tmp_path):
    path = tmp_path / "costs.csv"
    path.write_text('\ufeffCost, Feature\r\n1e-1,"x, y"\r\n\r\n 0 ,z\r\n', encoding="utf-8")
    assert FeatureCosts.read(path) == FeatureCosts({"x, y": 0.1, "z": 0.0})


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
def test_frames(frame):
    assert FeatureCosts.from_frame(frame(TABLE), frame(GROUPS)) == EXPECTED
    alone = {name: TABLE[name] for name in ("feature", "cost")}
    assert FeatureCosts.make(frame(alone), NAMES) == FeatureCosts(EXPECTED.features)


def test_features_without_names_are_told_by_their_numbers(tmp_path):
    path = write_table(tmp_path / "costs.parquet", {"feature": [3, 1, 2], "cost": [0.5, 1, 2]})
    names = default_names(3)
    for costs in (path, FeatureCosts.read(path), [1, 2, 0.5], {"1": 1, "2": 2, "3": 0.5}):
        arrays = FeatureCosts.make(costs, names).aligned(names)
        assert arrays.features.tolist() == [1.0, 2.0, 0.5]
        assert arrays.group_of.tolist() == [-1, -1, -1]


def test_without_costs_every_feature_costs_one():
    costs = FeatureCosts.make(None, NAMES)
    assert costs.total(NAMES) == 4
    assert costs.marginal("dot", ["bm25"]) == 1


def test_what_a_user_may_give_is_the_same():
    forms = [EXPECTED, EXPECTED.to_record(), json.loads(json.dumps(EXPECTED.to_record()))]
    for form in forms:
        assert FeatureCosts.make(form, NAMES) == EXPECTED
    assert plain_value({"costs": EXPECTED}, otherwise=str)["costs"] == EXPECTED.to_record()
    for again in (copy.deepcopy(EXPECTED), pickle.loads(pickle.dumps(EXPECTED))):
        assert again == EXPECTED
    assert repr(EXPECTED) == "FeatureCosts(4 features, 2 groups)"
    assert FeatureCosts({"a": 2}) != FeatureCosts({"a": 1})


def test_it_does_not_change_with_what_it_was_made_of():
    given = {"a": 1.0}
    costs = FeatureCosts(given)
    given["a"] = 2.0
    assert costs.total(["a"]) == 1.0
    with pytest.raises(AttributeError):
        costs.features = {}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name,cost\na,1\n", ":1: the columns should be feature and cost, and group if there"),
        ("feature,cost,price\na,1,2\n", ":1: the columns should be feature and cost"),
        ("feature,cost,cost\na,1,2\n", ":1: the columns should be feature and cost"),
        ("", ":1: the columns should be feature and cost"),
        ("feature,cost\na,1\nb\n", ":3: expected 2 fields, found 1"),
        ("feature,cost\na,1\na,1\n", ":3: feature 'a' appears twice, first at"),
        ("feature,cost\na,1\n,1\n", ":3: the feature has no name"),
        ("feature,cost\na,\n", ":2: the cost of feature 'a' is missing"),
        ("feature,cost\na,-0.5\n", ":2: the cost of feature 'a' is -0.5, but must be finite"),
        ("feature,cost\na,inf\n", ":2: the cost of feature 'a' is inf, but must be finite"),
        ("feature,cost\na,nan\n", ":2: the cost of feature 'a' is not a number: 'nan'"),
        ("feature,cost\na,dear\n", ":2: the cost of feature 'a' is not a number: 'dear'"),
        ("feature,cost\na,1_0\n", ":2: the cost of feature 'a' is not a number: '1_0'"),
        ("feature,cost,group\na,1,g\n", ":2: group 'g' of feature 'a' has no cost: list it"),
        (b"feature,cost\n\xff,1\n", ": not UTF-8 text"),
        ("feature,cost\na,1\nz,1\n", ":3: the data has no feature named 'z'"),
        ("feature,cost\na,1\n", "costs: feature 'b' has no cost"),
    ],
)
def test_files_that_are_wrong(tmp_path, text, message):
    path = tmp_path / "costs.csv"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    with pytest.raises(DataError) as error:
        FeatureCosts.make(path, ["a", "b"])
    expected = message if message.startswith("costs") else str(path) + message
    assert str(error.value).startswith(expected)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("group,cost\ng,1\nh,1\n", ":3: no feature is in group 'h'"),
        ("group,cost\ng,1\ng,1\n", ":3: group 'g' appears twice, first at"),
        ("group,cost\ng,-1\n", ":2: the cost of group 'g' is -1, but must be finite"),
        ("feature,cost\ng,-1\n", ":1: the columns should be group and cost"),
    ],
)
def test_files_of_groups_that_are_wrong(tmp_path, text, message):
    costs, groups = tmp_path / "costs.csv", tmp_path / "groups.csv"
    costs.write_text("feature,cost,group\na,1,g\n")
    groups.write_text(text)
    with pytest.raises(DataError) as error:
        FeatureCosts.read(costs, groups)
    assert str(error.value).startswith(str(groups) + message)


def test_tables_that_are_wrong(tmp_path):
    path = write_table(tmp_path / "costs.parquet", {"feature": ["a", None], "cost": [1.0, 2.0]})
    with pytest.raises(DataError, match=r"costs.parquet: row 2: the feature has no name"):
        FeatureCosts.read(path)
    path = write_table(tmp_path / "costs.parquet", {"feature": [1.5], "cost": [1.0]})
    with pytest.raises(
        DataError, match=r"costs.parquet: row 1: the feature must be a name, not 1.5"
    ):
        FeatureCosts.read(path)
    path.write_bytes(b"PAR1 but no more")
    with pytest.raises(DataError, match="costs.parquet: "):
        FeatureCosts.read(path)
    pq.write_table(pa.table({"feature": ["abcdef"], "cost": [1.0]}), path, compression="none")
    path.write_bytes(path.read_bytes().replace(b"abcdef", b"\xb7bcdef"))
    with pytest.raises(DataError, match="costs.parquet: .*can't decode"):
        FeatureCosts.read(path)
    for path in (tmp_path / "none.csv", tmp_path / "none.parquet", tmp_path):
        with pytest.raises(DataError, match=str(path)):
            FeatureCosts.read(path)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: FeatureCosts({"a": -1}), "costs: the cost of feature 'a' is -1"),
        (lambda: FeatureCosts({"a": 10**400}), "the cost of feature 'a' is .*, but must be finite"),
        (
            lambda: FeatureCosts({"a": 1e308, "b": 2e307}, {"a": "g"}, {"g": 1.5e308}),
            r"the costs add up to more than 1e\+100, the largest being 1\.5e\+308 of group 'g'",
        ),
        (lambda: FeatureCosts({"a": 1e-320}), r"must be 0 or at least 1e-100: use a smaller unit"),
        (lambda: FeatureCosts({"a": True}), "the cost of feature 'a' is not a number: 'True'"),
        (lambda: FeatureCosts({"a": None}), "the cost of feature 'a' is missing"),
        (lambda: FeatureCosts({"a": 1}, {"a": "g"}), "group 'g' of feature 'a' has no cost"),
        (lambda: FeatureCosts({"a": 1}, {"b": "g"}), "feature 'b' has a group but no cost"),
        (lambda: FeatureCosts({"a": 1}, {}, {"g": 1}), "no feature is in group 'g'"),
        (lambda: FeatureCosts.make([1, 2], ["a"]), "one number for each of 1 features"),
        (lambda: FeatureCosts.make([[1]], ["a"]), "one number for each of 1 features"),
        (
            lambda: FeatureCosts.make([[1], [1, 2]], ["a", "b"]),
            "cost of feature 'a' is not a number",
        ),
        (lambda: FeatureCosts({"a": 1}, groups=3), "costs: groups must be a mapping by name"),
        (
            lambda: FeatureCosts.make({"features": {"a": 1}, "group_costs": [1]}, ["a"]),
            "costs: group_costs must be a mapping by name",
        ),
        (lambda: FeatureCosts.make([np.nan], ["a"]), "the cost of feature 'a' is not a number"),
        (lambda: FeatureCosts.make({"b": 1}, ["a"]), "the data has no feature named 'b'"),
        (lambda: FeatureCosts.make({}, ["a"]), "feature 'a' has no cost"),
        (lambda: EXPECTED.total(["nope"]), "no feature is named 'nope'"),
        (lambda: FeatureCosts.from_frame([1]), "expected a frame"),
        (
            lambda: FeatureCosts.from_frame(pd.DataFrame({"feature": ["a", 1], "cost": [1, 2]})),
            "column 'feature' has values of several types",
        ),
    ],
)
def test_values_that_are_wrong(make, message):
    with pytest.raises(DataError, match=message):
        make()


def test_costs_of_the_demo_fit_the_demo():
    data, truth = load_demo()
    costs = FeatureCosts.make(demo_costs(), data.feature_names)
    arrays = costs.aligned(data.feature_names)
    assert arrays.total(range(data.n_features)) == pytest.approx(115.9)
    # What determines the relevance is not cheap: a choice by cost has something to weigh.
    assert arrays.total(truth.informative) > 0.5 * arrays.total(range(data.n_features))
