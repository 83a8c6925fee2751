"""Pages in a real browser: what a reader sees, and what the page tries to do."""

import os
import shutil
from contextlib import contextmanager

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)
# Names that do something where they are not escaped.
HOSTILE = (
    "<script>alert(1)</script>",
    '"]}',
    "</script><b>",
    "$x$",
    "a\x1b[31mred",
    "\u202egnp.exe",
    "{{7*7}}",
    "' onmouseover='alert(1)",
    "\u05d0\u05d1\u05d2",
    "W" * 300,
    "<!-- <style>",
    "nul\0",
)


@pytest.fixture(scope="module")
def browser():
    """One browser for all tests of a file: it takes seconds to start, and has an event loop."""
    path = next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        if os.environ.get("CI"):
            pytest.fail("no browser found: .ci/run installs chromium")
        pytest.skip("needs a browser: install chromium")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=list(QUIET))
        yield started
        started.close()


class Opened:
    """A page that is open, with all that it said and asked for."""

    def __init__(self, page):
        self.page = page
        self.complaints, self.requests = [], []
        page.on("console", lambda message: self.complaints.append(message.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("dialog", self._dismiss)
        page.on("request", lambda request: self.requests.append(request.url))

    def _dismiss(self, dialog):
        self.complaints.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def violations(self):
        """What axe-core finds, in a few words."""
        self.page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
        found = Axe().run(self.page).response["violations"]
        return [(one["id"], one["nodes"][0]["html"]) for one in found]


@contextmanager
def opened(browser, path, **options):
    """Open a page from its file.

    With ``bypass_csp`` for axe: the page's policy rightly refuses scripts from outside.
    """
    context = browser.new_context(**{"viewport": {"width": 1200, "height": 900}} | options)
    try:
        shown = Opened(context.new_page())
        shown.page.goto(path.as_uri())
        yield shown
    finally:
        context.close()


def assert_quiet(shown, path):
    """Nothing was said, and nothing but the file was asked for."""
    assert shown.complaints == []
    assert shown.requests == [path.as_uri()]
