"""The page of a study, with the main result first, in a sentence, and then quality.

Sections about features, queries and time are in study_details.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ranksieve.report.page.charts.cells import Difference, draw_matrix
from ranksieve.report.page.charts.curves import Curve, Level, draw_curves
from ranksieve.report.page.page import Chart, MainResult, Page, Section, Table
from ranksieve.report.page.study_details import css_classes_of, detail_sections, features_section
from ranksieve.report.sheets.study_quality import comparison_sheet, curves_sheet, setting_of
from ranksieve.report.sheets.study_statistics import pairs_sheet
from ranksieve.significance import Claim
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
from ranksieve.study.first_fold import FirstFold
from ranksieve.study.results import BASE, RANDOM, Outcomes, Run, StudyResult
from ranksieve.text import every, quantity

_SETTINGS = {  # name -> label
    "ranksieve": "Version of ranksieve that began the study",
    "seed": "Seed of the first run",
    "seeds": "Runs of methods that draw random numbers",
    "scale": "Scaling of features",
    "choose": "Rule that chose numbers of features",
}


@dataclass(frozen=True)
class Enough:
    """A selection that is shown to be enough, or comes closest to it."""

    selector: str
    ranker: str
    k: int  # number of features
    tested: Outcomes
    claim: Claim  # that it loses less than the margin, at a level corrected for all combinations


def study_page(result: StudyResult, seen: FirstFold | None = None) -> Page:
    """Make the page of a study; without ``seen``, importance and similarity are left out."""
    found = find_enough(result)
    sections = [
        features_section(result, seen, found[0].tested if found else None),
        _curves_section(result),
        _pairs_section(result),
        *detail_sections(result, seen),
    ]
    kept, provenance = list(filter(None, sections)), [*_provenance(result, seen)]
    return Page(result.title, _verdict(result, found), kept, provenance)


def find_enough(result: StudyResult) -> list[Enough]:
    """Selectors and rankers with enough features, those with the fewest first."""
    found = []
    for selector, ranker in enough_candidates(result):
        k = enough_features(result, selector, ranker, result.main_measure)
        if k is not None:
            found.append(_tested(result, selector, ranker, k))
    return sorted(found, key=lambda one: (one.k, -one.claim.change))


def _closest(result: StudyResult) -> Enough | None:
    """Selection with the largest lower bound, if nothing is shown."""
    tried = [
        _tested(result, selector, ranker, k)
        for selector, ranker in enough_candidates(result)
        for k in result.run(selector, ranker).by_k
        if k < len(result.feature_names)
    ]
    return max(tried, key=lambda one: one.claim.lower, default=None)


def _tested(result: StudyResult, selector: str, ranker: str, k: int) -> Enough:
    tested = result.run(selector, ranker).by_k[k]
    claim = claim_enough(result, tested, ranker, result.main_measure)
    return Enough(selector, ranker, k, tested, claim)


def _verdict(result: StudyResult, found: list[Enough]) -> MainResult:
    """Say which selector needs how few features, for which ranker; or that nothing is shown."""
    if not enough_candidates(result):
        return MainResult(
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
                f"The numbers above are those of what comes closest: {best.selector} with "
                f"{quantity(best.k, 'feature')} and {best.ranker}. That nothing is shown does not "
                "mean that quality is lost: with more test queries, smaller losses can be ruled "
                "out."
            )
    facts = [] if best is None else _facts(result, best)
    return MainResult(sentence, bool(found), facts, [*notes, _describe_tests(result)])


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
        "for production by a single decision, which is tested once, use ranksieve recommend."
    )


def _provenance(result: StudyResult, seen: FirstFold | None) -> Iterator[tuple[str, str]]:
    yield "How it was measured", setting_of(result)
    yield "Features", quantity(len(result.feature_names), "feature")
    yield "Selectors", ", ".join(result.selectors)
    yield "Rankers", ", ".join(result.rankers)
    yield "Measures", f"{', '.join(result.measures)}; everything was tuned by {result.tune}"
    yield "Convention", result.convention
    for name, value in result.settings.items():
        if name in _SETTINGS:
            yield _SETTINGS[name], str(value)
    if seen is not None:
        yield "Versions", ", ".join(f"{name} {value}" for name, value in seen.versions.items())
    prints = [f"{fold.name}: {fold.fingerprint}" for fold in result.folds if fold.fingerprint]
    if prints:
        yield "Fingerprints of the data", "; ".join(prints)
    yield (
        "Command",
        "ranksieve compare --plan study.toml --out again (study.toml is beside this page)",
    )


def _curves_section(result: StudyResult) -> Section | None:
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
            f"band below it the {MARGIN:.0%} that a selection may lose. A ring is around enough "
            f"features. {describe_enough(result, measure)}"
        )
    if any(run.selector == RANDOM for run in runs):
        caption += " Dotted: random orders."
    return Chart(svg, caption, Table(curves_sheet(result, ranker, measure)), f"With {ranker}")


def _curve(result: StudyResult, run: Run, has_base: bool, css: str) -> Curve:
    measure, sizes = result.main_measure, list(run.by_k)
    enough = None
    if has_base and run.selector != RANDOM:
        enough = enough_features(result, run.selector, run.ranker, measure)
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
        f"{measure} {tested.mean(measure):.4f}, mean over folds",
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
    """Comparison of all pairs of selectors, with each ranker."""
    pairs = compare_pairs(result)
    if not pairs:
        return None
    blocks = [_matrix(result, ranker, pairs) for ranker in result.rankers]
    lead = (
        f"Every selector against every other, with the number of features that validation queries "
        f"chose: difference of the mean {result.main_measure} over queries."
    )
    return Section("Pairwise comparison", lead, blocks)


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
