"""Drift between the earlier and the later queries: what changed is named, and nothing else."""

from datetime import date, timedelta

import numpy as np
import polars as pl
import pytest

from ranksieve import RankingData, read_parquet, recommend
from ranksieve.data.columns import Columns
from ranksieve.data.times import Times
from ranksieve.datasets import write_demo_table
from ranksieve.datasets.split_rules import SplitByTime
from ranksieve.datasets.times import times_of
from ranksieve.sums.drift_over_time import find_drift
from ranksieve.sums.inspection import inspect


def drifting(seed, n_queries=120, changed=True):
    """Feature 1 is spread more later, 2 is missing more often, and 3 moves by query alone."""
    rng = np.random.default_rng(seed)
    query = np.repeat(np.arange(n_queries), 8)
    X = rng.normal(size=(len(query), 4))
    later = query >= n_queries // 2
    if changed:
        X[later, 1] *= 3
        X[later & (rng.random(len(query)) < 0.3), 2] = np.nan
        X[later, 3] += 5
    return RankingData(X, rng.integers(0, 3, len(query)), query, missing="keep"), query


def test_changes_of_ranking_are_named_the_worst_first():
    data, query = drifting(0)
    first, second = find_drift(data, Times("day", query))
    assert (first.feature, second.feature) == (1, 2)
    assert first.size > 0.25
    assert second.drift.missing_now == pytest.approx(0.3, abs=0.05)
    found = inspect(data, times=Times("day", query), progress=False).suspicions
    assert [(one.kind, one.features, one.remedy) for one in found] == [
        ("drift", ["2"], ""),
        ("drift", ["3"], ""),
    ]
    assert found[0].what.startswith("drifts with day: population stability index ")
    assert found[1].what.startswith("drifts with day: 0.0% of the values missing earlier, ")


def test_false_alarms_are_rare():
    alarms = sum(
        bool(find_drift(data, Times("day", query)))
        for data, query in (drifting(seed, changed=False) for seed in range(40))
    )
    assert alarms <= 1


def test_the_order_of_time_counts_not_that_of_rows():
    data, query = drifting(0)
    assert not find_drift(data, Times("day", query % 60))
    assert find_drift(data, Times("day", -query))


def test_few_queries_or_one_time_show_nothing():
    data, query = drifting(0, n_queries=99)
    assert not find_drift(data, Times("day", query))
    data, query = drifting(0)
    assert not find_drift(data, Times("day", 0 * query))
    assert not find_drift(data, Times("day", (query >= 80) * 1))


def test_a_split_in_two_times():
    data, query = drifting(0)
    assert [one.feature for one in find_drift(data, Times("day", (query >= 60) * 1))] == [1, 2]


def table(n_queries=110):
    data, query = drifting(0, n_queries)
    first = date(2026, 1, 1)
    columns = {"qid": query, "grade": data.y.astype(int)}
    columns |= {"day": [first + timedelta(days=int(one)) for one in query]}
    columns |= dict(zip("abcd", data.X.T, strict=True))
    order = np.random.default_rng(0).permutation(len(query))
    return pl.DataFrame(columns)[order]


IGNORE = Columns(ignore="day")


@pytest.mark.parametrize("form", ["frame", "parquet", "csv"])
def test_times_of_tables(form, tmp_path):
    given, path = table(), tmp_path / f"log.{form}"
    data = RankingData.from_frame(given, IGNORE)
    if form == "parquet":
        given.write_parquet(path)
    elif form == "csv":
        given.write_csv(path)
    found = times_of(data, given if form == "frame" else path)
    assert found.column == "day"
    days = np.datetime64("2026-01-01") + data.qid
    assert (found.values == days).all()


def test_tables_without_times(tmp_path):
    given = table()
    data = RankingData.from_frame(given, IGNORE)
    gappy = given.with_columns(day=pl.when(pl.col("qid") == 3).then(None).otherwise(pl.col("day")))
    assert times_of(data, gappy) is None
    assert times_of(data, given.drop("day")) is None
    assert times_of(data, data) is None
    data = RankingData.from_frame(given.drop("day"))
    hours = given.with_columns(day=pl.lit("07:30").str.to_time("%H:%M"))
    assert times_of(data, hours) is None


@pytest.mark.parametrize("split", [None, SplitByTime("day", after="2026-02-24")])
def test_recommend_warns_of_drift(split):
    answer = recommend(
        table(), "lambdamart", parameters={"lambdamart": {"n_estimators": 2}}, columns=IGNORE,
        split=split, selectors=["top"], details=False, progress=False, time=2,
    )  # fmt: skip
    assert [one.features for one in answer.suspicions if one.kind == "drift"] == [["b"], ["c"]]


@pytest.mark.slow
def test_the_log_of_the_demo_does_not_drift_until_units_change(tmp_path):
    files = write_demo_table(tmp_path)
    ignore = Columns(ignore=["query_text", "shown_at", "device", "page_class"])
    parts = [pl.read_parquet(path) for path in (files.log, files.later, files.changed)]
    units = [["bm25_body"], ["lm_dir_body"], ["embedding_cosine"]]
    for later, expected in ((1, []), (2, units)):
        frame = pl.concat([parts[0], parts[later]])
        data = RankingData.from_frame(frame, ignore)
        found = inspect(data, times=times_of(data, frame), progress=False).suspicions
        assert [one.features for one in found if one.kind == "drift"] == expected
    assert read_parquet(files.log, ignore).n_queries == 400
