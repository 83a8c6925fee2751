"""Statistics over queries, against scipy, brute force and simulation."""

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from ranksieve.data import DataError
from ranksieve.significance import (
    bootstrap_interval,
    effect_size,
    holm,
    jaccard,
    kuncheva,
    nogueira,
    non_inferiority,
    paired_t_test,
    randomization_test,
    relative_improvement,
    unified_rank,
    wilcoxon_test,
    win_tie_loss,
)

ALTERNATIVES = ("two-sided", "greater", "less")
MIRRORED = {"two-sided": "two-sided", "greater": "less", "less": "greater"}
TESTS = (paired_t_test, randomization_test, wilcoxon_test)
COMPARISONS = (*TESTS, bootstrap_interval, effect_size, win_tie_loss, non_inferiority)

# NDCG@1, NDCG@3, NDCG@5, NDCG@10 and MAP on HP2004, NP2004, OHSUMED and MQ2008, as published
# with FS-SCPR (Yeh and Tsai 2022, Tables 3 to 16).
PUBLISHED = {
    "FS-SCPR": """0.6337 0.7590 0.7893 0.8179 0.7216  0.5527 0.7603 0.7842 0.8159 0.6809
                  0.5459 0.4959 0.4785 0.4584 0.4491  0.3692 0.4375 0.4770 0.2318 0.4776""",
    "GAS-E": """0.6133 0.7280 0.7679 0.7849 0.6925  0.5600 0.7236 0.7617 0.7958 0.6736
                0.5547 0.4794 0.4720 0.4502 0.4475  0.3601 0.4345 0.4772 0.2290 0.4767""",
    "FSMSVM": """0.6267 0.7136 0.7635 0.7879 0.7014  0.5467 0.7538 0.7830 0.8060 0.6748
                 0.5492 0.4690 0.4640 0.4447 0.4441  0.3652 0.4278 0.4701 0.2251 0.4744""",
    "FSMRank": """0.6133 0.8070 0.8187 0.8383 0.7205  0.5467 0.7784 0.8000 0.8279 0.6837
                  0.5394 0.5013 0.4824 0.4613 0.4498  0.3686 0.4399 0.4791 0.2327 0.4771""",
    "AdaRank-MAP": """0.6133 0.8164 0.8277 0.8328 0.7219  0.4800 0.6979 0.7310 0.7497 0.6220
                      0.5388 0.4682 0.4613 0.4429 0.4487  0.3754 0.4370 0.4794 0.2288 0.4764""",
    "RankSVM-Primal": """0.5733 0.7129 0.7528 0.7720 0.6712  0.5600 0.7236 0.7719 0.7950 0.6755
                         0.5460 0.4855 0.4689 0.4504 0.4446  0.3725 0.4333 0.4765 0.2309 0.4744""",
    "ListNet": """0.6000 0.7213 0.7694 0.7845 0.6899  0.5333 0.7587 0.7965 0.8128 0.6720
                  0.5326 0.4732 0.4432 0.4410 0.4457  0.3754 0.4324 0.4747 0.2303 0.4775""",
    "RankBoost": """0.5067 0.6989 0.7211 0.7428 0.6251  0.4267 0.6274 0.6512 0.6914 0.5640
                    0.4632 0.4555 0.4494 0.4302 0.4411  0.3856 0.4288 0.4666 0.2255 0.4775""",
}
TABLE_11 = {"FSMRank": 17.5, "FS-SCPR": 15.5, "GAS-E": 9.5, "FSMSVM": 8.0}
TABLE_16 = {
    "FS-SCPR": 17.6,
    "AdaRank-MAP": 13.2,
    "RankSVM-Primal": 12.0,
    "ListNet": 12.0,
    "RankBoost": 5.6,
}
IMPROVEMENTS = """10.54 6.47 4.85 5.95 7.51  -1.30 5.07 1.59 2.63 0.80
                  -0.02 2.14 2.05 1.78 1.01  -0.89 0.97 0.10 0.39 0.67"""


def numbers(text):
    return [float(word) for word in text.split()]


def two_methods(n_queries, gain=0.05, seed=0):
    rng = np.random.default_rng(seed)
    b = rng.random(n_queries)
    return b + gain * rng.gamma(1.0, size=n_queries) - 0.03, b


def some_weights(n_queries, seed=1):
    return np.random.default_rng(seed).lognormal(size=n_queries)


# Grades of a measure: coarse, so that ties and zeros are common, and not exact in binary.
grades = st.integers(0, 20).map(lambda value: value / 20)
pairs = st.lists(st.tuples(grades, grades), min_size=2, max_size=30).map(
    lambda rows: tuple(np.array(rows).T)
)


@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize("n_queries", [2, 9, 200])
def test_t_test_is_that_of_scipy(n_queries, alternative):
    a, b = two_methods(n_queries)

    result = paired_t_test(a, b, alternative)

    expected = stats.ttest_rel(a, b, alternative=alternative)
    assert result.difference == pytest.approx(np.mean(a - b))
    assert result.statistic == pytest.approx(expected.statistic)
    assert result.p_value == pytest.approx(expected.pvalue)
    assert result.n_queries == n_queries


@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize("n_queries", [5, 30, 200])
def test_wilcoxon_test_is_that_of_scipy(n_queries, alternative):
    a, b = two_methods(n_queries)

    result = wilcoxon_test(a, b, alternative)

    expected = stats.wilcoxon(a, b, alternative=alternative)
    assert result.p_value == pytest.approx(expected.pvalue)
    assert result.statistic == expected.statistic


def test_wilcoxon_test_ties_what_differs_by_rounding_alone():
    a = np.array([0.3, 0.2, 0.6, 0.8, 0.1, 0.9, 0.4, 0.7, 0.5, 0.6, 0.35, 0.75, 0.15, 0.95, 0.45])
    steps = np.array([1, 1, 2, -1, 1, 3, 2, -2, 1, 1, 2, 3, 1, 4, -1])
    b = a - steps / 10
    assert len(np.unique(np.abs(a - b))) > 4

    result = wilcoxon_test(a, b)

    assert result.p_value == pytest.approx(stats.wilcoxon(steps).pvalue)


@pytest.mark.parametrize("alternative", ALTERNATIVES)
def test_randomization_test_of_few_queries_is_exact(alternative):
    a, b = two_methods(10)

    result = randomization_test(a, b, alternative=alternative)

    expected = stats.permutation_test(
        (a, b),
        lambda x, y, axis: np.mean(x - y, axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=np.inf,
        alternative=alternative,
    )
    assert result.p_value == pytest.approx(expected.pvalue)


@given(pairs.filter(lambda rows: len(rows[0]) <= 9), st.sampled_from(ALTERNATIVES))
def test_randomization_test_counts_all_signs(rows, alternative):
    # In twentieths the sums are integers: no rounding, and ties are ties.
    differences = np.round(20 * (rows[0] - rows[1])).astype(int)
    sums = np.array(list(product([-1, 1], repeat=len(differences)))) @ np.abs(differences)
    observed = differences.sum()
    extreme = {
        "two-sided": np.abs(sums) >= abs(observed),
        "greater": sums >= observed,
        "less": sums <= observed,
    }[alternative]

    assert randomization_test(*rows, alternative=alternative).p_value == extreme.mean()


def test_drawn_signs_come_near_the_exact_p_value():
    a, b = two_methods(13)

    exact = randomization_test(a, b, n_permutations=2**13).p_value
    drawn = [randomization_test(a, b, 8000, random_state=seed).p_value for seed in range(3)]

    assert len(set(drawn)) > 1
    error = np.sqrt(exact * (1 - exact) / 8000)
    assert drawn == pytest.approx([exact] * 3, abs=4 * error)
    assert randomization_test(a, b, 8000, random_state=1).p_value == drawn[1]


def test_drawn_p_value_is_never_zero():
    b = np.linspace(0, 0.5, 100)

    assert randomization_test(b + 0.1, b, n_permutations=99).p_value == 1 / 100


def test_drawing_in_parts_changes_nothing(monkeypatch):
    a, b = two_methods(40)
    whole = bootstrap_interval(a, b, n_resamples=500)

    monkeypatch.setattr("ranksieve.significance.samples._VALUES_AT_ONCE", 130)

    assert bootstrap_interval(a, b, n_resamples=500) == whole
    p_value = randomization_test(a, b, 2000).p_value
    assert p_value == pytest.approx(stats.ttest_rel(a, b).pvalue, abs=0.03)


@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize("test", TESTS)
def test_methods_that_do_not_differ_have_p_value_one(test, alternative):
    a = np.array([0.1 + 0.2, 0.5, 0.7])
    b = np.array([0.3, 0.5, 0.7])

    result = test(a, b, alternative=alternative)

    assert result[:3] == (0.0, 1.0, 0.0)
    assert effect_size(a, b) == 0
    assert bootstrap_interval(a, b) == (0, 0, 0)


def test_differences_that_are_all_equal():
    b = np.array([0.1, 0.2, 0.7, 0.4])

    assert paired_t_test(b + 0.1, b).p_value == 0
    assert paired_t_test(b + 0.1, b, "less").p_value == 1
    assert effect_size(b + 0.1, b) == np.inf
    assert effect_size(b - 0.1, b) == -np.inf
    assert bootstrap_interval(b + 0.1, b) == pytest.approx((0.1, 0.1, 0.1))


@given(pairs, st.sampled_from(ALTERNATIVES))
def test_swapping_the_methods_mirrors_the_tests(rows, alternative):
    a, b = rows

    for test in (paired_t_test, wilcoxon_test):
        there, back = test(a, b, alternative), test(b, a, MIRRORED[alternative])
        assert there.difference == pytest.approx(-back.difference)
        assert there.p_value == pytest.approx(back.p_value)
    assert randomization_test(a, b, 500).p_value == randomization_test(b, a, 500).p_value
    assert effect_size(a, b) == pytest.approx(-effect_size(b, a))
    assert win_tie_loss(a, b) == win_tie_loss(b, a)[::-1]


@given(pairs, st.randoms(use_true_random=False))
def test_the_order_of_queries_does_not_matter(rows, random):
    a, b = rows
    order = list(range(len(a)))
    random.shuffle(order)

    for test in TESTS:
        assert test(a[order], b[order]) == test(a, b)
    shuffled = bootstrap_interval(a[order], b[order], n_resamples=100)
    assert shuffled == bootstrap_interval(a, b, n_resamples=100)
    assert effect_size(a[order], b[order]) == effect_size(a, b)
    b = b + 0.1
    weights = np.array([random.choice([0.5, 1.0, 2.0]) for _ in a])
    shuffled, in_order = non_inferiority(a[order], b[order]), non_inferiority(a, b)
    assert shuffled == pytest.approx(in_order, rel=1e-6, abs=1e-9)
    for compare in (*TESTS, bootstrap_interval, effect_size, non_inferiority):
        shuffled = compare(a[order], b[order], weights=weights[order])
        in_order = compare(a, b, weights=weights)
        assert shuffled == pytest.approx(in_order, nan_ok=True), compare.__name__


@given(pairs)
def test_win_tie_loss_counts(rows):
    twentieths = np.round(20 * np.array(rows)).astype(int)
    signs = np.sign(twentieths[0] - twentieths[1]).tolist()

    assert win_tie_loss(*rows) == (signs.count(1), signs.count(0), signs.count(-1))


def test_win_tie_loss_with_a_wide_tie():
    assert win_tie_loss([0.5, 0.5, 0.5], [0.375, 0.25, 0.75], tie=0.125) == (1, 1, 1)


@pytest.mark.parametrize(("method", "name"), [("bca", "BCa"), ("percentile", "percentile")])
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_bootstrap_interval_is_that_of_scipy(method, name, level):
    a, b = two_methods(35)

    interval = bootstrap_interval(a, b, level, 2000, method, random_state=5)

    expected = stats.bootstrap(
        (np.sort(a - b),),
        np.mean,
        confidence_level=level,
        n_resamples=2000,
        method=name,
        random_state=np.random.default_rng(5),
    ).confidence_interval
    assert interval.estimate == pytest.approx(np.mean(a - b))
    assert (interval.lower, interval.upper) == pytest.approx(expected)


def binomial_band(rate, n_trials, n_deviations=4):
    return n_deviations * np.sqrt(rate * (1 - rate) / n_trials)


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("test", TESTS)
def test_tests_keep_their_level(test, weighted):
    rng = np.random.default_rng(3)
    n_trials, n_queries = 600, 40 if weighted else 25
    options = {"n_permutations": 400} if test is randomization_test else {}

    def p_value():
        a, b = rng.normal(size=(2, n_queries))
        weights = rng.uniform(0.2, 3, n_queries) if weighted else None
        return test(a, b, weights=weights, **options).p_value

    p_values = [p_value() for _ in range(n_trials)]

    for level in (0.05, 0.2, 0.5):
        rejected = np.mean(np.array(p_values) <= level)
        assert rejected == pytest.approx(level, abs=binomial_band(level, n_trials))


@pytest.mark.parametrize("method", ["bca", "percentile"])
def test_bootstrap_interval_covers_the_mean(method):
    rng = np.random.default_rng(4)
    n_trials, n_queries = 500, 80

    covered = 0
    for _ in range(n_trials):
        a, b = rng.gamma(2.0, size=(2, n_queries))
        interval = bootstrap_interval(a + 0.5, b, 0.9, 500, method, random_state=rng)
        covered += interval.lower <= 0.5 <= interval.upper

    # The bootstrap itself falls short by about one percent at this number of queries.
    band = binomial_band(0.9, n_trials)
    assert 0.9 - band - 0.01 <= covered / n_trials <= 0.9 + band


def test_bca_follows_the_skew():
    differences = np.random.default_rng(0).gamma(0.5, size=40)
    zero = np.zeros(40)

    plain = bootstrap_interval(differences, zero, method="percentile")
    corrected = bootstrap_interval(differences, zero)

    assert corrected.lower > plain.lower
    assert corrected.upper > plain.upper


def test_effect_size_is_t_over_root_n():
    a, b = two_methods(50)

    assert effect_size(a, b) == pytest.approx(stats.ttest_rel(a, b).statistic / np.sqrt(50))


@given(
    *(pairs, st.sampled_from([0.0, 0.01, 0.2]), st.booleans(), st.sampled_from([0.8, 0.95])),
    st.none() | st.integers(0, 100),
)
def test_verdict_p_value_and_bound_agree(rows, margin, relative, level, seed):
    a, b = rows
    if relative and b.sum() == 0:
        return

    weights = None if seed is None else some_weights(len(a), seed)
    result = non_inferiority(a, b, margin, relative, level, weights)

    assert result.non_inferior == (result.p_value < 1 - level)
    if abs(result.lower + margin) > 1e-9:
        assert result.non_inferior == (result.lower > -margin)
    assert result.lower <= result.change + 1e-12


@pytest.mark.parametrize("weights", [None, some_weights(60)], ids=["equal", "weighted"])
@pytest.mark.parametrize("relative", [True, False])
def test_bound_is_the_margin_at_which_the_verdict_turns(relative, weights):
    a, b = two_methods(60, gain=0.02)

    turn = -non_inferiority(a, b, relative=relative, weights=weights).lower

    assert 0.001 < turn < 0.2
    assert non_inferiority(a, b, turn + 1e-9, relative, weights=weights).non_inferior
    assert not non_inferiority(a, b, turn - 1e-9, relative, weights=weights).non_inferior


def test_absolute_bound_is_that_of_scipy():
    a, b = two_methods(60)

    lower = non_inferiority(a, b, relative=False, level=0.9).lower

    test = stats.ttest_rel(a, b, alternative="greater")
    assert lower == pytest.approx(test.confidence_interval(0.9).low)


def test_non_inferiority_keeps_its_level_at_the_margin():
    rng = np.random.default_rng(6)
    n_trials = 1500

    def verdict(loss):
        b = rng.normal(1.0, 0.3, size=40)
        return non_inferiority(b + rng.normal(-loss, 0.1, size=40), b, margin=0.1).non_inferior

    at_margin = np.mean([verdict(0.1) for _ in range(n_trials)])
    assert at_margin == pytest.approx(0.05, abs=binomial_band(0.05, n_trials))
    assert np.mean([verdict(0.0) for _ in range(100)]) > 0.95


def test_no_bound_relative_to_what_may_be_zero():
    result = non_inferiority([1.0, 1.0, 1.1], [0.0, 0.0, 0.3])

    assert result.lower == -np.inf
    assert not result.non_inferior


def test_the_same_method_is_non_inferior():
    b = np.linspace(0.1, 0.9, 30)

    result = non_inferiority(b, b)

    assert result.change == pytest.approx(0, abs=1e-12)
    assert result.lower == pytest.approx(0, abs=1e-12)
    assert result.non_inferior


@given(st.lists(st.floats(0, 1), min_size=1, max_size=6))
def test_holm_is_the_closed_test_of_bonferroni(p_values):
    tests = range(len(p_values))
    closed = [
        max(
            min(1.0, len(subset) * min(p_values[other] for other in subset))
            for size in range(1, len(p_values) + 1)
            for subset in combinations(tests, size)
            if test in subset
        )
        for test in tests
    ]

    assert holm(p_values).tolist() == pytest.approx(closed)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=40))
def test_holm_keeps_the_order_and_never_lowers(p_values):
    given_values = np.array(p_values)
    adjusted = holm(given_values)

    assert np.all(adjusted >= given_values)
    assert np.all(adjusted <= 1)
    assert np.all(np.diff(adjusted[np.argsort(given_values)]) >= 0)


@pytest.mark.parametrize("table", [TABLE_11, TABLE_16])
def test_unified_ranks_of_the_paper(table):
    ranks = unified_rank([numbers(PUBLISHED[method]) for method in table])

    assert dict(zip(table, ranks.tolist(), strict=True)) == table


def test_relative_improvements_of_the_paper():
    improvements = [
        relative_improvement(a, b)
        for a, b in zip(
            numbers(PUBLISHED["FS-SCPR"]), numbers(PUBLISHED["RankSVM-Primal"]), strict=True
        )
    ]

    # Printed with two digits.
    assert improvements == pytest.approx(numbers(IMPROVEMENTS), abs=0.0051)


def test_relative_improvement_compares_means():
    assert relative_improvement([0.25, 0.5], [0.5, 0.0]) == pytest.approx(50)


@given(st.integers(1, 6), st.integers(1, 6), st.data())
def test_unified_rank_counts_the_methods_that_are_better(n_methods, n_cells, data):
    cells = st.lists(grades, min_size=n_cells, max_size=n_cells)
    table = data.draw(st.lists(cells, min_size=n_methods, max_size=n_methods))

    expected = [
        sum(
            (n_methods - sum(other[cell] > row[cell] for other in table)) / n_methods
            for cell in range(n_cells)
        )
        for row in table
    ]

    assert unified_rank(table).tolist() == pytest.approx(expected)


selection_lists = st.lists(
    st.sets(st.integers(0, 7), min_size=1, max_size=7).map(list), min_size=2, max_size=8
)


def pairwise(selections, index):
    return np.mean([index(set(A), set(B)) for A, B in combinations(selections, 2)])


@given(selection_lists)
def test_jaccard_is_the_mean_over_pairs(selections):
    expected = pairwise(selections, lambda A, B: len(A & B) / len(A | B))

    assert jaccard(selections) == pytest.approx(expected)
    assert jaccard([[str(f) for f in chosen] for chosen in selections]) == pytest.approx(expected)


def test_jaccard_of_empty_selections():
    assert jaccard([[], []]) == 1
    assert jaccard([[], [3]]) == 0


@given(st.integers(1, 7), st.integers(2, 6), st.integers(0, 100))
def test_nogueira_of_one_size_is_kuncheva(size, n_sets, seed):
    rng = np.random.default_rng(seed)
    selections = [rng.permutation(8)[:size] for _ in range(n_sets)]

    consistency = pairwise(
        selections, lambda A, B: (8 * len(A & B) - size**2) / (size * (8 - size))
    )

    assert kuncheva(selections, 8) == pytest.approx(consistency)
    assert nogueira(selections, 8).estimate == pytest.approx(consistency)


def nogueira_by_hand(selections, d):
    """Value and variance of the index, as the paper writes them, one term after the other."""
    M = len(selections)
    k = [len(chosen) for chosen in selections]
    mean_k = sum(k) / M
    p = [sum(f in chosen for chosen in selections) / M for f in range(d)]
    chance = mean_k / d * (1 - mean_k / d)
    value = 1 - sum(M / (M - 1) * p_f * (1 - p_f) for p_f in p) / d / chance
    terms = [
        (
            sum(p[f] for f in selections[i]) / d
            - k[i] * mean_k / d**2
            + value / 2 * (2 * k[i] * mean_k / d**2 - k[i] / d - mean_k / d + 1)
        )
        / chance
        for i in range(M)
    ]
    mean_term = sum(terms) / M
    return value, 4 / M**2 * sum((term - mean_term) ** 2 for term in terms)


@given(selection_lists)
def test_nogueira_is_that_of_the_paper(selections):
    value, variance = nogueira_by_hand(selections, 8)

    interval = nogueira(selections, 8, level=0.9)

    reach = stats.norm.ppf(0.95) * np.sqrt(variance)
    assert interval == pytest.approx((value, value - reach, value + reach), abs=1e-9)


def draw_selections(rng, probabilities, n_sets):
    drawn = rng.random((n_sets, len(probabilities))) < probabilities
    return [np.flatnonzero(row) for row in drawn]


def test_nogueira_interval_is_that_of_the_jackknife():
    selections = draw_selections(np.random.default_rng(2), np.linspace(0.05, 0.95, 20) ** 2, 200)
    left_out = [
        nogueira(selections[:i] + selections[i + 1 :], 20).estimate for i in range(len(selections))
    ]
    error = np.sqrt(199 / 200 * np.sum((left_out - np.mean(left_out)) ** 2))

    interval = nogueira(selections, 20)

    assert interval.upper - interval.lower == pytest.approx(2 * 1.96 * error, rel=0.05)


def test_nogueira_interval_covers_the_stability():
    rng = np.random.default_rng(7)
    probabilities = np.linspace(0.05, 0.95, 20) ** 2
    share = probabilities.mean()
    stability = 1 - np.mean(probabilities * (1 - probabilities)) / (share * (1 - share))
    n_trials = 500

    intervals = [nogueira(draw_selections(rng, probabilities, 100), 20) for _ in range(n_trials)]

    covered = np.mean([low <= stability <= high for _, low, high in intervals])
    assert covered == pytest.approx(0.95, abs=binomial_band(0.95, n_trials))


def test_stability_of_equal_selections_is_one():
    selections = [[4, 1], [1, 4], np.array([4, 1])]

    assert nogueira(selections, 6) == (1, 1, 1)
    assert kuncheva(selections, 6) == 1
    assert jaccard(selections) == 1


@pytest.mark.parametrize("function", COMPARISONS)
@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        ([0.1, 0.2, 0.3], [0.1, 0.2], "a has 3 values and b has 2: pass one value per query"),
        ([0.1], [0.2], "needs the values of at least 2 queries"),
        ([], [], "a must be a list of numbers"),
        ([[0.1, 0.2]], [[0.1, 0.2]], r"its shape is \(1, 2\)"),
        ([0.1, 0.2], [0.1, np.nan], r"b has nan at position 1 \(0-based\): leave it out"),
        ([np.inf, 0.2], [0.1, 0.2], "a has inf at position 0"),
    ],
)
def test_values_that_cannot_be_compared(function, a, b, message):
    with pytest.raises(DataError, match=message):
        function(a, b)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda a, b: paired_t_test(a, b, "more"), "alternative must be"),
        (lambda a, b: randomization_test(a, b, alternative="more"), "alternative must be"),
        (lambda a, b: wilcoxon_test(a, b, "more"), "alternative must be"),
        (lambda a, b: randomization_test(a, b, 0), "n_permutations must be at least 1"),
        (lambda a, b: bootstrap_interval(a, b, 95), "level must lie between 0 and 1"),
        (lambda a, b: bootstrap_interval(a, b, n_resamples=9), "n_resamples must be at least 100"),
        (lambda a, b: bootstrap_interval(a, b, method="basic"), "method must be"),
        (lambda a, b: win_tie_loss(a, b, tie=-1), "tie must be at least 0"),
        (lambda a, b: non_inferiority(a, b, margin=1), "margin must be at least 0, and below 1"),
        (lambda a, b: non_inferiority(a, b, -0.1, relative=False), "margin must be at least 0"),
        (lambda a, b: non_inferiority(a, b, level=0.4), "level must lie between 0.5 and 1"),
        (lambda a, b: nogueira([[0], [1]], 3, level=1), "level must lie between 0 and 1"),
    ],
)
def test_settings_that_make_no_sense(call, message):
    with pytest.raises(ValueError, match=message):
        call([0.1, 0.2, 0.4], [0.1, 0.3, 0.2])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: non_inferiority([0.1, 0.2], [0.0, 0.0]), "pass relative=False"),
        (lambda: relative_improvement(0.5, 0.0), "the mean of b is 0, but must be positive"),
        (lambda: holm([0.1, 1.5]), "between 0 and 1"),
        (lambda: holm([0.1, np.nan]), "p_values has nan at position 1"),
        (lambda: holm([]), "p_values must be a list of numbers"),
        (lambda: unified_rank([0.1, 0.2]), r"methods by cells, got shape \(2,\)"),
        (lambda: unified_rank([[0.1, 0.2], [0.3, np.nan]]), "nan for method 1 in cell 1"),
        (lambda: jaccard([[1, 2]]), "pass at least 2, got 1"),
        (lambda: jaccard([[True, False, True], [True, True, False]]), "not a mask"),
        (lambda: nogueira([[0, 1], [1, 5]], 5), "features 1 to 5, but n_features is 5"),
        (lambda: nogueira([[0, 1], [0, 1]], 2), "leave this method out"),
        (lambda: nogueira([[], []], 2), "leave this method out"),
        (lambda: kuncheva([[0, 1], [0, 1]], 2), "leave this method out"),
        (
            lambda: kuncheva([[0], [0, 1]], 3),
            "1 to 2 features: kuncheva needs selections of one size",
        ),
    ],
)
def test_input_that_cannot_be_used(call, message):
    with pytest.raises(DataError, match=message):
        call()


@given(
    st.lists(st.integers(-3, 3), min_size=2, max_size=9).filter(any),
    st.sampled_from(["two-sided", "greater", "less"]),
)
def test_wilcoxon_test_of_few_tied_differences_tries_all_signs(differences, alternative):
    result = wilcoxon_test(differences, np.zeros(len(differences)), alternative)
    sizes = np.abs([d for d in differences if d])
    ranks = [np.mean(np.flatnonzero(np.sort(sizes) == size)) + 1 for size in sizes]
    sums = [np.dot(signs, ranks) for signs in product([0, 1], repeat=len(ranks))]
    observed = sum(r for r, d in zip(ranks, [d for d in differences if d], strict=True) if d > 0)
    above, below = np.mean(np.array(sums) >= observed), np.mean(np.array(sums) <= observed)
    expected = {"greater": above, "less": below, "two-sided": min(1, 2 * min(above, below))}
    assert result.p_value == pytest.approx(expected[alternative])
