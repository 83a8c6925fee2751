"""Reports of results: one list of sections, shown by the terminal, a page, notebooks and files.

:func:`sections` lists what there is to say about a result; a :class:`~section.Section` has a
heading, a sentence, and parts: a table (:class:`~sheets.sheet.Sheet`), or a figure
(:class:`~section.Chart`) with the table of its numbers. Tables, figures, sections and reports show
themselves in notebooks.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from ranksieve.text import nearest_name

if TYPE_CHECKING:
    from ranksieve.recommendation import Check, CheckHistory, Recommendation
    from ranksieve.report.section import Chart, Report, Section
    from ranksieve.reproduction import Reproduction
    from ranksieve.study import StudyResult
    from ranksieve.sums.inspection import Inspection

    Result: TypeAlias = (
        StudyResult | Recommendation | Check | CheckHistory | Reproduction | Inspection
    )


def sections(result: Result) -> list[Section]:
    """List the sections of the report of a result, the main result first.

    Examples
    --------
    >>> from ranksieve import make_ranking
    >>> from ranksieve.report import sections
    >>> from ranksieve.study import Study
    >>> data, _ = make_ranking(60, n_noise=3)
    >>> study = Study(data, selectors=["gas-e"], rankers=["rankrls"], ks=[2, 5], seeds=1)
    >>> for section in sections(study.run()):
    ...     print(section.heading)
    Verdict
    Features
    Quality by number of features
    Pairwise comparison
    Selected features by fold
    Queries that gain and lose
    Cost and time
    Reproduce
    """
    return list(report_of(result).sections)


def write_report(result: Result, directory: Path, *, figures: bool = True) -> Report:
    """Write the page of a report, its tables (CSV, LaTeX) and its figures (SVG, PDF); return it.

    What an earlier report wrote to the directory and this one does not is removed.
    """
    from ranksieve.report.directory import write_files

    report = report_of(result)
    write_files(report, directory, figures=figures)
    return report


def show_in_notebook(result: Result) -> str:
    """Make the card that a notebook shows of a result: its verdict and its main tables, as HTML."""
    from ranksieve.report.page import render_card

    return render_card(report_of(result))


def find_chart(result: Result, name: str) -> Chart:
    """Find a figure of the report of a result by its name, or by the first part of its name."""
    charts = [part.chart for part in report_of(result).parts if part.chart is not None]
    named = [chart for chart in charts if chart.name == name]
    named += [chart for chart in charts if chart.name.startswith(f"{name}-")]
    if not named:
        known = [chart.name for chart in charts]
        there = f"there are {', '.join(known)}" if known else "there are none"
        raise ValueError(f"there is no figure {name!r:.60}; {there}{nearest_name(name, known)}")
    return named[0]


def report_of(result: Result) -> Report:
    """Make the report of a result: its title and its sections."""
    from ranksieve.study import StudyResult

    if isinstance(result, StudyResult):
        from ranksieve.report.study import study_report

        return study_report(result)
    from ranksieve.sums.inspection import Inspection

    if isinstance(result, Inspection):
        from ranksieve.report.inspection import inspection_report

        return inspection_report("The data", result)
    from ranksieve.recommendation import Check, CheckHistory, Recommendation

    if isinstance(result, (Check, CheckHistory)):
        from ranksieve.report.checks import check_report, history_report

        return check_report(result) if isinstance(result, Check) else history_report(result)
    if isinstance(result, Recommendation):
        from ranksieve.report.recommendation import recommendation_report

        return recommendation_report(result)
    from ranksieve.report.reproduction import reproduction_report

    return reproduction_report(result)
