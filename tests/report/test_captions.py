"""Captions of figures: the numbers and names that they tell, computed plainly."""

from pathlib import Path

import numpy as np
import pytest

from ranksieve import RankingData, make_ranking
from ranksieve.recommendation.answer import FrontPoint, Recommendation
from ranksieve.recommendation.claim import Claim
from ranksieve.report.figures import (
    describe_class_densities,
    describe_curves,
    describe_front,
    describe_importance,
    describe_path_scores,
    describe_quality_and_time,
    describe_selection_frequency,
    describe_similarity,
    plot_class_densities,
    plot_front,
    plot_importance,
)
from ranksieve.report.figures.style import Drawing, embed, write_drawing
from ranksieve.selectors import FSED, GreedyRankRLSCV
from tests.report.test_figures import (
    RANKER,
    SECONDS,
    SELECTORS,
    make_study,
    plain_enough,
    plain_mean,
    with_losses,
)


def test_curves_tell_what_is_enough_and_what_bands_are():
    study = with_losses({"ig": {2: 0.0, 5: 0.1, 10: 0.001, 20: 0.0}, "chi": {20: 0.3}})
    told = describe_curves(study, RANKER)
    level = plain_mean(study.runs["all", RANKER].chosen, "MAP")
    assert f"The line of all features is at {level:.4f}; the strip below it is a loss of" in told
    assert f"Rings mark enough features: ig with {plain_enough(study, 'ig')}." in told
    assert "Bonferroni's correction for 2 combinations of a selector and a ranker" in told
    assert "No number of features is shown to be enough for chi." in told
    assert "bands (ig and chi, the best on average) are 95% intervals of the difference" in told
    assert "random" not in told
    whole = describe_curves(make_study(), RANKER)
    assert "The gray band is the range of all 4 random orders" in whole
    without = describe_curves(make_study(baselines=()), RANKER)
    assert "all features" not in without


def test_frequency_tells_the_features_that_are_taken_most_often():
    study = make_study()
    shares = np.zeros(46)
    n_selections = 0
    for name in SELECTORS:
        taken = [o.features for seed in study.runs[name, RANKER].chosen.outcomes for o in seed]
        n_selections += len(taken)
        shares += [np.mean([f in features for features in taken]) / 9 for f in range(46)]
    best = int(np.argmax(np.round(shares, 9)))
    told = describe_selection_frequency(study, RANKER)
    assert f"Of all {n_selections} selections, {np.count_nonzero(shares)} of 46 features" in told
    assert f"on average over selectors: {best + 1} ({shares[best]:.0%}), " in told


def test_times_tell_what_nothing_beats():
    study = make_study()
    means = {name: plain_mean(study.runs[name, RANKER].chosen, "MAP") for name in SELECTORS}
    kept = [
        name
        for name in SELECTORS
        if not any(SECONDS[o] < SECONDS[name] and means[o] >= means[name] for o in SELECTORS)
    ]
    listed = [
        f"{name} ({means[name]:.4f} in {1.5 * SECONDS[name]:.2g} s)"
        for name in sorted(kept, key=SECONDS.get)
    ]
    told = describe_quality_and_time(study, RANKER)
    assert told.endswith(f"both faster and better than {', '.join(listed)}.")


def test_importance_tells_the_best_the_median_and_the_least():
    names = list("abcdefg")
    told = describe_importance([0.1, 0.7, 0.2, 0.5, 0.6, 0.4, 0.3], names, "MAP")
    assert told == (
        "MAP, the most important feature first: b (0.7), e (0.6), d (0.5), f (0.4), g (0.3). The "
        "median of all 7 features is 0.4, and the least is a (0.1)."
    )


def test_similarity_tells_who_is_alike():
    values = np.eye(6)
    for one, other, alike in ((0, 3, 0.95), (0, 5, 0.97), (3, 5, 0.92), (1, 2, 0.91), (2, 4, 0.85)):
        values[one, other] = values[other, one] = alike
    told = describe_similarity(values, list("abcdef"))
    assert told.endswith("2 families of features with an average similarity of 0.9 or more: "
                         "a, f, d; b, c.")  # fmt: skip
    apart = np.where(np.eye(3), 0.0, 0.3)
    apart[0, 2] = apart[2, 0] = 0.6
    told = describe_similarity(apart, ["x", "y", "z"])
    assert "similar to none: 3 features." in told
    assert told.endswith(
        "No features have a similarity of 0.9 or more; the most similar are x and z (0.60)."
    )


def test_densities_tell_the_area_that_grades_share():
    rng = np.random.default_rng(0)
    y = np.tile([0, 0, 1, 1], 50)
    X = np.column_stack([rng.normal(size=200), rng.normal(size=200) + 9 * y])
    data = RankingData(X, y, np.repeat(np.arange(50), 4), feature_names=["none_of_it", "tells"])
    axes = plot_class_densities(FSED(1).fit(data), data)
    told = describe_class_densities(axes, "scores of fs-ed")
    assert "that grade 0 and grade 1 share: above tells (0%); below none_of_it (" in told
    assert 80 < float(told.split("none_of_it (")[1].split("%")[0]) <= 100


def test_paths_tell_what_was_chosen():
    data, _ = make_ranking(60, random_state=2)
    train, held_out = (data.take_queries(part) for part in np.split(np.arange(60), [40]))
    selector = GreedyRankRLSCV(max_features=8).fit(train, eval_set=held_out)
    k, value = len(selector.selected_), selector.path_[-1].score
    told = describe_path_scores(selector)
    assert f"lambda {selector.lam_:g} with {k} feature" in told
    assert f", {value:.4f}" in told
    first = ", ".join(str(feature + 1) for feature in selector.selected_[:5])
    assert f"In the order of selection: {first}" in told


def answer_of(points, selector="gas-e", size=4, margin=0.02, *, has_costs=True):
    claim = Claim("set", "MAP", margin, 0.95, 50, 0.5, 0.5, 0, -0.1, 0.1, -0.1, False, 100)
    front = [
        FrontPoint(name, n, cost, value, value / 0.5 - 1, -0.1, shown, False)
        for name, n, cost, value, shown in points
    ]
    return Recommendation(
        "t", list("abcdef"), [0], selector, size, claim, 3.0, 9.0, has_costs, front, [], [], {}
    )


POINTS = [
    ("gas-e", 1, 1.0, 0.3, False),
    ("gas-e", 3, 2.0, 0.485, None),
    ("gas-e", 4, 3.0, 0.495, True),
    ("ig", 4, 2.5, 0.47, False),
    ("ig", 6, 9.0, 0.5, True),
    ("all", 6, 9.0, 0.5, True),
    ("none", 0, 0.0, 0.2, None),
]


class TestFront:
    def test_margin_marks_and_ring(self):
        ax = plot_front(answer_of(POINTS))
        (strip,) = ax.patches
        ends = strip.get_y(), strip.get_y() + strip.get_height()
        np.testing.assert_allclose(ends, (0.49, 0.5))
        assert strip.get_label() == "2% margin"
        (ring,) = [line for line in ax.lines if line.get_label() == "recommended"]
        np.testing.assert_array_equal(ring.get_data(), [[3.0], [0.495]])
        marks = [line for line in ax.lines if line.get_label().startswith("_")]
        filled = {
            tuple(point)
            for line in marks
            if line.get_markerfacecolor() == line.get_color()
            for point in line.get_xydata().tolist()
        }
        empty = {
            tuple(point)
            for line in marks
            if line.get_markerfacecolor() == "white"
            for point in line.get_xydata().tolist()
        }
        assert filled == {(3.0, 0.495), (9.0, 0.5)}
        assert empty == {(1.0, 0.3), (2.5, 0.47)}
        named = {text.get_text() for text in ax.get_legend().get_texts()}
        assert {"shown", "not shown", "recommended", "gas-e", "ig"} <= named
        assert ax.get_ylim()[0] == pytest.approx(0.8 * 0.5)  # ten margins below all features

    def test_words(self):
        told = describe_front(answer_of(POINTS))
        assert "The line of all features is at 0.5000, and the strip below it is a loss" in told
        assert "Filled marks (2) are shown to lose less than that, empty ones (2) are not" in told
        assert "The cheapest that is shown: gas-e with 4 at a cost of 3." in told
        assert (
            "recommended: gas-e with 4 at a cost of 3, MAP 0.4950, a change of -1%; 1 of them"
            in told
        )
        assert told.endswith("Values far below are cut off.")

    def test_nothing_was_tested(self):
        untested = [(*point[:4], None) for point in POINTS[2:6]]
        told = describe_front(answer_of(untested, has_costs=False))
        assert "marks" not in told
        assert "cut off" not in told
        ax = plot_front(answer_of(untested, has_costs=False))
        assert ax.get_xlabel() == "number of features"
        assert "shown" not in {text.get_text() for text in ax.get_legend().get_texts()}


def test_captions_are_files_and_on_the_page(tmp_path):
    shown = write_drawing(Drawing(plot_importance([1.0]), "Fig*1", "what $x$\nis"), Path(tmp_path))
    assert (tmp_path / "figures" / "fig1.txt").read_text() == "what $x$ is\n"
    assert shown == "![fig1](figures/fig1.svg)\n\nwhat \\$x\\$ is"
    assert embed("fig1", tmp_path) == shown
