"""Categories as numbers: what they are, and that they betray no label."""

import numpy as np
import pytest

from ranksieve import RankingData
from ranksieve.data.encoding import encode_categories
from ranksieve.sums.importance import Importance

nan = float("nan")


def planted(seed=0, n_queries=60, n_documents=10, n_names=4, **options):
    """A category that tells the label, one of as many values as rows, and noise."""
    rng, n = np.random.default_rng(seed), n_queries * n_documents
    y = rng.integers(0, 3, n).astype(float)
    useful = np.where(rng.random(n) < 0.7, y, rng.integers(0, n_names, n))
    useless = rng.integers(0, n // 3, n).astype(float)
    useful[rng.random(n) < 0.1] = nan
    categories = {
        "useful": [f"u{i}" for i in range(n_names)],
        "useless": [f"v{i}" for i in range(n // 3)],
    }
    X = np.column_stack([useful, useless, rng.normal(size=n)])
    qid = np.repeat(np.arange(n_queries), n_documents)
    names = [*categories, "noise"]
    return RankingData(X, y, qid, feature_names=names, categories=categories, **options)


def slow_encoding(data, feature, own):
    """Numbers of the rows from all queries, or from all queries of other folds (``own``)."""
    weights = np.ones(data.n_queries) if data.query_weights is None else data.query_weights
    found = []
    for row, code in enumerate(data.X[:, feature]):
        total, count = 0.0, 20.0
        for query, (start, end) in enumerate(zip(data.query_ptr, data.query_ptr[1:], strict=False)):
            if own is not None and own[query] == own[data.query_codes[row]]:
                continue
            mean = data.y[start:end].mean()
            for other in range(start, end):
                value = data.X[other, feature]
                if value == code or (value != value and code != code):
                    total += weights[query] * (data.y[other] - mean)
                    count += weights[query]
        found.append(total / count)
    return found


@pytest.mark.parametrize("weighted", [False, True])
def test_equal_to_a_slow_version(weighted):
    data = planted(n_queries=12, n_documents=5)
    if weighted:
        data = data.with_weights(np.arange(12) % 4)
    encoded, encoding = encode_categories(data)
    folds = np.argsort(np.random.default_rng(0).permutation(12)) % 5
    for feature in (0, 1):
        np.testing.assert_allclose(encoded.X[:, feature], slow_encoding(data, feature, folds))
        later = encoding.applied_to(data.X, data.feature_names)
        np.testing.assert_allclose(later[:, feature], slow_encoding(data, feature, None))
    np.testing.assert_array_equal(encoded.X[:, 2], data.X[:, 2])
    assert not encoded.categories
    assert encoded.feature_names.tolist() == data.feature_names.tolist()


def test_no_label_of_a_query_reaches_its_own_numbers():
    data = planted()
    before = encode_categories(data)[0].X
    for query in (0, 7):
        y = data.y.copy()
        rows = slice(data.query_ptr[query], data.query_ptr[query + 1])
        y[rows] = y[rows][::-1] + 1
        after = encode_categories(data._replace(y=y))[0].X
        np.testing.assert_array_equal(after[rows], before[rows])
        assert not np.array_equal(after, before)


def test_a_category_that_tells_nothing_ranks_like_noise():
    kinds = [[], [], []]
    for seed in range(20):
        encoded, encoding = encode_categories(planted(seed))
        values = Importance("ndcg@10", both_directions=False)(encoded).values
        naive = encoded._replace(X=encoding.applied_to(planted(seed).X, encoded.feature_names))
        cheating = Importance("ndcg@10", both_directions=False)(naive).values
        for kind, value in zip(kinds, (values[1] - values[2], values[0], cheating[1]), strict=True):
            kind.append(value)
    difference, useful, cheating = map(np.array, kinds)
    error = difference.std(ddof=1) / np.sqrt(len(difference))
    assert abs(difference.mean()) < 3 * error  # no better and no worse than noise
    assert useful.min() > 0.8
    assert cheating.min() > 0.85  # what numbers from all rows would have seemed to be worth


def test_missing_and_unknown_categories():
    data = planted()
    _, encoding = encode_categories(data)
    own = encoding.values["useful"]
    rows = encoding.applied_to(np.array([[nan, 0, 0], [2, nan, 0], [99, 0, 0]]), data.feature_names)
    assert rows[:, 0].tolist() == [own[-1], own[2], own[-1]]
    assert encoding.values["useless"][-1] == 0  # none was missing: the mean
    plain = planted().take_features(["noise"])
    assert encode_categories(plain)[0] is plain
