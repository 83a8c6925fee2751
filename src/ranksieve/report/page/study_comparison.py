"""Sections of a study's page about quality: curves, comparisons, queries, cost."""

from __future__ import annotations

from ranksieve.report.page.charts.bars import Bar, draw_bars
from ranksieve.report.page.charts.cells import Difference, draw_matrix
from ranksieve.report.page.charts.curves import Curve, Level, draw_curves, draw_gains
from ranksieve.report.page.charts.svg import color_class
from ranksieve.report.page.page import Chart, Section, Table
from ranksieve.report.sheets.study_quality import comparison_sheet, curves_sheet, queries_sheet
from ranksieve.report.sheets.study_selections import cost_sheet, stability_sheet
from ranksieve.report.sheets.study_statistics import pairs_sheet
from ranksieve.study.comparison import (
    LEVEL,
    MARGIN,
    Pair,
    claim_enough,
    compare_pairs,
    enough_features,
)
from ranksieve.study.results import BASE, RANDOM, Run, StudyResult
from ranksieve.text import every, quantity


def css_classes_of(result: StudyResult) -> dict[str, str]:
    """Selector -> classes of its color and dashes, in all charts; baselines are gray."""
    classes = {name: color_class(index) for index, name in enumerate(result.selecting)}
    return classes | {BASE: "s-", RANDOM: "s- d2"}


def curves_section(result: StudyResult) -> Section | None:
    """Quality against the number of features, with each ranker."""
    selecting = [name for name in result.selectors if name != BASE]
    if not selecting:
        return None
    blocks: list[Chart | Table] = []
    for ranker in result.rankers:
        blocks.append(_curves(result, ranker))
        blocks.append(Table(comparison_sheet(result, ranker), is_open=False))
        others = [measure for measure in result.measures if measure != result.main_measure]
        blocks += [Table(curves_sheet(result, ranker, name), is_open=False) for name in others]
    lead = (
        f"How good a ranker is with how many features: mean {result.main_measure} on test queries. "
        "A selector whose line reaches that of all features early needs few features."
    )
    return Section("Quality by number of features", lead, blocks)


def _curves(result: StudyResult, ranker: str) -> Chart:
    measure, classes = result.main_measure, css_classes_of(result)
    base = result.runs.get((BASE, ranker))
    runs = [run for run in result.of_ranker(ranker) if run.selector != BASE]
    level = None
    if base is not None:
        mean = base.chosen.mean(measure)
        level = Level("all features", mean, MARGIN * mean)
    curves = [_curve(result, run, base is not None, classes[run.selector]) for run in runs]
    svg = draw_curves(
        curves,
        f"{measure} against the number of features, with {ranker}",
        "number of features",
        f"{measure} on test queries",
        level,
        sorted({k for run in runs for k in run.by_k}),
    )
    caption = (
        f"Each point is a mean over {quantity(len(result.folds), 'fold')} (and seeds); lines that "
        "are far below the others are cut off."
    )
    if base is not None:
        caption += (
            f" The dashed line is all {quantity(len(result.feature_names), 'feature')}, and the "
            f"band below it the {MARGIN:.0%} that a selection may lose. A ring is the fewest "
            f"features that are shown to lose less, at the {1 - LEVEL:.0%} level for each selector "
            "alone."
        )
    if any(run.selector == RANDOM for run in runs):
        caption += " Dotted: random orders."
    return Chart(svg, caption, Table(curves_sheet(result, ranker, measure)), f"With {ranker}")


def _curve(result: StudyResult, run: Run, has_base: bool, css: str) -> Curve:
    measure, sizes = result.main_measure, list(run.by_k)
    enough = None
    if has_base and run.selector != RANDOM:
        enough = enough_features(result, run.selector, run.ranker, measure)
    if enough == len(result.feature_names):  # not informative
        enough = None
    return Curve(
        run.selector,
        sizes,
        [tested.mean(measure) for tested in run.by_k.values()],
        [_tip(result, run, k, has_base, k == enough) for k in sizes],
        css,
        None if enough is None else sizes.index(enough),
        may_leave=run.selector == RANDOM,
    )


def _tip(result: StudyResult, run: Run, k: int, has_base: bool, is_enough: bool) -> str:
    measure, tested = result.main_measure, run.by_k[k]
    lines = [
        f"{run.selector}, {quantity(k, 'feature')}",
        f"{measure} {tested.mean(measure):.4f}",
    ]
    if has_base:
        claim = claim_enough(result, tested, run.ranker, measure)
        lines.append(f"{claim.change:+.1%} against all features (lower bound {claim.lower:+.1%})")
    if is_enough:
        lines.append("fewest shown to be enough")
    return "\n".join(lines)


def pairs_section(result: StudyResult) -> Section | None:
    """Comparison of all pairs of selectors, with each ranker."""
    pairs = compare_pairs(result)
    if not pairs:
        return None
    blocks = [_matrix(result, ranker, pairs) for ranker in result.rankers]
    lead = (
        f"Every selector against every other, with the number of features that validation queries "
        f"chose: difference of the mean {result.main_measure}."
    )
    return Section("Who is better than whom", lead, blocks)


def _matrix(result: StudyResult, ranker: str, pairs: list[Pair]) -> Chart:
    own = [pair for pair in pairs if pair.ranker == ranker]
    cells = {}
    for pair in own:
        cells[pair.selector, pair.base] = _difference(pair, 1)
        cells[pair.base, pair.selector] = _difference(pair, -1)
    runs = result.of_ranker(ranker)
    names = [
        run.selector for run in sorted(runs, key=lambda run: -run.chosen.mean(result.main_measure))
    ]
    n_better = sum(pair.adjusted < 1 - LEVEL for pair in own)
    svg = draw_matrix(names, cells, f"Differences of {result.main_measure} with {ranker}")
    caption = (
        f"A cell is the row minus the column, the best mean first. Colored and bold: significant "
        f"at the {1 - LEVEL:.0%} level (paired t-test over queries, Holm's correction for "
        f"{every(len(pairs), 'pair')} of the study); green if the row is better. That holds for "
        f"{n_better} of {quantity(len(own), 'pair')}; for the others, the study does not show "
        "which is better."
    )
    return Chart(svg, caption, Table(pairs_sheet(result, ranker, pairs)), f"With {ranker}")


def _difference(pair: Pair, sign: int) -> Difference:
    first, second = (pair.selector, pair.base)[::sign]
    low, high = sorted(sign * end for end in pair.interval[1:])
    won, tied, lost = pair.counts[::sign]
    tip = (
        f"{first} - {second}: {sign * pair.difference:+z.4f}\n"
        f"{LEVEL:.0%} interval {low:+.4f} to {high:+.4f}\n"
        f"p {pair.p_value:.2g}, adjusted {pair.adjusted:.2g}\n"
        f"queries won {won:,}, tied {tied:,}, lost {lost:,}"
    )
    return Difference(sign * pair.difference, pair.adjusted < 1 - LEVEL, tip)


def queries_section(result: StudyResult) -> Section | None:
    """Gains and losses of queries compared with all features, with each ranker."""
    selecting = [name for name in result.selectors if name != BASE]
    if not selecting or BASE not in result.selectors:
        return None
    blocks = [_gains(result, ranker) for ranker in result.rankers]
    lead = (
        f"{result.main_measure} of each test query with the selected features, minus that with all "
        "features. A good mean can hide large losses: look at the right end."
    )
    return Section("Queries that gain and lose", lead, blocks)


def _gains(result: StudyResult, ranker: str) -> Chart:
    measure, classes = result.main_measure, css_classes_of(result)
    base = result.run(BASE, ranker).chosen.per_query(measure)
    differences = [
        (run.selector, classes[run.selector], run.chosen.per_query(measure) - base)
        for run in result.of_ranker(ranker)
        if run.selector != BASE
    ]
    svg = draw_gains(differences, f"Gains and losses of {measure} with {ranker}")
    caption = (
        f"Each chart has all {quantity(result.n_queries, 'test query', 'test queries')} in order, "
        "the largest gain at the left and the largest loss at the right, on one scale; in "
        "parentheses are these two. Queries without a difference are neither won nor lost. The "
        "table has the ids of those that lose and gain most."
    )
    return Chart(svg, caption, Table(queries_sheet(result, ranker)), f"With {ranker}")


def cost_section(result: StudyResult) -> Section:
    """Seconds of selection and training, and stability, with each ranker."""
    blocks: list[Chart | Table] = []
    for ranker in result.rankers:
        blocks.append(_times(result, ranker))
        blocks.append(Table(stability_sheet(result, ranker), is_open=False))
    lead = "How long the selection takes, and how long training takes with the selected features."
    return Section("Cost and time", lead, blocks)


def _times(result: StudyResult, ranker: str) -> Chart:
    classes = css_classes_of(result)
    bars = []
    for run in result.of_ranker(ranker):
        both = run.chosen.selection_seconds, run.chosen.training_seconds
        for what, seconds in zip(("selection", "training"), both, strict=True):
            label = f"{seconds:.3g} s"
            css = classes[run.selector] if what == "selection" else "s-"
            bars.append(Bar(f"{run.selector}, {what}", seconds, label, css))
    svg = draw_bars(bars, f"Seconds of selection and training with {ranker}")
    caption = (
        "Seconds of one selection (in color) and of one training with its features (gray), on one "
        "thread with the chosen parameters: means over folds and seeds, without tuning."
    )
    return Chart(svg, caption, Table(cost_sheet(result, ranker)), f"With {ranker}")
