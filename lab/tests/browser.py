# SPDX-License-Identifier: GPL-2.0-or-later
"""The installed chromium for the tests, by Playwright. Pages open from a file, and whatever they ask for is seen."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

PROGRAM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
_PATIENCE_MS = 180_000  # a machine may have much else to do
# What it would ask of a network by itself.
_QUIET = ["--disable-quic", "--disable-background-networking", "--disable-component-update", "--disable-sync"]
_LOCAL = ("file:", "data:", "blob:")


@contextmanager
def chromium() -> Iterator[Browser]:
    with (
        sync_playwright() as playwright,
        playwright.chromium.launch(executable_path=PROGRAM, args=["--no-sandbox", *_QUIET]) as browser,
    ):
        yield browser


@contextmanager
def opened(browser: Browser, path: Path, width: int = 1200, dark: bool = False, scripts: bool = True) -> Iterator[Page]:
    context = browser.new_context(
        viewport={"width": width, "height": 900},
        is_mobile=width < 600,
        color_scheme="dark" if dark else "light",
        java_script_enabled=scripts,
    )
    context.set_default_timeout(_PATIENCE_MS)
    with context:
        page = context.new_page()
        page.goto(path.resolve().as_uri())
        yield page


def complaints(page: Page) -> list[str]:
    """Errors and warnings of scripts and of the browser, and what was asked of any network."""
    said = [message.text for message in page.console_messages() if message.type in ("error", "warning", "assert")]
    asked = [f"asks for {request.url}" for request in page.requests() if not request.url.startswith(_LOCAL)]
    return [*map(str, page.page_errors()), *said, *asked]
