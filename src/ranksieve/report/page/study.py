"""The page of a study, with the most important results first."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ranksieve.report.page.page import Page, write_page
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
from ranksieve.report.page.study_verdict import find_enough, study_verdict
from ranksieve.report.sheets.study_captions import setting_of
from ranksieve.study.first_fold import FirstFold
from ranksieve.study.results import StudyResult
from ranksieve.text import quantity


def write_study_page(result: StudyResult, path: Path, seen: FirstFold | None = None) -> None:
    """Write the page of a study.

    Parameters
    ----------
    result : StudyResult
    path : Path
    seen : FirstFold, optional
        Facts about the data; without them, importance and similarity are left out.
    """
    write_page(study_page(result, seen), path)


def study_page(result: StudyResult, seen: FirstFold | None = None) -> Page:
    """Make the page of a study; see :func:`write_study_page`."""
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
        study_verdict(result, found),
        [section for section in sections if section is not None],
        [*_provenance(result, seen)],
        data,
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


_SETTINGS = {
    "ranksieve": "Version of ranksieve that began the study",
    "seed": "Seed of the first run",
    "seeds": "Runs of methods that draw random numbers",
    "scale": "Scaling of features",
    "choose": "Rule that chose numbers of features",
}
