"""Reports of results: one list of sections, shown by the terminal, a page, notebooks and files.

:func:`sections` lists what there is to say about a result; a :class:`~section.Section` has a
heading, a sentence, and parts: a table (:class:`~sheets.sheet.Sheet`), or a figure
(:class:`~section.Chart`) with the table of its numbers. Tables, figures, sections and reports show
themselves in notebooks.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ranksieve.recommendation import Recommendation
    from ranksieve.report.section import Report, Section
    from ranksieve.reproduction import Reproduction
    from ranksieve.study import StudyResult
    from ranksieve.sums.inspection import Inspection


def sections(result: StudyResult | Recommendation | Reproduction | Inspection) -> list[Section]:
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


def write_report(
    result: StudyResult | Recommendation | Reproduction, directory: Path, *, figures: bool = True
) -> Report:
    """Write the page of a report, its tables (CSV, LaTeX) and its figures (SVG, PDF); return it.

    What an earlier report wrote to the directory and this one does not is removed.
    """
    from ranksieve.report.directory import write_files

    report = report_of(result)
    write_files(report, directory, figures=figures)
    return report


def show_in_notebook(result: StudyResult | Recommendation) -> str:
    """Make the first two sections of the report of a result, as HTML: the verdict and its table."""
    report = report_of(result)
    return replace(report, sections=report.sections[:2])._repr_html_()


def report_of(result: StudyResult | Recommendation | Reproduction | Inspection) -> Report:
    """Make the report of a result: its title and its sections."""
    from ranksieve.study import StudyResult

    if isinstance(result, StudyResult):
        from ranksieve.report.study import study_report

        return study_report(result)
    from ranksieve.sums.inspection import Inspection

    if isinstance(result, Inspection):
        from ranksieve.report.inspection import inspection_report

        return inspection_report("The data", result)
    from ranksieve.recommendation import Recommendation

    if isinstance(result, Recommendation):
        from ranksieve.report.recommendation import recommendation_report

        return recommendation_report(result)
    from ranksieve.report.reproduction import reproduction_report

    return reproduction_report(result)
