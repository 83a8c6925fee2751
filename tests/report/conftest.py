"""Results and their pages, which many tests look at."""

import pytest

from ranksieve.report import report_of
from ranksieve.report.inspection import inspection_report
from ranksieve.report.page import write_page
from ranksieve.sums.inspection import inspect
from tests.report.browser import HOSTILE, browser  # noqa: F401
from tests.report.results import made, planted, planted_data

NUMBERED = [f"{name} {number}" for number, name in enumerate(HOSTILE)]
"""Names of features that do something where they are not escaped."""


@pytest.fixture(scope="session")
def result():
    return planted(n_densities=6)


@pytest.fixture(scope="session")
def answer():
    return made()


@pytest.fixture(scope="session")
def inspected():
    return inspect(planted_data(NUMBERED[:9]))


@pytest.fixture(scope="session")
def pages(result, answer, inspected, tmp_path_factory):
    """Pages of all kinds of results, and such with hostile names."""
    script = "</script><script>alert(2)</script>"
    selectors = [f"{name} s" for name in HOSTILE]
    strange = planted(names=NUMBERED, selectors=selectors, rankers=(script,), n_densities=6)
    reports = {
        "study": report_of(result),
        "recommendation": report_of(answer),
        "inspection": inspection_report("<i>data</i>", inspected),
        "hostile study": report_of(strange),
        "hostile recommendation": report_of(made(NUMBERED, title=script)),
    }
    paths = {}
    for kind, report in reports.items():
        paths[kind] = tmp_path_factory.mktemp("page") / "report.html"
        write_page(report, paths[kind])
    return paths
