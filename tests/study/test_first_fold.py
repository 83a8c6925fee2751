"""What a study keeps of its data for reports."""

import json
from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import spearmanr

from ranksieve import DataError, make_ranking
from ranksieve.study import Study
from ranksieve.study.first_fold import (
    FIRST_FOLD,
    count_taken,
    describe_first_fold,
    read_first_fold,
    write_first_fold,
)
from ranksieve.sums.importance import feature_importance


@pytest.fixture(scope="module")
def study():
    data, _ = make_ranking(40, n_informative=3, n_redundant=3, n_noise=2, docs_per_query=(4, 8))
    return Study(data, selectors=["gas-e"], rankers=["rankrls"], ks=[2, 5], seeds=1)


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


def test_importance_and_similarity_are_those_of_the_training_queries(study, seen):
    train = study.trials[0].open().train
    both = feature_importance(train, "map")
    np.testing.assert_allclose(seen.importance, both.max(axis=0))
    for pair in ((0, 1), (2, 4), (5, 5)):
        assert seen.similarity[pair] == pytest.approx(slow_similarity(train, *pair))
    assert seen.compared.tolist() == list(range(8))
    assert "numpy" in seen.versions


def test_the_most_similar_come_first(seen):
    others = sorted((f for f in range(8) if f != 3), key=lambda f: -seen.similarity[3, f])
    assert [feature for feature, _ in seen.similar_to(3, least=0.0)] == others[:3]
    assert all(alike >= 0.5 for _, alike in seen.similar_to(3))
    assert seen.similar_to(99) == []


def test_features_are_counted_over_folds(result):
    counts = count_taken(result)
    taken = [f for fs in result.run("gas-e", "rankrls").chosen.selections for f in fs]
    assert counts == {feature: taken.count(feature) for feature in set(taken)}


def test_it_is_read_again(seen, tmp_path):
    assert read_first_fold(tmp_path, 8) is None
    write_first_fold(seen, tmp_path)
    found = read_first_fold(tmp_path, 8)
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
        read_first_fold(tmp_path, 8)


def test_that_of_another_study_is_refused(seen, tmp_path):
    write_first_fold(seen, tmp_path)
    with pytest.raises(DataError, match="'importance' should be 9 finite numbers"):
        read_first_fold(tmp_path, 9)
