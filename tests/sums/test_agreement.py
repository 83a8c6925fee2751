"""Agreement of two labels: a naive version, what is matched, and what is refused."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau

from ranksieve import DataError, RankingData
from ranksieve.sums.agreement import label_agreement


def labels_of(places, labels):
    """Data with the labels of documents at (query, document), in any order."""
    queries, documents = zip(*places, strict=True)
    return RankingData(np.zeros((len(labels), 1)), labels, queries, doc_ids=list(documents))


def naive_agreement(own, theirs):
    """Documents in both, and means over queries: of tau-b, and of the share of equal pairs."""
    taus, shares, shared = [], [], own.keys() & theirs.keys()
    for query in {place[0] for place in shared}:
        pairs = [(own[place], theirs[place]) for place in sorted(shared) if place[0] == query]
        a, b = zip(*pairs, strict=True)
        if len(set(a)) > 1 and len(set(b)) > 1:
            taus.append(kendalltau(a, b).statistic)
        ordered = [
            0.5 if x == u else float((x > u) == (y > v))
            for (x, y), (u, v) in itertools.combinations(pairs, 2)
            if y != v
        ]
        if ordered:
            shares.append(np.mean(ordered))
    tau, share = (np.mean(found) if found else np.nan for found in (taus, shares))
    return len(shared), tau, share


PLACES = st.tuples(st.sampled_from("ab"), st.integers(0, 5))


@given(
    st.dictionaries(PLACES, st.sampled_from([0.0, 0.2, 0.7, 1.0]), min_size=1),
    st.dictionaries(PLACES, st.integers(0, 2), min_size=1),
    st.randoms(),
)
def test_agreement_equals_its_naive_version(own, theirs, random):
    places = random.sample(list(own), len(own))
    found = label_agreement(
        labels_of(places, [own[place] for place in places]),
        labels_of(list(theirs), list(theirs.values())),
    )
    documents, tau, share = naive_agreement(own, theirs)
    assert found.n_documents == documents
    assert found.tau_b == pytest.approx(tau, nan_ok=True)
    assert found.agreeing == pytest.approx(share, nan_ok=True)
    assert ("in the same order" in found.sentence) == (not np.isnan(share))


def test_ids_match_as_text():
    own = labels_of([(1, 7), (1, 8)], [0.5, 0.1])
    found = label_agreement(own, labels_of([("1", "7"), ("1", "8"), ("2", "7")], [2, 0, 1]))
    assert found[:2] == (1, 2)
    assert found.sentence == (
        "2 documents of 1 query have both labels: 100% of the pairs are in the same order, "
        "Kendall's tau-b 1.00."
    )


def test_nothing_to_compare():
    own, other = labels_of([("a", 1)], [0.5]), labels_of([("b", 1)], [2])
    assert label_agreement(own, other).sentence == (
        "0 documents of 0 queries have both labels, but in no query do they differ."
    )
    twice = labels_of([("a", 1), ("a", 1)], [0.5, 1])
    with pytest.raises(DataError, match="document 1 occurs twice in query 'a'"):
        label_agreement(twice, own)
    bare = RankingData(np.zeros((1, 1)), [1], ["a"])
    with pytest.raises(DataError, match="only if both data sets have document ids"):
        label_agreement(own, bare)
