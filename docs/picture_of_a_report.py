"""Draw `img/report.png`: the top of the report that `make run` leaves, as a browser shows it.

    python docs/picture_of_a_report.py runs/wine/report.html

Needs playwright and a Chromium (the environment variable CHROMIUM names another one than `chromium`).
"""

import os
import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

page_file = Path(sys.argv[1] if len(sys.argv) > 1 else "runs/wine/report.html").resolve()
browser_file = os.environ.get("CHROMIUM") or shutil.which("chromium")
with sync_playwright() as tools:
    browser = tools.chromium.launch(executable_path=browser_file, args=["--no-sandbox", "--disable-gpu"])
    page = browser.new_page(viewport={"width": 1160, "height": 1060}, color_scheme="light")
    page.goto(page_file.as_uri())
    end = page.evaluate("document.querySelector('#map').getBoundingClientRect().bottom + scrollY + 24")
    page.set_viewport_size({"width": 1160, "height": int(end)})
    page.screenshot(path=Path(__file__).parent / "img" / "report.png")
    browser.close()
