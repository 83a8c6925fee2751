"""Labels of a language model, confirmed by labels of people for some of the queries."""

import numpy as np
import pytest

from ranksieve import DataError, RankingData, recommend
from ranksieve.recommendation.queries import divide, set_apart
from ranksieve.sums.agreement import label_agreement

QUICK = {"ranker": "rankrls", "margin": 0.2, "details": False, "folds": 3}


def make_labels(queries, of_people=False, documents=True):
    """Features, and ratings from 0 to 1 or grades of the same documents."""
    random = [np.random.default_rng(query) for query in queries]
    X = np.concatenate([rng.normal(size=(6, 3)) for rng in random])
    noise = np.concatenate([rng.normal(size=(6, 2)) for rng in random])
    worth = X[:, 0] + 0.3 * noise[:, int(of_people)]
    y = np.digitize(worth, [0.3, 1]) if of_people else 1 / (1 + np.exp(-worth))
    ids = {"doc_ids": np.arange(len(X)) % 6} if documents else {}
    return RankingData(X, y, np.repeat(queries, 6), **ids)


@pytest.mark.slow
def test_shared_queries_only_confirm():
    ratings, people = make_labels(range(40)), make_labels(range(30, 50), of_people=True)
    found = recommend(ratings, confirm=people, **QUICK)
    (note,) = (note for note in found.notes if "Left out" in note)
    assert note == (
        "Left out of the data: 10 queries that the data to confirm by has. "
        + label_agreement(ratings, people).sentence
    )
    alone = recommend(make_labels(range(30)), confirm=people, **QUICK)
    assert (found.claim, found.confirmed, found.curve) == (
        alone.claim,
        alone.confirmed,
        alone.curve,
    )


@pytest.mark.parametrize("documents", [True, False])
def test_queries_that_may_be_others_are_refused(documents):
    ratings = make_labels(range(40), documents=documents)
    people = make_labels(range(30, 50), of_people=True)
    if documents:  # the same ids of queries, but no document in common
        people.doc_ids = people.doc_ids + 100
    with pytest.raises(DataError, match="query 30 is among those to choose by and .* confirm by"):
        recommend(ratings, confirm=people, **QUICK)


def test_parts_keep_their_queries():
    ratings = make_labels(range(20))
    people = make_labels([3, 4, 19], of_people=True)
    queries = divide(ratings, 3, 0)
    left, _ = set_apart(queries, people)
    kept = [query for query in range(20) if query not in (3, 4, 19)]
    assert left.whole.query_ids[left.choosing].tolist() == kept
    assert set_apart(queries, make_labels([30], of_people=True)) == (queries, [])
    split = type(queries)(ratings, ratings, np.arange(15), np.arange(15, 20), None, "", 3, 0)
    left, _ = set_apart(split, people)
    assert left.whole.query_ids[left.test].tolist() == [15, 16, 17, 18]
    with pytest.raises(DataError, match="all queries of a part"):
        set_apart(split, make_labels(range(15, 20), of_people=True))
    with pytest.raises(DataError, match="all queries of the data: no query may choose"):
        set_apart(split, make_labels(range(20), of_people=True))
