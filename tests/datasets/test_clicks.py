"""Propensities of clicks: curves, and estimates whose intervals cover the truth."""

import numpy as np
import pytest

from ranksieve import DataError
from ranksieve.datasets.clicks import Propensities
from ranksieve.metrics import evaluate


def shuffled_log(n_queries, examined, rng):
    """Clicks on shuffled documents; those of a query depend on each other."""
    n = len(examined)
    liked = rng.beta(0.5, 1.5, (n_queries, 1))  # some queries are clicked much, others hardly
    attractive = rng.random((n_queries, n)) < liked
    clicked = attractive & (rng.random((n_queries, n)) < examined)
    return (
        clicked.ravel(),
        np.tile(np.arange(1, n + 1), n_queries),
        np.repeat(np.arange(n_queries), n),
    )


def test_power_curve():
    assert Propensities.power(3, 2).values.tolist() == [1, 1 / 4, 1 / 9]
    assert Propensities.power(3, 0, first=0).positions.tolist() == [0, 1, 2]
    for wrong in ((0, 1), (3, -1), (3, np.nan)):
        with pytest.raises(ValueError, match="at least 1 and eta at least 0"):
            Propensities.power(*wrong)


def test_estimates_are_ratios_of_click_rates():
    clicked, positions = [1, 1, 0, 1, 0, 0, 1, 0], [3, 3, 3, 3, 5, 5, 5, 5]
    found = Propensities.from_random_order(clicked, positions, list("abcdabcd"))
    assert found.positions.tolist() == [3, 5]
    assert found.values.tolist() == [1, (1 / 4) / (3 / 4)]
    assert found.lower[0] == found.upper[0] == 1
    assert found.lower[1] < 1 / 3 < found.upper[1]
    rows = np.random.default_rng(0).permutation(8)
    shuffled = [np.array(part)[rows] for part in (clicked, positions, list("abcdabcd"))]
    again = Propensities.from_random_order(*shuffled)
    np.testing.assert_allclose(again.upper, found.upper, rtol=1e-12)


@pytest.mark.slow
def test_intervals_cover_the_truth():
    """95 % intervals, 400 logs: between 92 % and 98 % for each position."""
    rng, truth = np.random.default_rng(0), np.array([0.9, 0.6, 0.3, 0.2])
    covered = np.zeros(4)
    for _ in range(400):
        found = Propensities.from_random_order(*shuffled_log(300, truth, rng))
        covered += (found.lower <= truth / 0.9) & (truth / 0.9 <= found.upper)
    assert covered[0] == 400
    assert np.all((covered[1:] > 0.92 * 400) & (covered[1:] < 0.98 * 400)), covered


def test_intervals_ignore_how_often_rows_are_repeated_within_queries():
    """Ten equal rows of a query tell as much as one."""
    log = shuffled_log(100, np.array([0.9, 0.5]), np.random.default_rng(1))
    one = Propensities.from_random_order(*log)
    ten = Propensities.from_random_order(*(np.repeat(part, 10) for part in log))
    np.testing.assert_allclose(ten.upper, one.upper, rtol=1e-12)


@pytest.mark.slow
def test_from_shuffled_lists_to_a_mean_that_is_not_biased():
    """Estimated on shuffled lists, used on a log of a ranker that shows bad documents first."""
    rng, examined = np.random.default_rng(2), 1 / np.arange(1, 6)
    found = Propensities.from_random_order(*shuffled_log(40_000, examined, rng))
    np.testing.assert_allclose(found.values, examined, rtol=0.05)
    chance = np.array([0.1, 0.2, 0.3, 0.5, 0.6])  # that the document at a position is attractive
    attractive = rng.random((20_000, 5)) < chance
    clicked = (attractive & (rng.random((20_000, 5)) < examined)).ravel()
    positions, qid = np.tile(np.arange(1, 6), 20_000), np.repeat(np.arange(20_000), 5)
    weights = found.weights(positions, clicked)
    assert np.all(weights[~clicked] == 1)
    scores = np.tile(chance, 20_000)
    truth = evaluate(attractive.ravel(), scores, qid, "dcg@3").mean["DCG@3"]
    weighted = evaluate(clicked, scores, qid, "dcg@3", row_weights=weights).mean["DCG@3"]
    naive = evaluate(clicked, scores, qid, "dcg@3").mean["DCG@3"]
    assert weighted == pytest.approx(truth, rel=0.05)
    assert naive < 0.5 * truth


def test_largest_weight():
    curve = Propensities.power(10)
    assert curve.weights([10, 2, 10], [1, 1, 0], largest=4).tolist() == [4, 2, 1]


@pytest.mark.parametrize(
    ("clicked", "positions", "message"),
    [
        ([1, 0, 2], [1, 1, 2], "clicked must have 0 or 1"),
        ([[1, 0, 1]], [1, 1, 2], "clicked must have 0 or 1"),
        ([1, 0, np.nan], [1, 1, 2], "clicked must have 0 or 1"),
        ([1, 0, 0], [1, 1, 2], "position 2 was shown 1 time and never clicked: show it more"),
        ([1, 0, 1], [1, 1], "positions has 2 entries"),
        ([1, 0, 1], [1, 1, 0.5], "positions must be whole numbers"),
    ],
)
def test_wrong_logs(clicked, positions, message):
    with pytest.raises(DataError, match=message):
        Propensities.from_random_order(clicked, positions, [1, 1, 1])


def test_clicks_where_nothing_is_known():
    curve = Propensities.power(2)
    with pytest.raises(DataError, match="row 1 was clicked at position 7, .* positions are 1 to 2"):
        curve.weights([1, 7], [0, 1])
    assert curve.weights([1, 7], [0, 0]).tolist() == [1, 1]
