"""The report of a recommendation: the advice and its claim, then what they rest on."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from math import inf, isfinite

import numpy as np

from ranksieve.recommendation.answer import OFFERED_MARGINS, KeptFeature, KeptGroup, Recommendation
from ranksieve.recommendation.claim import Claim, confidence, loss_in_words, percent
from ranksieve.recommendation.evidence import Evidence
from ranksieve.report.charts.colors import COST, GAIN, KEPT, LOSS, OTHER
from ranksieve.report.charts.curves import Bar, draw_bars, draw_gains
from ranksieve.report.charts.matrices import Taken, draw_selections
from ranksieve.report.charts.panels import Panel, draw_panels
from ranksieve.report.features import MOST_FEATURES, alone_section, similar_section
from ranksieve.report.formats.html import CellBars
from ranksieve.report.offers import kind_of_cost, offers_section
from ranksieve.report.section import Chart, Part, Report, Section, provenance, verdict
from ranksieve.report.sheets import recommendation as sheets
from ranksieve.report.sheets.features import alone_sheet, similar_sheet
from ranksieve.report.sheets.sheet import LONG, long_list
from ranksieve.report.similarity import order_by_similarity
from ranksieve.sums.suspicions import warnings_of
from ranksieve.text import quantity


def recommendation_report(answer: Recommendation) -> Report:
    """Make the report of a recommendation; without evidence, it has fewer sections."""
    evidence = answer.evidence
    sections = [
        _verdict(answer),
        offers_section(answer),
        _kept_section(answer),
        _dropped_section(answer),
        *([] if evidence is None else _evidence_sections(answer, evidence)),
        _notes_section(answer),
        provenance([*_provenance(answer)]),
    ]
    return Report(answer.title, list(filter(None, sections)), "Recommendation")


def _verdict(answer: Recommendation) -> Section:
    """Main result: the advice, which depends on what is shown, and the claims."""
    claim = answer.claims[-1]  # the test, if there is one and it decides
    if answer.is_shown and not claim.is_shown:
        claim = answer.claim
    others = [one for one in answer.claims if one is not claim]
    return verdict(
        answer.advice,
        [*_facts(answer, claim)],
        [
            *warnings_of(answer.suspicions),
            claim.sentence,
            *(one.sentence for one in others),
            *_what_is_shown(answer),
            *answer.warnings,
        ],
        is_shown=answer.is_shown,
        word=_badge(answer, claim),
    )


def _badge(answer: Recommendation, claim: Claim) -> str:
    """One or two words about the advice that follows them."""
    if claim.about == "all":
        return "All kept"
    if answer.is_shown:
        return "Confirmed" if claim is answer.confirmed else "Shown"
    if answer.budget_that_binds is not None and answer.dropped and isfinite(claim.bound):
        return f"Loses {_below(claim)}"
    return "Not shown" if answer.confirmed is None else "Not confirmed"


def _below(claim: Claim) -> str:
    return f"< {loss_in_words(claim.bound)}"


def _facts(answer: Recommendation, claim: Claim) -> Iterator[tuple[str, ...]]:
    """The most important numbers."""
    yield sheets.heading_of_kept(answer), f"{len(answer.kept):,}", f"of {answer.n_all:,}"
    if answer.has_costs:
        yield "Cost", answer.price(answer.cost), f"of {answer.price(answer.cost_of_all)}"
    where = " on test queries" if claim.about == "test" else ""
    loss = f"Loss{where}, with {confidence(claim.level)} confidence"
    if claim.about == "all":
        return
    if claim.about == "none":
        loss = "Loss of the nearest smaller set"
        if answer.curve:
            nearest = max(answer.curve, key=lambda one: one.bound)
            loss = f"Loss of the nearest set ({quantity(nearest.size, 'feature')})"
    else:
        means = f"{claim.with_chosen:.4f}", f"with all {claim.with_all:.4f}"
        yield f"{claim.measure}{where}", *means
    bound = _below(claim) if isfinite(claim.bound) else "unknown"
    yield loss, bound, f"margin {percent(claim.margin)}"
    tested = "Test queries" if claim.about == "test" else "Queries", f"{claim.n_queries:,}"
    if claim.is_shown or not claim.n_queries < claim.queries_needed < inf:
        yield tested
    else:
        yield *tested, f"about {claim.needed} needed"


def _what_is_shown(answer: Recommendation) -> list[str]:
    """What the queries do show, if it is not what was asked for."""
    if answer.claim.about != "none" or not answer.curve:
        return []
    if not answer.offers:
        most = max(answer.claim.margin, *OFFERED_MARGINS)
        return [f"No smaller set is shown to lose less than {percent(most)} either."]
    shown = [
        f"{quantity(one.point.size, 'feature')}"
        + (f" at a cost of {answer.price(one.point.cost)}" if answer.has_costs else "")
        + f", a loss of less than {percent(one.margin)}"
        for one in answer.offers
    ]
    return [f"What these queries do show: with {'; with '.join(shown)}."]


def _notes_section(answer: Recommendation) -> Section | None:
    """What was left out for reasons that do not change the verdict."""
    if not answer.notes:
        return None
    return Section("Notes", "What was left out; it changes nothing above.", notes=answer.notes)


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
        costs = (f"{name} {answer.price(cost)}" for name, cost in groups.items())
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
    rows: list[KeptFeature | KeptGroup] = [*shown, *answer.kept_groups]
    # Only the nearest, because shortening a label with several would mix up their numbers.
    nearest = [replace(kept, substitutes=kept.substitutes[:1]) for kept in shown]
    texts = [sheets.substitutes_text(kept, answer) for kept in nearest]
    draw = partial(
        draw_panels,
        [sheets.name_of(row, answer) for row in rows],
        _panels(answer, rows),
        [*texts, *[""] * len(answer.kept_groups)] if any(texts) else [],
        "could be replaced by",
        f"{quantity(len(shown), 'feature')} to keep, with what is known of each",
    )
    sheet = sheets.kept_sheet(answer, alone)
    chart = Chart("kept", " ".join(_about_kept(answer, len(shown), any(texts))), draw)
    every = sheets.kept_sheet(answer)
    of_features = long_list(replace(every, groups=every.groups[:1]), rest="")
    brief = replace(of_features, groups=[*of_features.groups, *every.groups[1:]])
    sentence = f"{sheets.worth_of_kept(answer)}."
    parts = [Part(sheet, chart, brief=brief)]
    if answer.kept_groups:
        groups = sheets.groups_sheet(answer)
        parts.append(Part(groups, brief=groups))
    return Section(sheets.heading_of_kept(answer), sentence, parts)


def _about_kept(answer: Recommendation, n_shown: int, has_substitutes: bool) -> Iterator[str]:
    """Explain the bars of the features to keep."""
    measure, evidence = answer.claim.measure, answer.evidence
    if len(answer.kept) > n_shown:
        yield f"The first {n_shown} of {len(answer.kept):,} features."
    if answer.kept_groups:
        yield sheets.note_on_groups("kept", answer.price(answer.cost))
    if any(kept.loss is not None for kept in answer.kept):
        yield (
            f"Loss without it: how much {measure} falls, relative to all features, if only this "
            "feature is taken out of those to keep; the thin line is its 95% interval, and green "
            f"means that {measure} rises. Queries judged that were left out of the training, but "
            "not of the choice."
        )
    if any(kept.stability is not None for kept in answer.kept):
        yield (
            "Stability: how many of the sets of this cost, each found on other queries, have the "
            "feature, too; 1 is all."
        )
    if evidence is not None:
        yield (
            f"Ranks alone: {measure} if this feature alone orders the documents; bars start at "
            f"what a random order reaches, {evidence.alone.chance:.4f}."
        )
    if has_substitutes:
        yield (
            "Could be replaced by: the feature that orders documents most like it, with their "
            "similarity (|tau_b|, at least 0.9)."
        )
    if evidence is None and not any(kept.loss is not None for kept in answer.kept):
        yield "What is known of each feature."


def _panels(answer: Recommendation, shown: Sequence[KeptFeature | KeptGroup]) -> list[Panel]:
    panels = []
    features = [kept for kept in shown if isinstance(kept, KeptFeature)]  # before the groups
    further = [None] * (len(shown) - len(features))
    if any(kept.loss is not None for kept in shown):
        panels.append(_losses(shown))
    if answer.has_costs:
        costs = [kept.cost for kept in shown]
        panels.append(Panel(kind_of_cost(answer), costs, ".4g", css=COST, width=60))
    if any(kept.stability is not None for kept in features):
        shares = [*(kept.stability for kept in features), *further]
        panels.append(Panel("stability", shares, ".2f", css=KEPT, width=60))
    if answer.evidence is not None:
        alone = answer.evidence.alone.values
        values = [*(alone[kept.feature] for kept in features), *further]
        chance = answer.evidence.alone.chance
        panels.append(Panel("ranks alone", values, ".3f", css=KEPT, start=chance, width=60))
    return panels


def _losses(shown: Sequence[KeptFeature | KeptGroup]) -> Panel:
    ends = [
        None if kept.lower is None or kept.upper is None else (kept.lower, kept.upper)
        for kept in shown
    ]
    losses = [kept.loss for kept in shown]
    panel = Panel("loss without it", losses, "+z.2%", ends, css=LOSS, below=GAIN, width=170)
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
    bars = {"cost": CellBars(COST)}
    if alone is not None:
        bars["alone"] = CellBars(OTHER, alone.chance)
    part = Part(sheets.dropped_sheet(answer, alone), bars=bars, brief=brief)
    needed = "are not needed" if answer.is_shown else "this set leaves out"
    sentence = f"Features that {needed}, each with the reason."
    return Section("Features to drop", sentence, [part])


def _evidence_sections(answer: Recommendation, evidence: Evidence) -> list[Section | None]:
    """All sections about the evidence."""
    return [
        _shares_section(answer, evidence),
        _alike_section(answer, evidence),
        alone_section(
            answer.feature_names,
            evidence.alone.values,
            answer.claim.measure,
            evidence.alone.chance,
            "How useful each feature is without the others.",
            "(small): small values are good. Blue: recommended. A feature that ranks well alone "
            "may be dropped because others say the same, and one that ranks badly alone may add "
            "to others.",
            alone_sheet(
                answer.feature_names,
                evidence.alone.values,
                answer.claim.measure,
                evidence.alone.chance,
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


def _shares_section(answer: Recommendation, evidence: Evidence) -> Section | None:
    """Which features the paths have in their sets, similar features side by side."""
    found = _in_any_set(answer, evidence)
    if not found or not evidence.shares:
        return None
    likeness = evidence.likeness
    shown = order_by_similarity(found[:MOST_FEATURES], likeness.features, likeness.matrix)
    taken = {
        name: Taken(
            np.array([[shares.get(feature, 0.0)] for feature in shown]),
            KEPT if point == answer.recommended else OTHER,
            is_marked=point == answer.recommended,
        )
        for name, point, shares in zip(
            sheets.names_of_sets(answer), answer.curve, evidence.shares, strict=False
        )
    }
    names = [answer.feature_names[feature] for feature in shown]
    draw = partial(draw_selections, taken, names, [""], "Features in each set", "share of paths")
    kind = kind_of_cost(answer)
    kind = f"their {kind}, with the number of features" if answer.has_costs else kind
    caption = (
        f"A row is a feature, with similar features side by side; a column is a set of the curve, "
        f"by {kind}. The stronger the color, the more paths have the feature in their set; each "
        "path is built on other queries. Blue, and bold: the recommended set."
    )
    if len(found) > len(shown):
        caption += f" {len(found) - len(shown):,} features that fewer paths have are left out."
    sentence = (
        "Sets that all paths agree on do not depend on which queries chose them. Of similar "
        "features, one path may take the one and another the other."
    )
    part = Part(sheets.shares_sheet(answer, evidence, found), Chart("shares", caption, draw))
    return Section("Features in each set", sentence, [part])


def _in_any_set(answer: Recommendation, evidence: Evidence) -> list[int]:
    """Features of any set, the recommended ones first, then those that most paths have."""
    totals = np.zeros(len(answer.feature_names))
    for shares in evidence.shares:
        totals[list(shares)] += list(shares.values())
    others = np.argsort(-totals, kind="stable")
    chosen = [] if answer.recommended is None else answer.features
    return list(dict.fromkeys([*chosen, *others[totals[others] > 0].tolist()]))


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
    """Gain or loss of each query; None if no smaller set is recommended."""
    judges = evidence.judges
    if not answer.dropped or not judges.queries:
        return None
    changed = np.array(judges.with_chosen) - np.array(judges.with_all)
    measure = answer.claim.measure
    name = "recommended features - all features"
    draw = partial(draw_gains, [(name, KEPT, changed)], f"Gains and losses of {measure}")
    won, lost = int((changed > 0).sum()), int((changed < 0).sum())
    caption = (
        f"All {quantity(len(changed), 'query that judges', 'queries that judge')}, the largest "
        "gain at the left and the largest loss at the right; each the mean over "
        f"{quantity(evidence.repeats, 'repeat')}. They are not smoothed over neighboring sets, so "
        "their mean is not exactly the change of the verdict."
    )
    sentence = (
        f"A good mean can hide large losses: {measure} rises on {won:,} queries, stays on "
        f"{len(changed) - won - lost:,} and falls on {lost:,} with the recommended features. The "
        "table has those with the largest changes."
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
        f"threads together. {' '.join(sheet.notes)}"
    )
    sentence = "What was fitted to find the answer, and how long it took."
    chart = Chart("work", caption, partial(draw_bars, bars, "Seconds of each method"))
    return Section("Work and time", sentence, [Part(sheet, chart)])
