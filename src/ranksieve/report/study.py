"""The report of a study: the main result, quality, features, single queries, and time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from ranksieve.choosing import pareto_front
from ranksieve.report.charts.colors import PLAIN, color_class
from ranksieve.report.charts.curves import Curve, Level, draw_curves, draw_gains
from ranksieve.report.charts.matrices import Difference, Taken, draw_matrix, draw_selections
from ranksieve.report.features import MOST_FEATURES
from ranksieve.report.first_fold import data_sections
from ranksieve.report.formats.html import CellBars
from ranksieve.report.section import Chart, Part, Report, Section, provenance, verdict
from ranksieve.report.sheets.study_quality import (
    comparison_sheet,
    curves_sheet,
    folds_sheet,
    queries_sheet,
    setting_of,
    stem,
)
from ranksieve.report.sheets.study_selections import (
    cost_sheet,
    features_sheet,
    selected_sheet,
    stability_sheet,
)
from ranksieve.report.sheets.study_statistics import pairs_sheet, statistics_sheet
from ranksieve.report.similarity import order_by_similarity
from ranksieve.significance import Claim, bootstrap_interval
from ranksieve.study.comparison import (
    LEVEL,
    MARGIN,
    Pair,
    claim_enough,
    compare_pairs,
    describe_enough,
    enough_candidates,
    enough_features,
)
from ranksieve.study.first_fold import count_taken, rank_features
from ranksieve.study.results import BASE, RANDOM, Outcomes, Run, StudyResult
from ranksieve.text import every, quantity

_SETTINGS = {  # name -> label
    "ranksieve": "Version of ranksieve that began the study",
    "seed": "Seed of the first run",
    "seeds": "Runs of methods that draw random numbers",
    "scale": "Scaling of features",
    "choose": "Rule that chose the number of features",
}
_MOST_BANDS = 2  # more bands would hide each other and the lines
_RESAMPLES = 2000  # more would change bands by less than the width of a line
_SHORTEST = 1e-6  # seconds: resolution of clocks, and smallest value on a logarithmic scale


def study_report(result: StudyResult) -> Report:
    """Make the report of a study; without ``result.seen``, what needs the data is left out."""
    found = find_enough(result)
    sections = [
        _verdict(result, found),
        _features_section(result, found[0].tested if found else None),
        _curves_section(result),
        _pairs_section(result),
        _selections_section(result),
        *data_sections(result),
        _queries_section(result),
        _cost_section(result),
        provenance([*_provenance(result)]),
    ]
    return Report(result.title, list(filter(None, sections)), "Study")


@dataclass(frozen=True)
class Enough:
    """A selection that is shown to be enough, or comes closest to it."""

    selector: str
    ranker: str
    k: int  # number of features
    tested: Outcomes
    claim: Claim  # that it loses less than the margin, at a level corrected for all combinations


def find_enough(result: StudyResult) -> list[Enough]:
    """Selectors and rankers with enough features, those with the fewest first."""
    found = []
    for selector, ranker in enough_candidates(result):
        k = enough_features(result, selector, ranker, result.main_measure)
        if k is not None:
            found.append(_test_selection(result, selector, ranker, k))
    return sorted(found, key=lambda one: (one.k, -one.claim.change))


def _closest(result: StudyResult) -> Enough | None:
    """Selection with the largest lower bound, if nothing is shown."""
    tried = [
        _test_selection(result, selector, ranker, k)
        for selector, ranker in enough_candidates(result)
        for k in result.run(selector, ranker).by_k
        if k < len(result.feature_names)
    ]
    return max(tried, key=lambda one: one.claim.lower, default=None)


def _test_selection(result: StudyResult, selector: str, ranker: str, k: int) -> Enough:
    tested = result.run(selector, ranker).by_k[k]
    claim = claim_enough(result, tested, ranker, result.main_measure)
    return Enough(selector, ranker, k, tested, claim)


def _verdict(result: StudyResult, found: list[Enough]) -> Section:
    """Say which selector needs how few features, for which ranker; or that nothing is shown."""
    if not enough_candidates(result):
        return verdict(
            "Nothing can be shown: the study has no selector to compare with all features.",
            is_shown=False,
        )
    n_features = quantity(len(result.feature_names), "feature")
    allowed = f"{MARGIN:.0%} of the {result.main_measure} of all {n_features}"
    best = found[0] if found else _closest(result)
    notes: list[str] = []
    if found:
        size = quantity(found[0].k, "feature")
        sentence = (
            f"{size} selected by {found[0].selector} {'is' if found[0].k == 1 else 'are'} enough "
            f"for {found[0].ranker}: shown to lose less than {allowed}."
        )
        notes += _other_rankers(result, found)
    else:
        sentence = (
            f"No selection is shown to be enough: none is shown to lose less than {allowed}, with "
            f"{' or '.join(result.rankers)}."
        )
        if best is not None:
            notes.append(
                f"The numbers here are for the closest candidate: {best.selector} with "
                f"{quantity(best.k, 'feature')} and {best.ranker}. The absence of proof does not "
                "mean that quality is lost: with more test queries, smaller losses can be ruled "
                "out."
            )
    facts = [] if best is None else _facts(result, best)
    return verdict(sentence, facts, [*notes, _describe_tests(result)], is_shown=bool(found))


def _facts(result: StudyResult, one: Enough) -> list[tuple[str, str]]:
    """Means are those of the tables, over folds; the change is that of the test, over queries."""
    measure, whole = result.main_measure, result.run(BASE, one.ranker).chosen
    is_one = len(result.folds) == 1
    by_fold, by_query = ("", "") if is_one else (", mean over folds", ", over queries")
    return [
        ("features", f"{one.k} of {len(result.feature_names):,}"),
        (f"{measure} with them{by_fold}", f"{one.tested.mean(measure):.4f}"),
        (f"{measure} with all{by_fold}", f"{whole.mean(measure):.4f}"),
        (f"change{by_query}", f"{one.claim.change:+.1%}"),
        (f"lower bound{by_query}", f"{one.claim.lower:+.1%}"),
    ]


def _other_rankers(result: StudyResult, found: list[Enough]) -> Iterator[str]:
    for ranker in result.rankers:
        own = [one for one in found if one.ranker == ranker]
        if ranker != found[0].ranker and (BASE, ranker) in result.runs:
            fewest = f"{own[0].k} by {own[0].selector}" if own else "nothing is shown"
            yield f"For {ranker}: {fewest}."


def _describe_tests(result: StudyResult) -> str:
    n_queries = quantity(result.n_queries, "test query", "test queries")
    return (
        f"{describe_enough(result, result.main_measure)} There are {n_queries}. To choose features "
        "for production, with a bound of what they lose, use ranksieve recommend."
    )


def _provenance(result: StudyResult) -> Iterator[tuple[str, str]]:
    yield "How it was measured", setting_of(result)
    yield "Features", quantity(len(result.feature_names), "feature")
    yield "Selectors", ", ".join(result.selectors)
    yield "Rankers", ", ".join(result.rankers)
    yield "Measures", f"{', '.join(result.measures)}; everything was tuned by {result.tune}"
    yield "Convention", result.convention
    for name, value in result.settings.items():
        if name in _SETTINGS:
            yield _SETTINGS[name], str(value)
    if result.seen is not None:
        versions = result.seen.versions.items()
        yield "Versions", ", ".join(f"{name} {value}" for name, value in versions)
    prints = [f"{fold.name}: {fold.fingerprint}" for fold in result.folds if fold.fingerprint]
    if prints:
        yield "Fingerprints of the data", "; ".join(prints)
    yield (
        "Command",
        "ranksieve compare --plan study.toml --out again (study.toml is beside this page)",
    )


def _features_section(result: StudyResult, kept: Outcomes | None) -> Section:
    """How often each feature is selected, how well it ranks alone, and similar features."""
    sentence = (
        "Which features are selected, the most frequent first. A feature that all selectors choose "
        "is hard to replace; of similar ones, one is often enough."
    )
    bars = {name: CellBars(PLAIN) for name in ("kept", "selected")}
    if result.seen is not None:
        bars["importance"] = CellBars(PLAIN, result.seen.chance)
    return Section("Features", sentence, [Part(features_sheet(result, kept), bars=bars)])


def _curves_section(result: StudyResult) -> Section | None:
    """Quality against the number of features, and of the chosen numbers, with each ranker."""
    parts = []
    others = [measure for measure in result.measures if measure != result.main_measure]
    for ranker in result.rankers:
        if set(result.selectors) != {BASE}:
            for measure in (result.main_measure, *others):
                parts.append(curves_part(result, ranker, measure))
        comparison = comparison_sheet(result, ranker)
        parts.append(Part(comparison, is_folded=True, brief=comparison))
        for measure in result.measures:
            parts.append(Part(folds_sheet(result, ranker, measure), is_folded=True))
    sentence = (
        f"How good a ranker is, by the number of features: mean {' and '.join(result.measures)} on "
        "test queries. A selector whose line reaches that of all features early needs few features."
    )
    return Section("Quality by number of features", sentence, parts)


def curves_part(result: StudyResult, ranker: str, measure: str) -> Part:
    """A line for each selector, with all features, the margin and what is enough."""
    base = result.runs.get((BASE, ranker))
    curves = curves_of(result, ranker, measure)
    mean = None if base is None else base.chosen.mean(measure)
    draw = partial(
        draw_curves,
        curves,
        f"{measure} against the number of features, with {ranker}",
        "number of features",
        f"{measure} on test queries",
        level=None if mean is None else Level("all features", mean, MARGIN * mean),
        ticks=sorted({k for curve in curves for k in curve.x}),
    )
    caption = (
        f"{measure} of {ranker}: each point is a mean over {_over_folds(result)} (and seeds); "
        "lines that are far below the others are cut off."
    )
    if base is not None:
        caption += (
            f" The dashed line is all {quantity(len(result.feature_names), 'feature')}, and the "
            f"band below it the {MARGIN:.0%} that a selection may lose. A ring marks enough "
            "features, as in the verdict."
        )
        banded = _best_selectors(result, ranker, measure)
        if banded:
            caption += (
                f" Colored bands ({' and '.join(banded)}, the best on average) are {LEVEL:.0%} "
                "intervals of the difference from all features: where a band does not reach the "
                "dashed line, the difference is significant, for this number of features alone."
            )
    if RANDOM in result.selectors:
        n_orders = result.run(RANDOM, ranker).chosen.n_seeds
        caption += f" Gray: random orders, with the range of {every(n_orders, 'order')}."
    chart = Chart(stem("curves", ranker, measure), caption, draw)
    return Part(curves_sheet(result, ranker, measure), chart, f"{measure} with {ranker}")


def _over_folds(result: StudyResult) -> str:
    """What means of tables and lines are over."""
    return "test queries" if len(result.folds) == 1 else f"{len(result.folds)} folds"


def curves_of(result: StudyResult, ranker: str, measure: str) -> list[Curve]:
    """The line of each selector, and the bands of the best and of random orders."""
    base = result.runs.get((BASE, ranker))
    banded = [] if base is None else _best_selectors(result, ranker, measure)
    classes, curves = _css_classes(result), []
    for run in result.runs_with(ranker):
        if run.selector == BASE:
            continue
        enough, band = None, []
        if base is not None and run.selector != RANDOM:
            enough = enough_features(result, run.selector, ranker, measure)
        if run.selector == RANDOM:
            means_by_seed = [tested.values(measure).mean(axis=1) for tested in run.by_k.values()]
            band = [(float(means.min()), float(means.max())) for means in means_by_seed]
        elif base is not None and run.selector in banded:
            band = [_interval(one, base.chosen, measure) for one in run.by_k.values()]
        curves.append(
            Curve(
                run.selector,
                list(run.by_k),
                [tested.mean(measure) for tested in run.by_k.values()],
                [_tip(result, run, measure, k, base is not None, k == enough) for k in run.by_k],
                classes[run.selector],
                band,
                None if enough is None else list(run.by_k).index(enough),
                may_leave=run.selector == RANDOM,
            )
        )
    return curves


def _css_classes(result: StudyResult) -> dict[str, str]:
    """Selector -> classes of its color and dashes, in all charts; baselines are gray."""
    classes = {name: color_class(index) for index, name in enumerate(result.selecting)}
    return classes | {BASE: "s-", RANDOM: "s- d2"}


def _best_selectors(result: StudyResult, ranker: str, measure: str) -> list[str]:
    """The selectors with the largest means over all numbers of features, which get a band."""
    means = {
        run.selector: np.mean([tested.mean(measure) for tested in run.by_k.values()])
        for run in result.runs_with(ranker)
        if run.selector in result.selecting
    }
    return sorted(means, key=lambda name: -means[name])[:_MOST_BANDS]


def _interval(tested: Outcomes, base: Outcomes, measure: str) -> tuple[float, float]:
    """Interval of the difference to all features, around the mean over folds.

    Queries differ in difficulty, so that the mean of one method is far more uncertain than the
    difference of two methods on the same queries.
    """
    queries = tested.per_query(measure), base.per_query(measure)
    found = bootstrap_interval(*queries, LEVEL, _RESAMPLES, weights=tested.query_weights)
    shift = tested.mean(measure) - found.estimate  # to the mean over folds, of the line
    return found.lower + shift, found.upper + shift


def _tip(
    result: StudyResult, run: Run, measure: str, k: int, has_base: bool, is_enough: bool
) -> str:
    tested = run.by_k[k]
    lines = [
        f"{run.selector}, {quantity(k, 'feature')}",
        f"{measure} {tested.mean(measure):.4f}, mean over {_over_folds(result)}",
    ]
    if has_base:
        claim = claim_enough(result, tested, run.ranker, measure)
        lines.append(
            f"{claim.change:+.1%} against all features, over queries "
            f"(lower bound {claim.lower:+.1%})"
        )
    if is_enough:
        lines.append("fewest shown to be enough")
    return "\n".join(lines)


def _pairs_section(result: StudyResult) -> Section | None:
    """All pairs of selectors with each ranker, and all tests against the baselines."""
    pairs = compare_pairs(result)
    if not pairs:
        return None
    parts = [_matrix(result, ranker, pairs) for ranker in result.rankers]
    for base in (BASE, RANDOM):
        if base in result.selectors:
            parts.append(Part(statistics_sheet(result, base), is_folded=True))
    sentence = (
        f"Every selector against every other, with the number of features that validation queries "
        f"chose: difference of the mean {result.main_measure} over queries."
    )
    return Section("Pairwise comparison", sentence, parts)


def _matrix(result: StudyResult, ranker: str, pairs: list[Pair]) -> Part:
    own = [pair for pair in pairs if pair.ranker == ranker]
    cells = {}
    for pair in own:
        cells[pair.selector, pair.base] = _difference(pair, 1)
        cells[pair.base, pair.selector] = _difference(pair, -1)
    runs = result.runs_with(ranker)
    names = [
        run.selector for run in sorted(runs, key=lambda run: -run.chosen.mean(result.main_measure))
    ]
    n_better = sum(pair.adjusted < 1 - LEVEL for pair in own)
    title = f"Differences of {result.main_measure} with {ranker}"
    caption = (
        f"A cell is the row minus the column, the best mean first. Colored and bold: significant "
        f"at the {1 - LEVEL:.0%} level (paired t-test over queries, Holm's correction for "
        f"{every(len(pairs), 'pair')} of the study); green if the row is better. That holds for "
        f"{n_better} of {quantity(len(own), 'pair')}; for the others, the study does not show "
        "which is better."
    )
    chart = Chart(stem("pairs", ranker), caption, partial(draw_matrix, names, cells, title))
    return Part(pairs_sheet(result, ranker, pairs), chart, f"With {ranker}")


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


def _selections_section(result: StudyResult) -> Section:
    """Features that each selector selects on each fold, similar features side by side."""
    is_one = len(result.folds) == 1
    counts, seen = count_taken(result), result.seen
    ranked = rank_features(result, None if seen is None else seen.importance)
    shown = [feature for feature in ranked if counts[feature]][:MOST_FEATURES]
    how = "the most often selected first"
    if seen is not None:
        shown = order_by_similarity(shown, seen.compared, seen.similarity)
        how = "with similar features side by side"
    caption = (
        f"A row is a feature, {how}; a cell is {'one selector' if is_one else 'one fold'}, filled "
        f"if {'it' if is_one else 'the selector'} chooses the feature{' there' * (not is_one)}, "
        "and faint if only some seeds do."
    )
    if len(counts) > len(shown):
        n_left = len(counts) - len(shown)
        caption += (
            f" {n_left:,} of the {len(counts):,} features that were selected at least once are "
            "left out."
        )
    parts = []
    for ranker in result.rankers:
        chart = None if not shown else _selections(result, ranker, shown, caption)
        title = f"With {ranker}" if chart else ""
        parts.append(Part(selected_sheet(result, ranker), chart, title, is_folded=True))
        parts.append(Part(stability_sheet(result, ranker), is_folded=True))
    if is_one:
        sentence = "Which features each selector chooses on the only split."
        return Section("Selected features", sentence, parts)
    sentence = (
        "A selector that chooses the same features on every fold fills whole rows: it does not "
        "depend on which queries it saw."
    )
    return Section("Selected features by fold", sentence, parts)


def _selections(result: StudyResult, ranker: str, shown: list[int], caption: str) -> Chart:
    classes = _css_classes(result)
    taken = {
        run.selector: Taken(_shares(run.chosen, shown), classes[run.selector].split()[0])
        for run in result.runs_with(ranker)
        if run.selector in result.selecting
    }
    names = [str(result.feature_names[feature]) for feature in shown]
    folds = [fold.name for fold in result.folds]
    title = f"Features selected with {ranker}"
    draw = partial(draw_selections, taken, names, folds, title, "share of seeds")
    return Chart(stem("selected", ranker), caption, draw)


def _shares(tested: Outcomes, shown: Sequence[int]) -> np.ndarray:
    """Share of the seeds that select each feature on each fold."""
    found = np.array(
        [
            [[feature in outcome.features for outcome in seed] for feature in shown]
            for seed in tested.outcomes
        ]
    )
    return found.mean(axis=0)


def _queries_section(result: StudyResult) -> Section | None:
    """Gains and losses of queries compared with all features, with each ranker."""
    if BASE not in result.selectors or len(result.selectors) == 1:
        return None
    sentence = (
        f"{result.main_measure} of each test query with the selected features, minus that with all "
        "features. A good mean can hide large losses: look at the right end."
    )
    parts = [_gains(result, ranker) for ranker in result.rankers]
    return Section("Queries that gain and lose", sentence, parts)


def _gains(result: StudyResult, ranker: str) -> Part:
    measure, classes = result.main_measure, _css_classes(result)
    base = result.run(BASE, ranker).chosen.per_query(measure)
    differences = [
        (run.selector, classes[run.selector].split()[0], run.chosen.per_query(measure) - base)
        for run in result.runs_with(ranker)
        if run.selector != BASE
    ]
    draw = partial(draw_gains, differences, f"Gains and losses of {measure} with {ranker}")
    caption = (
        f"Each chart shows all {quantity(result.n_queries, 'test query', 'test queries')}, from "
        "the largest gain at the left to the largest loss at the right, which are in "
        "parentheses; all charts have the same scale. Queries without a difference are neither won "
        "nor lost. The table has the ids of those that lose and gain most."
    )
    chart = Chart(stem("queries", ranker), caption, draw)
    return Part(queries_sheet(result, ranker), chart, f"With {ranker}")


def _cost_section(result: StudyResult) -> Section:
    """Seconds of selection and training beside quality, with each ranker."""
    sentence = (
        "How long the selection takes, and how long training takes with the selected features."
    )
    parts = []
    for ranker in result.rankers:
        chart = _times(result, ranker) if result.selecting else None
        bars = {name: CellBars(PLAIN) for name in ("selection seconds", "training seconds")}
        title = f"With {ranker}" if chart else ""
        parts.append(Part(cost_sheet(result, ranker), chart, title, bars, is_folded=False))
    return Section("Cost and time", sentence, parts)


def _times(result: StudyResult, ranker: str) -> Chart:
    measure, classes = result.main_measure, _css_classes(result)
    base = result.runs.get((BASE, ranker))
    runs = [run for run in result.runs_with(ranker) if run.selector in result.selecting]
    seconds = [max(run.chosen.selection_seconds, _SHORTEST) for run in runs]
    means = [run.chosen.mean(measure) for run in runs]
    points = [
        Curve(
            run.selector,
            [time],
            [mean],
            [f"{run.selector}\n{measure} {mean:.4f}\n{time:.3g} s for one selection"],
            classes[run.selector],
        )
        for run, time, mean in zip(runs, seconds, means, strict=True)
    ]
    draw = partial(
        draw_curves,
        points,
        f"{measure} against the time of one selection, with {ranker}",
        "seconds of one selection",
        f"{measure} on test queries",
        level=None if base is None else Level("all features", base.chosen.mean(measure)),
        is_log=True,
    )
    best = [
        f"{runs[index].selector} ({means[index]:.4f} in {seconds[index]:.2g} s)"
        for index in pareto_front(seconds, means)
    ]
    caption = (
        f"{measure} against the time of one selection on one thread, with the parameters and the "
        "number of features that validation queries chose: means over "
        f"{'' if len(result.folds) == 1 else 'folds and '}seeds. No selector "
        f"is both faster and better than any of these: {', '.join(best)}."
    )
    return Chart(stem("time", ranker), caption, draw)
