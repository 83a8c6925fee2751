"""What is suspicious about features: names, values, and the advice."""

from collections import Counter

import numpy as np
import pytest
from scipy import sparse

from ranksieve import RankingData, load_demo, read_letor
from ranksieve.sums.inspection import inspect
from ranksieve.sums.row_numbers import find_row_numbers
from ranksieve.sums.suspicions import advice, find_suspicions
from ranksieve.sums.suspicious_names import suspect_name

SUSPICIOUS = {
    "outcome": "clicked clicks click is_clicked was_clicked n_clicks click_count clickCount "
    "purchased purchase add_to_cart added_to_cart addToCart atc dwell dwell_time dwell_time_ms "
    "dwellTime time_on_page watch_time converted conversion booked ordered relevance label "
    "RELEVANCE_LABEL grade judgment session_clicks user_clicked",
    "position": "position pos rank shown_position position_shown rank_shown display_position "
    "serp_position result_rank slot impressionPosition",
    "id": "id uuid product_sku user_uid userId docID row_number index Unnamed:0",
    "time": "timestamp date ts event_time log_date shown_at request_ts unix_time epoch_ms",
}
# What says that they are of the past, of the document, of the text or of a model.
HONEST = (
    "click_rate_30d click_rate_7d clicks_30d ctr historical_ctr url_dwell_time avg_dwell_time "
    "dwell_seconds_30d query_url_click_count total_clicks past_clicks log_clicks p_click "
    "predicted_ctr click_model_score purchase_rate orders_90d conversion_rate order_count "
    "position_in_title first_position title_position bm25_rank page_rank pagerank PageRank "
    "sales_rank alexa_rank category_rank date_boost publish_date release_year published_at "
    "created_at time_decay recency days_since_update reading_time delivery_time load_ms "
    "label_match relevance_score target_price list_price popularity hits index_tier item_count "
    "sku_count result_count 12 bm25"
)


@pytest.mark.parametrize(("kind", "names"), SUSPICIOUS.items())
def test_names_that_accuse(kind, names):
    assert {name: suspect_name(name) for name in names.split()} == dict.fromkeys(
        names.split(), kind
    )


def test_names_of_features():
    found = {name: suspect_name(name) for name in HONEST.split()}
    assert found == dict.fromkeys(HONEST.split())
    assert suspect_name("") is suspect_name("\x1b[31m") is suspect_name("???") is None


def numbered(n_queries=20, gap=False):
    """Rows of queries of different lengths, and columns that number them, or nearly."""
    rng = np.random.default_rng(0)
    query = np.repeat(np.arange(n_queries), rng.integers(1, 6, n_queries))
    place = np.arange(len(query)) - np.searchsorted(query, query)
    shuffled = np.concatenate([rng.permutation(place[query == q]) for q in range(n_queries)])
    length = np.bincount(query)[query]
    time = np.cumsum(rng.random(len(query)))
    nearly = np.where(np.arange(len(query)) == len(query) - 1, 0.0, time)
    X = np.column_stack(
        [
            shuffled + 1.0,  # positions
            place,  # positions in the order of rows: known by that
            length - place,
            time,
            -time,
            np.where(place == 0, query, np.nan if gap else -1.0),  # grows only by query
            shuffled + 2.0,
            nearly,
            np.floor(time),  # many equal neighbors
            query,
            time + 10 * rng.random(n_queries)[query],
            place / np.maximum(1, length - 1),  # sorted within queries, from 0 to 1
        ]
    )
    return RankingData(X, place % 2, query, missing="keep")


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_what_numbers_documents_and_rows(form):
    data = numbered()
    data = RankingData(form(data.X), data.y, data.qid)
    assert find_row_numbers(data) == ([0, 1, 2], [3, 4])
    assert find_row_numbers(numbered(n_queries=8)) == ([], [])  # too few


def test_interleaved_rows_are_numbered():
    rng = np.random.default_rng(0)
    query = np.sort(rng.integers(0, 40, 200) + np.arange(200) // 5)  # then the rows are shuffled
    order = np.argsort(np.arange(200) + rng.integers(0, 30, 200), kind="stable")
    X = np.column_stack([np.arange(200.0), rng.random(200)])
    data = RankingData(X, rng.integers(0, 2, 200), query[order])
    assert find_row_numbers(data).growing == [0]


def test_row_numbers_everywhere(everywhere):
    data = numbered(40, gap=True)
    assert find_row_numbers(data) == ([0, 1, 2], [3, 4])
    assert find_row_numbers(everywhere(data, shard_bytes=800)) == ([0, 1, 2], [3, 4])


def table(**columns):
    rng = np.random.default_rng(1)
    query = np.repeat(np.arange(30), 8)
    y = rng.integers(0, 3, 240)
    own = {"bm25": y + 3 * rng.random(240), "price": rng.random(240), "index_tier": query}
    own |= {name: make(y, query, rng) for name, make in columns.items()}
    return RankingData(
        np.column_stack([*own.values()]).astype(float), y, query, feature_names=[*own]
    )


COLUMNS = {
    "clicked": lambda y, query, rng: y > 0,
    "purchased": lambda y, query, rng: rng.random(240) < 0.1,
    "dwell_time": lambda y, query, rng: rng.random(240),
    "place": lambda y, query, rng: np.argsort(rng.random((30, 8))).ravel() + 1,
    "user_uid": lambda y, query, rng: rng.integers(0, 99, 240),
    "line": lambda y, query, rng: np.arange(240) / 7,
    "ts": lambda y, query, rng: rng.random(240),
}


def test_all_kinds_in_one_table():
    found = inspect(table(**COLUMNS, **{"line x 2": lambda y, query, rng: np.arange(240) / 3.5}))
    assert [(one.kind, one.features) for one in found.suspicions] == [
        ("leak", ["clicked"]),
        ("outcome", ["purchased", "dwell_time"]),
        ("position", ["place"]),
        ("id", ["user_uid"]),
        ("id", ["line", "line x 2"]),
        ("time", ["ts"]),
        ("copy", ["line x 2"]),
        ("constant", ["index_tier"]),
    ]
    leak = found.suspicions[0]
    assert leak.numbers == {
        "right": 1.0,
        "right_next": pytest.approx(0.81, abs=0.05),
        "label": 1.0,
        "queries": 27.0,
    }
    assert leak.sentence.startswith("clicked: ranks nearly perfectly alone: 100.0% of the pairs")
    assert "next is bm25 with" in leak.sentence
    assert leak.remedy == "--ignore clicked"
    assert "--ignore 'clicked,purchased,dwell_time,place,user_uid,line,line x 2,ts'" in advice(
        found.suspicions
    )
    assert "Columns(ignore=['clicked', 'purchased'" in advice(found.suspicions)


def test_features_of_text_are_excluded_by_number():
    data = table(clicked=COLUMNS["clicked"])
    found = inspect(RankingData(data.X, data.y, data.qid)).suspicions
    assert [one.remedy for one in found] == ["--exclude 4", ""]
    assert "--exclude 4 (in Python, exclude=['4'])" in advice(found)


def test_nothing_suspicious():
    data = table().take_features(["bm25", "price"])
    assert inspect(data).suspicions == []
    assert advice([]) == ""


def test_only_names_of_infinite_values():
    data = table(**COLUMNS)
    X = data.X.copy()
    X[3, 1] = np.inf
    data = RankingData(X, data.y, data.qid, feature_names=data.feature_names)
    kinds = [(one.kind, one.features) for one in inspect(data).suspicions]
    assert ("outcome", ["clicked", "purchased", "dwell_time"]) in kinds
    assert not {"leak", "position"} & {kind for kind, _ in kinds}


def test_the_demo_has_copies_and_constants_and_nothing_else():
    data, _ = load_demo()
    found = {one.kind: one.features for one in inspect(data).suspicions}
    assert found == {
        "copy": ["url_slashes"],
        "constant": ["query_idf_sum", "query_frequency", "language_match", "index_tier"],
    }


def test_mq2008_has_copies_and_constants_and_nothing_else(mq2008_dir):
    data = read_letor([mq2008_dir / f"S{part}.txt" for part in range(1, 6)])
    assert {one.kind for one in inspect(data).suspicions} <= {"copy", "constant"}
    assert not advice(find_suspicions(data, Counter(data.y.tolist()), [], {}))
