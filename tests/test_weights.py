"""Weights of queries: a query of weight 2 counts as the same query twice, for every method."""

import inspect
import warnings

import numpy as np
import pytest
from hypothesis import given
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from ranksieve import DataError, RankingData, make_ranking
from ranksieve.rankers.registry import RANKERS
from ranksieve.registry import Method, Registry
from ranksieve.report.sheets.methods import registry_sheet
from ranksieve.selectors import GAS, LifeRank
from ranksieve.selectors.registry import SELECTORS
from tests.every_method import few_examples, make_quick
from tests.repeating import make_exact, repeat_queries, weighted

# Their errors are those of queries left out, which a copy that stays would give away: of a query of
# weight 2 both copies are left out. Their own tests compare that with brute force.
LEAVE_QUERIES_OUT = (
    *("greedy-rankrls", "greedy-rankrls-cv", "backfitting-rankrls"),
    *("greedy-bins", "teacher-bins"),
)
# They weigh queries in their own way: relative to all weights, in random draws, by halves of the
# queries, or by standard errors, which copies of a query would make too small.
OTHERS = ("xgboost", "catboost", "boruta", "stability", "best-of")
# LightGBM's bins are of all documents, even of weight 0, and decide where held-out ones fall.
BINNED = ("lambdamart", "lightgbm", "bt-randomized", "bt-genetic")
TREES = (*BINNED, "bt-influence", "bt-discounted", "cegb", "shap")
TAKING = [name for registry in (RANKERS, SELECTORS) for name in registry]
LEARNED = ("scores_", "coef_", "feature_importances_", "importance_", "similarity_")


def held_out(estimator, data):
    """The held-out data of ``fit``, if it takes any."""
    return {"eval_set": data} if "eval_set" in inspect.signature(estimator.fit).parameters else {}


def learned(estimator):
    """What it found, as arrays by name."""
    found = {name: getattr(estimator, name, None) for name in LEARNED}
    return {name: np.asarray(value) for name, value in found.items() if value is not None}


def fit_quietly(estimator, *data, **how):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # quick ones stop early
        return estimator.fit(*data, **how)


def test_every_method_takes_weights():
    assert not any(RANKERS[name].no_weights for name in RANKERS)
    assert not any(SELECTORS[name].no_weights for name in SELECTORS)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [name for name in TAKING if name not in (*LEAVE_QUERIES_OUT, *OTHERS)]
)
@few_examples
@given(weighted())
def test_weight_two_is_the_query_twice_and_weight_zero_none(name, parts):
    (train, counts), (vali, vali_counts) = parts
    if name in BINNED:
        counts = np.maximum(counts, 1)
    ours, theirs = make_exact(name), make_exact(name)
    fit_quietly(ours, train.with_weights(counts), **held_out(ours, vali.with_weights(vali_counts)))
    repeated = repeat_queries(train, counts)
    fit_quietly(theirs, repeated, **held_out(theirs, repeat_queries(vali, vali_counts)))
    if name in SELECTORS:
        assert ours.selected_.tolist() == theirs.selected_.tolist()
    found, expected = learned(ours), learned(theirs)
    assert found.keys() == expected.keys()
    for attribute, values in expected.items():
        size = np.abs(values).max(initial=0.0) or 1.0
        # LightGBM has gradients of seven digits.
        atol = (1e-4 if name in TREES else 1e-6) * size
        np.testing.assert_allclose(found[attribute], values, atol=atol)


@pytest.fixture(scope="module")
def data():
    data, _ = make_ranking(
        20, docs_per_query=(2, 8), n_informative=2, n_redundant=1, n_noise=2, random_state=4
    )
    return data


class TestErrors:
    @pytest.mark.parametrize("name", ["gas-e", "rankrls"])
    @pytest.mark.parametrize("wrong", [np.ones(3), -np.ones(20), np.zeros(20), ["a"] * 20])
    def test_wrong_weights(self, name, wrong, data):
        with pytest.raises(DataError, match="sample_weight"):
            make_quick(name).fit(data, sample_weight=wrong)

    def test_parts_of_data_that_have_no_weight_left(self, data):
        nothing = data.with_weights([0.0, 0.0, *[1.0] * 18]).take_queries([0, 1])
        with pytest.raises(DataError, match="must not be 0 for all queries"):
            make_quick("gas-e").fit(nothing)
        with pytest.raises(
            DataError, match="the weights of eval_set must not be 0 for all queries"
        ):
            make_quick("fs-ed").fit(data, eval_set=nothing)


def test_a_transformer_of_features_takes_weights():
    data, _ = make_ranking(12, docs_per_query=(4, 8), n_informative=2, n_noise=2, random_state=0)
    counts = np.random.default_rng(0).integers(0, 3, 12)
    ours = LifeRank(1).fit(data, sample_weight=counts)
    theirs = LifeRank(1).fit(repeat_queries(data, counts))
    np.testing.assert_allclose(ours.components_, theirs.components_, rtol=1e-6)


class Unweighted(GAS):
    """GAS that cannot take weights."""

    methods = (Method("gas-unweighted", "GAS without weights"),)
    no_weights = "as published, it has none."


def test_a_method_without_weights_says_why():
    data, _ = make_ranking(10, random_state=0)
    Unweighted(2).fit(data)
    for how in ({"sample_weight": np.ones(10)}, {}):
        source = data if how else data.with_weights(np.ones(10))
        with pytest.raises(
            DataError, match="takes no weights of queries: as published, it has none. Remove them"
        ):
            Unweighted(2).fit(source, **how)
    registry = Registry("method", "ranksieve.selectors")
    registry.register(Unweighted)
    assert registry["gas-unweighted"].no_weights
    assert (
        "no weights (gas-unweighted): as published, it has none." in registry_sheet(registry).notes
    )
    assert registry_sheet(SELECTORS).notes[-1] == "All methods take weights of queries."
    assert registry_sheet(RANKERS).notes[-1] == "All rankers take weights of queries."


def test_sparse_rows_have_weights_too():
    data, _ = make_ranking(12, docs_per_query=(4, 8), n_informative=2, n_noise=2, random_state=0)
    weights = np.random.default_rng(0).uniform(0, 3, 12)
    csr = RankingData(sparse.csr_matrix(data.X), data.y, data.qid)
    for name in ("gas-e", "ig", "ranksvm-l1", "greedy-rankrls"):
        dense = make_quick(name).fit(data, sample_weight=weights).selected_
        np.testing.assert_array_equal(
            make_quick(name).fit(csr, sample_weight=weights).selected_, dense
        )
