"""The demo as a messy table: what makes it messy, and what its files have to do with each other."""

import pyarrow.parquet as pq
import pytest

from ranksieve.datasets import write_demo_table


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return write_demo_table(tmp_path_factory.mktemp("table"))


@pytest.fixture(scope="module")
def log(files):
    return pq.read_table(files.log).to_pandas()


def test_rows_of_a_session_are_not_adjacent(log):
    n_runs = 1 + (log.session_id != log.session_id.shift()).iloc[1:].sum()
    assert n_runs > 2 * log.session_id.nunique() == 800


def test_types_are_mixed_and_values_missing(log):
    kinds = {kind.kind for kind in log.dtypes}
    assert {"f", "i", "b", "M"} <= kinds
    assert 0.25 < log.click_rate_7d.isna().mean() < 0.35
    assert sorted(log.page_class.unique()) == ["clean", "fair", "poor", "spam"]


def test_clicks_tell_the_grade_and_the_copy_tells_nothing_new(log):
    assert ((log.grade > 0) == (log.clicked == 1)).mean() > 0.97
    assert (log.bm25_title_v2 == 2 * log.bm25_title + 1).all()
    assert sorted(log[log.session_id == "s-000007"].shown_position) == list(
        range(1, 1 + (log.session_id == "s-000007").sum())
    )


def test_later_sessions_are_others_of_the_same_kind(files, log):
    later, few = (pq.read_table(path).to_pandas() for path in (files.later, files.few))
    assert later.shown_at.min() > log.shown_at.max()
    assert few.shown_at.min() > later.shown_at.max()
    assert list(later) == list(log) == list(few)
    assert not {*later.session_id} & {*log.session_id}


def test_three_features_have_another_unit_after_the_change(files):
    later, changed = (pq.read_table(path).to_pandas() for path in (files.later, files.changed))
    differ = [name for name in later if not later[name].equals(changed[name])]
    assert differ == ["bm25_body", "lm_dir_body", "embedding_cosine"]


def test_the_catalogue_has_costs_of_every_call(files):
    text = files.catalogue.read_text()
    assert "\ncolbert_maxsim,6.5,embedding_model," in text
    groups = {line.split(",")[2] for line in text.splitlines()[1:]} - {""}
    calls = {line.split(",")[0] for line in files.calls.read_text().splitlines()[1:]}
    assert groups == calls


def test_requests_leave_out_calls_and_features(files):
    requests = pq.read_table(files.requests).to_pandas()
    computed = requests.drop(columns="took_ms")
    assert len(requests) == 3_000
    assert computed.any().all()
    assert not computed.all().any()
    assert requests.took_ms[computed.embedding_cosine].mean() > 4 + requests.took_ms.min()


def test_the_same_files_come_every_time(files, tmp_path):
    for old, new in zip(files, write_demo_table(tmp_path), strict=True):
        assert old.read_bytes() == new.read_bytes()
