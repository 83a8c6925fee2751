"""The page of a recommendation, with the most important results first."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from math import isfinite
from pathlib import Path
from typing import Any

from markupsafe import Markup

from ranksieve.recommendation.answer import Recommendation
from ranksieve.recommendation.verdict import Verdict as Claim
from ranksieve.recommendation.verdict import percent
from ranksieve.report.page.charts.margin import draw_margin
from ranksieve.report.page.page import Page, Verdict, write_page
from ranksieve.report.page.recommendation_evidence import (
    alike_section,
    alone_section,
    parts_section,
    queries_section,
    work_section,
)
from ranksieve.report.page.recommendation_features import (
    dropped_section,
    front_section,
    kept_section,
)


def write_recommendation_page(answer: Recommendation, path: Path) -> None:
    """Write the page of a recommendation."""
    write_page(recommendation_page(answer), path)


def recommendation_page(answer: Recommendation) -> Page:
    """Make the page of a recommendation, without parts that older versions did not record."""
    data: dict[str, Any] = {}
    sections = [kept_section(answer), dropped_section(answer), front_section(answer)]
    if answer.evidence is not None:
        sections += [
            parts_section(answer, answer.evidence, data),
            alike_section(answer, answer.evidence, data),
            alone_section(answer, answer.evidence),
            queries_section(answer, answer.evidence),
            work_section(answer.evidence),
        ]
    return Page(
        answer.title,
        _verdict(answer),
        [section for section in sections if section is not None],
        [*_provenance(answer)],
        data,
        "Recommendation",
    )


def _verdict(answer: Recommendation) -> Verdict:
    """Main result: the advice first if the claim is shown, otherwise that it is not shown."""
    *before, claim = answer.claims  # the last is the confirmation, if there is one
    words = ("Shown", "Not shown") if answer.confirmed is None else ("Confirmed", "Not confirmed")
    if claim.is_shown:
        sentences = [answer.advice, claim.sentence]
    else:
        sentences = [f"{claim.headline}.", claim.numbers, answer.advice]
    return Verdict(
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
    yield f"Loss, with {claim.level:.0%} confidence", bound, f"margin {percent(claim.margin)}"
    tested = "Test queries", f"{claim.n_queries:,}"
    if claim.is_shown or not isfinite(claim.queries_needed):
        yield tested
    else:
        yield *tested, f"about {claim.queries_needed:,.0f} needed"


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
    for name, what in (("keep", "Features that had to be kept"), ("drop", "Features left out")):
        if settings[name]:
            yield what, ", ".join(map(str, settings[name]))
    groups = settings["costs"]["group_costs"]
    if groups:
        costs = (f"{name} {cost:.4g}" for name, cost in groups.items())
        yield "Costs of groups, paid once", ", ".join(costs)
    if evidence is not None:
        versions = evidence.versions.items()
        yield "Versions", ", ".join(f"{name} {version}" for name, version in versions)
    yield (
        "In the same directory",
        "recommendation.json has the answer, evidence.json what it rests on, tables/ all tables, "
        "model.json the ranker on the features to keep. ranksieve check tests them on new data.",
    )
