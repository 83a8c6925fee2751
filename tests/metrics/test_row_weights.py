"""Measures in which each document counts by a weight: naive versions, refusals, unbiasedness."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranksieve import DataError, RankingData
from ranksieve.metrics import CONVENTIONS, DCG, NDCG, MeanNDCG, Measure, P, evaluate
from ranksieve.metrics.measures import MEASURES
from ranksieve.sums.importance import feature_importance
from tests import oracles

WEIGHTED = {
    DCG: oracles.weighted_dcg,
    NDCG: oracles.weighted_ndcg,
    MeanNDCG: oracles.weighted_mean_ndcg,
    P: oracles.weighted_precision,
}


@st.composite
def weighted_documents(draw):
    """Labels, weights and scores of the documents of one query, with ties and weights of 0."""
    n = draw(st.integers(1, 5))
    labels = draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    weights = draw(st.lists(st.sampled_from([0.0, 0.5, 1.0, 4.0, 8.0]), min_size=n, max_size=n))
    scores = draw(st.lists(st.integers(0, 2), min_size=n, max_size=n))
    return labels, weights, scores


@given(
    weighted_documents(),
    st.sampled_from(sorted(CONVENTIONS)),
    st.sampled_from(sorted(WEIGHTED, key=str)),
    st.integers(1, 6),
    st.booleans(),
)
def test_every_weighted_measure_equals_its_naive_version(case, convention, kind, k, average):
    if kind.label in CONVENTIONS[convention].undefined:
        return
    labels, weights, scores = case
    measure = kind() if kind is MeanNDCG else kind(k)
    documents, naive = list(zip(labels, weights, strict=True)), WEIGHTED[kind]
    if average:
        expected = oracles.averaged(naive, documents, scores, measure.cutoff, convention)
    else:
        expected = naive(oracles.ranked(documents, scores), measure.cutoff, convention)
    found = evaluate(
        labels,
        scores,
        np.zeros(len(labels)),
        measure,
        convention,
        ties="average" if average else "stable",
        row_weights=weights,
    )
    assert found.is_row_weighted
    assert found.mean[measure.name] == pytest.approx(expected, rel=1e-12, abs=1e-14)


def test_dcg_without_weights_is_that_of_weights_of_1_and_ndcg_times_the_ideal():
    y, scores = [2, 0, 1, 1, 0], [1.0, 2, 3, 4, 5]
    plain = evaluate(y, scores, [0, 0, 0, 1, 1], ["dcg@2", "p@2"])
    ones = evaluate(y, scores, [0, 0, 0, 1, 1], ["dcg@2", "p@2"], row_weights=np.ones(5))
    assert plain.mean == ones.mean
    assert not plain.is_row_weighted
    ideal = 3 + 1 / np.log2(3)
    ndcg = evaluate(y[:3], scores[:3], np.zeros(3), "ndcg@2").mean["NDCG@2"]
    assert plain.per_query["DCG@2"][0] == pytest.approx(ndcg * ideal)


def test_weights_go_with_their_documents():
    """Rows of a query may be apart, and a convention may order ties by document."""
    rng = np.random.default_rng(0)
    y, scores, qid = rng.integers(0, 2, 40), rng.integers(0, 3, 40), rng.integers(0, 5, 40)
    weights, documents = rng.uniform(0, 9, 40), [f"d{n:02}" for n in rng.permutation(40)]
    for convention in ("standard", "trec"):
        found = evaluate(
            y, scores, qid, "dcg", convention, doc_ids=documents, row_weights=weights
        ).per_query["DCG"]
        for value, query in zip(found, dict.fromkeys(qid.tolist()), strict=True):
            rows = np.flatnonzero(qid == query)
            pairs = [(y[row], weights[row]) for row in rows]
            if convention == "trec":
                keys = [(-scores[row], [-ord(c) for c in documents[row]]) for row in rows]
                order = sorted(range(len(rows)), key=keys.__getitem__)
                expected = oracles.weighted_dcg([pairs[n] for n in order], None, convention)
            else:
                own = scores[rows].tolist()
                expected = oracles.averaged(oracles.weighted_dcg, pairs, own, None, convention)
            assert value == pytest.approx(expected)


@pytest.mark.parametrize("name", sorted(MEASURES))
def test_measures_without_a_weighted_version_say_why(name):
    measure: type[Measure] = MEASURES[name]
    made = measure(3) if measure is P else measure()
    y, scores = [1, 0, 1], [1.0, 2, 3]
    if measure in WEIGHTED:
        assert not measure.no_row_weights
        assert evaluate(y, scores, [0, 0, 0], made, row_weights=[1, 2, 3]).mean[made.name] > 0
        return
    assert measure.no_row_weights.endswith(".")
    with pytest.raises(DataError, match=r"takes no weights of rows: .*dcg@10.*--row-weight"):
        evaluate(y, scores, [0, 0, 0], made, row_weights=[1, 2, 3])


def test_wrong_row_weights():
    for wrong, message in (([1.0], "there are 3 rows"), ([1, 2, -1], "not negative")):
        with pytest.raises(DataError, match=message):
            evaluate([1, 0, 1], [1.0, 2, 3], [0, 0, 0], "dcg", row_weights=wrong)


def test_importance_of_features_is_weighted():
    rng = np.random.default_rng(1)
    X, y = rng.integers(0, 4, (60, 3)).astype(float), rng.integers(0, 2, 60)
    data = RankingData(X, y, np.repeat(np.arange(10), 6), row_weights=rng.uniform(0, 5, 60))
    found = feature_importance(data, "dcg@3")
    for feature in range(3):
        for row, scores in enumerate((data.X[:, feature], -data.X[:, feature])):
            own = evaluate(data.y, scores, data.qid, "dcg@3", row_weights=data.row_weights)
            assert found[row, feature] == pytest.approx(own.mean["DCG@3"])


def simulate(n_queries: int, seed: int):
    """Relevance, clicks by the position-based model, their inverse propensities, new scores."""
    rng = np.random.default_rng(seed)
    n = 6
    relevant = rng.random((n_queries, n)) < np.array([0.2, 0.6, 0.3, 0.5, 0.1, 0.7])
    propensity = 1 / np.arange(1, n + 1)  # the documents were shown in this order
    clicked = relevant & (rng.random((n_queries, n)) < propensity)
    scores = rng.normal(size=(n_queries, n)) + 0.5 * relevant
    weights = np.broadcast_to(1 / propensity, relevant.shape)
    return relevant.ravel(), clicked.ravel(), weights.ravel(), scores.ravel(), n


def test_weighted_clicks_have_the_mean_of_complete_judgments():
    """In expectation: the error of the mean of 20,000 queries is known, and is not exceeded."""
    relevant, clicked, weights, scores, n = simulate(20_000, seed=0)
    qid = np.repeat(np.arange(20_000), n)
    measures = ["dcg@3", "p@3", "ndcg@3"]
    truth = evaluate(relevant, scores, qid, measures).per_query
    weighted = evaluate(clicked, scores, qid, measures, row_weights=weights).per_query
    naive = evaluate(clicked, scores, qid, measures).per_query
    for name in ("DCG@3", "P@3"):
        difference = weighted[name] - truth[name]
        error = difference.std() / np.sqrt(len(difference))
        assert abs(difference.mean()) < 3 * error
        assert abs((naive[name] - truth[name]).mean()) > 20 * error
    # The normalization of NDCG depends on the clicks, so its mean is another one.
    difference = weighted["NDCG@3"] - truth["NDCG@3"]
    assert abs(difference.mean()) > 10 * difference.std() / np.sqrt(len(difference))


def test_weights_cancel_out_in_ndcg_of_a_single_click():
    y, scores = [0, 1, 0], [3.0, 2.0, 1.0]
    one = [
        evaluate(y, scores, [0, 0, 0], ["ndcg", "dcg"], row_weights=[1, weight, 1]).mean
        for weight in (1.0, 9.0)
    ]
    assert one[0]["NDCG"] == pytest.approx(one[1]["NDCG"])
    assert one[1]["DCG"] == pytest.approx(9 * one[0]["DCG"])
