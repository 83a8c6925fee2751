"""FSMSVM is RankSVM on the features of FSMRank."""

import numpy as np
import pytest

from ranksieve import RankingData, make_ranking
from ranksieve.rankers import RankSVM
from ranksieve.selectors import FSMSVM, FSMRank


@pytest.mark.parametrize("C", [0.1, 100.0])
@pytest.mark.parametrize("k", [3, None])
def test_is_ranksvm_on_the_features_of_fsmrank(C, k):
    data, _ = make_ranking(60, n_informative=4, n_noise=6, noise=0.3, random_state=1)
    data = RankingData(data.X / data.X.std(axis=0), data.y, data.qid)
    first = FSMRank(k, lambda2=0.02).fit(data)
    selector = FSMSVM(k, C=C, lambda2=0.02, tol=1e-9).fit(data)
    np.testing.assert_array_equal(selector.selected_, first.selected_)
    np.testing.assert_allclose(selector.scores_, first.scores_, atol=1e-6)
    ranker = RankSVM(C, tol=1e-12).fit(selector.transform(data))
    np.testing.assert_allclose(selector.coef_[selector.support_], ranker.coef_, atol=1e-5)
    assert np.all(selector.coef_[~selector.support_] == 0)
    np.testing.assert_allclose(
        selector.predict(data), ranker.predict(selector.transform(data)), atol=1e-4
    )


def test_no_features():
    data, _ = make_ranking(20, n_informative=2, n_redundant=0, n_noise=4)
    selector = FSMSVM(lambda2=100.0).fit(data)
    assert selector.selected_.tolist() == []
    assert selector.coef_.tolist() == [0] * 6
