"""Whatever predicts or transforms looks at its rows first, in every form of data."""

import numpy as np
import pytest

from ranksieve import RankingData, make_ranking
from ranksieve.data import DataError
from ranksieve.preprocessing import QueryMinMaxScaler, QueryStandardScaler
from ranksieve.rankers.registry import make_ranker
from ranksieve.selectors.registry import make_selector
from ranksieve.sums.held_out import linear_scores, measure_models

NAMES = [f"f{number}" for number in range(8)]


@pytest.fixture(scope="module")
def data():
    made, _ = make_ranking(30, n_informative=3, n_redundant=0, n_noise=5, noise=0.1)
    return RankingData(made.X, made.y, made.qid, feature_names=NAMES)


def poisoned(data, value):
    X = data.X.copy()
    X[5, 7] = value
    return data._replace(X=X)


def test_new_features_of_other_rows_are_refused(data):
    found = make_selector("fs-bfs", 2, output="constructed").fit(data)
    other = RankingData(data.X, data.y, data.qid, feature_names=NAMES[::-1])
    for rows in (data.take_features([0, 1]), other, poisoned(data, np.nan)):
        with pytest.raises(DataError):
            found.construct(rows)


def test_held_out_data_of_other_names_are_refused(data):
    other = RankingData(data.X, data.y, data.qid, feature_names=NAMES[::-1])
    with pytest.raises(DataError, match="feature 1 is 'f7', but 'f0' in training"):
        make_ranker("rankrls-cv").fit(data, eval_set=other)
    with pytest.raises(DataError, match="feature 1 is 'f7', but 'f0' in training"):
        make_selector("annealing", 2).fit(data, eval_set=other)


def test_kernels_never_see_another_width(data):
    with pytest.raises(ValueError, match="8 features, but there are 9 weights"):
        linear_scores(data.X, np.ones(9))
    with pytest.raises(ValueError, match="not in 0 to 7"):
        measure_models(data, [(np.array([8]), np.ones((1, 1)))])
    with pytest.raises(ValueError, match="not in 0 to 7"):
        measure_models(data, [(np.array([-1]), np.ones((1, 1)))])


@pytest.mark.parametrize("scaler", [QueryMinMaxScaler, QueryStandardScaler])
def test_scalers_compare_names_as_all_others_do(scaler, data):
    other = RankingData(data.X, data.y, data.qid, feature_names=NAMES[::-1])
    with pytest.raises(DataError, match="feature 1 is 'f7', but 'f0' in training"):
        scaler().fit(data).transform(other)
