"""Figures: what they draw, and that it can be read in one column of a page, in grey, too."""

import inspect
from dataclasses import replace
from itertools import combinations, pairwise

import matplotlib as mpl
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.text import Text
from scipy.stats import ttest_1samp

import ranksieve.report.figures
from ranksieve import DataError, RankingData, make_ranking
from ranksieve.datasets import open_collection
from ranksieve.report.figures import (
    plot_class_densities,
    plot_curves,
    plot_importance,
    plot_quality_and_time,
    plot_selection_frequency,
    plot_similarity,
    write_figure,
)
from ranksieve.report.figures.style import COLOR_MAP, line_style
from ranksieve.selectors import FSED, FSSCPR, GAS, AllFeatures
from ranksieve.significance import bootstrap_interval
from ranksieve.study import results

SECONDS = {
    "greedy-rankrls": 3.0,
    "gas-e": 0.8,
    "gas-l": 0.9,
    "ig": 0.1,
    "chi": 0.09,
    "fs-ed": 2.5,
    "fs-scpr": 1.2,
    "fsmrank": 40.0,
    "fs-bfs": 900.0,
}
SELECTORS = list(SECONDS)
KS = (1, 2, 3, 5, 10, 20, 46)
N_FEATURES = 46
RANKER = "ranksvm"


def make_study(ks=KS, names=SELECTORS, n_features=N_FEATURES, baselines=("all", "random")):
    """A study of two folds of different size, with values that grow with k; random has 4 seeds."""
    rng = np.random.default_rng(0)
    folds = [
        results.FoldSummary("Fold1", 9, 3, list(range(30))),
        results.FoldSummary("Fold2", 9, 3, range(30, 90)),
    ]
    base = [rng.beta(1, 1, len(fold.query_ids)) * 0.8 for fold in folds]

    def tested(k, lower, n_seeds, seconds):
        def outcome(fold):
            values = np.clip(base[fold] - lower / k + rng.normal(0, 0.05, len(base[fold])), 0, 1)
            features = tuple(rng.permutation(n_features)[:k].tolist())
            measured = {"MAP": values, "NDCG@10": values**2}
            return results.Outcome(
                k, features, {}, {}, 0.5, 0.02, measured, seconds * (fold + 1), 0.1
            )

        return results.Outcomes([[outcome(0), outcome(1)] for _ in range(n_seeds)], folds)

    runs = {}
    for place, name in enumerate((*names, *baselines)):
        n_seeds = {"random": 4, "fs-scpr": 3}.get(name, 1)
        lower = {"all": 0.0, "random": 0.3}.get(name, 0.02 * place)
        sizes = [n_features] if name == "all" else ks
        by_k = {k: tested(k, lower, n_seeds, SECONDS.get(name, 0.0001)) for k in sizes}
        runs[name, RANKER] = results.Run(name, RANKER, by_k[sizes[len(sizes) // 2]], by_k)
    features = [str(number) for number in range(1, n_features + 1)]
    measures = ["NDCG@10", "MAP"]
    return results.StudyResult(
        "demo", "two folds", "standard", "MAP", measures, folds, features, runs
    )


@pytest.fixture(scope="module")
def study():
    return make_study()


@pytest.fixture(scope="module")
def data():
    return make_ranking(40, n_noise=5, random_state=1)[0]


@pytest.fixture(scope="module")
def divergence(data):
    return FSED(3).fit(data)


@pytest.fixture(scope="module")
def figures(study, data, divergence):
    """Makers of one figure of each kind."""
    gas = GAS(3).fit(data)
    wide = make_study(range(1, 47), [f"{name}-validated" for name in SELECTORS])
    many = np.linspace(0.1, 0.9, 60)
    alike = np.where(np.arange(60) // 3 == np.arange(60)[:, None] // 3, 0.95, many * many[:, None])
    return {
        "curves": lambda: plot_curves(study, RANKER),
        "many curves": lambda: plot_curves(wide, RANKER, "ndcg@10"),
        "few curves": lambda: plot_curves(study, RANKER, selectors=["ig", "random"]),
        "times": lambda: plot_quality_and_time(study, RANKER),
        "frequency": lambda: plot_selection_frequency(study, RANKER),
        "importance": lambda: plot_importance(gas.importance_, data.feature_names),
        "many importances": lambda: plot_importance(many),
        "similarity": lambda: plot_similarity(gas.similarity_),
        "many similarities": lambda: plot_similarity(np.minimum(many, many[:, None])),
        "named families": lambda: plot_similarity(alike, names=[f"body_feature_{i}" for i in many]),
        "densities": lambda: plot_class_densities(divergence, data)[0, 0],
    }


KINDS = (
    "curves",
    "many curves",
    "few curves",
    "times",
    "frequency",
    "importance",
    "many importances",
    "similarity",
    "many similarities",
    "named families",
    "densities",
)


@pytest.fixture(scope="module")
def drawn(figures):
    """The figure of a kind, laid out."""
    made = {}

    def draw(kind):
        if kind not in made:
            made[kind] = figures[kind]().get_figure(root=True)
            made[kind].draw_without_rendering()
        return made[kind]

    return draw


def texts_of(figure):
    """What can be read in a figure; matplotlib keeps ticks beyond the limits of an axis, too."""
    beyond = set()
    for ax in figure.axes:
        for axis, limits in ((ax.xaxis, ax.get_xlim()), (ax.yaxis, ax.get_ylim())):
            for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks()):
                if not min(limits) <= tick.get_loc() <= max(limits):
                    beyond |= {id(tick.label1), id(tick.label2)}
    return [
        text
        for text in figure.findobj(Text)
        if text.get_visible() and text.get_text().strip() and id(text) not in beyond
    ]


def lines_of(ax):
    return {line.get_label(): line for line in ax.lines if line.get_label() != "enough"}


def plain_mean(tested, measure):
    """Mean over seeds and folds of the mean over queries."""
    return np.mean([[np.mean(o.per_query[measure]) for o in seed] for seed in tested.outcomes])


def joined(tested, measure):
    """Values of all queries, averaged over seeds."""
    seeds = [np.concatenate([o.per_query[measure] for o in seed]) for seed in tested.outcomes]
    return np.mean(seeds, axis=0)


def ends_at(collection, x):
    """Lowest and highest point of a shaded area at x."""
    (path,) = collection.get_paths()
    heights = path.vertices[np.isclose(path.vertices[:, 0], x), 1]
    return heights.min(), heights.max()


def with_losses(losses):
    """A study whose selectors lose this much of each query, give or take a little, by k."""
    study = make_study(names=["ig"])
    rng = np.random.default_rng(1)
    base = study.runs["all", RANKER].chosen

    def tested(k, loss):
        outcomes = [
            replace(
                outcome,
                k=k,
                features=tuple(range(k)),
                per_query={
                    m: v * (1 - loss + rng.normal(0, 1e-3, len(v)))
                    for m, v in outcome.per_query.items()
                },
            )
            for outcome in base.outcomes[0]
        ]
        return results.Outcomes([outcomes], study.folds)

    runs = {("all", RANKER): study.runs["all", RANKER]}
    for name, by_k in losses.items():
        found = {k: tested(k, loss) for k, loss in by_k.items()}
        runs[name, RANKER] = results.Run(name, RANKER, found[max(found)], found)
    return replace(study, runs=runs)


def plain_enough(study, selector, margin=0.01):
    """Fewest features that a t-test shows to keep 99 % of the mean, and all larger numbers, too.

    Its level is divided by the number of selectors.
    """
    level = 0.05 / len({name for name, _ in study.runs} - {"all", "random"})
    base = joined(study.runs["all", RANKER].chosen, "MAP")
    found = None
    for k, tested in sorted(study.runs[selector, RANKER].by_k.items(), reverse=True):
        kept = joined(tested, "MAP") - (1 - margin) * base
        if ttest_1samp(kept, 0, alternative="greater").pvalue >= level:
            break
        found = k
    return found


class TestAllFigures:
    @pytest.mark.parametrize("kind", KINDS)
    def test_text_is_large_enough_and_inside(self, drawn, kind):
        figure = drawn(kind)
        assert figure.get_size_inches()[0] == 3.5
        page = figure.bbox.padded(1)
        texts = texts_of(figure)
        assert len(texts) >= 5
        for text in texts:
            box = Text.get_window_extent(text)
            assert text.get_fontsize() >= 7
            assert "^" not in text.get_text()  # would be smaller than the rest
            assert page.x0 <= box.x0 <= box.x1 <= page.x1, text
            assert page.y0 <= box.y0 <= box.y1 <= page.y1, text

    @pytest.mark.parametrize("kind", KINDS)
    def test_no_text_overlaps(self, drawn, kind):
        boxes = [(text, Text.get_window_extent(text)) for text in texts_of(drawn(kind))]
        for (one, box), (other, beside) in combinations(boxes, 2):
            assert not box.padded(-0.5).overlaps(beside.padded(-0.5)), (one, other)

    @pytest.mark.parametrize("kind", ["curves", "many curves", "few curves", "times"])
    def test_legend_is_off_the_data(self, drawn, kind):
        figure = drawn(kind)
        (ax,) = figure.axes
        legend = ax.get_legend().get_window_extent()
        assert legend.y0 >= ax.get_window_extent().y1
        assert ax.get_window_extent().height >= 1.7 * figure.dpi  # left for the data
        assert figure.bbox.y1 >= legend.y1

    @pytest.mark.parametrize("kind", KINDS)
    def test_same_bytes_again_and_no_state_is_left(self, figures, tmp_path, kind):
        from matplotlib import pyplot

        before = dict(mpl.rcParams)
        # A picture of dots is drawn and written in the same way for all kinds.
        starts = {"svg": b"<?xml"} | ({"png": b"\x89PNG"} if kind == "few curves" else {})
        for name in ("first", "second"):
            ax = figures[kind]()
            for suffix in starts:
                write_figure(ax, tmp_path / f"{name}.{suffix}")
        for suffix, start in starts.items():
            first = (tmp_path / f"first.{suffix}").read_bytes()
            assert first.startswith(start)
            assert first == (tmp_path / f"second.{suffix}").read_bytes()
        assert pyplot.get_fignums() == []
        assert dict(mpl.rcParams) == before

    def test_axes_of_others_are_used(self, study):
        left, right = Figure(layout="constrained").subplots(1, 2)
        drawn = [
            plot_curves(study, RANKER, ax=right),
            plot_quality_and_time(study, RANKER, ax=right),
            plot_selection_frequency(study, RANKER, ax=right),
            plot_importance([1.0, 2.0], ax=right),
            plot_similarity(np.eye(3), ax=right),
        ]
        assert all(ax is right for ax in drawn)
        assert not left.has_data()

    def test_every_function_has_an_example(self):
        for name in ranksieve.report.figures.__all__:
            if name.startswith("plot_"):
                assert ">>> ax" in inspect.getdoc(getattr(ranksieve.report.figures, name)), name


class TestStyle:
    def test_lines_differ_without_color(self):
        styles = [line_style(place) for place in range(72)]
        assert len({(style["linestyle"], style["marker"]) for style in styles}) == 72

    def test_the_same_color_has_other_dashes(self):
        for one, other in combinations(map(line_style, range(14)), 2):
            assert one["color"] != other["color"] or one["linestyle"] != other["linestyle"]

    def test_colors_get_darker_in_grey(self):
        colors = mpl.colormaps[COLOR_MAP](np.linspace(0, 1, 256))[:, :3]
        assert np.all(np.diff(colors @ [0.2126, 0.7152, 0.0722]) < 0)

    def test_selectors_look_the_same_in_all_figures(self, study):
        everything = lines_of(plot_curves(study, RANKER))
        few = lines_of(plot_curves(study, RANKER, selectors=["fs-ed", "ig"]))
        points = plot_quality_and_time(study, RANKER, selectors=["ig"]).lines[-1]
        for name in ("fs-ed", "ig"):
            for of in ("get_color", "get_linestyle", "get_marker"):
                assert getattr(few[name], of)() == getattr(everything[name], of)()
        assert points.get_marker() == few["ig"].get_marker()
        assert points.get_color() == few["ig"].get_color()


class TestCurves:
    @pytest.mark.parametrize("measure", ["MAP", "NDCG@10"])
    def test_lines_are_means_over_folds(self, study, measure):
        lines = lines_of(plot_curves(study, RANKER, measure.lower()))
        assert list(lines) == ["all features", *SELECTORS, "random"]
        for name in (*SELECTORS, "random"):
            by_k = study.runs[name, RANKER].by_k
            x, y = lines[name].get_data()
            np.testing.assert_array_equal(x, KS)
            np.testing.assert_allclose(y, [plain_mean(by_k[k], measure) for k in KS])
        level = plain_mean(study.runs["all", RANKER].chosen, measure)
        np.testing.assert_allclose(lines["all features"].get_ydata(), level)

    def test_labels(self, study):
        ax = plot_curves(study, RANKER)
        assert ax.get_xlabel() == "number of features"
        assert ax.get_ylabel() == "MAP on test queries"  # that of the tuning, not the first
        assert ax.get_xscale() == "log"
        assert [int(tick.get_text()) for tick in ax.get_xticklabels()] == list(KS)
        other = replace(study, tune="P@5")
        assert plot_curves(other, RANKER).get_ylabel() == "NDCG@10 on test queries"

    def test_lines_differ_in_grey(self, study):
        lines = [line for line in plot_curves(study, RANKER).lines if len(line.get_xdata()) > 2]
        looks = {(str(line.get_linestyle()), line.get_marker()) for line in lines}
        assert len(looks) == len(SELECTORS) + 1
        grey = to_rgb(lines[-1].get_color())
        assert lines[-1].get_label() == "random"
        assert grey[0] == grey[1] == grey[2]

    def test_two_bands_and_the_range_of_random(self, study):
        ax = plot_curves(study, RANKER)
        means = {
            name: np.mean([plain_mean(t, "MAP") for t in study.runs[name, RANKER].by_k.values()])
            for name in SELECTORS
        }
        best = sorted(means, key=means.get)[-2:]
        colors = {name: lines_of(ax)[name].get_color() for name in (*best, "random")}
        shaded = {tuple(area.get_facecolor()[0][:3]): area for area in ax.collections}
        assert set(shaded) == {to_rgb(color) for color in colors.values()}

        base = study.runs["all", RANKER].chosen
        for name in best:
            for k, tested in study.runs[name, RANKER].by_k.items():
                a, b = joined(tested, "MAP"), joined(base, "MAP")
                interval = bootstrap_interval(a, b, n_resamples=2000)
                shift = plain_mean(tested, "MAP") - (a - b).mean()
                found = ends_at(shaded[to_rgb(colors[name])], k)
                np.testing.assert_allclose(found, [interval.lower + shift, interval.upper + shift])
                # It is the interval of a difference: about two standard errors to either side.
                error = (a - b).std(ddof=1) / np.sqrt(len(a))
                np.testing.assert_allclose(np.diff(found), 2 * 1.96 * error, rtol=0.15)

        for k, tested in study.runs["random", RANKER].by_k.items():
            seeds = [np.mean([o.per_query["MAP"].mean() for o in s]) for s in tested.outcomes]
            found = ends_at(shaded[to_rgb(colors["random"])], k)
            np.testing.assert_allclose(found, [min(seeds), max(seeds)])

    def test_a_random_order_far_below_is_cut_off(self, study):
        best = SELECTORS[0]
        ax = plot_curves(study, RANKER, selectors=["random", best], bands=[])
        means = {
            name: [plain_mean(tested, "MAP") for tested in study.runs[name, RANKER].by_k.values()]
            for name in (best, "all", "random")
        }
        selected = means[best] + means["all"]
        low, high = min(selected), max(selected)
        assert min(means["random"]) < low - (high - low)
        assert ax.get_ylim()[0] == pytest.approx(low - (high - low))
        assert ax.get_ylim()[1] > high
        alone = plot_curves(study, RANKER, selectors=["random"])
        assert alone.get_ylim()[0] < min(means["random"])

    @pytest.mark.parametrize("measure", ["MAP", "NDCG@10"])
    def test_the_margin_is_a_strip_below_all_features(self, study, measure):
        ax = plot_curves(study, RANKER, measure)
        (strip,) = ax.patches
        level = plain_mean(study.runs["all", RANKER].chosen, measure)
        ends = strip.get_y(), strip.get_y() + strip.get_height()
        np.testing.assert_allclose(ends, (0.99 * level, level))
        assert strip.get_label() == "1% margin"

    def test_a_ring_is_around_what_is_enough(self):
        steady = with_losses({"ig": {1: 0.3, 2: 0.0, 5: 0.1, 10: 0.001, 20: 0.0}, "chi": {20: 0.3}})
        ax = plot_curves(steady, RANKER)
        (ring,) = [line for line in ax.lines if line.get_label() == "enough"]
        k = plain_enough(steady, "ig")
        assert (k, plain_enough(steady, "chi")) == (10, None)
        mean = plain_mean(steady.runs["ig", RANKER].by_k[k], "MAP")
        np.testing.assert_allclose(ring.get_data(), [[k], [mean]])
        assert "enough" in [text.get_text() for text in ax.get_legend().get_texts()]
        nothing = plot_curves(with_losses({"chi": {20: 0.3}}), RANKER)
        assert "enough" not in [line.get_label() for line in nothing.lines]

    def test_bands_of_one_number_of_features(self):
        ax = plot_curves(make_study([7], ["ig"]), RANKER)
        ends = [area.get_segments()[0][:, 1] for area in ax.collections]
        assert len(ends) == 2  # of ig and of random
        assert all(low < high for low, high in ends)

    def test_bands_that_are_asked_for(self, study):
        names = ["ig", "chi", "fs-ed"]
        assert len(plot_curves(study, RANKER, selectors=names, bands=names).collections) == 3
        assert not plot_curves(study, RANKER, selectors=names, bands=[]).collections
        with pytest.raises(DataError, match="'gas-e' needs its line; drawn are ig, chi, fs-ed"):
            plot_curves(study, RANKER, selectors=names, bands=["gas-e"])

    def test_without_all_features_there_is_no_band(self):
        ax = plot_curves(make_study(baselines=()), RANKER)
        assert [line.get_label() for line in ax.lines] == SELECTORS
        assert not ax.collections

    def test_all_features_are_a_line_only(self, study):
        ax = plot_curves(study, RANKER, selectors=["all", "ig"])
        assert [line.get_label() for line in ax.lines] == ["all features", "ig"]

    @pytest.mark.parametrize(
        ("ks", "scale", "labeled"),
        [
            ([7], "linear", [7]),
            ([5, 10, 20, 40], "linear", [5, 10, 20, 40]),
            ([1, 2, 5, 10, 20, 50, 100, 200, 699], "log", [1, 2, 5, 10, 20, 50, 100, 200, 699]),
        ],
    )
    def test_ticks(self, ks, scale, labeled):
        ax = plot_curves(make_study(ks, ["ig"], 699), RANKER)
        assert ax.get_xscale() == scale
        assert [int(tick.get_text()) for tick in ax.get_xticklabels()] == labeled

    @given(st.sets(st.integers(1, 999), min_size=1, max_size=60))
    def test_ends_are_labeled_and_labels_do_not_overlap(self, ks):
        ax = plot_curves(make_study(sorted(ks), ["ig"], 999, baselines=()), RANKER)
        ax.figure.draw_without_rendering()
        labels = [tick for tick in ax.get_xticklabels() if tick.get_text()]
        numbers = [int(tick.get_text()) for tick in labels]
        assert numbers[0] == min(ks)
        assert numbers[-1] == max(ks)
        assert set(numbers) <= ks
        boxes = [tick.get_window_extent() for tick in labels]
        assert all(a.x1 <= b.x0 for a, b in pairwise(boxes))


class TestUnknownNames:
    @pytest.mark.parametrize("plot", [plot_curves, plot_quality_and_time, plot_selection_frequency])
    def test_rankers_and_selectors(self, study, plot):
        with pytest.raises(DataError, match="'lambdamart' is not in the study.* rankers ranksvm"):
            plot(study, "lambdamart")
        with pytest.raises(DataError, match="'mmr' with 'ranksvm' is not in the study"):
            plot(study, RANKER, selectors=["ig", "mmr"])
        with pytest.raises(DataError, match="there is no selector to draw"):
            plot(study, RANKER, selectors=["all"])

    @pytest.mark.parametrize("plot", [plot_curves, plot_quality_and_time])
    def test_measures(self, study, plot):
        with pytest.raises(DataError, match="P@5 is not in the study; it has NDCG@10, MAP"):
            plot(study, RANKER, "p@5")
        with pytest.raises(ValueError, match="unknown measure 'quality'"):
            plot(study, RANKER, "quality")


class TestQualityAndTime:
    def test_points(self, study):
        ax = plot_quality_and_time(study, RANKER)
        level, *points = ax.lines
        for name, point in zip((*SELECTORS, "random"), points, strict=True):
            chosen = study.runs[name, RANKER].chosen
            ((x,), (y,)) = point.get_data()
            assert x == pytest.approx(1.5 * SECONDS.get(name, 0.0001))  # of two folds
            assert y == pytest.approx(plain_mean(chosen, "MAP"))
        chosen = study.runs["all", RANKER].chosen
        np.testing.assert_allclose(level.get_ydata(), plain_mean(chosen, "MAP"))
        named = [text.get_text() for text in ax.get_legend().get_texts()]
        assert named == ["all features", *SELECTORS, "random"]
        assert (ax.get_xscale(), ax.get_xlabel()) == ("log", "seconds of one selection")
        assert ax.get_ylabel() == "MAP on test queries"

    def test_plain_numbers_on_the_scale_of_time(self, study):
        for names, expected in ((None, {"0.01", "1", "100"}), (["gas-e", "fs-ed"], {"1", "2"})):
            ax = plot_quality_and_time(study, RANKER, selectors=names)
            ax.figure.draw_without_rendering()
            assert expected <= {tick.get_text() for tick in ax.get_xticklabels()}
            low, high = ax.get_xlim()
            assert high >= 9.99 * low

    def test_no_time_at_all(self, study):
        run = study.runs["ig", RANKER]
        outcomes = [replace(outcome, selection_seconds=0.0) for outcome in run.chosen.outcomes[0]]
        instant = replace(run, chosen=results.Outcomes([outcomes], study.folds))
        ax = plot_quality_and_time(replace(study, runs={("ig", RANKER): instant}), RANKER)
        assert ax.lines[0].get_xdata()[0] == pytest.approx(1e-6)
        assert [text.get_text() for text in ax.get_legend().get_texts()] == ["ig"]

    def test_points_differ_without_color(self):
        looks = [line_style(place) for place in range(36)]
        assert len({(look["marker"], look["fillstyle"]) for look in looks}) == 36


class TestSelectionFrequency:
    def counted(self, study, k):
        """Share of the selections of each selector that have each feature, counted plainly."""
        table = np.zeros((len(SELECTORS), N_FEATURES))
        for row, name in enumerate(SELECTORS):
            run = study.runs[name, RANKER]
            tested = run.chosen if k is None else run.by_k[k]
            selections = [set(o.features) for seed in tested.outcomes for o in seed]
            for feature in range(N_FEATURES):
                taken = sum(feature in selection for selection in selections)
                table[row, feature] = taken / len(selections)
        return table

    @pytest.mark.parametrize("k", [None, 1, 10])
    def test_shares(self, study, k):
        ax = plot_selection_frequency(study, RANKER, k)
        table = self.counted(study, k)
        shown = [int(tick.get_text()) - 1 for tick in ax.get_xticklabels()]
        np.testing.assert_allclose(ax.images[0].get_array(), table[:, shown])
        assert [tick.get_text() for tick in ax.get_yticklabels()] == SELECTORS
        totals = table.sum(axis=0)
        assert all(totals[a] >= totals[b] for a, b in pairwise(shown))
        assert len(shown) == min(25, np.count_nonzero(totals))
        hidden = np.delete(totals, shown)
        assert hidden.max() <= totals[shown[-1]]
        assert totals[shown].min() > 0
        assert ax.images[0].get_clim() == (0, 1)

    def test_labels(self, study):
        ax = plot_selection_frequency(study, RANKER, 1, selectors=["ig", "chi"])
        assert ax.get_xlabel() == "features, the most often selected first"
        assert ax.images[0].colorbar.ax.get_xlabel() == "share of folds"
        named = replace(study, feature_names=[f"name {i}" for i in range(N_FEATURES)])
        ax = plot_selection_frequency(named, RANKER, 20, n_shown=3)
        assert ax.get_xlabel() == "the 3 most often selected, of 46"
        assert ax.images[0].colorbar.ax.get_xlabel() == "share of folds and seeds"  # of fs-scpr
        assert all(tick.get_text().startswith("name ") for tick in ax.get_xticklabels())

    def test_bad_numbers(self, study):
        with pytest.raises(DataError, match="was not run with 4 features, but with 1, 2, 3, 5, 10"):
            plot_selection_frequency(study, RANKER, 4)
        with pytest.raises(ValueError, match="n_shown must be at least 1, got -1"):
            plot_selection_frequency(study, RANKER, n_shown=-1)


class TestImportance:
    def test_bars(self):
        ax = plot_importance([0.2, 0.9, -0.1, 0.9], ["a", "b", "c", "d"], label="MAP")
        assert [tick.get_text() for tick in ax.get_yticklabels()] == ["b", "d", "a", "c"]
        assert [bar.get_width() for bar in ax.patches] == [0.9, 0.9, 0.2, -0.1]
        assert ax.get_xlabel() == "MAP"
        low, high = ax.get_ylim()
        assert low > high  # the first on top
        few = plot_importance([0.2, 0.9, -0.1, 0.9], n_shown=2)
        assert [tick.get_text() for tick in few.get_yticklabels()] == ["2", "4"]

    def test_of_many_the_best_are_named(self):
        values = np.random.default_rng(0).random(700)
        order = np.argsort(-values, kind="stable")
        ax = plot_importance(values, label="MAP")
        *bars, others = ax.patches
        assert [bar.get_width() for bar in bars] == values[order[:20]].tolist()
        np.testing.assert_array_equal(others.get_data().values, values[order[20:]])
        named = [str(feature + 1) for feature in order[:20]]
        assert [tick.get_text() for tick in ax.get_yticklabels()] == [*named, "680 others"]
        assert ax.get_xlabel() == "MAP"
        assert len(plot_importance(values, n_shown=30).patches) == 30

    def test_bad_input(self):
        with pytest.raises(DataError, match="one finite number for each feature"):
            plot_importance([0.1, np.nan])
        with pytest.raises(DataError, match="one finite number for each feature"):
            plot_importance(np.eye(2))
        with pytest.raises(DataError, match="there are 1 names but 2 features"):
            plot_importance([0.1, 0.2], ["a"])
        with pytest.raises(ValueError, match="n_shown must be at least 1, got 0"):
            plot_importance([0.1, 0.2], n_shown=0)


class TestSimilarity:
    def test_by_cluster(self):
        rng = np.random.default_rng(0)
        values = rng.random((7, 7))
        values = (values + values.T) / 2
        clusters = [0, 1, 2, 1, -1, 2, 1]
        ax = plot_similarity(values, clusters, list("abcdefg"), label="tau")
        names = [tick.get_text() for tick in ax.get_yticklabels()]
        assert [set(names[:3]), set(names[3:5]), *names[5:]] == [set("bdg"), set("cf"), "a", "e"]
        order = [ord(name) - ord("a") for name in names]
        np.testing.assert_array_equal(ax.images[0].get_array(), values[np.ix_(order, order)])
        frames = {(p.get_x(), p.get_y(), p.get_width(), p.get_height()) for p in ax.patches}
        assert frames == {(-0.5, -0.5, 3, 3), (2.5, 2.5, 2, 2), (4.5, 4.5, 1, 1)}
        assert ax.get_xlabel() == "features, by cluster"
        assert ax.images[0].colorbar.ax.get_ylabel() == "tau"

    @given(st.lists(st.integers(0, 3), min_size=1, max_size=20), st.randoms(use_true_random=False))
    def test_a_tree_brings_like_features_together(self, families, random):
        random.shuffle(families)
        families = np.array(families)
        values = np.where(families == families[:, None], 0.9, 0.1)
        ax = plot_similarity(values)
        order = [int(tick.get_text()) - 1 for tick in ax.get_yticklabels()]
        assert sorted(order) == list(range(len(families)))
        changes = np.count_nonzero(np.diff(families[order]))
        assert changes == len(np.unique(families)) - 1
        assert not ax.patches

    def test_the_tree_joins_columns_at_their_distance(self):
        values = np.array([[1.0, 0.2, 0.9], [0.2, 1.0, 0.4], [0.9, 0.4, 1.0]])
        ax = plot_similarity(values)
        names = [tick.get_text() for tick in ax.get_yticklabels()]
        tree = next(inset for inset in ax.child_axes if inset.collections)
        first, last = (np.array(path.vertices) for path in tree.collections[0].get_paths())
        joined = {names.index("1"), names.index("3")}
        assert set(first[[0, -1], 0]) == joined
        np.testing.assert_allclose(first[1:3, 1], 0.1)
        np.testing.assert_allclose(last[1:3, 1], 1 - (0.2 + 0.4) / 2)
        assert set(last[[0, -1], 0]) == {names.index("2"), sum(joined) / 2}
        assert tree.get_xlim() == ax.get_xlim()
        with_clusters = plot_similarity(values, [0, 0, 1])
        assert len(with_clusters.child_axes) == 1  # the scale of colors

    def test_of_many_families_are_named_first(self):
        families = np.arange(100) // 10
        values = np.where(families == families[:, None], 0.95, 0.1)
        values[:, 25] = values[25] = np.where(families == 2, 0.97, 0.1)  # the most typical
        np.fill_diagonal(values, 1.0)
        ax = plot_similarity(values, names=[f"n{i}" for i in range(100)])
        named = [tick.get_text() for tick in ax.get_yticklabels()]
        expected = {f"n{25 if first == 20 else first} +9" for first in range(0, 100, 10)}
        assert set(named) == expected
        drawn = ax.images[0].get_array()
        for row, name in zip(ax.get_yticks(), named, strict=True):
            members = np.flatnonzero(drawn[int(row)] > 0.9)
            assert row == members.mean(), name

    def test_range_of_colors(self):
        assert plot_similarity([[0.4, 0.2], [0.2, 0.4]]).images[0].get_clim() == (0, 1)
        low, high = plot_similarity([[1, -0.23], [-0.23, 1]]).images[0].get_clim()
        assert (low, high) == (pytest.approx(-0.3), 1)
        assert plot_similarity([[3.0, 1.0], [1.0, 3.0]]).images[0].get_clim() == (0, 3)

    def test_clusters_of_a_selector(self, data):
        selector = FSSCPR(4).fit(data)
        ax = plot_similarity(selector.similarity_, selector.clusters_)
        assert len(ax.patches) == 2 * 4  # black on white

    def test_bad_input(self):
        with pytest.raises(DataError, match=r"a row and a column per feature, not \(2, 3\)"):
            plot_similarity(np.ones((2, 3)))
        with pytest.raises(DataError, match="finite and symmetric"):
            plot_similarity([[1.0, 0.2], [0.3, 1.0]])
        with pytest.raises(DataError, match="finite and symmetric"):
            plot_similarity([[np.nan]])
        with pytest.raises(DataError, match=r"clusters has shape \(3,\), but there are 2 features"):
            plot_similarity(np.eye(2), [0, 0, 1])
        with pytest.raises(DataError, match="there are 3 names but 2 features"):
            plot_similarity(np.eye(2), names="abc")


def plain_density(values, points):
    """A Gaussian kernel density with Silverman's bandwidth."""
    quartiles = np.percentile(values, [25, 75])
    spread = values.std(ddof=1)
    if quartiles[1] > quartiles[0]:
        spread = min(spread, (quartiles[1] - quartiles[0]) / 1.34)
    h = 0.9 * spread * len(values) ** -0.2
    kernels = np.exp(-0.5 * ((points[:, None] - values) / h) ** 2) / np.sqrt(2 * np.pi)
    return kernels.mean(axis=1) / h


class TestClassDensities:
    def test_densities(self, data, divergence, everywhere):
        axes = plot_class_densities(divergence, everywhere(data), 2)
        assert axes.shape == (2, 2)
        order = np.argsort(-divergence.scores_, kind="stable")
        grades = np.unique(data.y)
        for ax, feature in zip(axes.flat, [*order[:2], *order[-2:]], strict=True):
            assert ax.get_title() == data.feature_names[feature]
            assert len(ax.lines) == len(grades)
            for grade, line in zip(grades, ax.lines, strict=True):
                assert line.get_label() == f"grade {grade:g}"
                values = data.X[data.y == grade, feature]
                x, y = line.get_data()
                np.testing.assert_allclose(y, plain_density(values, x), rtol=1e-9, atol=1e-12)
                assert np.trapezoid(y, x) == pytest.approx(1, abs=0.01)
                assert x[0] < data.X[:, feature].min() <= data.X[:, feature].max() < x[-1]

    def test_lines_differ_in_grey(self, data):
        few = data._replace(y=np.minimum(data.y, 3))
        ax = plot_class_densities(FSED(3).fit(few), few)[0, 0]
        assert [line.get_linestyle() for line in ax.lines] == ["-", "--", "-.", ":"]

    def test_constant_features_are_left_out(self, data):
        X = np.column_stack([data.X, np.ones(data.n_rows), data.query_codes])
        wider = RankingData(X, data.y, data.qid)
        axes = plot_class_densities(FSED(3).fit(wider), wider, 3)
        constant = {str(data.n_features + 1), str(data.n_features + 2)}
        assert not constant & {ax.get_title() for ax in axes.flat}

    def test_figures_of_others_are_used(self, data, divergence):
        left, right = Figure(layout="constrained").subfigures(1, 2)
        axes = plot_class_densities(divergence, data, 1, figure=right)
        assert right.axes == list(axes.flat)
        assert not left.axes

    def test_bad_input(self, data, divergence):
        with pytest.raises(DataError, match="AllFeatures has no score for each feature"):
            plot_class_densities(AllFeatures().fit(data), data)
        with pytest.raises(DataError, match=f"has {data.n_features} features, but the data has 2"):
            plot_class_densities(divergence, data.take_features([0, 1]))
        alone = data.take_features([0])
        with pytest.raises(
            DataError, match="two rows need two features that vary, but there are 1"
        ):
            plot_class_densities(FSED(1).fit(alone), alone)

    def test_few_features_are_shown_once(self, data):
        few = data.take_features([0, 1, 2])
        axes = plot_class_densities(FSED(1).fit(few), few, 50)
        assert axes.shape == (2, 1)
        assert axes[0, 0].get_title() != axes[1, 0].get_title()
        assert all(len(ax.get_yticks()) >= 2 for ax in axes.flat)
        assert [ax.get_ylabel() for ax in axes[:, 0]] == [
            "density\n(largest scores)",
            "density\n(smallest scores)",
        ]


def test_figures_of_real_data(mq2008_dir, tmp_path):
    train, validation, _ = open_collection(mq2008_dir).read_fold(0)
    gas = GAS(10).fit(train)
    curve = plot_importance(gas.importance_, train.feature_names, label="MAP")
    assert len(curve.patches[-1].get_data().values) == 26
    tree = plot_similarity(gas.similarity_)
    assert tree.images[0].get_array().shape == (46, 46)
    selector = FSED(10).fit(train, eval_set=validation)
    axes = plot_class_densities(selector, train)
    assert [ax.get_title() for ax in axes[0]] == [str(i + 1) for i in selector.selected_[:3]]
    for place, ax in enumerate((curve, tree, axes[0, 0])):
        write_figure(ax, tmp_path / f"{place}.pdf")
        assert (tmp_path / f"{place}.pdf").read_bytes().startswith(b"%PDF")
