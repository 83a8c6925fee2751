"""What inspect finds, on data where it is known."""

import numpy as np
import pytest
from scipy import sparse

from ranksieve import RankingData, load_demo, make_ranking, read_letor
from ranksieve.metrics import evaluate
from ranksieve.sums.inspection import inspect

X = np.array(
    #  a    b    c    d    e       f
    [
        [1.0, 5.0, 1.0, 9.0, -1.0, 3.0],
        [2.0, 5.0, 2.0, 9.0, -2.1, 1.0],
        [3.0, 5.0, 3.0, 9.0, -3.0, 2.0],
        [7.0, 5.0, 7.0, 8.0, -7.0, 0.0],
        [1.0, 5.0, 1.0, 8.0, -1.0, 9.0],
        [4.0, 5.0, 4.0, 7.0, -4.0, 4.0],
    ]
)
Y = [0, 1, 2, 0, 0, 1]
QID = [1, 1, 1, 2, 2, 3]


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_every_fact_of_a_small_case(form):
    found = inspect(RankingData(form(X), Y, QID, feature_names=list("abcdef")))
    assert (found.n_rows, found.n_queries, found.n_features) == (6, 3, 6)
    assert found.density == pytest.approx(35 / 36)
    assert found.labels == {0.0: 3, 1.0: 2, 2.0: 1}
    assert found.documents_per_query == {"min": 1, "median": 2.0, "mean": 2.0, "max": 3}
    assert found.n_single == 1
    assert found.n_without_relevant == 1
    assert found.n_missing == 0
    assert found.constant == ["b"]
    assert found.constant_in_queries == ["d"]
    assert found.duplicates == [["a", "c"]]
    pairs = [(pair.first, pair.second) for pair in found.near_duplicates]
    assert sorted(pairs) == [("a", "e"), ("c", "e")]
    assert all(-1 <= pair.correlation <= -0.99 for pair in found.near_duplicates)
    best = {feature.name: feature for feature in found.best_features}
    assert best["a"].direction == "descending"
    assert best["e"].direction == "ascending"
    assert best["a"].value == best["e"].value == pytest.approx(2 / 3)
    values = [feature.value for feature in found.best_features]
    assert values == sorted(values, reverse=True)


def test_quality_is_that_of_evaluate():
    data, _ = make_ranking(30, random_state=3)
    found = inspect(data, "map", "letor4")
    assert (found.measure, found.convention) == ("MAP", "letor4")
    for feature in found.best_features:
        column = data.take_features([feature.name]).X.ravel()
        scores = column if feature.direction == "descending" else -column
        result = evaluate(data.y, scores, data.qid, "map", "letor4", ties="average")
        assert feature.value == pytest.approx(result.mean["MAP"], rel=1e-12)


def test_smaller_is_better_for_errors():
    data, _ = make_ranking(30, random_state=3)
    found = inspect(data, "pairwise-error")
    values = [feature.value for feature in found.best_features]
    assert values == sorted(values)
    assert 0 <= values[0] < 0.5


def test_planted_facts_are_found():
    data, truth = make_ranking(
        60, n_duplicate=2, n_constant=3, n_query_level=2, copy_noise=0.01, skewed=0, tied=0
    )
    found = inspect(data)
    names = data.feature_names
    assert found.constant == names[truth.kind == "constant"].tolist()
    assert found.constant_in_queries == names[truth.kind == "query"].tolist()
    grouped = {name for group in found.duplicates for name in group}
    assert set(names[truth.kind == "duplicate"]) <= grouped
    near = {frozenset((pair.first, pair.second)) for pair in found.near_duplicates}
    for feature in np.flatnonzero(truth.kind == "redundant"):
        assert frozenset((names[feature], names[truth.source[feature]])) in near


def gappy(form=np.asarray):
    """a, b, c as above, c = a with the same gap; d never there; e = a somewhere; f with gaps."""
    matrix = X.copy()
    matrix[0, [0, 2]] = matrix[2, 5] = matrix[3, 5] = np.nan
    matrix[:, 3] = np.nan
    return form(matrix)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("missing", [None, "keep"])
def test_missing_values_are_counted_and_features_compared(form, missing):
    data = RankingData(gappy(form), Y, QID, feature_names=list("abcdef"), missing=missing)
    found = inspect(data)
    assert found.n_missing == 10
    assert found.missing == {"d": 6, "f": 2, "a": 1, "c": 1}
    assert list(found.missing) == ["d", "f", "a", "c"]
    assert found.n_infinite == 0
    assert found.density == pytest.approx(26 / 36)
    assert found.constant == ["b", "d"]
    assert found.duplicates == [["a", "c"]]
    near = {(pair.first, pair.second) for pair in found.near_duplicates}
    assert {("a", "e"), ("c", "e")} <= near
    best = {feature.name: feature for feature in found.best_features}
    assert set(best) == set("abcdef")
    ranks = np.array([[0.0], [1], [2], [3], [1], [1]])  # of a, the first last
    importance = inspect(RankingData(ranks, Y, QID)).best_features[0]
    assert best["a"].value == pytest.approx(importance.value)
    assert not inspect(data.with_missing("zero")).missing


def test_gaps_at_other_places_are_no_copies():
    matrix = np.array([[1.0, 1.0, 5.0], [np.nan, 2.0, 5.0], [3.0, np.nan, np.nan]])
    found = inspect(RankingData(matrix, [0, 1, 2], [1, 1, 1]))
    assert found.duplicates == []
    assert found.constant == []  # where the last feature is missing tells something
    assert found.constant_in_queries == []


@pytest.mark.parametrize("gap", [0.0, np.nan])
@pytest.mark.parametrize("factor", [1e300, 1.7e308, 1e-200, 1e-310])
@pytest.mark.filterwarnings("error")
def test_copies_of_any_size_are_found(gap, factor):
    values = np.random.default_rng(0).uniform(-1, 1, size=(40, 3))
    values[3, 1] = gap
    X = np.column_stack([values[:, 0], values * [factor, factor, 1]])
    found = inspect(RankingData(X, np.arange(40) % 3, np.arange(40) // 10))
    assert [(pair.first, pair.second) for pair in found.near_duplicates] == [("1", "2")]


def test_infinite_values_leave_features_uncompared():
    matrix = X.copy()
    matrix[0, 0] = np.inf
    found = inspect(RankingData(matrix, Y, QID))
    assert (found.n_missing, found.n_infinite) == (0, 1)
    assert found.near_duplicates is None
    assert found.best_features is None
    assert found.constant == ["2"]


def test_inspection_of_gaps_everywhere(everywhere):
    rng = np.random.default_rng(1)
    matrix = rng.normal(size=(400, 4)).round(1)
    matrix[:, 2] = matrix[:, 0]
    matrix[rng.random(400) < 0.3, 1] = matrix[7, 0] = matrix[7, 2] = np.nan
    data = RankingData(matrix, rng.integers(0, 3, 400), np.repeat(np.arange(40), 10))
    expected, found = inspect(data), inspect(everywhere(data, shard_bytes=2000))
    assert found.missing == expected.missing
    assert found.duplicates == expected.duplicates == [["1", "3"]]
    assert [f.name for f in found.best_features] == [f.name for f in expected.best_features]


def test_many_features_are_not_paired():
    rng = np.random.default_rng(0)
    wide = sparse.random_array((20, 3000), density=0.01, rng=rng, format="csr")
    found = inspect(RankingData(wide, rng.integers(0, 2, 20), np.repeat([1, 2], 10)))
    assert found.near_duplicates is None
    assert found.constant_in_queries is None
    assert len(found.best_features) == 3000


def test_mq2008(mq2008_dir):
    data = read_letor([mq2008_dir / f"S{part}.txt" for part in range(1, 6)])
    found = inspect(data)
    assert (found.n_rows, found.n_queries, found.n_features) == (15_211, 784, 46)
    assert found.n_without_relevant == 220
    assert found.best_features[0].name == "39"


def test_the_demo_is_worth_looking_at():
    data, truth = load_demo()
    found = inspect(data)
    assert found.constant
    assert found.constant_in_queries
    assert found.duplicates
    assert found.near_duplicates
    useful = set(data.feature_names[truth.direction != 0])
    assert {feature.name for feature in found.best_features[:10]} <= useful


def test_single_precision_is_inspected_without_a_warning():
    data, _ = make_ranking(10, n_informative=2, n_noise=1, random_state=0, dtype="float32")
    assert inspect(data).n_queries == 10  # a warning would be an error
