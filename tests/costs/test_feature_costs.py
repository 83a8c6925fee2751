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
        ("label,cost\na,1\n", ":1: no column is named feature or feature_name or name among"),
        ("name,feature_name,cost\na,a,1\n", ":1: the feature may be column 'name' or 'featu"),
        ("feature,owner\na,me\n", ":1: no column has costs among owner: name one 'cost', or"),
        ("feature,ms,price\na,1,2\n", ":1: the cost may be column 'ms' or 'price': rename the"),
        ("feature,cost_ms,cost_usd\na,1,2\n", ":1: the cost may be column 'cost_ms' or 'cost_u"),
        ("feature,cost,cost\na,1,2\n", ":1: 2 columns are named 'cost'; rename them"),
        ("", ":1: no column is named feature or feature_name or name: rename one to 'feature'"),
        ("feature,ms\na,1\nb,2\nz,x\n", ":4: the cost of feature 'z' is not a number: 'x'"),
        ("feature,cost\na,1\nb\n", ":3: expected 2 fields, found 1"),
        ("feature,cost\na,1\na,1\n", ":3: feature 'a' appears twice, first at"),
        ("feature,cost\na,1\n,1\n", ":3: the feature has no name"),
        ("feature,cost\na,\n", ":1: 2 features of the data have no cost: a, b: add them, with"),
        ("feature,cost\na,-0.5\n", ":2: the cost of feature 'a' is -0.5, but must be finite"),
        ("feature,cost\na,inf\n", ":2: the cost of feature 'a' is inf, but must be finite"),
        ("feature,cost\na,nan\n", ":2: the cost of feature 'a' is not a number: 'nan'"),
        ("feature,cost\na,dear\n", ":2: the cost of feature 'a' is not a number: 'dear'"),
        ("feature,cost\na,1_0\n", ":2: the cost of feature 'a' is not a number: '1_0'"),
        ("feature,cost,group\na,1,g\nb,1,\n", ":2: group 'g' of feature 'a' has no cost: list"),
        (b"feature,cost\n\xff,1\n", ": not UTF-8 text"),
        ("feature,cost\na,1\n", ":1: 1 feature of the data has no cost: b: add it, with 0 for"),
    ],
)
def test_files_that_are_wrong(tmp_path, text, message):
    path = tmp_path / "costs.csv"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    with pytest.raises(DataError) as error:
        FeatureCosts.make(path, ["a", "b"])
    assert str(error.value).startswith(str(path) + message)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("group,ms\ng,\n", ":1: no column has costs among ms: name one 'cost'"),
        ("group,cost\ng,1\ng,1\n", ":3: group 'g' appears twice, first at"),
        ("group,cost\ng,-1\n", ":2: the cost of group 'g' is -1, but must be finite"),
        ("feature,cost\ng,-1\n", ":1: no column is named group or group_name or name among"),
        ("group,cost_us\ng,1\n", ":1: these costs are in us, but those of "),
    ],
)
def test_files_of_groups_that_are_wrong(tmp_path, text, message):
    costs, groups = tmp_path / "costs.csv", tmp_path / "groups.csv"
    costs.write_text("feature,cost_ms,group\na,1,g\n")
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
        (
            lambda: FeatureCosts({"a": 1}, {"a": "g"}).total(["a"]),
            "costs: group 'g' of feature 'a' has no cost",
        ),
        (lambda: FeatureCosts({"a": 1}, {"b": "g"}), "feature 'b' has a group but no cost"),
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
        (lambda: FeatureCosts.make({}, ["a"]), "costs: 1 feature of the data has no cost: a: add"),
        (
            lambda: FeatureCosts.make({"f1": 1}, [f"f{n}" for n in range(1, 1203)]),
            "1,201 features of the data have no cost: f2, f3, f4, f5, f6 and 1,196 more: add them",
        ),
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


class TestCatalogue:
    """What lists more than the data has, in columns of any name."""

    TEXT = (
        "Owner,Feature_Name,Cost_ms,Group,budget\n"
        "search,bm25,1,,7\n"
        "ranking,cosine,0.5,model,8\n"
        "ranking,dot,0.25,model,9\n"
        "data,age,,,4\n"  # nobody knows yet
        "data,taste,0.125,profile,4\n"
    )

    def read(self, tmp_path, calls="name,ms,note\nmodel,20,x\nunused,3,\n"):
        (tmp_path / "costs.csv").write_text(self.TEXT)
        (tmp_path / "calls.csv").write_text(calls)
        return FeatureCosts.read(tmp_path / "costs.csv", tmp_path / "calls.csv")

    def test_of_features_and_calls(self, tmp_path):
        costs = self.read(tmp_path)
        assert costs.unit == "ms"
        assert costs.total(["bm25", "dot"]) == 21.25
        own = FeatureCosts.make(costs, ["dot", "bm25"])
        assert own == FeatureCosts({"bm25": 1, "dot": 0.25}, {"dot": "model"}, {"model": 20}, "ms")
        assert costs.describe_others(["dot", "bm25"]) == (
            "The costs also list 2 features (cosine, taste) and 1 group (unused) without use in "
            "this data."
        )
        assert own.describe_others(["dot", "bm25"]) == ""

    def test_is_the_same_in_every_form(self, tmp_path):
        costs = self.read(tmp_path)
        frames = pl.read_csv(tmp_path / "costs.csv"), pl.read_csv(tmp_path / "calls.csv")
        assert FeatureCosts.from_frame(*frames) == costs
        assert FeatureCosts.make(dict(costs.features), ["bm25"]).to_record() == {
            "features": {"bm25": 1.0}, "groups": {}, "group_costs": {},
        }  # fmt: skip
        arrays = costs.aligned(["dot", "bm25"])
        assert (arrays.features.tolist(), arrays.group_of.tolist()) == ([0.25, 1.0], [0, -1])
        assert arrays.groups.tolist() == [20.0]

    def test_has_costs_of_groups_in_rows_without_a_feature(self, tmp_path):
        path = tmp_path / "costs.csv"
        path.write_text("feature,cost_ms,lower,upper,group\n,20,19,21,model\na,1,0,2,model\n")
        assert FeatureCosts.read(path) == FeatureCosts(
            {"a": 1}, {"a": "model"}, {"model": 20}, "ms"
        )
        (tmp_path / "calls.csv").write_text("group,cost\nmodel,3\n")
        with pytest.raises(DataError, match=r"calls.csv:2: group 'model' appears twice, first at"):
            FeatureCosts.read(path, tmp_path / "calls.csv")

    def test_names_what_was_meant(self, tmp_path):
        costs = self.read(tmp_path)
        with pytest.raises(DataError) as error:
            FeatureCosts.make(costs, ["bm25", "cosin", "age"])
        assert str(error.value) == (
            f"{tmp_path}/costs.csv:1: 2 features of the data have no cost: cosin, age: add them, "
            "with 0 for what is free, or leave them out of the data (--ignore). Did you mean "
            "cosine?"
        )
        with pytest.raises(DataError, match="group 'model' of feature 'dot' has no cost.* modle?"):
            FeatureCosts.make(self.read(tmp_path, "group,cost\nmodle,1\n"), ["bm25", "dot"])

    @pytest.mark.parametrize(
        ("header", "unit"),
        [("cost", ""), ("latency_us", "us"), ("ms", "ms"), ("Price_USD", "USD"), ("price", "")],
    )
    def test_says_its_unit_in_the_column_of_costs(self, tmp_path, header, unit):
        (tmp_path / "costs.csv").write_text(f"feature,team,{header}\na,x,2\nb,y,\n")
        found = FeatureCosts.read(tmp_path / "costs.csv")
        assert (found.features, found.unit) == ({"a": 2.0}, unit)

    @pytest.mark.parametrize("unit", ["\n", " ms", "m\u202es", 3, "x" * 21])
    def test_has_a_unit_that_can_be_printed(self, unit):
        with pytest.raises(ValueError, match="the unit of costs must be a short text such as 'ms'"):
            FeatureCosts({"a": 1}, unit=unit)


def test_costs_of_the_demo_fit_the_demo():
    data, truth = load_demo()
    costs = FeatureCosts.make(demo_costs(), data.feature_names)
    arrays = costs.aligned(data.feature_names)
    assert arrays.total(range(data.n_features)) == pytest.approx(115.9)
    # What determines the relevance is not cheap: a choice by cost has something to weigh.
    assert arrays.total(truth.informative) > 0.5 * arrays.total(range(data.n_features))
