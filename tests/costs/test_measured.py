"""Costs that are measured from the times of requests."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from benchmarks.request_costs import draw, estimates_of
from scipy import stats

from ranksieve import DataError, FeatureCosts
from ranksieve.costs import estimate_costs
from ranksieve.costs import measured as measured_module

GROUPS = {"call": ["a", "b"]}


def log_of(n=400, seed=0, noise=0.1, most=1):
    """Requests in which a and b share a call, c is free, and d costs 3."""
    rng = np.random.default_rng(seed)
    computed = (rng.random((n, 4)) < 0.6) * rng.integers(1, most + 1, (n, 4))
    a, b, _, d = computed.T
    times = (10 + a + 2 * b + 4 * ((a + b) > 0) + 3 * d) * rng.lognormal(0, noise, n)
    return pd.DataFrame(computed, columns=[*"abcd"]).assign(took_ms=times)


def slow_fit(X, times, weights):
    """Weighted least squares and its errors HC3, by the formulas of a textbook."""
    X = np.column_stack([X, np.ones(len(X))])
    W = np.diag(weights)
    inverse = np.linalg.inv(X.T @ W @ X)
    coefs = inverse @ X.T @ W @ times
    hat = X @ inverse @ X.T @ W
    residuals = (times - X @ coefs) / (1 - np.diag(hat))
    meat = X.T @ W @ np.diag(residuals**2) @ W @ X
    return coefs, np.sqrt(np.diag(inverse @ meat @ inverse))


def test_equal_to_a_slow_version(monkeypatch):
    """Where no cost is at its bound; requests are read and added up in several chunks."""
    monkeypatch.setattr(measured_module, "_ROWS", 64)
    log = log_of(n=250, noise=0.05, most=3).drop(columns="c")
    found = estimate_costs(log, groups=GROUPS, level=0.9)
    X = np.column_stack([log[[*"abd"]], log[["a", "b"]].max(axis=1) > 0])
    times = log["took_ms"].to_numpy()
    first, _ = slow_fit(X, times, np.ones(len(X)))
    expected = np.column_stack([X, np.ones(len(X))]) @ first
    coefs, errors = slow_fit(X, times, expected**-2.0)
    usual = [*(log[name][log[name] > 0].mean() for name in "abd"), 1, 1]
    half = stats.t.ppf(0.95, len(X) - 5) * errors
    every = [*found.features, *found.groups, found.base]
    assert [one.cost for one in every] == pytest.approx(coefs * usual, rel=1e-9)
    assert [one.lower for one in every] == pytest.approx((coefs - half) * usual, rel=1e-9)
    assert [one.upper for one in every] == pytest.approx((coefs + half) * usual, rel=1e-9)
    assert found.features[0].share == (log["a"] > 0).mean()
    assert 0.9 < found.explained < 1


@pytest.mark.slow
def test_intervals_cover_the_truth():
    """In 200 runs of requests whose features are correlated, with free ones, and noise of 40%."""
    covered = {}
    for number in range(200):
        for kind, cost, one in estimates_of(draw(number, 500, 8, 2, 0.4, 1)):
            assert 0 <= one.lower <= one.cost <= one.upper
            covered.setdefault(kind, []).append(one.lower <= cost <= one.upper)
    assert set(covered) == {"features", "free features", "groups", "the base"}
    for shares in covered.values():
        assert 0.9 <= np.mean(shares) <= 0.99


def test_costs_are_not_negative():
    """Least squares alone would say that c makes requests faster."""
    log = log_of()
    log["took_ms"] -= 2 * log["c"]
    found = estimate_costs(log, groups=GROUPS)
    c = found.features[2]
    assert (c.name, c.cost, c.lower, c.upper) == ("c", 0, 0, 0)


@pytest.mark.parametrize(
    ("change", "groups", "message"),
    [
        (lambda log: log.assign(d=1), {}, "computed in every request alike: d. Leave"),
        (
            lambda log: log.assign(d=1, c=log["a"]),
            {},
            "computed in every request alike: d; always computed together: a, c. Leave",
        ),
        (lambda log: log.assign(c=0, d=0), {}, "computed in no request: c, d. Leave"),
        (
            lambda log: log.assign(d=[1] * 3 + [0] * 397),
            {},
            "computed alike in all but 3 requests: d",
        ),
        (
            lambda log: log.assign(c=log["a"], d=5 * log["a"], b2=2 * log["b"]),
            {},
            "always computed together: a, c, d; always computed together: b, b2",
        ),
        (lambda log: log.assign(d=1 - log["a"]), {}, "follows from a. Leave"),
        (lambda log: log.assign(d=log["a"] + log["b"]), {}, "follows from"),
        (lambda log: log, {"call": ["a"], "c": ["c"], "other": ["a"]}, "'a' is in two groups"),
        (lambda log: log.assign(c=log["d"]), {"g": ["c"]}, "always computed together: d, group g"),
        (lambda log: log.head(9), {}, "9 requests cannot tell 4 costs apart: at least 15 are"),
        (lambda log: log.head(0), {}, "0 requests cannot tell 4 costs apart"),
    ],
)
def test_what_cannot_be_told_apart_is_refused(change, groups, message):
    with pytest.raises(DataError) as error:
        estimate_costs(change(log_of()), groups=groups)
    assert message in str(error.value)


def test_features_that_are_always_computed_with_their_group_are_part_of_it():
    """That is how to measure those that cannot be told apart."""
    log = log_of()
    log["b"] = log["a"]
    log["took_ms"] = 10 + 5 * log["a"] + 3 * log["d"]
    found = estimate_costs(log, groups={"call": ["a", "b", "unknown"]})
    assert [one.cost for one in found.features] == pytest.approx([0, 0, 0, 3], abs=1e-9)
    assert found.groups[0].cost == pytest.approx(5)
    assert found.costs.total(["a", "b"]) == pytest.approx(5)
    assert "part of that of the group: a, b." in found.notes[0]
    assert "1 feature without a column: unknown." in found.notes[1]


@pytest.mark.parametrize("form", ["parquet", "csv", "tsv", "csv.gz", "pandas", "polars", "arrow"])
def test_forms_of_the_log(tmp_path, form):
    log = log_of(200).assign(request_id=range(200), url="x", a=lambda own: own["a"] > 0)
    path = tmp_path / f"log.{form}"
    if form == "parquet":
        log.to_parquet(path)
    elif "sv" in form:
        log.to_csv(path, sep="\t" if form == "tsv" else ",", index=False)
    frames = {"pandas": lambda: log, "polars": lambda: pl.from_pandas(log)}
    frames["arrow"] = lambda: pa.table({name: pa.array(log[name]) for name in log})
    found = estimate_costs(frames[form]() if form in frames else path, groups=GROUPS)
    expected = estimate_costs(log_of(200), groups=GROUPS)
    assert [one.cost for one in found.features] == pytest.approx(
        [one.cost for one in expected.features], rel=1e-9, abs=1e-12
    )
    assert found.notes == ["Columns that are no features: request_id, url."]


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        (lambda log: log.rename(columns={"took_ms": "ms"}), {}, "no column has the times of req"),
        (lambda log: log.assign(took_us=1), {}, "'took_ms' and 'took_us' may be the times of"),
        (lambda log: log, {"time_column": "none"}, "there is no column 'none' with the times"),
        (lambda log: log.assign(took_ms="x"), {}, "column 'took_ms' holds text, but times must"),
        (lambda log: log.assign(took_ms=-1.0), {}, "row 0: 'took_ms' is -1; a time must be a num"),
        (lambda log: log.assign(took_ms=0.0), {}, "all times are 0"),
        (lambda log: log.assign(took_ms=np.nan), {}, "row 0: 'took_ms' is missing"),
        (lambda log: log.assign(took_ms=np.inf), {}, "row 0: column 'took_ms' is inf"),
        (lambda log: log.assign(b=0.5), {}, "row 0: 'b' is 0.5; how often a feature was computed"),
        (lambda log: log.assign(b=-1), {}, "row 0: 'b' is -1; how often"),
        (lambda log: log, {"ignore": ["x*"]}, "no column matches 'x*' of ignore"),
        (lambda log: log.assign(u="x"), {"features": ["u"]}, "column 'u' holds text"),
        (lambda log: log, {"features": ["a"], "ignore": ["a"]}, "no column is left to be a feat"),
    ],
)
def test_logs_that_are_wrong(change, options, message):
    with pytest.raises(DataError) as error:
        estimate_costs(change(log_of(30)), **options)
    assert message in str(error.value)


@pytest.mark.parametrize("level", [0.5, 1.0, 95])
def test_levels_that_are_wrong(level):
    with pytest.raises(ValueError, match="level must be above 0.5 and below 1"):
        estimate_costs(log_of(30), level=level)


def test_other_files_are_refused(tmp_path):
    (tmp_path / "log.txt").write_text("1 qid:1 1:1\n")
    with pytest.raises(DataError, match="a log of requests should be a Parquet, CSV or TSV file"):
        estimate_costs(tmp_path / "log.txt")


def test_what_is_written_is_what_is_read(tmp_path):
    names = {"a": 'a,"b"', "d": "=1+1"}
    groups = {"call\n": ['a,"b"', "b"]}
    found = estimate_costs(log_of().rename(columns=names), groups=groups)
    found.write(tmp_path / "costs.csv")
    read = FeatureCosts.read(tmp_path / "costs.csv")
    assert read.unit == found.costs.unit == "ms"
    assert read.groups == found.costs.groups
    for part in ("features", "group_costs"):
        written = getattr(found.costs, part)
        assert getattr(read, part) == pytest.approx(written, rel=1e-5)
    assert json.loads(json.dumps(found.to_record()))["groups"][0]["name"] == "call\n"
    assert repr(found).startswith("MeasuredCosts(4 features, together ")
