"""Splits that users have: files, directories, columns and time."""

from datetime import UTC, date, datetime, timedelta

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranksieve import Columns, DataError, RankingData, make_ranking, write_letor, write_parquet
from ranksieve.datasets import open_collection
from ranksieve.datasets.opening import (
    open_data,
    open_for_study,
    paths_of,
    read_whole,
    title_of,
)
from ranksieve.datasets.split_rules import DividedData, SplitByColumn, SplitByTime
from ranksieve.io.shards import write_shards
from ranksieve.splits import resample_queries
from ranksieve.study import Study


@pytest.fixture(scope="module")
def data():
    found, _ = make_ranking(12, n_informative=2, n_redundant=1, n_noise=1, docs_per_query=(2, 4))
    return found


@pytest.fixture(scope="module")
def folder(data, tmp_path_factory):
    """The data in files of all formats; its text in two of them."""
    path = tmp_path_factory.mktemp("formats")
    write_letor(data.take_queries(range(6)), path / "a.txt")
    write_letor(data.take_queries(range(6, 12)), path / "b.txt")
    frame_of(data).write_csv(path / "a.csv")
    frame_of(data).write_parquet(path / "a.parquet")
    write_shards(data, path / "shards")
    return path


def frame_of(data, **more):
    features = {f"f{n}": data.X[:, n] for n in range(data.n_features)}
    return pl.DataFrame({"qid": data.qid, "label": data.y} | more | features)


def rows_of(ids):
    return RankingData(np.zeros((len(ids), 1)), np.zeros(len(ids)), ids)


def queries_of(fold):
    return [None if part is None else part.query_ids.tolist() for part in fold]


# By the values of a column.


def test_one_split_by_a_column():
    data = rows_of(list("aabccd"))
    values = np.array(["Train", "train", "dev ", "test", "test", "train"], dtype=object)
    division = SplitByColumn("part").divide(data, values)
    assert division.rule == "one split, by the values train, vali and test of column 'part'"
    assert queries_of(division.readers[0]()) == [["a", "d"], ["b"], ["c"]]


@pytest.mark.parametrize(
    "numbers", [[10, 20, 20, 30], ["10", "20", "20", "30"], [10.0, 20, 20, 30]]
)
def test_folds_by_a_column(numbers):
    data = rows_of(list("abbc"))
    division = SplitByColumn("fold").divide(data, np.array(numbers, dtype=object))
    assert division.rule.startswith("3 folds, by the numbers in column 'fold': FoldN tests")
    assert division.names == ["Fold10", "Fold20", "Fold30"]
    found = [queries_of(read()) for read in division.readers]
    assert found == [[["b"], ["c"], ["a"]], [["c"], ["a"], ["b"]], [["a"], ["b"], ["c"]]]


@given(st.lists(st.integers(-3, 9), min_size=3, max_size=20).filter(lambda n: len(set(n)) > 2))
def test_every_query_is_tested_in_the_fold_of_its_number(numbers):
    data = rows_of(list(range(len(numbers))))
    division = SplitByColumn("fold").divide(data, np.array(numbers))
    ordered = sorted(set(numbers))
    for name, read in zip(division.names, division.readers, strict=True):
        train, vali, test = queries_of(read())
        number = int(name.removeprefix("Fold"))
        before = ordered[ordered.index(number) - 1]
        assert [n for n, own in enumerate(numbers) if own == number] == test
        assert [n for n, own in enumerate(numbers) if own == before] == vali
        assert sorted([*train, *vali, *test]) == list(range(len(numbers)))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (["train", "test", "train"], "query 'a' has 'train' and 'test' in column 'part': .*both"),
        ([1, 2, 1], "query 'a' has 1 and 2"),
        (["train", None, "test"], "query 'a' has no value in column 'part'"),
        ([1.0, float("nan"), 2.0], "query 'a' has no value in column 'part'"),
        (["train", "train", "train"], "no query is marked 'test'"),
        (["test", "test", "vali"], "no query is marked 'train'"),
        ([1, 1, 2], "column 'part' has 2 different numbers, .*at least 3"),
        (
            ["x", "x", "train"],
            "has the values 'train', 'x'; to split by it, they must be train, va",
        ),
        ([0.5, 0.5, 1.5], "has the values 0.5, 1.5"),
    ],
)
def test_columns_that_divide_nothing(values, message):
    with pytest.raises(DataError, match=message):
        SplitByColumn("part").divide(rows_of(list("aab")), np.array(values, dtype=object))


# By time.


@pytest.mark.parametrize(
    ("times", "after"),
    [
        (np.array(["2026-01-01", "2026-01-02", "2025-12-31"], dtype="datetime64[D]"), "2026-01-01"),
        (np.array(["2026-01-01T23:59", "2026-01-02T00:00", "2026-01-01"], "datetime64[us]"),
         "2026-01-01"),
        (np.array(["2026-01-01T11:59", "2026-01-01T12:01", "2026-01-01T12:00"], "datetime64[ns]"),
         datetime(2026, 1, 1, 12)),
        (np.array(["2026-01-01", "2026-01-02T00:00:01", "2025-12-31 10:00"], dtype=object),
         date(2026, 1, 1)),
        (np.array(["2026-01-01T01:00+02:00", "2026-01-01T01:00Z", "2025-01-01"], dtype=object),
         "2025-12-31"),
        (np.array([20260101, 20260102, 20251231]), "20260101"),
        (np.array(["20260101", "20260102", "20251231"], dtype=object), 20260101),
        (np.array([1.5, 2.5, 0.5]), "1.5"),
        (np.array([date(2026, 1, 1), date(2026, 1, 2), date(2025, 1, 1)], object), "20260101"),
    ],
)  # fmt: skip
def test_queries_after_a_time_test(times, after):
    division = SplitByTime("date", after).divide(rows_of(list("abc")), times)
    assert queries_of(division.readers[0]()) == [["a", "c"], None, ["b"]]
    assert division.rule == f"one split, by column 'date': tests on queries after {after}"


DAYS = st.lists(st.integers(0, 40), min_size=1, max_size=4)


@given(st.lists(DAYS, min_size=2, max_size=6), st.integers(0, 40))
def test_a_split_by_time_is_the_obvious_one(days, bound):
    start = date(2026, 1, 15)
    data = rows_of([query for query, own in enumerate(days) for _ in own])
    times = np.array(
        [(start + timedelta(d)).isoformat() for own in days for d in own], dtype=object
    )
    after = start + timedelta(bound)
    late = [n for n, own in enumerate(days) if all(day > bound for day in own)]
    early = [n for n, own in enumerate(days) if all(day <= bound for day in own)]
    if len(late) + len(early) < len(days):
        cut = next(n for n in range(len(days)) if n not in late and n not in early)
        with pytest.raises(DataError, match=f"query {cut} has rows before and after {after}"):
            SplitByTime("date", after).divide(data, times)
    elif not late or not early:
        with pytest.raises(DataError, match=f"no query is (after|up to) {after} by column 'date'"):
            SplitByTime("date", after).divide(data, times)
    else:
        (read,) = SplitByTime("date", after.isoformat()).divide(data, times).readers
        assert queries_of(read()) == [early, None, late]


@pytest.mark.parametrize(
    ("times", "after", "message"),
    [
        (
            ["soon", "later"],
            "2026-01-01",
            "column 'date' has '(soon|later)', which is neither a date",
        ),
        (["2026-01-01", None], "2026-01-01", "column 'date' has None"),
        ([1, 2], "2026-01-01", "the column of times has numbers, but '2026-01-01' is not a number"),
        ([1.0, np.nan], 1, "column 'date' has no value in some rows"),
        (
            ["2026-01-01", "2026-01-05"],
            "Monday",
            "'Monday' is not a date or time; write it like 2026",
        ),
    ],
)
def test_times_that_are_none(times, after, message):
    values = np.array(times) if isinstance(times[0], float) else np.array(times, dtype=object)
    with pytest.raises(DataError, match=message):
        SplitByTime("date", after).divide(rows_of(["a", "b"]), values)


def test_times_of_tables(tmp_path, data):
    days = [datetime(2026, 1, 1, tzinfo=UTC) + timedelta(int(q)) for q in data.qid]
    table = frame_of(data, date=days)
    table.write_parquet(tmp_path / "a.parquet")
    table.with_columns(pl.col("date").dt.strftime("%Y-%m-%d")).write_csv(tmp_path / "a.csv")
    rule = SplitByTime("date", "2026-01-08")
    last = sorted(q for q in data.query_ids.tolist() if q >= 8)
    for source in (table, table.to_pandas(), tmp_path / "a.parquet", str(tmp_path / "a.c*")):
        divided = open_for_study(source, split=rule)
        assert not divided.has_validation
        train, vali, test = divided.readers[0]()
        assert vali is None
        assert sorted(test.query_ids.tolist()) == last
        assert train.feature_names.tolist() == [f"f{n}" for n in range(data.n_features)]


# Parts.


def test_parts_in_memory_and_on_disk(tmp_path, data):
    parts = [data.take_queries(range(6)), data.take_queries([6, 7]), data.take_queries([9, 8])]
    write_parquet(parts[0], tmp_path / "train.parquet")
    frame_of(parts[1]).rename({f"f{n}": str(n + 1) for n in range(4)}).write_csv(tmp_path / "v.csv")
    write_shards(parts[2], tmp_path / "test")
    sources = [
        tuple(parts),
        (tmp_path / "train.parquet", str(tmp_path / "v.csv"), parts[2]),
        ([tmp_path / "train.parquet"], tmp_path / "v.csv", tmp_path / "test"),
    ]
    assert not open_for_study((parts[0], parts[2])).has_validation
    for source in sources:
        divided = open_for_study(source)
        assert isinstance(divided, DividedData)
        assert divided.rule == "one split, as given"
        assert divided.has_validation
        for found, part in zip(divided.readers[0](), parts, strict=True):
            assert found.query_ids.tolist() == part.query_ids.tolist()
            np.testing.assert_array_equal(found.X, part.X)


def test_columns_of_parts_may_come_in_any_order(data):
    train, test = data.take_queries(range(6)), data.take_queries(range(6, 12))
    frames = frame_of(train), frame_of(test).select(["f3", "f0", "label", "f2", "qid", "f1"])
    found = open_for_study(frames).readers[0]()
    np.testing.assert_array_equal(found[2].X, test.X)
    with pytest.raises(
        DataError, match="the test data: the names of its features differ .* no 'f3'"
    ):
        open_for_study((frames[0], frames[1].rename({"f3": "g"})))
    with pytest.raises(DataError, match="the test data: it has 3 features, but the training data"):
        open_for_study((frames[0], frames[1].drop("f3")))


def test_text_parts_get_the_features_of_the_widest(tmp_path):
    (tmp_path / "a.txt").write_text("1 qid:1 1:2\n0 qid:1 1:1\n")
    (tmp_path / "b.txt").write_text("1 qid:2 3:2\n")
    train, _, test = open_for_study((tmp_path / "a.txt", tmp_path / "b.txt")).readers[0]()
    assert train.X.tolist() == [[2, 0, 0], [1, 0, 0]]
    assert test.X.tolist() == [[0, 0, 2]]


def test_several_files_of_a_part_are_one(tmp_path, data):
    table = frame_of(data)
    for number in range(3):
        table[number::3].write_csv(tmp_path / f"train-{number}.csv")  # queries go over files
    frame_of(data.take_queries([0])).write_csv(tmp_path / "test.csv")
    train, _, _ = open_for_study((tmp_path / "train-*.csv", tmp_path / "test.csv")).readers[0]()
    assert train.n_rows == data.n_rows
    assert sorted(train.query_ids.tolist()) == sorted(data.query_ids.tolist())


BY_FOLD = {"split": SplitByColumn("fold")}
NO_FILES = "to split by column 'fold', data must be Parquet, CSV or a"


@pytest.mark.parametrize(
    ("form", "options", "message"),
    [
        (lambda d, at: (d,), {}, "a tuple of 1 is not a split"),
        (lambda d, at: (d, d, d, d), {}, "a tuple of 4 is not a split: give"),
        (lambda d, at: (None, d), {}, "needs training and test data, but one of them is None"),
        (lambda d, at: (d, d, None), {}, "one of them is None"),
        (lambda d, at: (d.X, d.y, d.qid), {}, r"not ndarray; make one .* RankingData\(X, y, qid"),
        (lambda d, at: (d, d), BY_FOLD, "give either training and test data, or a split by a col"),
        (lambda d, at: d, BY_FOLD, NO_FILES),
        (lambda d, at: None, BY_FOLD, NO_FILES),
        (
            lambda d, at: [at / "a.txt", at / "b.txt"],
            {},
            "2 files are given as .*--pool.*--test",
        ),
        (lambda d, at: at / "?.txt", {}, r"2 files .* \(.*a.txt, .*--pool.*--test"),
        (lambda d, at: [at / "a.txt", at / "a.csv"], {"pool": True}, "a.txt: LETOR .* be joined w"),
    ],
)
def test_what_is_no_data_of_a_study(data, folder, form, options, message):
    with pytest.raises(DataError, match=message):
        open_for_study(form(data, folder), **options)


@pytest.mark.parametrize(
    ("names", "options", "message"),
    [
        ("demo memory shards a.txt", {"columns": Columns(label="y")}, "--label: only Parquet, CSV"),
        *(
            ("demo memory frame shards a.csv a.parquet", {name: value}, f"{flag}: only for LETOR t")
            for name, value, flag in (
                ("n_features", 4, "--n-features"),
                ("n_features", 0, "--n-features"),
                ("zero_based", True, "--zero-based"),
            )
        ),
    ],
)
def test_options_of_other_formats_are_refused(data, folder, names, options, message):
    kinds = {"demo": None, "memory": data, "frame": frame_of(data)}
    for name in names.split():
        source = kinds.get(name, folder / name)
        with pytest.raises(DataError, match=f"leave out {message}"):
            open_data(source, **options)
        if source is not None and "columns" not in options:
            with pytest.raises(DataError, match=f"leave out {message}"):
                open_for_study((source, source), **options)
    if "zero_based" in options:
        with pytest.raises(DataError, match=f"leave out {message}"):
            open_for_study(frame_of(data), split=SplitByColumn("f0"), **options)


def test_files_are_pooled_if_asked_for(folder):
    assert open_for_study(folder / "?.txt", pool=True).n_queries == 12


# Directories and patterns.


SUFFIXES = (".parquet", ".csv", ".tsv.gz", ".txt", ".svm")


@pytest.mark.parametrize(
    ("suffix", "vali"),
    [*zip(SUFFIXES, ("vali", "valid", "Validation", "dev", "vali"), strict=True)],
)
def test_a_directory_of_any_format(tmp_path, data, vali, suffix):
    names = ("train", vali, "TEST")
    for name, queries in zip(names, ([0, 1], [2], [3, 4]), strict=True):
        part, path = data.take_queries(queries), tmp_path / f"{name}{suffix}"
        if suffix in (".txt", ".svm"):
            write_letor(part, path)
        elif suffix == ".parquet":
            write_parquet(part, path)
        else:
            separator = "\t" if "tsv" in suffix else ","
            frame_of(part).to_pandas().to_csv(path, sep=separator, index=False)
    collection = open_collection(tmp_path)
    assert collection.layout == "single"
    parts = collection.read_fold(0)
    assert [part.n_queries for part in parts] == [2, 1, 2]
    np.testing.assert_array_equal(parts[2].X, data.take_queries([3, 4]).X)
    assert read_whole(tmp_path).n_queries == 5


def test_columns_of_a_directory(tmp_path, data):
    for name, queries in (("train", [0, 1]), ("test", [2])):
        table = frame_of(data.take_queries(queries)).with_columns(shop_id=pl.lit(1))
        table.write_csv(tmp_path / f"{name}.csv")
    with pytest.raises(DataError, match="train.csv: column 'shop_id' looks like an id"):
        open_collection(tmp_path).read_fold(0)
    train, _, _ = open_collection(tmp_path).read_fold(0, columns=Columns(ignore="shop_id"))
    assert train.n_features == data.n_features
    frame_of(data.take_queries([2])).drop("f1").write_csv(tmp_path / "test.csv")
    with pytest.raises(DataError, match=r"test.csv: .*those of .*train.csv: it lacks 'f1'"):
        open_collection(tmp_path).read_fold(0, columns=Columns(features="f*"))


def test_the_first_part_determines_what_gets_indicators(tmp_path, data):
    """Missing values are treated as columns say, alike in all parts; a study does it itself."""
    for name, queries, hole in (("train", [0, 1], "f0"), ("test", [2], "f1")):
        table = frame_of(data.take_queries(queries))
        holed = pl.when(pl.int_range(pl.len()) == 0).then(None).otherwise(pl.col(hole))
        table.with_columns(holed.alias(hole)).write_parquet(tmp_path / f"{name}.parquet")
    columns = Columns(missing="zero+indicators")
    train, _, test = open_collection(tmp_path).read_fold(0, columns=columns)
    assert train.missing.indicated == test.missing.indicated == (0,)
    assert (train.X[0, 0], train.X[0, -1], test.X[0, 1]) == (0, 1, 0)
    parts = [tmp_path / "train.parquet", tmp_path / "test.parquet"]
    plans = [
        Study(tuple(parts), selectors=["top"], rankers=["rankrls"], ks=[1], **settings).plan
        for settings in ({"columns": columns}, {"columns": columns, "missing": "keep"})
    ]
    assert [plan.missing for plan in plans] == ["zero+indicators", "keep"]


def test_two_files_of_a_part_are_refused_unless_one_is_a_copy(tmp_path):
    for name in ("train.txt", "train.txt.gz", "test.txt"):
        (tmp_path / name).write_text("1 qid:1 1:1\n")
    assert open_collection(tmp_path).folds[0].train == (tmp_path / "train.txt",)
    (tmp_path / "train.parquet").write_text("")
    with pytest.raises(DataError, match=r"train.parquet: there is also train.txt; name the files"):
        open_collection(tmp_path)


def test_patterns_stand_for_files(tmp_path, monkeypatch):
    for name in ("b.txt", "a.txt", "c[1].txt", "d.csv"):
        (tmp_path / name).write_text("1 qid:1 1:1\n")
    monkeypatch.chdir(tmp_path)
    assert [path.name for path in paths_of("?.txt")] == ["a.txt", "b.txt"]
    assert [path.name for path in paths_of(["d.csv", "c[1].txt"])] == ["d.csv", "c[1].txt"]
    assert read_whole("*.txt").n_rows == 3
    assert title_of("no such [x] *.txt") == "no such [x] *.txt"
    with pytest.raises(DataError, match=r"x\*.txt: no such file, and none matches it as a"):
        open_data("x*.txt")


# Resamples.


@given(st.integers(1, 60), st.integers(1, 5), st.integers(0, 3))
def test_resamples_are_different_parts_without_repetition(n_queries, n_resamples, seed):
    draws = resample_queries(n_queries, n_resamples, random_state=seed)
    assert len(draws) == n_resamples
    for queries in draws:
        assert len(set(queries.tolist())) == len(queries) == max(1, round(0.8 * n_queries))
        assert queries.tolist() == sorted(queries.tolist())
        assert 0 <= queries[0] <= queries[-1] < n_queries
    longer = resample_queries(n_queries, n_resamples + 1, random_state=seed)
    assert [a.tolist() for a in longer[:-1]] == [a.tolist() for a in draws]
    if n_queries > 30 and n_resamples > 1:
        assert draws[0].tolist() != draws[1].tolist()
