"""What all searches over subsets share, whatever they search by."""

import numpy as np
import pytest

from ranksieve import DataError, make_ranking
from ranksieve.io.shards import open_shards, write_shards
from ranksieve.selectors.registry import SELECTORS
from ranksieve.selectors.related.subsets import SubsetSelector, fit_subset
from ranksieve.sums.gram import centered_gram
from tests import oracles
from tests.every_method import make_quick

NAMES = [name for name, method in SELECTORS.items() if issubclass(method.kind, SubsetSelector)]
each = pytest.mark.parametrize("name", NAMES)

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def parts():
    data, _ = make_ranking(30, docs_per_query=(2, 12), n_informative=3, n_redundant=2, n_noise=2)
    return data.take_queries(range(20)), data.take_queries(range(20, 30))


def test_all_are_here():
    assert set(NAMES) == {"bt-randomized", "bt-genetic", "annealing", "mofsrank", "risk-pareto"}


def test_weights_of_a_subset_are_least_squares_on_its_pairs(parts):
    data, subset, lam = parts[0], [4, 1], 0.5
    rows = data.X, data.y, data.query_codes.tolist()
    pairs, targets = oracles.pairs_of(*rows, None, inside=False)
    pairs = pairs[:, subset]
    expected = np.linalg.solve(pairs.T @ pairs + lam * np.eye(2), pairs.T @ targets)
    found = fit_subset(centered_gram(data), subset, lam)
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    assert fit_subset(centered_gram(data), [], lam).shape == (0,)


@each
def test_constant_features_fill_up(name):
    data, truth = make_ranking(40, n_informative=2, n_redundant=0, n_noise=1, n_constant=3)
    constant = np.flatnonzero(truth.kind == "constant").tolist()
    assert not set(make_quick(name, 3).fit(data).selected_) & set(constant)
    filled = make_quick(name, 5).fit(data)
    assert filled.selected_[3:].tolist() == constant[:2]
    if hasattr(filled, "front_"):
        assert filled.reasons()[3:] == ["in no subset of the front"] * 2
    elif name == "annealing":
        assert filled.n_trained_ == 1
    nothing = make_quick(name, 2).fit(np.ones((data.n_rows, 3)), data.y, qid=data.qid)
    assert nothing.selected_.tolist() == [0, 1]


@each
def test_what_cannot_be_held_out(name, parts):
    train, test = parts
    with pytest.raises(DataError, match="cannot hold out the only query: pass an eval_set"):
        make_quick(name).fit(train.take_queries([int(np.argmax(train.group_counts))]))
    with pytest.raises(DataError, match="eval_set has 3 features, but the training data has 7"):
        make_quick(name).fit(train, eval_set=test.take_features([0, 1, 2]))
    broken = test.X.copy()
    broken[4] = np.inf
    with pytest.raises(DataError, match="infinity in row 4, feature '1'"):
        make_quick(name).fit(train, eval_set=(broken, test.y, test.qid))


def values_of(selector):
    """Values of the subsets that a search has looked at, or that it has kept."""
    if hasattr(selector, "walk_"):
        return selector.walk_
    kept = selector.trials_ if hasattr(selector, "trials_") else selector.front_
    return [subset.value for subset in kept]


@each
def test_shards_whose_queries_all_train(name, parts, tmp_path):
    train, _ = parts
    write_shards(train, tmp_path / "shards", shard_bytes=1_500)
    few = {"validation_fraction": 0.01}  # one query
    expected = make_quick(name).set_params(**few).fit(train)
    with open_shards(tmp_path / "shards") as shards:
        assert shards.n_shards > 3
        found = make_quick(name).set_params(**few).fit(shards)
    np.testing.assert_allclose(values_of(found), values_of(expected), rtol=1e-12)
    np.testing.assert_allclose(found.scores_, expected.scores_)
