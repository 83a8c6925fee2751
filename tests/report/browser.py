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
        yield Tabs(started)
        started.close()


class Tabs:
    """The tabs of a browser, one for each set of options: opening one takes a second."""

    def __init__(self, browser):
        self.browser, self.tabs = browser, {}

    def tab(self, **options):
        """A tab, as new: pages keep nothing when another is opened."""
        key = tuple(sorted(options.items()))
        if key not in self.tabs:
            self.tabs[key] = self.browser.new_context(**options).new_page()
        return self.tabs[key]


class Opened:
    """A page that is open, with all that it said and asked for."""

    def __init__(self, page):
        self.page = page
        self.complaints, self.requests = [], []
        self._listeners = {
            "console": lambda message: self.complaints.append(message.text),
            "pageerror": lambda error: self.complaints.append(str(error)),
            "dialog": self._dismiss,
            "request": lambda request: self.requests.append(request.url),
        }
        for event, listener in self._listeners.items():
            page.on(event, listener)

    def _dismiss(self, dialog):
        self.complaints.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def violations(self, contrast=True):
        """What axe-core finds, in a few words; looking for contrast takes most of the time."""
        self.page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
        rules = {"color-contrast": {"enabled": contrast}}
        found = Axe().run(self.page, options={"resultTypes": ["violations"], "rules": rules})
        return [(one["id"], one["nodes"][0]["html"]) for one in found.response["violations"]]

    def leave(self):
        """Hear nothing of what is opened next in the same tab."""
        for event, listener in self._listeners.items():
            self.page.remove_listener(event, listener)


@contextmanager
def opened(browser, path, *, size=(1200, 900), color_scheme="light", **options):
    """Open a page from its file.

    With ``bypass_csp`` for axe: the page's policy rightly refuses scripts from outside.
    """
    tab = browser.tab(**options)
    tab.set_viewport_size(dict(zip(("width", "height"), size, strict=True)))
    tab.emulate_media(media="screen", color_scheme=color_scheme)
    tab.mouse.move(0, 0)
    shown = Opened(tab)
    try:
        tab.goto(path.as_uri())
        yield shown
    finally:
        shown.leave()


def assert_quiet(shown, path):
    """Nothing was said, and nothing but the file was asked for."""
    assert shown.complaints == []
    assert shown.requests == [path.as_uri()]
