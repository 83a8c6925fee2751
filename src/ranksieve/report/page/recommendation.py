"""The page of a recommendation, with the most important results first.

Sections about the evidence are in recommendation_evidence.py.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import replace
from math import isfinite

from markupsafe import Markup

from ranksieve.recommendation.answer import FrontPoint, KeptFeature, Recommendation
from ranksieve.recommendation.claim import Claim, confidence, percent
from ranksieve.report.page.charts.curves import Curve, Level, draw_curves
from ranksieve.report.page.charts.panels import Panel, draw_margin, draw_panels
from ranksieve.report.page.charts.svg import color_class
from ranksieve.report.page.page import (
    MOST_FEATURES,
    Chart,
    MainResult,
    Page,
    Section,
    Table,
)
from ranksieve.report.page.recommendation_evidence import evidence_sections
from ranksieve.report.sheets import recommendation as sheets
from ranksieve.report.sheets.sheet import first_rows
from ranksieve.text import quantity

_MARGINS = 8  # margins below all features at which lines are cut off


def recommendation_page(answer: Recommendation) -> Page:
    """Make the page of a recommendation, without parts that older versions did not record."""
    sections = [_kept_section(answer), _dropped_section(answer), _front_section(answer)]
    kept = list(filter(None, sections + evidence_sections(answer)))
    return Page(answer.title, _verdict(answer), kept, [*_provenance(answer)], "Recommendation")


def _verdict(answer: Recommendation) -> MainResult:
    """Main result: the advice first if the claim is shown, otherwise that it is not shown."""
    *before, claim = answer.claims  # the last is the confirmation, if there is one
    words = ("Shown", "Not shown") if answer.confirmed is None else ("Confirmed", "Not confirmed")
    if claim.is_shown:
        sentences = [answer.advice, claim.sentence]
    else:
        sentences = [f"{claim.headline}.", claim.numbers, answer.advice]
    return MainResult(
        sentences[0],
        claim.is_shown,
        [*_facts(answer, claim)],
        [*sentences[1:], *(one.sentence for one in before), *answer.notes],
        words[0] if claim.is_shown else words[1],
        _figure(claim),
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


def _figure(claim: Claim) -> Markup:
    if not isfinite(claim.bound) or not isfinite(claim.lower):
        return Markup()
    interval = claim.lower, claim.upper
    return draw_margin(claim.change, interval, claim.bound, claim.margin, claim.is_shown)


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
    svg = draw_panels(
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
    lead = f"Selected by {answer.selector}, in the order of selection{pruned}."
    if not answer.dropped:
        lead = "All features: no smaller set was good enough."
    table = Table(replace(first_rows(sheet, 200), notes=()))
    return Section("Features to keep", lead, [Chart(svg, caption, table)])


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
    sheet = first_rows(sheets.dropped_sheet(answer, alone), MOST_FEATURES)
    lead = "Features that are not needed, each with the reason."
    return Section("Features to drop", lead, [Table(sheet, ("cost", "alone"))])


def _front_section(answer: Recommendation) -> Section | None:
    """Quality against cost of all candidates."""
    selectors = answer.selectors
    if not selectors:
        return None
    claim, whole = answer.claim, answer.point_of_all
    curves = [_curve(answer, name, color_class(n)) for n, name in enumerate(selectors)]
    curves += [
        _curve(answer, name, "s-", label)
        for name, label in (("none", "no features"), ("all", "all features"))
        if answer.selector == name
    ]
    cost = "cost" if answer.has_costs else "number of features"
    low = whole.value * (1 - _MARGINS * claim.margin)
    svg = draw_curves(
        curves,
        f"{claim.measure} against {cost}",
        cost,
        claim.measure,
        Level(f"all ({whole.value:.4f})", whole.value, claim.margin * whole.value),
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
    lead = "What every set that was tried costs, and how well it ranks."
    return Section(
        f"Quality against {cost}", lead, [Chart(svg, caption, Table(sheets.front_sheet(answer)))]
    )


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
        chosen[0] if chosen else None,
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
