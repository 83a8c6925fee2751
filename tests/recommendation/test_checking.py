"""Checks in each state: what they say, their record, and metrics that a peer reads."""

import json
import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from prometheus_client import parser as text_format
from prometheus_client.openmetrics import parser as openmetrics

from ranksieve import DataError, RankingData, make_ranking, recommend
from ranksieve.io.records import checksum_of
from ranksieve.recommendation import check, load_check, load_checks
from ranksieve.recommendation.checked import Check, Drift
from ranksieve.report import write_report
from ranksieve.report.formats.openmetrics import to_openmetrics
from tests.recommendation.demo_checks import CHANGED, COLUMNS
from tests.recommendation.test_recommend import ONE, planted

pytestmark = pytest.mark.slow  # the demo is read and trained on once

KEYS = {
    *("format", "version", "checksum", "state", "exit_status", "sentence", "act", "know"),
    *("reason", "title", "n_kept", "n_all", "claim", "most", "cost", "drift", "helpful"),
    *("trained_on", "is_new", "recommendation", "data", "checked_at", "versions"),
}
KEYS_OF_CLAIM = {
    *("about", "measure", "margin", "level", "n_queries", "with_all", "with_chosen", "change"),
    *("lower", "upper", "bound", "is_shown", "queries_needed"),
}
KEYS_OF_DRIFT = {
    *("feature", "before", "now", "shift", "p_value", "values"),
    *("is_notable", "changes", "index"),
}
KEYS_OF_VALUES = {
    *("before", "now", "values", "within", "missing", "missing_before", "missing_now"),
    *("unknown_before", "unknown_now"),
}


def test_it_holds_on_later_sessions(demo_checks):
    found = demo_checks["later"]
    assert (found.state, found.exit_status, found.act) == ("holds", 0, [])
    assert found.sentence.startswith("Holds: ")
    assert found.drifted == []
    assert found.cost is None
    assert "No kept feature has drifted notably." in found.know


def test_it_is_broken_by_changed_units(demo_checks):
    """The rankers on kept and on all features suffer alike: only repaired values tell."""
    found = demo_checks["changed"]
    assert (found.state, found.exit_status) == ("broken", 1)
    assert found.sentence.startswith("Broken: bm25_body, embedding_cosine have changed")
    assert sorted(one.feature for one in found.drifted) == CHANGED
    assert [one.feature for one in found.drift[:2]] == [one.feature for one in found.drifted]
    assert "Repair bm25_body, embedding_cosine" in found.act[0]
    assert found.claim.change > -found.claim.margin
    before = demo_checks["later"].claim.with_chosen
    assert found.cost.repaired == pytest.approx(before, abs=0.01)
    cosine = next(one for one in found.drift if one.feature == "embedding_cosine").values
    assert cosine.values.size == "large"
    expected = 2 * np.array(cosine.before) + 0.1
    np.testing.assert_allclose(cosine.now, expected, rtol=0.1)


def test_few_sessions_cannot_be_judged(demo_checks):
    found = demo_checks["few"]
    assert (found.state, found.exit_status) == ("undecided", 2)
    assert found.sentence == "Cannot be judged: 12 queries are too few, it takes at least 50."
    assert found.drifted == []


def test_data_of_the_training_cannot_be_judged(demo_checks):
    found = demo_checks["log"]
    assert (found.state, found.is_new) == ("undecided", False)
    assert "exactly the data of the recommendation" in found.sentence
    assert all(one.index == 0 for one in found.drift)


def test_levels(demo_checks, demo_files, demo_recommendation):
    usual = demo_checks["later"]
    strict = check(demo_recommendation, demo_files.later, level=0.99, columns=COLUMNS)
    assert (usual.claim.level, strict.claim.level) == (0.95, 0.99)
    assert strict.claim.bound < usual.claim.bound < usual.most < strict.most
    with pytest.raises(ValueError, match="level must lie between"):
        check(demo_recommendation, demo_files.later, level=1.0, columns=COLUMNS)


@pytest.mark.parametrize("name", ["later", "changed", "few", "log"])
def test_records_have_stable_keys_and_can_be_restored(demo_checks, tmp_path, name):
    found = demo_checks[name]
    found.write(tmp_path / found.file_name)
    record = json.loads((tmp_path / found.file_name).read_text())
    assert record.keys() == KEYS
    assert record["claim"].keys() == KEYS_OF_CLAIM
    assert all(one.keys() == KEYS_OF_DRIFT for one in record["drift"])
    assert all(one["values"].keys() == KEYS_OF_VALUES for one in record["drift"])
    assert record["state"] == found.state
    assert record["sentence"] == found.sentence
    assert load_check(tmp_path / found.file_name) == found


def test_records_that_are_none_are_refused(demo_checks, tmp_path):
    record = demo_checks["later"].to_record()
    path = tmp_path / "check.json"
    for change in ({"state": "broken"}, {"format": "other"}, {"version": 99}):
        path.write_text(json.dumps(record | change))
        with pytest.raises(DataError, match="check.json"):
            load_check(path)
    del record["checksum"]
    for change in ({"state": "fine"}, {"checked_at": "noon"}, {"claim": None}, {"drift": [1]}):
        changed = record | change
        path.write_text(json.dumps(changed | {"checksum": checksum_of(changed)}))
        with pytest.raises(DataError, match="check.json"):
            load_check(path)


def read_metrics(text):
    """Samples by name, with their labels except that of the recommendation."""
    families = list(openmetrics.text_string_to_metric_families(text))
    # A textfile collector reads the older format.
    assert len(list(text_format.text_string_to_metric_families(text))) == len(families)
    assert all(family.type == "gauge" and family.documentation for family in families)
    return {
        sample.name: {
            tuple(v for n, v in sorted(one.labels.items()) if n != "recommendation"): one.value
            for one in family.samples
        }
        for family in families
        for sample in family.samples
    }


@pytest.mark.parametrize("name", ["later", "changed", "few"])
def test_openmetrics_is_read_by_prometheus(demo_checks, name):
    found = demo_checks[name]
    text = to_openmetrics(found)
    assert text.endswith("\n# EOF\n")
    samples = read_metrics(text)
    states = samples["ranksieve_check_state"]
    assert {state for (state,), value in states.items() if value == 1} == {found.state}
    assert len(states) == 3
    measure = (found.claim.measure,)
    for metric, value in {
        "change_ratio": found.claim.change,
        "bound_ratio": found.claim.bound,
        "upper_bound_ratio": found.most,
        "margin_ratio": found.claim.margin,
    }.items():
        assert samples[f"ranksieve_check_{metric}"] == {measure: value}
    assert samples["ranksieve_check_queries"] == {(): found.claim.n_queries}
    assert samples["ranksieve_check_drifted_features"] == {(): len(found.drifted)}
    assert samples["ranksieve_feature_drift_psi"] == {
        (one.feature,): one.values.values.index for one in found.drift
    }
    notable = samples["ranksieve_feature_drift_notable"]
    assert {name for (name,), value in notable.items() if value} == {
        one.feature for one in found.drifted
    }


def test_labels_of_metrics_are_escaped(demo_checks):
    name = 'a"b\\c\nd{e="f"},\u202e'
    drift = [Drift(name, 0.5, math.inf, 0.0, 1.0, None)]
    found = replace(demo_checks["later"], title=name, drift=drift)
    text = to_openmetrics(found)
    (family,) = [
        family
        for family in openmetrics.text_string_to_metric_families(text)
        if family.name == "ranksieve_feature_alone"
    ]
    (sample,) = family.samples
    shown = name.replace("\u202e", "\\u202e")  # which cannot be seen
    assert sample.labels == {"recommendation": shown, "feature": shown}
    assert sample.value == math.inf


def test_it_shows_itself(demo_checks):
    found = demo_checks["changed"]
    assert repr(found) == f"<Check: {found.sentence}>"
    page = found._repr_html_()
    assert "Do now: Repair bm25_body" in page
    assert page.index("Do now: ") < page.index("Kept against all features") < page.index("<table")
    assert "embedding_cosine" in page


def test_most_severe_drift_comes_first(demo_checks):
    for found in demo_checks.values():
        order = [(not one.is_notable, -one.index) for one in found.drift]
        assert order == sorted(order)


def test_a_kept_feature_whose_ranking_turns(tmp_path):
    """Its values are reflected within each query."""
    data = planted(200)
    old, new = data.take_queries(range(100)), data.take_queries(range(100, 200))
    name = recommend(old, margin=0.1, out=tmp_path, **ONE).names[0]
    column = new.X[:, new.feature_names.tolist().index(name)]
    for start, end in pairwise(new.query_ptr):
        own = column[start:end]
        own[:] = own.min() + own.max() - own
    found = next(one for one in check(tmp_path, new).drift if one.feature == name)
    assert found.changes == ["ranking"]
    assert found.shift < -3
    assert "alone" in found.in_words


def test_values_that_are_missing_now(demo_files, demo_recommendation, tmp_path):
    table = pq.read_table(demo_files.later)
    place = table.schema.names.index("bm25_title")
    gaps = np.arange(table.num_rows) % 5 == 0
    column = pa.array(table["bm25_title"].to_numpy(), mask=gaps)
    table = table.set_column(place, "bm25_title", column)
    pq.write_table(table, tmp_path / "gaps.parquet")
    found = check(demo_recommendation, tmp_path / "gaps.parquet", columns=COLUMNS)
    (drifted,) = found.drifted
    assert (drifted.feature, drifted.changes) == ("bm25_title", ["missing"])
    assert "missing 0.0% before, 20.0% now" in drifted.in_words
    assert found.cost is None  # gaps cannot be undone


def test_checks_are_values(demo_checks):
    found = demo_checks["later"]
    assert Check.from_record(json.loads(json.dumps(found.to_record()))) == found


def with_categories(seed, names, shares):
    """A feature of categories whose codes are in the order of ``names``, and two of numbers."""
    rng = np.random.default_rng(seed)
    qid = np.repeat(np.arange(120), 8)
    codes = rng.choice(len(names), len(qid), p=shares)
    worth = np.array([{"a": 0, "b": 2, "c": 1, "new": 0.5}[name] for name in names])
    X = np.column_stack([codes, rng.normal(size=(len(qid), 2))])
    y = np.digitize(worth[codes] + X[:, 1] + 0.3 * rng.normal(size=len(qid)), [0.5, 2])
    categories = {"kind": names}
    return RankingData(X, y, qid, feature_names=["kind", "x", "z"], categories=categories)


def test_categories_are_compared_by_name_and_new_ones_are_drift(tmp_path):
    answer = recommend(
        with_categories(0, ["a", "b", "c"], [0.4, 0.3, 0.3]),
        "lightgbm",
        margin=0.1,
        parameters={"lightgbm": {"n_estimators": 8}},
        details=False,
        selectors=["top"],
        folds=3,
        out=tmp_path,
    )
    assert "kind" in answer.names
    reordered = check(tmp_path, with_categories(1, ["c", "a", "b"], [0.3, 0.4, 0.3]))
    assert reordered.drifted == []
    (drifted,) = check(
        tmp_path, with_categories(1, ["b", "new", "a", "c"], [0.2, 0.3, 0.2, 0.3])
    ).drifted
    assert drifted.feature == "kind"
    assert "values" in drifted.changes
    assert drifted.values.unknown_before == 0
    assert drifted.values.unknown_now == pytest.approx(0.3, abs=0.05)


@pytest.fixture
def history(demo_checks, tmp_path):
    """A directory with the checks of some nights, a damaged file and one of something else."""
    for day, name in enumerate(["later", "later", "few", "changed", "later"], start=1):
        at = f"2026-11-0{day}T03:00:00+00:00"
        one = replace(demo_checks[name], checked_at=at)
        one.write(tmp_path / one.file_name)
    (tmp_path / "damaged.json").write_text('{"format": "ranksieve-check"')
    (tmp_path / "other.json").write_text('{"format": "other"}')
    return tmp_path


def test_checks_over_time(history):
    found = load_checks(history)
    states = ["holds", "holds", "undecided", "broken", "holds"]
    assert [one.state for one in found.checks] == states
    assert len(found.notes) == 1
    assert found.notes[0].startswith("damaged.json is left out")
    assert repr(found).startswith("<CheckHistory: 5 checks. Holds: ")
    report = write_report(found, history, figures=False)
    headings = [section.heading for section in report.sections]
    assert headings == ["Verdict", "Change over time", "Drift over time", "Drift", "Reproduce"]
    assert "bm25_body, embedding_cosine" in report.sections[2].sentence
    runs = (history / "tables" / "checks.csv").read_text()
    assert runs.index("Holds") < runs.index("Broken") < runs.index("Cannot be judged")
    page = (history / "report.html").read_text()
    for text in ("11-01", "11-05", "Broken", "by changed values", "damaged.json is left out"):
        assert text in page
    assert load_checks(history).checks == found.checks  # the report's own files are ignored


def test_a_directory_without_checks(tmp_path):
    assert load_checks(tmp_path) is None


def test_frame_and_figures(demo_checks):
    found = demo_checks["changed"]
    frame = found.to_frame(library="pandas")
    assert sorted(frame.feature[frame.is_notable]) == CHANGED
    assert frame.median_now[frame.feature == "embedding_cosine"].item() > 1
    assert "embedding_cosine" in found.plot().svg


def test_queries_that_tell_nothing_cannot_be_judged(tmp_path):
    data, _ = make_ranking(80, n_informative=1, n_redundant=0, n_noise=1, noise=0.1)
    recommend(data, "rankrls", margin=0.05, details=False, out=tmp_path)
    other, _ = make_ranking(60, n_informative=1, n_redundant=0, n_noise=1, random_state=1)
    found = check(tmp_path, RankingData(other.X, np.zeros(other.n_rows), other.qid))
    assert (found.exit_status, found.helpful) == (2, [])
    assert found.sentence.startswith("Cannot be judged: ")
    assert found.sentence.endswith("no query has a relevant document.")
    alone = check(tmp_path, RankingData(other.X, other.y, np.arange(other.n_rows)))
    assert alone.helpful == []


def test_one_feature_loses(tmp_path):
    data, _ = make_ranking(400, n_informative=1, n_redundant=0, n_noise=1, noise=0.1)
    old, new = data.take_queries(range(100)), data.take_queries(range(100, 400))
    recommend(old, "rankrls", margin=0.05, details=False, out=tmp_path)
    found = check(tmp_path, new)
    assert found.n_kept == 1
    assert found.sentence.startswith("Holds: the 1 kept feature loses less than")
