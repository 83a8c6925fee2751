"""What a study says about its results, against plain computations."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import ttest_rel

from ranksieve import significance as stats
from ranksieve.data import DataError
from ranksieve.study import comparison, results
from ranksieve.study.comparison import MARGIN

N_FEATURES = 8


def outcome(k, features, values, validation=0.5, seconds=(0.1, 1.0)):
    per_query = {"MAP": np.asarray(values), "NDCG@10": 1 - np.asarray(values) / 2}
    return results.Outcome(k, features, {}, {}, validation, 0.01, per_query, *seconds)


@pytest.fixture
def result():
    """Two folds of 30 queries; all features, one selector, and three random orders."""
    return make_result()


def make_result(weights=(None, None)):
    rng = np.random.default_rng(0)
    hard = rng.uniform(0.2, 0.9, (2, 30))
    folds = [
        results.FoldSummary("Fold1", 60, 30, list(range(30)), query_weights=weights[0]),
        results.FoldSummary("Fold2", 60, 30, list(range(30, 60)), query_weights=weights[1]),
    ]

    def run(name, shifts, by_k, seeds=1):
        def tested(shift, features):
            noise = rng.normal(0, 0.02, (seeds, 2, 30))
            return results.Outcomes(
                [
                    [
                        outcome(len(features), features, hard[f] + shift + noise[s, f])
                        for f in (0, 1)
                    ]
                    for s in range(seeds)
                ],
                folds,
            )

        sizes = {k: tested(shift, tuple(range(k))) for k, shift in by_k.items()}
        chosen = sizes[max(by_k)] if shifts is None else tested(shifts, (2, 5))
        return results.Run(name, "ranksvm", chosen, sizes)

    runs = {
        "good": run("good", 0.03, {1: -0.2, 2: 0.01, 4: 0.03}),
        "all": run("all", None, {N_FEATURES: 0.0}),
        "random": run("random", -0.1, {1: -0.3, 2: -0.2, 4: -0.1}, seeds=3),
    }
    return results.StudyResult(
        title="data",
        protocol="two folds",
        convention="standard",
        tune="MAP",
        measures=["MAP", "NDCG@10"],
        folds=folds,
        feature_names=[str(number) for number in range(1, N_FEATURES + 1)],
        runs={(name, "ranksvm"): run for name, run in runs.items()},
    )


def test_queries_of_the_folds_are_joined_and_seeds_averaged(result):
    random = result.run("random", "ranksvm").chosen
    expected = np.concatenate(
        [np.mean([seed[f].per_query["MAP"] for seed in random.outcomes], axis=0) for f in (0, 1)]
    )
    np.testing.assert_allclose(random.per_query("MAP"), expected)
    assert random.n_seeds == 3
    means = [np.mean([o.per_query["MAP"].mean() for o in seed]) for seed in random.outcomes]
    assert random.mean("MAP") == pytest.approx(np.mean(means))
    assert random.spread("MAP") == pytest.approx(np.std(means, ddof=1))
    assert result.run("good", "ranksvm").chosen.spread("MAP") is None
    assert random.n_features == 2.0
    assert (random.selection_seconds, random.training_seconds) == pytest.approx((0.1, 1.0))


def test_comparisons_are_those_of_the_tests(result):
    found = comparison.compare_with(result)
    assert [(v.selector, v.measure) for v in found] == [
        ("good", "MAP"),
        ("random", "MAP"),
        ("good", "NDCG@10"),
        ("random", "NDCG@10"),
    ]
    p_values = []
    for versus in found:
        a = result.run(versus.selector, "ranksvm").chosen.per_query(versus.measure)
        b = result.run("all", "ranksvm").chosen.per_query(versus.measure)
        test = stats.paired_t_test(a, b)
        assert (versus.difference, versus.p_value) == (test.difference, test.p_value)
        assert versus.interval == stats.bootstrap_interval(a, b)
        assert versus.randomization_p == stats.randomization_test(a, b).p_value
        assert versus.wilcoxon_p == stats.wilcoxon_test(a, b).p_value
        assert versus.effect == stats.effect_size(a, b)
        assert versus.counts == stats.win_tie_loss(a, b)
        assert versus.improvement == stats.relative_improvement(a, b)
        assert versus.not_worse == stats.non_inferiority(a, b, MARGIN)
        p_values.append(test.p_value)
    np.testing.assert_array_equal([v.adjusted for v in found], stats.holm(p_values))
    assert found[0].difference > 0 > found[1].difference


def test_weights_of_queries_count_in_means_and_tests():
    weights = np.random.default_rng(1).uniform(0.2, 3.0, (2, 30))
    plain, weighted = make_result(), make_result(weights.tolist())
    assert plain.query_weights is None
    np.testing.assert_array_equal(weighted.query_weights, weights.ravel())
    of_folds = [
        np.average(outcome.per_query["MAP"], weights=own)
        for outcome, own in zip(
            weighted.run("good", "ranksvm").chosen.outcomes[0], weights, strict=True
        )
    ]
    chosen = weighted.run("good", "ranksvm").chosen
    np.testing.assert_allclose(chosen.on_folds("MAP"), of_folds, rtol=1e-12)
    assert chosen.mean("MAP") == pytest.approx(np.mean(of_folds))
    for versus, other in zip(*map(comparison.compare_with, (weighted, plain)), strict=True):
        a = weighted.run(versus.selector, "ranksvm").chosen.per_query(versus.measure)
        b = weighted.run("all", "ranksvm").chosen.per_query(versus.measure)
        how = {"weights": weights.ravel()}
        test = stats.paired_t_test(a, b, **how)
        assert (versus.difference, versus.p_value) == (test.difference, test.p_value)
        assert versus.difference == pytest.approx(np.average(a - b, weights=weights.ravel()))
        assert versus.interval == stats.bootstrap_interval(a, b, **how)
        assert versus.randomization_p == stats.randomization_test(a, b, **how).p_value
        assert versus.wilcoxon_p == stats.wilcoxon_test(a, b, **how).p_value
        assert versus.effect == stats.effect_size(a, b, **how)
        assert versus.counts == other.counts
        assert versus.not_worse == stats.non_inferiority(a, b, MARGIN, **how)
        improvement = 100 * (np.average(a, **how) / np.average(b, **how) - 1)
        assert versus.improvement == pytest.approx(improvement)
        assert versus.p_value != other.p_value


def test_fewer_comparisons_are_adjusted_less(result):
    one = comparison.compare_with(result, measures=["MAP"])
    assert [v.measure for v in one] == ["MAP", "MAP"]
    assert all(v.adjusted <= min(1.0, 2 * v.p_value) for v in one)
    assert {v.base for v in comparison.compare_with(result, "random")} == {"random"}


def test_a_base_that_is_not_there_is_named(result):
    with pytest.raises(DataError, match="'ig' with 'ranksvm' is not in the study; it has the sel"):
        comparison.compare_with(result, "ig")


def test_enough_features_stop_at_the_first_failure_from_above(result):
    b = result.run("all", "ranksvm").chosen.per_query("MAP")
    verdicts = {
        k: stats.non_inferiority(tested.per_query("MAP"), b, MARGIN).non_inferior
        for k, tested in result.run("good", "ranksvm").by_k.items()
    }
    assert verdicts == {1: False, 2: True, 4: True}
    assert comparison.enough_features(result, "good", "ranksvm", "MAP") == 2
    assert comparison.enough_features(result, "random", "ranksvm", "MAP") is None
    assert comparison.enough_features(result, "all", "ranksvm", "MAP") is None  # nothing is saved


def test_the_level_of_enough_features_is_corrected_for_all_selectors_and_rankers(result):
    good = result.run("good", "ranksvm")
    runs = {**result.runs, **{(f"s{i}", "ranksvm"): good for i in range(4)}}
    five = replace(result, runs=runs)
    assert comparison.corrected_level(result) == pytest.approx(0.95)
    assert comparison.corrected_level(five) == pytest.approx(0.99)
    b = result.run("all", "ranksvm").chosen.per_query("MAP")
    for study, level in ((result, 0.95), (five, 0.99)):
        claims = stats.claim_sequence(
            [good.by_k[k].per_query("MAP") for k in (4, 2, 1)], b, MARGIN, level
        )
        shown = [k for k, claim in zip((4, 2, 1), claims, strict=True) if claim.shown]
        assert comparison.enough_features(study, "good", "ranksvm", "MAP") == min(shown)
        assert comparison.claim_enough(study, good.by_k[2], "ranksvm", "MAP").level == (
            pytest.approx(level)
        )
    assert "correction for 5 combinations" in comparison.describe_enough(five, "MAP")


def test_not_worse_is_corrected_like_better_and_worse(result):
    found = comparison.compare_with(result)
    adjusted = stats.holm([versus.not_worse.p_value for versus in found])
    assert [versus.not_worse_adjusted for versus in found] == adjusted.tolist()
    assert [versus.is_not_worse for versus in found] == (adjusted < 0.05).tolist()


def test_stability_is_over_folds_and_averaged_over_seeds(result):
    folds = result.folds

    def tested(*seeds):
        return results.Outcomes(
            [[outcome(2, features, np.ones(30)) for features in seed] for seed in seeds], folds
        )

    one = [(0, 1), (1, 2)]
    other = [(3, 4), (3, 4)]
    expected = [stats.nogueira(sets, N_FEATURES).estimate for sets in (one, other)]
    found = comparison.stability_of(tested(one, other), N_FEATURES)
    assert found.nogueira.estimate == pytest.approx(np.mean(expected))
    assert found.jaccard == pytest.approx((1 / 3 + 1) / 2)
    # Seeds that change nothing do not look like more folds.
    assert comparison.stability_of(tested(one, one), N_FEATURES) == comparison.stability_of(
        tested(one), N_FEATURES
    )
    every = tuple(range(N_FEATURES))
    assert comparison.stability_of(tested([every, every]), N_FEATURES).nogueira is None
    assert comparison.stability_of(tested([(0, 1)]), N_FEATURES) is None


def test_unified_ranks_do_not_depend_on_rounding(result):
    table = [
        [result.run(name, "ranksvm").chosen.mean(m) for m in result.measures]
        for name in ("good", "all", "random")
    ]
    expected = dict(zip(("good", "all", "random"), stats.unified_rank(table), strict=True))
    assert comparison.unified_ranks(result, "ranksvm") == expected
    thirds = [outcome(1, (0,), np.full(30, 1 / 3))] * 2
    runs = {
        (name, "r"): results.Run(name, "r", results.Outcomes([thirds] * n, result.folds), {})
        for name, n in (("one", 1), ("three", 3), ("seven", 7))
    }
    tied = results.StudyResult("", "", "", "MAP", ["MAP"], result.folds, ["1"], runs)
    assert set(comparison.unified_ranks(tied, "r").values()) == {1.0}


def test_share_of_random_orders_below(result):
    good = result.run("good", "ranksvm")
    assert comparison.share_of_random_below(result, good, "MAP") == 1.0
    random = result.run("random", "ranksvm")
    assert comparison.share_of_random_below(result, random, "MAP") is None


def slow_pairs(result, measure):
    """Every pair with scipy's t-test and interval, and Holm's step-down, written out."""
    found = {}
    for ranker in result.rankers:
        names = result.selectors
        for i, first in enumerate(names):
            for second in names[i + 1 :]:
                a = result.run(first, ranker).chosen.per_query(measure)
                b = result.run(second, ranker).chosen.per_query(measure)
                found[first, second, ranker] = ttest_rel(a, b), float(np.mean(a - b))
    order = sorted(found, key=lambda key: found[key][0].pvalue)
    adjusted, largest = {}, 0.0
    for place, key in enumerate(order):
        largest = max(largest, min(1.0, (len(order) - place) * found[key][0].pvalue))
        adjusted[key] = largest
    return {
        key: (mean, *test.confidence_interval(0.95), test.pvalue, adjusted[key])
        for key, (test, mean) in found.items()
    }


def test_all_pairs_are_those_of_a_slow_version(result):
    two = {
        (name, ranker): results.Run(name, ranker, run.chosen, run.by_k)
        for (name, _), run in result.runs.items()
        for ranker in ("ranksvm", "other")
    }
    result = replace(result, runs=two)
    for measure in result.measures:
        slow = slow_pairs(result, measure)
        pairs = comparison.compare_pairs(result, measure)
        assert [(p.selector, p.base, p.ranker) for p in pairs] == list(slow)
        for pair, expected in zip(pairs, slow.values(), strict=True):
            told = pair.difference, *pair.interval[1:], pair.p_value, pair.adjusted
            assert told == pytest.approx(expected, rel=1e-9)
            a, b = (result.run(s, pair.ranker).chosen for s in (pair.selector, pair.base))
            won = int((a.per_query(measure) > b.per_query(measure)).sum())
            assert (pair.counts[0], sum(pair.counts)) == (won, 60)


def test_a_study_of_one_selector_has_no_pairs(result):
    alone = {key: run for key, run in result.runs.items() if key[0] == "all"}
    assert comparison.compare_pairs(replace(result, runs=alone)) == []


def test_a_stricter_level_shows_no_more(result):
    ks = [
        comparison.enough_features(result, "good", "ranksvm", "MAP", level)
        for level in (0.6, 0.95, 1 - 1e-12)
    ]
    assert all(b is None or (a is not None and a <= b) for a, b in pairwise(ks))
