"""Take the screenshot of a page that the README shows.

python -m ranksieve recommend --margin 3% --out /tmp/demo
python docs/screenshot.py /tmp/demo/report.html docs/figures/demo-report.png
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

WIDTH, HEIGHT = 1080, 1404
COLORS = 64  # more make the file larger, and cannot be seen


def take_screenshot(page: Path, picture: Path) -> None:
    """Open a page in Chromium and write what is seen first as a PNG with few colors."""
    from PIL import Image
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        path = shutil.which("chromium") or shutil.which("google-chrome")
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        shown = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        shown.goto(page.resolve().as_uri())
        shown.screenshot(path=picture)
        browser.close()
    Image.open(picture).convert("RGB").quantize(COLORS).save(picture, optimize=True)


if __name__ == "__main__":
    take_screenshot(Path(sys.argv[1]), Path(sys.argv[2]))
