"""Choose the runs, the measure and the styles of the figures of a study."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ranksieve.data import DataError
from ranksieve.metrics import parse_measure
from ranksieve.report.figures.style import GRAY, line_style
from ranksieve.study import enough_features
from ranksieve.study.results import BASE, Outcomes, Run, StudyResult


def measure_of(result: StudyResult, measure: str | None) -> str:
    """Name of a measure of the study; by default its main measure."""
    if measure is None:
        return result.main_measure
    name = str(parse_measure(measure))
    if name not in result.measures:
        raise DataError(f"{name} is not in the study; it has {', '.join(result.measures)}")
    return name


def runs_of(
    result: StudyResult,
    ranker: str,
    selectors: Sequence[str] | None = None,
    without: Sequence[str] = (),
) -> list[Run]:
    """Some selectors with a ranker; by default all of the study except ``without``.

    All features are never among them, because they have a separate line.
    """
    if selectors is None:
        selectors = [name for name in result.selectors if name not in without]
    runs = [result.run(name, ranker) for name in selectors]
    drawn = [run for run in runs if run.selector != BASE]
    if not drawn:
        raise DataError("there is no selector to draw")
    return drawn


def base_of(result: StudyResult, ranker: str) -> Outcomes | None:
    """All features with a ranker; None if they are not in the study."""
    run = result.runs.get((BASE, ranker))
    return None if run is None else run.chosen


def enough_of(result: StudyResult, ranker: str, measure: str) -> dict[str, int | None]:
    """Fewest features of each selector that are shown to be enough; None where none are.

    Empty if all features, with which to compare, are not in the study.
    """
    if base_of(result, ranker) is None:
        return {}
    return {name: enough_features(result, name, ranker, measure) for name in result.selecting}


def style_of(result: StudyResult, selector: str) -> dict[str, Any]:
    """Color, dashes and marker of a selector: the same in all figures of a study."""
    if selector not in result.selecting:
        return {"color": GRAY, "linestyle": (0, (1, 1)), "marker": "x"}
    return line_style(result.selecting.index(selector))
