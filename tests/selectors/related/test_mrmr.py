"""MRMR takes the features of MMR."""

import numpy as np

from ranksieve import make_ranking
from ranksieve.selectors import MMR, MRMR


def test_mmr_and_mrmr_differ_by_a_constant():
    data, _ = make_ranking(60, n_informative=4, n_redundant=4, n_noise=4, random_state=0)
    np.testing.assert_array_equal(
        MMR(8, trade_off=0.3).fit(data).selected_, MRMR(8, trade_off=0.3).fit(data).selected_
    )
