"""The report of a recommendation: the advice and its claim, then what they rest on."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from math import isfinite

import numpy as np

from ranksieve.recommendation.answer import Evidence, FrontPoint, KeptFeature, Recommendation
from ranksieve.recommendation.claim import Claim, confidence, percent
from ranksieve.report.charts.curves import Bar, Curve, Level, draw_bars, draw_curves, draw_gains
from ranksieve.report.charts.matrices import Taken, draw_selections
from ranksieve.report.charts.panels import Panel, draw_margin, draw_panels
from ranksieve.report.charts.svg import color_class
from ranksieve.report.features import MOST_FEATURES, alone_section, similar_section
from ranksieve.report.section import Chart, Part, Report, Section, provenance, verdict
from ranksieve.report.sheets import recommendation as sheets
from ranksieve.report.sheets.features import alone_sheet, similar_sheet
from ranksieve.report.sheets.sheet import LONG, long_list
from ranksieve.report.similarity import order_by_similarity
from ranksieve.text import quantity

_MARGINS = 8  # margins below all features at which lines are cut off


def recommendation_report(answer: Recommendation) -> Report:
    """Make the report of a recommendation, without parts that older versions did not record."""
    evidence = answer.evidence
    sections = [
        _verdict(answer),
        _kept_section(answer),
        _dropped_section(answer),
        _front_section(answer),
        *([] if evidence is None else _evidence_sections(answer, evidence)),
        provenance([*_provenance(answer)]),
    ]
    return Report(answer.title, list(filter(None, sections)), "Recommendation")


def _verdict(answer: Recommendation) -> Section:
    """Main result: the advice first if the claim is shown, otherwise that it is not shown."""
    *before, claim = answer.claims  # the last is the confirmation, if there is one
    words = ("Shown", "Not shown") if answer.confirmed is None else ("Confirmed", "Not confirmed")
    if claim.is_shown:
        sentences = [answer.advice, claim.sentence]
    else:
        sentences = [f"{claim.headline}.", claim.numbers, answer.advice]
    return verdict(
        sentences[0],
        [*_facts(answer, claim)],
        [*sentences[1:], *(one.sentence for one in before), *answer.notes],
        is_shown=claim.is_shown,
        word=words[0] if claim.is_shown else words[1],
        chart=_chart_of_claim(claim),
    )


def _facts(answer: Recommendation, claim: Claim) -> Iterator[tuple[str, ...]]:
    """The most important numbers."""
    n_all = len(answer.kept) + len(answer.dropped)
    yield "Features to keep", f"{len(answer.kept):,}", f"of {n_all:,}"
    if answer.has_costs:
        yield "Cost", f"{answer.cost:.4g}", f"instead of {answer.cost_of_all:.4g}"
    yield claim.measure, f"{claim.with_chosen:.4f}", f"with all {claim.with_all:.4f}"
    bound = f"< {percent(max(0.0, -claim.bound))}" if isfinite(claim.bound) else "unknown"
    loss = f"Loss, with {confidence(claim.level)} confidence"
    yield loss, bound, f"margin {percent(claim.margin)}"
    tested = "Test queries", f"{claim.n_queries:,}"
    if claim.is_shown or not isfinite(claim.queries_needed):
        yield tested
    else:
        yield *tested, f"about {claim.needed} needed"


def _chart_of_claim(claim: Claim) -> Chart | None:
    if not isfinite(claim.bound) or not isfinite(claim.lower):
        return None
    interval = claim.lower, claim.upper
    draw = partial(draw_margin, claim.change, interval, claim.bound, claim.margin, claim.is_shown)
    return Chart("claim", "The change beside the margin", draw)


def _provenance(answer: Recommendation) -> Iterator[tuple[str, str]]:
    settings, evidence = answer.settings, answer.evidence
    if evidence is not None and evidence.command:
        yield "Command", shlex.join(evidence.command)
    yield "How it was found", answer.protocol
    yield "Convention of the measure", str(settings["convention"])
    yield "Seed", str(settings["seed"])
    yield "Fingerprint of the data", str(settings["fingerprint"])
    if settings["include"]:
        yield "Features that had to be kept", ", ".join(settings["include"])
    if settings["exclude"]:
        yield "Features left out", ", ".join(settings["exclude"])
    groups = settings["costs"]["group_costs"]
    if groups:
        costs = (f"{name} {cost:.4g}" for name, cost in groups.items())
        yield "Costs of groups, paid once", ", ".join(costs)
    if evidence is not None:
        versions = evidence.versions.items()
        yield "Versions", ", ".join(f"{name} {version}" for name, version in versions)
    if answer.trained_on is not None:
        has_both = len(answer.models) > 1
        yield (
            "Models",
            f"{'model.json, the ranker on the features to keep, and ' if has_both else ''}"
            f"model-all.json, the ranker on all features, trained on {answer.trained_on.in_words}. "
            "ranksieve check ranks new queries with them.",
        )
    yield (
        "In the same directory",
        "recommendation.json has the answer, evidence.json what it rests on, tables/ all tables.",
    )


def _kept_section(answer: Recommendation) -> Section | None:
    """Loss without each feature, its cost, its stability, and possible substitutes."""
    if not answer.kept:
        return None
    alone = None if answer.evidence is None else answer.evidence.alone
    shown = answer.kept[:MOST_FEATURES]
    names = [answer.feature_names[kept.feature] for kept in shown]
    # Only the nearest, because shortening a label with several would mix up their numbers.
    nearest = [replace(kept, substitutes=kept.substitutes[:1]) for kept in shown]
    texts = [sheets.substitutes_text(kept, answer) for kept in nearest]
    draw = partial(
        draw_panels,
        names,
        _panels(answer, shown),
        texts if any(texts) else [],
        "could be replaced by",
        f"{quantity(len(names), 'feature')} to keep, with what is known of each",
    )
    sheet = sheets.kept_sheet(answer, alone)
    caption = " ".join(sheet.notes).replace(
        "substitutes: features", "could be replaced by: the nearest of the features"
    )
    if len(answer.kept) > len(shown):
        caption = f"The first {len(shown)} of {len(answer.kept):,} features. {caption}"
    pruned = "; then pruned by cost" if answer.is_pruned else ""
    sentence = f"Selected by {answer.selector}, in the order of selection{pruned}."
    if not answer.dropped:
        sentence = "All features: no smaller set was good enough."
    chart = Chart("kept", caption, draw)
    brief = long_list(sheets.kept_sheet(answer), rest="")
    return Section("Features to keep", sentence, [Part(sheet, chart, brief=brief)])


def _panels(answer: Recommendation, shown: list[KeptFeature]) -> list[Panel]:
    panels = []
    if any(kept.loss is not None for kept in shown):
        panels.append(_losses(shown))
    if answer.has_costs:
        panels.append(Panel("cost", [kept.cost for kept in shown], ".4g", css="s1", width=60))
    if any(kept.stability is not None for kept in shown):
        shares = [kept.stability for kept in shown]
        panels.append(Panel("stability", shares, ".2f", css="s2", width=60))
    if answer.evidence is not None:
        values = [answer.evidence.alone.values[kept.feature] for kept in shown]
        panels.append(Panel("ranks alone", values, ".3f", css="s6", width=60))
    return panels


def _losses(shown: list[KeptFeature]) -> Panel:
    ends = [
        None if kept.lower is None or kept.upper is None else (kept.lower, kept.upper)
        for kept in shown
    ]
    panel = Panel("loss without it", [kept.loss for kept in shown], "+z.2%", ends, width=170)
    tips = [
        "" if pair is None else f"{label}\n95% interval {pair[0]:+.2%} to {pair[1]:+.2%}"
        for label, pair in zip(panel.labels, ends, strict=True)
    ]
    return replace(panel, tips=tips)


def _dropped_section(answer: Recommendation) -> Section | None:
    """Features to drop, each with the reason."""
    if not answer.dropped:
        return None
    alone = None if answer.evidence is None else answer.evidence.alone
    is_long = len(answer.dropped) > LONG
    saving = sorted(answer.dropped, key=lambda one: -one.cost) if is_long else answer.dropped
    brief = long_list(sheets.dropped_sheet(replace(answer, dropped=saving)), rest="")
    part = Part(sheets.dropped_sheet(answer, alone), bars=("cost", "alone"), brief=brief)
    sentence = "Features that are not needed, each with the reason."
    return Section("Features to drop", sentence, [part])


def _front_section(answer: Recommendation) -> Section:
    """Quality against cost of all candidates."""
    cost = "cost" if answer.has_costs else "number of features"
    chart = _front(answer, cost) if answer.selectors else None
    part = Part(sheets.front_sheet(answer), chart, brief=sheets.notable_front_sheet(answer))
    sentence = "What every set that was tried costs, and how well it ranks."
    return Section(f"Quality against {cost}", sentence, [part])


def _front(answer: Recommendation, cost: str) -> Chart:
    claim, whole = answer.claim, answer.point_of_all
    curves = [_curve(answer, name, color_class(n)) for n, name in enumerate(answer.selectors)]
    curves += [
        _curve(answer, name, "s-", label)
        for name, label in (("none", "no features"), ("all", "all features"))
        if answer.selector == name
    ]
    low = whole.value * (1 - _MARGINS * claim.margin)
    draw = partial(
        draw_curves,
        curves,
        f"{claim.measure} against {cost}",
        cost,
        claim.measure,
        level=Level(f"all ({whole.value:.4f})", whole.value, claim.margin * whole.value),
        floor=min([low, *(curve.y[curve.marked] for curve in curves if curve.marked is not None)]),
        is_log=False if answer.has_costs else None,
    )
    caption = (
        f"Each point is a set of features that was tried, on queries that neither selected nor "
        f"trained. The dashed line is all {quantity(whole.size, 'feature')}, and the band below it "
        f"the {percent(claim.margin)} that may be lost. The ring is the recommended set."
    )
    if any(point.is_shown is not None for point in answer.front):
        caption += (
            " Filled points are shown to lose less than the margin; hollow ones are not, or were "
            "not tested."
        )
    if any(y < low for curve in curves for y in curve.y):
        caption += " Lines are cut off far below the band; the table has all sets."
    return Chart("front", caption, draw)


def _curve(answer: Recommendation, selector: str, css: str, name: str = "") -> Curve:
    points = [point for point in answer.front if point.selector == selector]
    chosen = [
        index
        for index, point in enumerate(points)
        if answer.is_recommended(point) or selector == "none"
    ]
    return Curve(
        name or selector,
        [point.cost for point in points],
        [point.value for point in points],
        [_tip(answer, point, index in chosen) for index, point in enumerate(points)],
        css,
        marked=chosen[0] if chosen else None,
        hollow=[index for index, point in enumerate(points) if not point.is_shown],
    )


def _tip(answer: Recommendation, point: FrontPoint, is_chosen: bool) -> str:
    lines = [f"{point.selector}, {quantity(point.size, 'feature')}"]
    if answer.has_costs:
        lines.append(f"cost {point.cost:.4g}")
    lines.append(f"{answer.claim.measure} {point.value:.4f}")
    if isfinite(point.lower):
        lines.append(
            f"{100 * point.change:+.2f}% against all (lower bound {100 * point.lower:+.2f}%)"
        )
    if point.is_shown is not None:
        margin = percent(answer.claim.margin)
        lines.append(f"{'' if point.is_shown else 'not '}shown to lose less than {margin}")
    return "\n".join([*lines, *(["recommended"] if is_chosen else [])])


def _evidence_sections(answer: Recommendation, evidence: Evidence) -> list[Section | None]:
    """All sections about the evidence."""
    return [
        _parts_section(answer, evidence),
        _alike_section(answer, evidence),
        alone_section(
            answer.feature_names,
            evidence.alone.values,
            answer.claim.measure,
            "How useful each feature is without the others.",
            "(small): small values are good. Green: recommended. A feature that ranks well alone "
            "may be dropped because others say the same, and one that ranks badly alone may add "
            "to others.",
            alone_sheet(
                answer.feature_names,
                evidence.alone.values,
                answer.claim.measure,
                "all queries of the data",
                evidence.alone.directions,
                set(answer.features),
            ),
            evidence.alone.directions,
            set(answer.features),
        ),
        _queries_section(answer, evidence),
        _work_section(evidence),
    ]


def _parts_section(answer: Recommendation, evidence: Evidence) -> Section | None:
    """Features chosen without each part of the queries, similar features side by side."""
    shown = _ever_chosen(answer, evidence)
    if not shown:
        return None
    n_chosen, likeness = len(shown), evidence.likeness
    shown = order_by_similarity(shown[:MOST_FEATURES], likeness.features, likeness.matrix)
    chosen = {"recommended": (answer.features, "s2")}
    chosen |= {f"without part {one.part}": (one.features, "s0") for one in evidence.outcomes}
    taken = {
        name: Taken(np.isin(shown, features).astype(float)[:, None], css)
        for name, (features, css) in chosen.items()
    }
    names = [answer.feature_names[feature] for feature in shown]
    title = "Features chosen by part"
    draw = partial(draw_selections, taken, names, [""], title, "1 if it was chosen")
    caption = (
        "A row is a feature, with similar features side by side; green is the recommendation, made "
        "from all queries, and blue what the procedure chose without one part of them. A feature "
        "with a full row is chosen whichever part is left out."
    )
    if n_chosen > len(shown):
        caption += f" {n_chosen - len(shown):,} features that were chosen less often are left out."
    sentence = (
        "The claim rests on these choices: features were tested on each part of the queries after "
        "they had been chosen without it."
    )
    part = Part(sheets.parts_sheet(answer, evidence), Chart("parts", caption, draw))
    return Section("Features chosen without each part", sentence, [part])


def _ever_chosen(answer: Recommendation, evidence: Evidence) -> list[int]:
    """Features that were chosen, the recommended ones first, then those chosen most often."""
    counts = sheets.count_chosen(answer, evidence)
    others = np.argsort(-counts, kind="stable")
    others = others[counts[others] > 0].tolist()
    return list(dict.fromkeys([*answer.features, *others]))


def _alike_section(answer: Recommendation, evidence: Evidence) -> Section | None:
    """Similarity of features, with the tree."""
    likeness, values = evidence.likeness, evidence.alone.values
    copies = [one.feature for kept in answer.kept for one in kept.substitutes]
    best = sorted(likeness.features, key=lambda feature: -values[feature])
    shown = list(dict.fromkeys([*answer.features, *copies, *best]))[:MOST_FEATURES]
    row_of = {feature: row for row, feature in enumerate(likeness.features)}
    shown = [feature for feature in shown if feature in row_of]
    rows = [row_of[feature] for feature in shown]
    kept = set(answer.features)
    names = [
        f"{answer.feature_names[feature]}{' *' if feature in kept else ''}" for feature in shown
    ]
    matrix = likeness.matrix[np.ix_(rows, rows)]
    n_others = len(answer.kept) + len(answer.dropped) - len(shown)
    further = "A star marks recommended features."
    if n_others > 0:
        further += (
            f" {quantity(n_others, 'feature')} left out; those shown are recommended, near-copies "
            "of recommended ones, or rank best alone."
        )
    return similar_section(
        names,
        matrix,
        "Of features that order documents similarly, one is often enough.",
        "mean over queries of the absolute value of Kendall's tau-b",
        further,
        similar_sheet(names, matrix),
    )


def _queries_section(answer: Recommendation, evidence: Evidence) -> Section | None:
    """Gain or loss of each query."""
    changes = [
        np.array(one.with_chosen) - np.array(one.with_all)
        for one in evidence.outcomes
        if one.queries
    ]
    if not changes:
        return None
    changed = np.concatenate(changes)
    measure = answer.claim.measure
    name = "chosen features - all features"
    draw = partial(draw_gains, [(name, "s0", changed)], f"Gains and losses of {measure}")
    won, lost = int((changed > 0).sum()), int((changed < 0).sum())
    caption = (
        f"All {quantity(len(changed), 'test query', 'test queries')}, the largest gain at the left "
        "and the largest loss at the right."
    )
    sentence = (
        f"A good mean can hide large losses: {measure} rises on {won:,} queries, stays on "
        f"{len(changed) - won - lost:,} and falls on {lost:,} with the chosen features. The table "
        "has those with the largest changes."
    )
    sheet, chart = sheets.queries_sheet(answer, evidence), Chart("queries", caption, draw)
    return Section("Queries that gain and lose", sentence, [Part(sheet, chart, is_folded=False)])


def _work_section(evidence: Evidence) -> Section | None:
    """Methods that were tried, and their time."""
    if not evidence.spent:
        return None
    bars = [
        Bar(one.method, one.seconds, f"{one.seconds:.3g} s, {quantity(one.fits, 'fit')}")
        for one in evidence.spent
    ]
    sheet = sheets.spent_sheet(evidence)
    caption = (
        "Seconds of all selections of a selector, and of all trainings of the ranker, on all "
        f"threads together. {sheet.notes[0]}"
    )
    sentence = "What was fitted to find the answer, and how long it took."
    chart = Chart("work", caption, partial(draw_bars, bars, "Seconds of each method"))
    return Section("Work and time", sentence, [Part(sheet, chart)])
