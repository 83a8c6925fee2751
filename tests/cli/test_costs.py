"""The command costs, and the way from its log to a recommendation."""

import csv
import json

import numpy as np
import pyarrow.parquet as pq
import pytest

from ranksieve import Columns, FeatureCosts, recommend
from ranksieve.datasets import write_demo_table

NO_FEATURES = {
    "session_id", "shown_at", "query_text", "doc_id", "shown_position", "clicked", "grade",
}  # fmt: skip


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    return write_demo_table(tmp_path_factory.mktemp("demo"))


@pytest.mark.slow
def test_from_a_log_of_requests_to_a_recommendation(table, tmp_path, succeed):
    """What is written is read as it is, with its groups and its unit."""
    out = tmp_path / "costs.csv"
    shown = succeed("costs", table.requests, "--groups", table.catalogue, "--out", out)
    assert "Costs measured from 3,000 requests" in shown
    measured, true = FeatureCosts.read(out), FeatureCosts.read(table.catalogue, table.calls)
    names = [*measured.features]
    assert set(pq.read_schema(table.requests).names) == {*names, "took_ms"}
    covered = []
    for row in csv.DictReader(out.read_text().splitlines()):
        truth = true.features[row["feature"]] if row["feature"] else true.group_costs[row["group"]]
        covered.append(float(row["lower"]) <= truth <= float(row["upper"]))
    assert len(covered) == len(names) + 7
    known = {*pq.read_schema(table.log).names}
    assert known - {*names} == NO_FEATURES
    assert np.mean(covered) > 0.9
    features = ["bm25_body", "bm25_title", "embedding_dot", "click_rate_30d", "url_depth"]
    columns = Columns(qid="session_id", label="grade", features=features)
    how = {"missing": "query-median", "details": False, "margin": 0.3}
    rows = pq.read_table(table.log).slice(0, 1_500)
    answer = recommend(rows, "rankrls", columns=columns, costs=out, **how)
    assert answer.settings["cost_unit"] == "ms"
    assert answer.cost_of_all == pytest.approx(measured.total(features))
    assert "ms instead of" in answer.advice
    assert "The costs also list 40 features" in answer.notes[0]


@pytest.mark.slow
def test_options_and_json(table, tmp_path, run, succeed):
    out, features = tmp_path / "costs.csv", "bm25_*,embedding_*"
    command = ["costs", table.requests, "--features", features, "--ignore", "bm25_url"]
    found = json.loads(succeed(*command, "--time-column", "took_ms", "--format", "json"))
    names = [one["name"] for one in found["features"]]
    assert all(name.startswith(("bm25_", "embedding_")) for name in names)
    assert "bm25_url" not in names
    narrow = json.loads(succeed(*command, "--level", "0.6", "--format", "json"))
    for one, other in zip(found["features"], narrow["features"], strict=True):
        assert one["cost"] == other["cost"]
        assert one["lower"] <= other["lower"] <= other["upper"] <= one["upper"]
    lines = succeed(*command, "--format", "csv").splitlines()
    assert lines[0] == "feature,group,cost,lower,upper,share"
    assert len(lines) == 1 + len(names)
    before = table.requests.read_bytes()
    status, _, errors = run(*command, "--out", table.requests)
    assert (status, table.requests.read_bytes()) == (1, before)
    assert "requests.parquet" in errors
    status, _, errors = run(*command, "--out", out, "--time-column", "nothing")
    assert status == 1
    assert "there is no column 'nothing' with the times of requests" in " ".join(errors.split())
    assert not out.exists()
