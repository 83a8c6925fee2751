"""Colors and dashes of the selectors of a study, the same in all charts of its page."""

from __future__ import annotations

from ranksieve.report.page.svg import color_class
from ranksieve.study.results import BASE, RANDOM, StudyResult


def looks_of(result: StudyResult) -> dict[str, str]:
    """Selector -> CSS classes of its color and dashes; baselines are gray."""
    selecting = [name for name in result.selectors if name not in (BASE, RANDOM)]
    looks = {name: color_class(place) for place, name in enumerate(selecting)}
    return looks | {BASE: "s-", RANDOM: "s- d2"}
