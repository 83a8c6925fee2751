"""Fixtures of reports."""

from tests.report.browser import browser  # noqa: F401
