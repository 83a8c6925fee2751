"""Stepwise selection by AIC against least squares on all candidates."""

import numpy as np
import pytest

from ranksieve import make_ranking
from ranksieve.selectors import StepwiseAIC
from tests import oracles


@pytest.fixture(scope="module")
def data():
    made, _ = make_ranking(
        40, docs_per_query=(1, 12), n_informative=3, n_redundant=2, n_noise=3, n_constant=1
    )
    return made


def test_steps_and_criterion_as_by_least_squares(data):
    selector = StepwiseAIC(n_features_to_select=6).fit(data)
    order, aic = oracles.forward_by_aic(data.X, data.y, data.qid, 6)
    assert selector.selected_.tolist() == order
    np.testing.assert_allclose(selector.aic_, aic, rtol=1e-10)


def test_it_stops_where_the_criterion_is_least(data):
    selector = StepwiseAIC().fit(data)
    longer = StepwiseAIC(n_features_to_select=len(selector.selected_) + 1).fit(data)
    assert selector.selected_.tolist() == longer.selected_[:-1].tolist()
    assert longer.aic_[-1] >= longer.aic_[-2]
    assert (np.diff(selector.aic_) < 0).all()
