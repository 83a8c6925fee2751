"""Leaks: what is found and what is not, on planted data, and against counting all pairs."""

from collections import Counter

import numpy as np
import pytest
from benchmarks.leaks import draw

from ranksieve import RankingData, load_demo, read_letor
from ranksieve.sums.leaks import choose_cuts, find_leaks


def leaks_of(data):
    return find_leaks(data, Counter(data.y.tolist()))


def planted(kind, labels="graded", n_queries=60, seed=0):
    return draw(kind, labels, n_queries, 20, 12, np.random.default_rng(seed))


def wrong_pairs(x, y, qid, cut):
    """Mean share over queries of the pairs in the wrong order, if large values are good."""
    shares = []
    for query in np.unique(qid):
        own = qid == query
        pairs = [(a, b) for a in x[own & (y >= cut)] for b in x[own & (y < cut)]]
        if pairs:
            shares.append(np.mean([1.0 if a < b else 0.5 if a == b else 0.0 for a, b in pairs]))
    return np.mean(shares)


@pytest.mark.parametrize("labels", ["binary", "graded"])
@pytest.mark.parametrize(
    "kind",
    [
        "exact",
        "top grade",
        "noisy, 1 %",
        "graded",
        "reversed",
        "seconds, or missing",
        "missing rows",
        "missing queries",
        "two",
    ],
)
def test_planted_leaks_are_found_and_nothing_else(kind, labels):
    data, expected = planted(kind, labels)
    assert {leak.feature for leak in leaks_of(data)} == expected


@pytest.mark.parametrize("labels", ["binary", "graded"])
@pytest.mark.parametrize("kind", ["usual", "one strong", "several strong", "rare match"])
def test_honest_features_are_not_accused(kind, labels):
    assert leaks_of(planted(kind, labels)[0]) == []


def test_numbers_against_counting_all_pairs():
    data, (leak,) = planted("noisy, 1 %", "binary")
    (found,) = leaks_of(data)
    values = [wrong_pairs(x, data.y, data.qid, 1) for x in data.X.T]
    assert (found.feature, found.cut, found.n_queries) == (leak, 1.0, 60)
    assert found.wrong == pytest.approx(values[leak], rel=1e-12)
    others = [min(value, 1 - value) for feature, value in enumerate(values) if feature != leak]
    assert found.runner_up == int(np.argmin(others))
    assert found.wrong_of_runner_up == pytest.approx(min(others), rel=1e-12)


def test_of_gaps_at_random_only_the_documents_with_a_value_count():
    data, (leak,) = planted("missing rows", "binary")
    (found,) = leaks_of(data)
    there = ~np.isnan(data.X[:, leak])
    assert found.feature == leak
    assert found.wrong == wrong_pairs(data.X[there, leak], data.y[there], data.qid[there], 1) == 0


def test_few_queries_show_nothing():
    assert leaks_of(planted("exact", "binary", n_queries=19)[0]) == []


def test_the_only_feature_is_compared_with_chance():
    data, (leak,) = planted("exact", "binary")
    alone = data.take_features([leak])
    assert [found.runner_up for found in leaks_of(alone)] == [None]


def test_queries_of_weight_0_do_not_count():
    data, _ = planted("exact", "binary")
    weights = np.where(np.arange(60) < 15, 1.0, 0.0)[data.query_codes]
    assert leaks_of(data)
    assert not leaks_of(RankingData(data.X, data.y, data.qid, sample_weight=weights))


def test_leaks_everywhere(everywhere):
    data, expected = planted("missing rows", n_queries=40)
    assert {leak.feature for leak in leaks_of(data)} == expected
    labels = Counter(data.y.tolist())
    assert find_leaks(everywhere(data, shard_bytes=20_000), labels) == find_leaks(data, labels)


def test_no_labels_to_cut():
    assert find_leaks(RankingData([[1.0], [2.0]], [3, 3], [1, 1]), {3.0: 2}) == []


def test_cuts_of_labels_that_are_numbers():
    labels = {float(label): 1 for label in range(101)} | {0.0: 1000}
    cuts = choose_cuts(labels)
    assert len(cuts) == 8
    assert np.diff(cuts) == pytest.approx(np.full(7, 12.5), abs=0.6)


def test_no_false_alarm_on_the_demo():
    assert leaks_of(load_demo()[0]) == []


def test_no_false_alarm_on_mq2008(mq2008_dir):
    for parts in ([1], [2], [3], [4], [5], [1, 2, 3, 4, 5]):
        assert leaks_of(read_letor([mq2008_dir / f"S{part}.txt" for part in parts])) == []
