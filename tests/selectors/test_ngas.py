"""NGAS and XGAS follow their rules at every step."""

import numpy as np
import pytest

from ranksieve import make_ranking
from ranksieve.selectors import NGAS, XGAS


@pytest.fixture(scope="module")
def data():
    return make_ranking(60, n_noise=8, n_constant=2, random_state=9)[0]


def free_features(selector, step):
    """Features that vary and were not taken before a step, in increasing order."""
    constant = [f for f in range(len(selector.scores_)) if np.all(selector.similarity_[f] == 0)]
    taken = selector.selected_[:step].tolist()
    return [f for f in range(len(selector.scores_)) if f not in taken and f not in constant]


def test_ngas_takes_the_better_of_the_most_unlike_and_its_like(data):
    selector = NGAS(data.n_features).fit(data)
    r, s = selector.importance_, selector.similarity_
    assert selector.selected_[0] == np.argmax(np.where(s.any(axis=0), r, -np.inf))
    for step in range(1, data.n_features - 2):
        free, last = free_features(selector, step), selector.selected_[step - 1]
        unlike = min(free, key=lambda f: s[last, f])
        others = [f for f in free if f != unlike]
        expected = unlike
        if others:
            alike = max(others, key=lambda f: s[unlike, f])
            expected = alike if r[alike] > r[unlike] else unlike
        assert selector.selected_[step] == expected


@pytest.mark.parametrize("p", [0.05, 0.4, 1.0])
def test_xgas_takes_the_best_of_the_most_unlike(data, p):
    selector = XGAS(data.n_features, p=p).fit(data)
    r, s = selector.importance_, selector.similarity_
    for step in range(1, data.n_features - 2):
        free, last = free_features(selector, step), selector.selected_[step - 1]
        unlike = sorted(free, key=lambda f: (s[last, f], f))[: max(1, round(p * len(free)))]
        assert selector.selected_[step] == max(unlike, key=lambda f: (r[f], -f))


def test_xgas_that_looks_at_all_features_goes_by_importance(data):
    selector = XGAS(6, p=1.0).fit(data)
    assert np.all(np.diff(selector.importance_[selector.selected_]) <= 0)
