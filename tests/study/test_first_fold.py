"""What a study keeps of its data for reports."""

import json
from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import spearmanr

from ranksieve import DataError, RankingData, make_ranking
from ranksieve.study import Study
from ranksieve.study.first_fold import (
    FIRST_FOLD,
    add_first_fold,
    count_taken,
    describe_first_fold,
    read_first_fold,
    write_first_fold,
)
from ranksieve.sums.importance import feature_importance

HOW = {"rankers": ["rankrls"], "ks": [2, 5], "seeds": 1}


@pytest.fixture(scope="module")
def study():
    data, _ = make_ranking(40, n_informative=3, n_redundant=3, n_noise=2, docs_per_query=(4, 8))
    X = np.column_stack([data.X, np.ones(data.n_rows)])  # the last is constant
    data = RankingData(X, data.y, data.qid)
    return Study(data, selectors=["gas-e", "fs-ed"], **HOW)


@pytest.fixture(scope="module")
def result(study):
    return study.run()


@pytest.fixture(scope="module")
def seen(study, result):
    return describe_first_fold(study, result)


def slow_similarity(data, first, second):
    """Absolute mean over queries of scipy's coefficient, which is 0 where one is constant."""
    values = []
    for start, stop in pairwise(data.query_ptr):
        a, b = data.X[start:stop, first], data.X[start:stop, second]
        varies = np.ptp(a) > 0 and np.ptp(b) > 0
        values.append(spearmanr(a, b).statistic if varies else 0.0)
    return abs(np.mean(values))


@pytest.mark.slow
def test_importance_and_similarity_are_those_of_the_training_queries(study, seen):
    train = study.trials[0].open().train
    both = feature_importance(train, "map")
    np.testing.assert_allclose(seen.importance, both.max(axis=0), atol=1e-6)
    for pair in ((0, 1), (2, 4), (5, 5)):
        expected = slow_similarity(train, *pair)
        assert seen.similarity[pair] == pytest.approx(expected, abs=1e-3)
    assert seen.compared == list(range(9))
    assert "numpy" in seen.versions


def plain_density(values, points):
    """A Gaussian kernel density with Silverman's bandwidth."""
    quartiles = np.percentile(values, [25, 75])
    spread = values.std(ddof=1)
    if quartiles[1] > quartiles[0]:
        spread = min(spread, (quartiles[1] - quartiles[0]) / 1.34)
    h = 0.9 * spread * len(values) ** -0.2
    kernels = np.exp(-0.5 * ((points[:, None] - values) / h) ** 2) / np.sqrt(2 * np.pi)
    return kernels.mean(axis=1) / h


def test_densities_are_of_the_features_that_rank_best_and_worst(study, seen):
    train = study.trials[0].open().train
    order = np.argsort(-np.array(seen.importance), kind="stable").tolist()
    order.remove(8)  # constant
    assert [one.feature for one in seen.densities] == [*order[:3], *order[-3:]]
    assert seen.grades == np.unique(train.y).tolist()
    for one in seen.densities:
        points = np.array(one.points)
        for grade, values in zip(seen.grades, one.values, strict=True):
            own = train.X[train.y == grade, one.feature]
            if own.std() > 0:
                expected = plain_density(own, points)
                np.testing.assert_allclose(values, expected, rtol=1e-9, atol=1e-12)
            assert np.trapezoid(values, points) == pytest.approx(1, abs=0.01)
            assert points[0] < own.min() <= own.max() < points[-1]


def test_densities_are_computed_only_for_methods_that_use_them(study):
    other = Study(study.trials[0].open().train, **HOW, selectors=["top"], protocol="kfold:3")
    found = add_first_fold(other, other.run()).seen
    assert (found.grades, found.densities) == ([], [])


def test_the_most_similar_come_first(seen):
    numbers = set()
    for feature in range(9):
        others = [f for f in range(9) if f != feature and seen.similarity[feature, f] >= 0.5]
        others.sort(key=lambda f: -seen.similarity[feature, f])
        expected = [(other, seen.similarity[feature, other]) for other in others[:3]]
        assert seen.similar_to(feature) == expected
        numbers.add(len(expected))
    assert len(numbers) > 1
    assert seen.similar_to(99) == []


def test_features_are_counted_over_folds(result):
    counts = count_taken(result)
    both = (result.run(name, "rankrls").chosen.selections for name in ("gas-e", "fs-ed"))
    taken = [f for selections in both for features in selections for f in features]
    assert counts == {feature: taken.count(feature) for feature in set(taken)}


def test_it_is_read_again(seen, tmp_path):
    assert read_first_fold(tmp_path, 9) is None
    write_first_fold(seen, tmp_path)
    found = read_first_fold(tmp_path, 9)
    np.testing.assert_allclose(found.importance, seen.importance, atol=1e-6)
    np.testing.assert_allclose(found.similarity, seen.similarity, atol=1e-3)
    assert (found.fold, found.measure, found.versions) == (seen.fold, "MAP", seen.versions)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda record: record.update(importance=[0.5] * 8), "checksum"),
        (lambda record: record.update(format="other"), "not facts about the data of a study"),
        (lambda record: record.pop("checksum"), "checksum"),
    ],
)
def test_a_changed_file_is_refused(seen, tmp_path, change, said):
    write_first_fold(seen, tmp_path)
    record = json.loads((tmp_path / FIRST_FOLD).read_text())
    change(record)
    (tmp_path / FIRST_FOLD).write_text(json.dumps(record))
    with pytest.raises(DataError, match=f"first-fold.json.*{said}.*delete the file"):
        read_first_fold(tmp_path, 9)


def test_that_of_another_study_is_refused(seen, tmp_path):
    write_first_fold(seen, tmp_path)
    with pytest.raises(DataError, match="'importance' should be 8 finite numbers"):
        read_first_fold(tmp_path, 8)
