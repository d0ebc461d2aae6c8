# SPDX-License-Identifier: GPL-2.0-or-later
"""The site as chromium shows it, opened from a folder, at the widths of a desk and of a phone, in light and dark."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from lab.tests.browser import PROGRAM, chromium, complaints, opened

pytestmark = pytest.mark.skipif(not PROGRAM, reason="no chromium here to open the pages in")

# Pages with what is widest: the picture, tables of nine columns, lines of 88 letters.
PAGES = ["index", "agreement", "reference/commands", "reference/tunables"]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("width", [390, 1280])
def test_a_page_fits_and_complains_of_nothing(browser: Browser, site: Path, page: str, width: int) -> None:
    with opened(browser, site / f"{page}.html", width, dark=width == 390) as shown:
        shown.wait_for_selector("article h1")
        assert shown.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert not complaints(shown)


def test_dark_is_dark(browser: Browser, site: Path) -> None:
    """As the reader's system is, without being asked."""
    brightness = []
    for dark in (False, True):
        with opened(browser, site / "index.html", dark=dark) as shown:
            shown.wait_for_selector("article h1")
            colour = shown.evaluate("getComputedStyle(document.body).backgroundColor")
            brightness.append(sum(map(int, colour.strip("rgb()").split(",")[:3])))
    assert brightness[0] > 700
    assert brightness[1] < 150


def test_pages_from_a_folder_can_be_searched(browser: Browser, site: Path) -> None:
    with opened(browser, site / "index.html") as shown:
        shown.click(".md-search__input")
        shown.keyboard.type("starvation_max_us")
        shown.wait_for_selector(".md-search-result__item")
        assert "Metrics" in shown.inner_text(".md-search-result__list")
        assert not complaints(shown)
