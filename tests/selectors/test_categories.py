"""Selectors on features that are categories: natively, or by numbers that betray no label."""

import numpy as np
import pytest

from ranksieve.rankers import LambdaMART
from ranksieve.selectors import EliminationSelector, GreedyBins, GreedyRankRLS, TopImportance
from ranksieve.selectors.registry import SELECTORS
from tests.data.test_encoding import planted
from tests.every_method import make_quick
from tests.rankers.test_categories import data_of, frame_of


@pytest.mark.parametrize("name", SELECTORS)
def test_every_selector_takes_them(name):
    data = data_of(*frame_of(n_queries=20))
    selector = make_quick(name, 2).fit(data)
    assert hasattr(selector, "encoding_") == (not selector.takes_categories)
    kept = selector.transform(data)
    assert set(kept.categories) == {"shop", "kind"} & set(kept.feature_names)


@pytest.mark.parametrize(
    "selector",
    [
        GreedyRankRLS(1),
        TopImportance(1),
        GreedyBins(1),
        EliminationSelector(LambdaMART(5), n_features_to_select=1, cv=2),
    ],
)
def test_a_useless_category_of_many_values_is_not_chosen(selector):
    chosen = [int(selector.fit(planted(seed)).selected_[0]) for seed in range(5)]
    assert chosen == [0] * 5  # it would be 1 if labels reached their own numbers


def test_useless_categories_are_chosen_as_often_as_noise():
    order = [GreedyRankRLS(3).fit(planted(seed, 30)).selected_.tolist() for seed in range(40)]
    n_before = sum(own.index(1) < own.index(2) for own in order)
    assert 8 <= n_before <= 32  # as with a fair coin: outside in one of 10,000 runs


def test_predictions_use_the_numbers_of_all_queries():
    data, later = planted(), planted(1)
    selector = GreedyRankRLS(2).fit(data)
    coded = later.with_categories(selector.categories_)
    rows = selector.encoding_.applied_to(coded.X, coded.feature_names)
    np.testing.assert_array_equal(selector.predict(later), selector._scores(rows))
