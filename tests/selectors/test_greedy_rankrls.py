"""Greedy RankRLS: exact leave-query-out errors, searches, and the selector."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone

from ranksieve import DataError, RankingData, make_ranking
from ranksieve.data import Block
from ranksieve.engine import engine_of
from ranksieve.metrics import evaluate
from ranksieve.selectors import BackfittingRankRLS, GreedyRankRLS
from ranksieve.selectors.embedded import greedy_rankrls as room
from ranksieve.solvers.rankrls.features import FeatureModel, KeptResiduals
from ranksieve.sums.gram import GramSums
from tests import oracles
from tests.repeating import repeat_queries

LAMBDAS = [2.0**-10, 1.0, 2.0**10]


def random_data(seed, n_queries=14, n_features=6, weighted=False):
    """Queries of 1 to 8 documents, with a duplicate and a constant feature.

    Weights are 0 for one query, and no whole numbers for others.
    """
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 9, n_queries)
    qid = np.repeat(np.arange(n_queries), lengths)
    X = rng.normal(size=(len(qid), n_features)) + 3
    y = rng.integers(0, 3, len(qid)).astype(float)
    X[:, 0] += y
    X[:, 3] = X[:, 2]
    X[:, 5] = qid  # constant in each query
    weights = rng.uniform(0.2, 3.0, n_queries).round(2) if weighted else None
    if weighted:
        weights[1] = 0.0
    return RankingData(X, y, qid, sample_weight=weights)


def left_out(data, model, lam):
    """Leave-query-out error of each query, by training anew on the pairs of the others."""
    rows = data.X, data.y, data.query_codes.tolist()
    return oracles.backfitting_errors(*rows, list(model), lam, data.query_weights)[0]


def trained(data, model, lam):
    """Weights by least squares on all pairs."""
    rows = data.X, data.y, data.query_codes.tolist()
    pairs, targets = oracles.pairs_of(*rows, None, inside=False, weights=data.query_weights)
    pairs = pairs[:, list(model)]
    return np.linalg.solve(pairs.T @ pairs + lam * np.eye(len(model)), pairs.T @ targets)


def greedy_by_hand(data, k, lam):
    chosen, errors = [], []
    for _ in range(k):
        tried = {
            i: sum(left_out(data, [*chosen, i], lam))
            for i in range(data.n_features)
            if i not in chosen
        }
        if len(tried) > 1:
            tried.pop(5, None)  # constant: last
        least = min(tried.values())
        chosen.append(next(i for i, e in tried.items() if e <= least * (1 + 1e-9)))
        errors.append(tried[chosen[-1]])
    return chosen, errors


class TestEqualToBruteForce:
    @pytest.mark.parametrize("lam", LAMBDAS)
    @pytest.mark.parametrize(("seed", "weighted"), [(0, False), (2, True)])
    def test_order_errors_and_weights(self, seed, lam, weighted):
        data = random_data(seed, weighted=weighted)
        chosen, errors = greedy_by_hand(data, 6, lam)
        selector = GreedyRankRLS(6, lam=lam).fit(data)
        assert selector.selected_.tolist() == chosen
        np.testing.assert_allclose([fit.error for fit in selector.fits_], errors, rtol=1e-8)
        for fit in selector.fits_:
            expected = trained(data, fit.features, lam)
            np.testing.assert_allclose(fit.coef, expected, rtol=1e-6, atol=1e-9)
            weights = np.ones(data.n_queries) if data.query_weights is None else data.query_weights
            weights = np.where(data.group_counts > 1, weights, 0.0)
            own = left_out(data, fit.features, lam) / np.where(weights > 0, weights, 1.0)
            n, mean = weights.sum(), np.average(own, weights=weights)
            variance = (weights @ (own - mean) ** 2) / (n - 1)  # as if each were there so often
            assert fit.deviation == pytest.approx(np.sqrt(n * variance), rel=1e-6)

    @pytest.mark.parametrize(
        "selector", [GreedyRankRLS(4), GreedyRankRLS(4, memory="low"), BackfittingRankRLS(4)]
    )
    def test_weights_are_copies_that_are_left_out_together(self, selector):
        data = random_data(7, n_queries=10)
        counts = np.random.default_rng(0).integers(0, 4, data.n_queries)
        selector.fit(data, sample_weight=counts)
        twice = repeat_queries(data, counts)
        copy_of = np.repeat(np.arange(data.n_queries), counts).tolist()
        rows = twice.X, twice.y, twice.qid.tolist()
        for fit in selector.fits_:
            own, _ = oracles.backfitting_errors(*rows, list(fit.features), 1.0, copy_of=copy_of)
            assert fit.error == pytest.approx(sum(own), rel=1e-8)
            expected = trained(twice, fit.features, 1.0)
            np.testing.assert_allclose(fit.coef, expected, rtol=1e-6, atol=1e-9)
        # One copy tells what the other is: leaving out one alone is too easy.
        alone = clone(selector).fit(twice)
        assert sum(fit.error for fit in alone.fits_) < sum(fit.error for fit in selector.fits_)

    @pytest.mark.slow
    @given(
        st.integers(0, 10**6),
        st.sampled_from([2.0**-10, 2.0**-3, 1.0, 2.0**10]),
        st.lists(st.integers(0, 5), min_size=1, max_size=8),
        st.booleans(),
        st.booleans(),
    )
    def test_any_sequence_of_additions_and_removals(self, seed, lam, changes, rotate, weighted):
        data = random_data(seed, n_queries=8, weighted=weighted)
        with engine_of(data).start(KeptResiduals, "float64", rotate) as workers:
            model = FeatureModel(workers, GramSums(*workers.sum(KeptResiduals.gram)), lam)
            for feature in changes:
                model.change(feature)
            chosen = model.chosen
            assert model.error == pytest.approx(sum(left_out(data, chosen, lam)), rel=1e-6)
            free = [i for i in range(6) if i not in chosen]
            expected = [sum(left_out(data, [*chosen, i], lam)) for i in free]
            np.testing.assert_allclose(model.addition_errors(free), expected, rtol=1e-6)
            if chosen:
                fewer = [[j for j in chosen if j != i] for i in chosen]
                expected = [sum(left_out(data, rest, lam)) for rest in fewer]
                np.testing.assert_allclose(model.removal_errors(chosen), expected, rtol=1e-6)

    @pytest.mark.parametrize("weighted", [False, True])
    @pytest.mark.parametrize("measure", ["map", "ndcg@3", "pairwise-error"])
    def test_measures_of_left_out_predictions(self, measure, weighted):
        data = random_data(5, n_queries=12, weighted=weighted)
        data = data._replace(X=data.X.round(1))
        selector = GreedyRankRLS(2, criterion=measure).fit(data)
        several = data.take_queries(data.group_counts > 1)

        def value(model):
            scores = np.zeros(several.n_rows)
            for query in range(several.n_queries):
                others = several.take_queries(np.arange(several.n_queries) != query)
                own = slice(*several.query_ptr[query : query + 2])
                scores[own] = several.X[own][:, model] @ trained(others, model, 1.0)
            scores = scores.round(9)
            result = evaluate(several.y, scores, several.qid, [measure], ties="average")
            (values,) = result.per_query.values()
            return np.average(values, weights=several.query_weights)

        best = min if measure == "pairwise-error" else max
        tried = [value([i]) for i in range(5)]
        assert selector.selected_[0] == tried.index(best(tried))
        assert selector.fits_[0].value == pytest.approx(best(tried), rel=1e-9)
        pairs = [value([selector.selected_[0], i]) for i in range(5) if i != selector.selected_[0]]
        assert selector.fits_[1].value == pytest.approx(best(pairs), rel=1e-9)
        assert [step.score for step in selector.path_] == [fit.value for fit in selector.fits_]


def long_queries(seed=0):
    data, _ = make_ranking(
        25, docs_per_query=(1, 60), n_informative=3, n_redundant=2, n_noise=3, random_state=seed
    )
    return data


VARIANTS = [{"memory": "low"}, {"rotate": False}, {"storage": "float32"}, {"kappa": 8}]


class TestVariants:
    @pytest.mark.parametrize("variant", VARIANTS, ids=str)
    @pytest.mark.parametrize("lam", LAMBDAS)
    def test_choose_the_same(self, variant, lam):
        data = long_queries()
        plain = GreedyRankRLS(8, lam=lam, memory="full").fit(data)
        for X in (data.X, sparse.csr_matrix(data.X)):
            other = GreedyRankRLS(8, lam=lam, **variant).fit(X, data.y, qid=data.qid)
            np.testing.assert_array_equal(other.selected_, plain.selected_)
            exactness = 1e-5 if "storage" in variant else 1e-10
            np.testing.assert_allclose(
                [fit.error for fit in other.fits_],
                [fit.error for fit in plain.fits_],
                rtol=exactness,
            )

    def test_rotation_leaves_few_rows_and_the_same_products(self):
        rng = np.random.default_rng(1)
        lengths = [300, 1, 4, 150, 2]
        X, y = rng.normal(size=(sum(lengths), 6)), rng.integers(0, 3, sum(lengths)).astype(float)
        block = Block(X, y, np.cumsum([0, *lengths]))
        rotated, plain = KeptResiduals(block), KeptResiduals(block, rotate=False)
        assert np.diff(rotated.query_ptr).tolist() == [7, 4, 7, 2]
        assert np.diff(plain.query_ptr).tolist() == [300, 4, 150, 2]
        for ours, theirs in zip(rotated.gram(), plain.gram(), strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-11)

    def test_measures_wherever_the_data_lives(self, everywhere):
        data = long_queries(3)
        plain = GreedyRankRLS(6, criterion="map").fit(data)
        found = GreedyRankRLS(6, criterion="map").fit(everywhere(data, shard_bytes=6000))
        np.testing.assert_array_equal(found.selected_, plain.selected_)
        np.testing.assert_allclose(found.coef_, plain.coef_, rtol=1e-8)

    def test_low_memory_picks_itself(self, monkeypatch):
        data = long_queries(5)
        asked = []

        def no_room(source, n_bytes):
            asked.append(n_bytes)
            return False

        monkeypatch.setattr(room, "fits_in_memory", no_room)
        monkeypatch.setattr(KeptResiduals, "__init__", None)  # so that it cannot be made
        found = GreedyRankRLS(4).fit(data)
        assert asked[0] > data.X.nbytes
        monkeypatch.undo()
        np.testing.assert_array_equal(
            found.selected_, GreedyRankRLS(4, memory="full").fit(data).selected_
        )

    def test_random_candidates_depend_on_the_seed(self):
        data, _ = make_ranking(40, n_informative=5, n_redundant=10, n_noise=25, random_state=1)
        chosen = {
            tuple(GreedyRankRLS(4, kappa=5, random_state=seed).fit(data).selected_)
            for seed in range(4)
        }
        assert len(chosen) > 1
        first, again = (GreedyRankRLS(4, kappa=5, random_state=7).fit(data) for _ in range(2))
        np.testing.assert_array_equal(first.selected_, again.selected_)
        single = [GreedyRankRLS(1, kappa=1, random_state=seed).fit(data) for seed in range(9)]
        assert len({int(one.selected_[0]) for one in single}) > 5  # a candidate is a random feature


def nesting_trap():
    """Labels are the sum of two features; a third one is the best alone, and not needed."""
    rng = np.random.default_rng(2)
    n = 240
    parts = rng.normal(size=(n, 2))
    y = parts.sum(axis=1)
    X = np.column_stack([y + 0.7 * rng.normal(size=n), parts, rng.normal(size=(n, 3))])
    return RankingData(X, np.round(y, 2), np.arange(n) // 6)


class TestSearches:
    def exhaustive(self, data, k):
        with engine_of(data).start(KeptResiduals) as workers:
            products = GramSums(*workers.sum(KeptResiduals.gram))
            found = {}
            for chosen in itertools.combinations(range(data.n_features), k):
                model = FeatureModel(workers, products, 1.0)
                for feature in chosen:
                    model.change(feature)
                found[chosen] = model.error
        return min(found, key=found.get), min(found.values())

    def test_floating_finds_the_optimum_where_greedy_fails(self):
        data = nesting_trap()
        greedy = GreedyRankRLS(3).fit(data)
        search = GreedyRankRLS(3, search="floating").fit(data)
        assert greedy.selected_[0] == 0
        for k in (1, 2, 3):
            best, error = self.exhaustive(data, k)
            assert tuple(sorted(search.fits_[k - 1].features)) == best
            assert search.fits_[k - 1].error == pytest.approx(error, rel=1e-9)
        assert greedy.fits_[1].error > 1.5 * search.fits_[1].error
        low = GreedyRankRLS(3, search="floating", memory="low").fit(data)
        assert [fit.features for fit in low.fits_] == [fit.features for fit in search.fits_]

    def test_foba_drops_what_is_no_longer_needed_and_stops(self):
        data = nesting_trap()
        search = GreedyRankRLS(6, search="foba", epsilon=1.0).fit(data)
        assert sorted(search.selected_) == [1, 2]
        early = GreedyRankRLS(6, search="foba", epsilon=1e9).fit(data)
        assert early.selected_.tolist() == [0]  # no feature brings so much, but one is selected

    @pytest.mark.parametrize("search", ["floating", "foba"])
    def test_included_features_stay(self, search):
        selector = GreedyRankRLS(3, search=search, include=[0, 4]).fit(nesting_trap())
        assert selector.selected_[:2].tolist() == [0, 4]


class TestSelector:
    def test_the_path_holds_all_smaller_selections(self):
        data = random_data(1)
        selector = GreedyRankRLS(5).fit(data)
        for k in range(1, 6):
            smaller, direct = selector.at(k), GreedyRankRLS(k).fit(data)
            np.testing.assert_array_equal(smaller.selected_, direct.selected_)
            np.testing.assert_array_equal(smaller.support_, direct.support_)
            np.testing.assert_array_equal(smaller.coef_, direct.coef_)
            assert smaller.path_ == direct.path_
            assert smaller.n_features_to_select == k
        assert selector.selected_.shape == (5,)
        for wrong in (0, 6):
            with pytest.raises(ValueError, match="models of 1 to 5 features"):
                selector.at(wrong)

    def test_number_of_features_by_the_error(self):
        data, _ = make_ranking(
            60, n_informative=3, n_redundant=0, n_noise=9, noise=0.5, random_state=4
        )
        best = GreedyRankRLS("best").fit(data)
        errors = [fit.error for fit in best.fits_]
        assert len(errors) == data.n_features
        assert len(best.selected_) == int(np.argmin(errors)) + 1
        one = GreedyRankRLS("one-se").fit(data)
        k = len(one.selected_)
        limit = min(errors) + best.fits_[int(np.argmin(errors))].deviation
        assert errors[k - 1] <= limit
        assert k == 1 or errors[k - 2] > limit
        assert set(one.selected_) <= set(best.selected_)
        assert len(GreedyRankRLS("best", max_features=2).fit(data).fits_) == 2
        assert len(GreedyRankRLS("best", exclude=[0]).fit(data).fits_) == data.n_features - 1
        noise = [i for i in range(data.n_features) if i not in best.selected_][:2]
        begun = GreedyRankRLS("one-se", include=noise).fit(data)
        assert begun.selected_[:2].tolist() == noise

    @pytest.mark.parametrize(
        ("parameters", "message"),
        [
            ({"lam": 0.0}, "lam"),
            ({"criterion": "quality"}, "unknown measure"),
            ({"criterion": "map", "search": "floating"}, "a measure as criterion"),
            ({"criterion": "map", "memory": "low"}, "needs memory='full'"),
            ({"search": "foba", "kappa": 3}, "needs search='forward'"),
            ({"n_features_to_select": "knee"}, "n_features_to_select"),
            ({"groups": [[0, 1]], "criterion": "map"}, "groups need criterion='squared'"),
        ],
    )
    def test_wrong_parameters(self, parameters, message):
        with pytest.raises(ValueError, match=message):
            GreedyRankRLS(**{"n_features_to_select": 2} | parameters).fit(random_data(1))

    def test_a_single_query_is_refused(self):
        X, y = np.random.default_rng(0).normal(size=(9, 3)), np.arange(9) % 3
        with pytest.raises(DataError, match="out, nothing remains to train on"):
            GreedyRankRLS(2).fit(X, y, qid=[1] * 8 + [2])

    def test_scale_and_offsets_of_labels(self):
        data = random_data(2)
        plain = GreedyRankRLS(5).fit(data)
        moved = RankingData(data.X + 1e3, 4 * data.y + data.query_codes, data.qid)
        found = GreedyRankRLS(5).fit(moved)
        np.testing.assert_array_equal(found.selected_, plain.selected_)
        np.testing.assert_allclose(
            [fit.error for fit in found.fits_], [16 * fit.error for fit in plain.fits_], rtol=1e-8
        )

    @pytest.mark.parametrize(
        ("criterion", "sign"), [("squared", "-"), ("map", "+"), ("pairwise-error", "-")]
    )
    def test_reasons_show_gains_with_the_sign_of_the_change(self, criterion, sign):
        selector = GreedyRankRLS(2, criterion=criterion).fit(nesting_trap())
        first, second = (step.score for step in selector.path_)
        assert selector.reasons()[1].split()[0] == f"{second / first - 1:+.2%}"
        assert selector.reasons()[1].strip().startswith(sign)
        if criterion == "squared":
            assert selector.reasons()[0].strip() == "#" * 20


class TestGroups:
    GROUPS = ((0, 4), (1, 2, 5), (3,))

    def test_equal_to_brute_force(self):
        data, lam = random_data(5), 2.0**-3
        selector = GreedyRankRLS(3, lam=lam, groups=self.GROUPS, count="groups").fit(data)
        chosen = []
        for fit in selector.fits_:
            free = [group for group in self.GROUPS if group not in chosen]
            model = [feature for group in chosen for feature in group]
            errors = oracles.group_errors(data.X, data.y, data.qid.tolist(), model, free, lam)
            chosen.append(free[int(np.argmin(errors))])
            assert fit.features == tuple(feature for group in chosen for feature in group)
            assert fit.error == pytest.approx(min(errors), rel=1e-10)
            np.testing.assert_allclose(
                fit.coef, trained(data, fit.features, lam), rtol=1e-6, atol=1e-9
            )
        assert selector.n_groups_ == 3
        errors = {step.feature: step.score for step in selector.path_}
        for group, fit in zip(chosen, selector.fits_, strict=True):
            assert {errors[feature] for feature in group} == {fit.error}

    @pytest.mark.parametrize("search", ["floating", "foba"])
    def test_other_searches(self, search):
        data = random_data(5)
        how = {"groups": self.GROUPS, "count": "groups", "include": [3]}
        selector = GreedyRankRLS(2, search=search, **how).fit(data)
        assert selector.selected_[0] == 3
        assert selector.n_groups_ == 2
        expected = sum(left_out(data, selector.selected_, 1.0))
        assert selector.fits_[-1].error == pytest.approx(expected, rel=1e-9)

    def test_random_candidates(self):
        data = random_data(5)
        every = GreedyRankRLS(2, groups=self.GROUPS, count="groups").fit(data)
        some = GreedyRankRLS(2, groups=self.GROUPS, count="groups", kappa=3).fit(data)
        assert some.selected_.tolist() == every.selected_.tolist()
        one = GreedyRankRLS(4, groups=self.GROUPS, kappa=1).fit(data)
        assert len(one.selected_) <= 4

    def test_smaller_selections(self):
        data = random_data(5)
        selector = GreedyRankRLS(6, groups=self.GROUPS).fit(data)
        smaller = selector.at(2)
        assert smaller.selected_.tolist() == list(selector.fits_[1].features)
        assert smaller.n_features_to_select == len(smaller.selected_)
        with pytest.raises(ValueError, match="1 to 3 groups"):
            selector.at(4)

    def test_the_error_chooses_the_number(self):
        data = random_data(5)
        selector = GreedyRankRLS("best", groups=self.GROUPS).fit(data)
        best = min(selector.fits_, key=lambda fit: fit.error)
        assert selector.selected_.tolist() == list(best.features)
