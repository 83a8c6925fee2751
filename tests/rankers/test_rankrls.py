"""RankRLS: closed form, paths over lambda, queries left out."""

import numpy as np
import pytest

from ranksieve import DataError, make_ranking
from ranksieve.metrics import evaluate
from ranksieve.rankers import RankRLS, RankRLSCV
from ranksieve.rankers.rankrls import LAMS, leave_query_out
from ranksieve.solvers.rankrls import ridge
from tests import oracles
from tests.selectors.test_greedy_rankrls import random_data, trained

LAMBDAS = [2.0**-10, 0.5, 2.0**10]


def mixed_data():
    """Queries of fewer and of more documents than features."""
    data, _ = make_ranking(
        14, docs_per_query=(1, 14), n_informative=3, n_redundant=1, n_noise=2, random_state=3
    )
    return data


@pytest.mark.parametrize("lam", LAMBDAS)
def test_equal_to_least_squares_on_pairs(lam):
    data = random_data(0)
    expected = trained(data, range(6), lam)
    np.testing.assert_allclose(RankRLS(lam).fit(data).coef_, expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
def test_left_out_errors_equal_refitting(weighted):
    data = mixed_data()
    weights = np.ones(data.n_queries)
    if weighted:
        weights = np.random.default_rng(0).choice([0.0, 0.5, 1.0, 3.0], data.n_queries)
        data = data.with_weights(weights)
    found = leave_query_out(data, LAMBDAS)
    for place, lam in enumerate(LAMBDAS):
        errors, _ = oracles.backfitting_errors(
            data.X, data.y, data.qid.tolist(), list(range(data.n_features)), lam, weights
        )
        counts = weights[(data.group_counts > 1) & (weights > 0)]
        errors = np.array(errors)[(data.group_counts > 1) & (weights > 0)] / counts
        mean = np.average(errors, weights=counts)
        assert found.mean[place] == pytest.approx(mean, rel=1e-7)
        spread = counts @ (errors - mean) ** 2 / (counts.sum() - 1)
        deviation = np.sqrt(spread / counts.sum())
        assert found.deviation[place] == pytest.approx(deviation, rel=1e-6)
        np.testing.assert_allclose(
            found.coefs[place], RankRLS(lam).fit(data).coef_, rtol=1e-9, atol=1e-12
        )


@pytest.mark.parametrize("batch", [1, 200, 2**16])
def test_queries_that_are_left_out_together_keep_their_own_weights(monkeypatch, batch):
    monkeypatch.setattr(ridge, "_BATCH", batch)
    data = mixed_data()
    weights = np.random.default_rng(1).uniform(0.1, 3, data.n_queries)
    found = leave_query_out(data.with_weights(weights), LAMBDAS)
    several = np.flatnonzero(data.group_counts > 1)
    for place, lam in enumerate(LAMBDAS):
        errors = []
        for query in several:
            others = np.arange(data.n_queries) != query
            model = RankRLS(lam).fit(data.take_queries(others), sample_weight=weights[others])
            own = data.take_queries([query])
            left = (own.y - own.y.mean()) - (own.X - own.X.mean(axis=0)) @ model.coef_
            errors.append((left**2).sum())
        mean = np.average(errors, weights=weights[several])
        assert found.mean[place] == pytest.approx(mean, rel=1e-7)
        total = weights[several].sum()
        spread = weights[several] @ (np.array(errors) - mean) ** 2 / (total - 1)
        assert found.deviation[place] == pytest.approx(np.sqrt(spread / total), rel=1e-6)


@pytest.mark.parametrize("weights", [None, np.arange(14) % 4])
def test_left_out_measures_equal_refitting(weights):
    data = mixed_data().with_weights(weights)
    data = data.take_queries(data.group_counts > 1)
    found = leave_query_out(data, LAMBDAS, "map")
    for place, lam in enumerate(LAMBDAS):
        scores = np.empty(data.n_rows)
        for query in range(data.n_queries):
            others = data.take_queries(np.arange(data.n_queries) != query)
            own = slice(*data.query_ptr[query : query + 2])
            scores[own] = RankRLS(lam).fit(others).predict(data.X[own])
        weights = data.query_weights
        expected = evaluate(data.y, scores, data.qid, "map", query_weights=weights).mean["MAP"]
        assert found.mean[place] == pytest.approx(expected, rel=1e-9)


def test_choice_of_lambda():
    data, _ = make_ranking(80, noise=1.0, random_state=2)
    train, held_out = data.take_queries(range(50)), data.take_queries(range(50, 80))
    by_errors = RankRLSCV().fit(train)
    assert by_errors.lam_ == LAMS[int(np.argmin(by_errors.values_))]
    by_measure = RankRLSCV(measure="map").fit(train, eval_set=held_out)
    expected = [
        evaluate(held_out.y, RankRLS(lam).fit(train).predict(held_out), held_out.qid, ["map"]).mean
        for lam in LAMS
    ]
    np.testing.assert_allclose(by_measure.values_, [mean["MAP"] for mean in expected], rtol=1e-9)
    assert by_measure.values_[LAMS.index(by_measure.lam_)] == by_measure.values_.max()
    with pytest.raises(DataError, match="eval_set needs a measure"):
        RankRLSCV().fit(train, eval_set=held_out)
    for wrong in ([], [1, -1], [[1.0]], [np.nan], -1, ["x"]):
        with pytest.raises(ValueError, match="lams must be one or more numbers above 0"):
            RankRLSCV(wrong).fit(train)
    with pytest.raises(DataError, match="needs at least two queries"):
        RankRLSCV().fit(train.take_queries([0]))


def test_published_numbers(mq2008_dir):
    from ranksieve.datasets import open_collection

    published = [0.4524, 0.4300, 0.4542, 0.5225, 0.5006]
    collection = open_collection(mq2008_dir)
    for fold, expected in enumerate(published):
        train, held_out, test = collection.read_fold(fold)
        ranker = RankRLSCV(measure="map", convention="letor4").fit(train, eval_set=held_out)
        result = evaluate(test.y, ranker.predict(test), test.qid, ["map"], "letor4")
        assert round(result.mean["MAP"], 4) == expected
