"""Selectors on clicks: weights of rows and positions are used, or refused at once."""

import numpy as np
import pytest

from ranksieve import DataError, RankingData
from ranksieve.rankers import LambdaMART
from ranksieve.selectors import (
    SELECTORS,
    BoostedTrees,
    EliminationSelector,
    SequentialSelector,
    ShapSelector,
    StabilitySelector,
)

TREES = {"bt-influence", "bt-discounted", "bt-genetic", "bt-randomized", "boruta", "cegb", "shap"}
TAKE_BOTH = TREES | {"all", "random", "stability"}


@pytest.fixture(scope="module")
def log():
    """Clicks that follow feature 0 where documents are shown, and feature 1 among weighted ones."""
    rng = np.random.default_rng(0)
    X, shown = rng.normal(size=(600, 4)), np.tile(np.arange(10), 60)
    weights = np.where(rng.random(600) < 0.2, 50.0, 0.01)
    wanted = np.where(weights > 1, X[:, 1], X[:, 0])
    parts = {"row_weights": weights, "positions": shown}
    return RankingData(X, wanted > 0.5, np.repeat(np.arange(60), 10), **parts)


@pytest.mark.parametrize("name", sorted(SELECTORS))
def test_both_are_taken_or_refused_at_once(log, name):
    method = SELECTORS[name]
    assert (method.takes_row_weights, method.takes_positions) == (name in TAKE_BOTH,) * 2
    selector = method.make(**method.trial)
    if name not in TAKE_BOTH:
        with pytest.raises(DataError, match=r"takes no weights of rows: .+\. Leave out --row-wei"):
            selector.fit(log)
        with pytest.raises(DataError, match=r"takes no positions: .+\. Leave out --position"):
            selector.fit(log.with_row_weights(None))


@pytest.mark.slow
@pytest.mark.parametrize(
    "make",
    [
        BoostedTrees,
        ShapSelector,
        lambda k: StabilitySelector("bt-influence", k, n_pairs=2),
        lambda k: SequentialSelector(LambdaMART(10), k, cv=2, measure="dcg@5"),
        lambda k: EliminationSelector(LambdaMART(10), k, cv=2, measure="dcg@5"),
    ],
)
def test_weights_decide(log, make):
    data = log.with_positions(None)
    assert make(1).fit(data).selected_.tolist() == [1]
    assert make(1).fit(data.with_row_weights(None)).selected_.tolist() == [0]


def test_selectors_around_a_ranker_take_what_it_takes(log):
    for selector in (SequentialSelector(), ShapSelector(ranker="rankrls")):
        with pytest.raises(DataError, match="takes no weights of rows: its definition has none"):
            selector.fit(log)
    measured = SequentialSelector(LambdaMART(5), 1, cv=2, measure="map")
    with pytest.raises(DataError, match=r"MAP takes no weights of rows: .* such as ndcg@10"):
        measured.fit(log)
    selector = SequentialSelector(LambdaMART(5), 1, cv=2).fit(log)
    kept = log.take_features(selector.selected_)
    np.testing.assert_array_equal(selector.predict(log.X), LambdaMART(5).fit(kept).predict(kept))
