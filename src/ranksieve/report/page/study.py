"""The page of a study, with the main result first, in a sentence.

Sections about quality are in study_comparison.py, those about features in study_features.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ranksieve.report.page.page import MainResult, Page
from ranksieve.report.page.study_comparison import (
    cost_section,
    curves_section,
    pairs_section,
    queries_section,
)
from ranksieve.report.page.study_features import (
    features_section,
    importance_section,
    selections_section,
    similarity_section,
)
from ranksieve.report.sheets.study_captions import setting_of
from ranksieve.significance import Claim
from ranksieve.study.comparison import LEVEL, MARGIN, claim_enough, enough_features
from ranksieve.study.first_fold import FirstFold
from ranksieve.study.results import BASE, Outcomes, StudyResult
from ranksieve.text import quantity

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
    data: dict[str, Any] = {}
    sections = [
        features_section(result, seen, found[0].tested if found else None),
        curves_section(result),
        pairs_section(result),
        selections_section(result, seen, data),
        similarity_section(result, seen, data),
        importance_section(result, seen),
        queries_section(result),
        cost_section(result),
    ]
    return Page(
        result.title,
        _verdict(result, found),
        [section for section in sections if section is not None],
        [*_provenance(result, seen)],
        data,
    )


def corrected_level(result: StudyResult) -> float:
    """Level of each selector with each ranker, so that ``LEVEL`` holds for all together."""
    return 1 - (1 - LEVEL) / max(1, len(_candidates(result)))


def find_enough(result: StudyResult) -> list[Enough]:
    """For each selector and ranker the fewest features that are shown to be enough, fewest first.

    Every number of features is tested at a level corrected for the number of selectors and
    rankers (Bonferroni), because the best one is reported; sizes are tested from the largest
    down.
    """
    level = corrected_level(result)
    found = []
    for selector, ranker in _candidates(result):
        k = enough_features(result, selector, ranker, result.main_measure, level)
        if k is not None and k < len(result.feature_names):
            found.append(_tested(result, selector, ranker, k, level))
    return sorted(found, key=lambda one: (one.k, -one.claim.change))


def _closest(result: StudyResult) -> Enough | None:
    """Selection with the largest lower bound, if nothing is shown."""
    level = corrected_level(result)
    tried = [
        _tested(result, selector, ranker, k, level)
        for selector, ranker in _candidates(result)
        for k in result.run(selector, ranker).by_k
        if k < len(result.feature_names)
    ]
    return max(tried, key=lambda one: one.claim.lower, default=None)


def _candidates(result: StudyResult) -> list[tuple[str, str]]:
    return [
        (selector, ranker)
        for selector, ranker in result.runs
        if selector in result.selecting and (BASE, ranker) in result.runs
    ]


def _tested(result: StudyResult, selector: str, ranker: str, k: int, level: float) -> Enough:
    tested = result.run(selector, ranker).by_k[k]
    claim = claim_enough(result, tested, ranker, result.main_measure, level)
    return Enough(selector, ranker, k, tested, claim)


def _verdict(result: StudyResult, found: list[Enough]) -> MainResult:
    """Say which selector needs how few features, for which ranker; or that nothing is shown."""
    candidates = _candidates(result)
    measure, n_features = result.main_measure, len(result.feature_names)
    all_features = f"all {quantity(n_features, 'feature')}"
    if not candidates:
        return MainResult(
            "Nothing can be shown: the study has no selector to compare with all features.",
            is_shown=False,
        )
    if not found:
        return _nothing_shown(result, f"{MARGIN:.0%} of the {measure} of {all_features}")
    best = found[0]
    return MainResult(
        f"{quantity(best.k, 'feature')} selected by {best.selector} "
        f"{'is' if best.k == 1 else 'are'} enough for {best.ranker}: shown to lose less than "
        f"{MARGIN:.0%} of the {measure} of {all_features}.",
        True,
        _facts(best, measure, n_features),
        [*_other_rankers(result, found), _describe_tests(result)],
    )


def _nothing_shown(result: StudyResult, allowed: str) -> MainResult:
    closest = _closest(result)
    facts = (
        [] if closest is None else _facts(closest, result.main_measure, len(result.feature_names))
    )
    notes = []
    if closest is not None:
        notes.append(
            f"The numbers above are those of what comes closest: {closest.selector} with "
            f"{quantity(closest.k, 'feature')} and {closest.ranker}. That nothing is shown does "
            "not mean that quality is lost: with more test queries, smaller losses can be ruled "
            "out."
        )
    return MainResult(
        f"No selection is shown to be enough: none is shown to lose less than {allowed}, with "
        f"{' or '.join(result.rankers)}.",
        False,
        facts,
        [*notes, _describe_tests(result)],
    )


def _facts(one: Enough, measure: str, n_features: int) -> list[tuple[str, str]]:
    return [
        ("features", f"{one.k} of {n_features:,}"),
        (f"{measure} with them", f"{one.claim.value:.4f}"),
        (f"{measure} with all", f"{one.claim.base:.4f}"),
        ("change", f"{one.claim.change:+.1%}"),
        ("lower bound", f"{one.claim.lower:+.1%}"),
    ]


def _other_rankers(result: StudyResult, found: list[Enough]) -> Iterator[str]:
    for ranker in result.rankers:
        own = [one for one in found if one.ranker == ranker]
        if ranker != found[0].ranker and (BASE, ranker) in result.runs:
            fewest = f"{own[0].k} by {own[0].selector}" if own else "nothing is shown"
            yield f"For {ranker}: {fewest}."


def _describe_tests(result: StudyResult) -> str:
    candidates = len(_candidates(result))
    n_queries = quantity(result.n_queries, "test query", "test queries")
    return (
        f"Non-inferiority tests on {n_queries}, at the {1 - LEVEL:.0%} level after Bonferroni's "
        f"correction for {quantity(candidates, 'combination')} of a selector and a ranker. To "
        "choose features for production by a single decision, which is tested once, use "
        "ranksieve recommend."
    )


def _provenance(result: StudyResult, seen: FirstFold | None) -> Iterator[tuple[str, str]]:
    yield "How it was measured", setting_of(result)
    yield "Features", quantity(len(result.feature_names), "feature")
    yield "Selectors", ", ".join(result.selectors)
    yield "Rankers", ", ".join(result.rankers)
    yield "Measures", f"{', '.join(result.measures)}; everything was tuned by {result.tune}"
    yield "Convention", result.convention
    for name, value in result.settings.items():
        label = _SETTINGS.get(name)
        if label:
            yield label, str(value)
    if seen is not None:
        yield "Versions", ", ".join(f"{name} {value}" for name, value in seen.versions.items())
    prints = [f"{fold.name}: {fold.fingerprint}" for fold in result.folds if fold.fingerprint]
    if prints:
        yield "Fingerprints of the data", "; ".join(prints)
    yield (
        "Command",
        "ranksieve compare --plan study.toml --out again (study.toml is beside this page)",
    )
