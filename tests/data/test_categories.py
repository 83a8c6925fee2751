"""Features that are categories: vocabularies and codes, from frames and files, and back."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranksieve import (
    Columns,
    DataError,
    RankingData,
    concatenate,
    read_csv,
    read_parquet,
    write_letor,
    write_parquet,
)
from ranksieve.data.categories import NO_CATEGORIES, recode
from ranksieve.data.ranking_data import fingerprint
from ranksieve.io.shards import convert_to_shards, write_shards
from ranksieve.preprocessing import QueryMinMaxScaler

nan = float("nan")
HOSTILE = ['a,b"c', "two\nlines", "1", "1.0", " 1", "NaN", "x" * 5000, "ü\t\x07", "'; DROP", "<b>"]


def names_in(data, feature):
    """The categories of the rows of a feature, None where they are missing."""
    column = data.feature_names.tolist().index(feature)
    vocabulary = data.categories[feature]
    return [None if code != code else vocabulary[int(code)] for code in data.X[:, column].tolist()]


def table_of(names, **others):
    return {"qid": [n // 2 for n in range(len(names))], "label": [0, 1] * (len(names) // 2)} | {
        "kind": names,
        "size": np.arange(float(len(names))),
        **others,
    }


def example(names=("b", None, "a", "b", "c", "a")):
    return RankingData.from_frame(pl.DataFrame(table_of(list(names))), Columns(categorical="kind"))


def forms(table, path):
    """The same table as frames and files, with how to read each."""
    frame = pl.DataFrame(table)
    pq.write_table(frame.to_arrow(), path / "data.parquet", row_group_size=2)
    frame.write_csv(path / "data.csv", quote_style="non_numeric")
    yield "pandas", lambda columns: RankingData.from_frame(pd.DataFrame(table), columns)
    yield "polars", lambda columns: RankingData.from_frame(frame, columns)
    yield "parquet", lambda columns: read_parquet(path / "data.parquet", columns)
    yield "csv", lambda columns: read_csv(path / "data.csv", columns)


@pytest.mark.parametrize("form", ["pandas", "polars", "parquet", "csv"])
def test_all_forms_have_the_same_names(form, tmp_path):
    names = [*HOSTILE[:5], *HOSTILE[6:], "", HOSTILE[0], None]
    read = dict(forms(table_of(names), tmp_path))[form]
    data = read(Columns(categorical=["ki*"]))
    assert data.feature_names.tolist() == ["kind", "size"]
    assert names_in(data, "kind") == [name or None for name in names]
    assert data.categories == {"kind": tuple(sorted(set(filter(None, names))))}
    assert data.X[:, 1].tolist() == list(range(len(names)))


def test_numbers_and_booleans_can_be_declared():
    own = {
        "shop": [30, 4, None, 4],
        "is_new": [True, False, None, True],
        "kind": [1.0, 2.5, nan, 1],
    }
    table = {"qid": [1, 1, 2, 2], "label": [0, 1, 0, 1], **own}
    data = RankingData.from_frame(pl.DataFrame(table), Columns(categorical=[*own]))
    assert dict(data.categories) == {
        "shop": ("4", "30"),
        "is_new": ("false", "true"),
        "kind": ("1", "2.5"),
    }
    assert names_in(data, "shop") == ["30", "4", None, "4"]
    as_floats = RankingData.from_frame(pd.DataFrame(table), Columns(categorical=[*own]))
    assert names_in(as_floats, "shop") == names_in(data, "shop")


def test_categorical_types_are_recognized_and_keep_their_order(tmp_path, caplog):
    order = ["small", "large", "unused"]
    names = ["large", "small", None, "small"]
    frame = pd.DataFrame(table_of(names))
    frame["kind"] = pd.Categorical(names, categories=order, ordered=True)
    frame.to_parquet(tmp_path / "data.parquet", index=False)
    with caplog.at_level("INFO", logger="ranksieve"):
        data = RankingData.from_frame(frame)
    assert "; categories: kind" in caplog.text
    for found in (data, read_parquet(tmp_path / "data.parquet")):
        assert found.categories == {"kind": tuple(order)}
        assert found.X[:, 0].tolist()[:2] == [1, 0]
        assert names_in(found, "kind") == names
    features = frame[["kind", "size"]]
    enum = pl.DataFrame({"kind": pl.Series(names, dtype=pl.Enum(order)), "size": frame["size"]})
    for X in (features, enum):
        found = RankingData(X, frame["label"], frame["qid"])
        assert found.categories == {"kind": tuple(order)}
        np.testing.assert_array_equal(found.X, data.X)


@pytest.mark.parametrize("form", ["pandas", "polars", "parquet", "csv"])
def test_texts_of_few_values_are_guessed(form, tmp_path, caplog):
    names = ["b", "a"] * 50
    others = {"title": [f"title {n}" for n in range(100)], "region_id": names}
    read = dict(forms(table_of(names, **others), tmp_path))[form]
    with caplog.at_level("INFO", logger="ranksieve"):
        data = read(Columns(ignore=["title", "region_id"]))
    assert "2 features: kind, size; categories: kind; left out:" in caplog.text
    assert data.categories == {"kind": ("a", "b")}
    with pytest.raises(DataError, match=r"'title' holds text.*'region_id' holds text") as wrong:
        read(None)
    assert "'kind' holds" not in str(wrong.value)
    assert "if 'title' is a category, do not ignore it, but add" in str(wrong.value)
    few = dict(forms(table_of(["b", "a"] * 10), tmp_path))[form]
    with pytest.raises(DataError, match="'kind' holds text"):
        few(None)


def test_what_cannot_be_categories_is_refused():
    table = pd.DataFrame(table_of([1, "a", None, 2.5]))
    with pytest.raises(DataError, match="'kind' holds mixed values, which cannot be categories"):
        RankingData.from_frame(table, Columns(categorical="kind"))
    for wrong in ("label", "qid"):
        with pytest.raises(DataError, match=f"'{wrong}' cannot be both a category and"):
            RankingData.from_frame(pl.DataFrame(table_of(["a", "b"])), Columns(categorical=wrong))
    with pytest.raises(DataError, match="no column matches 'x' of categorical"):
        RankingData.from_frame(pl.DataFrame(table_of(["a", "b"])), Columns(categorical="x"))


def test_files_of_one_data_set_share_a_vocabulary(tmp_path):
    for number, names in enumerate((["c", "a"], ["b", "c"])):
        table = table_of(names) | {"qid": [number, number]}
        pq.write_table(pa.table(table), tmp_path / f"{number}.parquet")
    paths = [tmp_path / "0.parquet", tmp_path / "1.parquet"]
    data = read_parquet(paths, Columns(categorical="kind"))
    assert data.categories == {"kind": ("a", "b", "c")}
    assert names_in(data, "kind") == ["c", "a", "b", "c"]


@pytest.mark.parametrize("values", [[None] * 4, ["only"] * 4])
def test_one_value_or_none(values):
    data = example(values)
    assert data.categories == {"kind": tuple({*values} - {None})}
    assert names_in(data, "kind") == values


def test_ten_thousand_values():
    names = [f"name {n:05}" for n in range(10_000)]
    data = example(names)
    assert data.categories["kind"] == tuple(names)
    np.testing.assert_array_equal(data.X[:, 0], np.arange(10_000))


vocabularies = st.lists(st.sampled_from("abcdef"), unique=True, max_size=6).map(tuple)


@given(vocabularies, vocabularies, st.lists(st.integers(-1, 5), max_size=8))
def test_other_vocabularies_keep_the_names(before, after, rows):
    codes = np.array([code if 0 <= code < len(before) else nan for code in rows])
    names = [None if code != code else before[int(code)] for code in codes]
    found = [None if code != code else after[int(code)] for code in recode(codes, before, after)]
    assert found == [name if name in after else None for name in names]


def test_later_data_gets_the_codes_of_the_training_data():
    train, later = example(), example(["new", "b", "c", None, "a", "b"])
    coded = later.with_categories(train.categories)
    assert coded.categories == train.categories
    assert names_in(coded, "kind") == [None, "b", "c", None, "a", "b"]
    assert train.with_categories(train.categories) is train
    numbers = RankingData(train.X, train.y, train.qid, feature_names=["kind", "size"])
    with pytest.raises(DataError, match="'kind' had categories in training.*--categorical kind"):
        numbers.with_categories(train.categories)
    with pytest.raises(DataError, match="'kind' has categories, but was a number in training"):
        train.with_categories({})
    assert train.take_queries([0]).with_observed_categories().categories == {"kind": ("b",)}


def test_they_go_where_rows_and_features_go():
    data = example()
    assert data.take_features(["size"]).categories == {}
    assert data.take_features([1, 0]).categories == data.categories
    assert data.take_queries([1]).categories == data.categories
    other = example(["d", "a"])._replace(qid=np.array([9, 9]))
    joined = concatenate([data, other])
    assert joined.categories == {"kind": ("a", "b", "c", "d")}
    assert names_in(joined, "kind") == [*names_in(data, "kind"), "d", "a"]
    renamed = data._replace(categories={"kind": ("x", "y", "z")})
    assert fingerprint(renamed) != fingerprint(data)


def test_codes_are_neither_filled_in_nor_scaled():
    data = example()
    X = data.X.copy()
    X[0, 1] = nan
    gappy = data._replace(X=X)
    filled = gappy.with_missing("query-min+indicators")
    np.testing.assert_array_equal(filled.X[:, 0], data.X[:, 0])
    assert filled.feature_names.tolist() == ["kind", "size", "size is missing"]
    assert filled.X[0, 1] == 1
    assert filled.keeps_missing
    assert gappy.lacks_numbers
    assert not filled.lacks_numbers
    scaled = QueryMinMaxScaler().fit(data).transform(data)
    np.testing.assert_array_equal(scaled.X[:, 0], data.X[:, 0])
    assert scaled.X[:, 1].tolist() == [0, 1] * 3


def test_parquet_keeps_them(tmp_path):
    data = example([*HOSTILE, None, "a"])
    write_parquet(data, tmp_path / "data.parquet")
    again = read_parquet(tmp_path / "data.parquet")
    assert again.categories == data.categories
    np.testing.assert_array_equal(again.X, data.X)


def test_what_holds_numbers_only_says_so(tmp_path):
    data = example()
    with pytest.raises(
        DataError, match=r"data.txt: feature 'kind' has categories, but files of LE"
    ):
        write_letor(data, tmp_path / "data.txt")
    message = "'kind' has categories, but shards hold only numbers: keep the data in Parquet, or"
    with pytest.raises(DataError, match=message):
        write_shards(data, tmp_path / "shards")
    write_parquet(data, tmp_path / "data.parquet")
    with pytest.raises(DataError, match=message):
        convert_to_shards(tmp_path / "data.parquet", tmp_path / "shards")
    assert not (tmp_path / "shards").exists()
    with pytest.raises(DataError, match="'kind' has categories, which a sparse matrix cannot hold"):
        read_parquet(tmp_path / "data.parquet", sparse=True)


@pytest.mark.parametrize(
    ("X", "categories", "message"),
    [
        ([[2.0]], {"1": "ab"}, "must be NaN or whole numbers below 2"),
        ([[0.5]], {"1": "ab"}, "must be NaN or whole numbers below 2"),
        ([[-1.0]], {"1": "ab"}, "must be NaN or whole numbers below 2"),
        ([[0.0]], {"2": "ab"}, "there is no feature named '2'"),
        ([[0.0]], {"1": ["a", "a"]}, "list a name twice"),
        ([[0.0]], {"1": ["a", ""]}, "must be texts that are not empty"),
    ],
)
def test_codes_must_fit_the_vocabulary(X, categories, message):
    with pytest.raises(DataError, match=message):
        RankingData(X, [0], [0], categories=categories)
    assert RankingData([[nan]], [0], [0], categories={"1": []}).categories == {"1": ()}
    assert RankingData([[nan]], [0], [0]).categories is NO_CATEGORIES
