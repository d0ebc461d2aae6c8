# SPDX-License-Identifier: GPL-2.0-or-later
"""report.html: self-contained, within its size, and readable where it is opened."""

import base64
import gzip
import json
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from schedlab.report import document, palette


class Tags(HTMLParser):
    """Every element closed in order, and nothing that is loaded from elsewhere."""

    VOID = frozenset({"meta", "br", "!doctype"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.count: dict[str, int] = {}
        self.links: list[str] = []
        self.ids: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.count[tag] = self.count.get(tag, 0) + 1
        for name, value in attributes:
            if name in ("src", "href", "xlink:href", "action", "data", "poster"):
                self.links.append(value or "")
            if name == "id":
                self.ids.append(value or "")
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attributes)
        if tag not in self.VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_it_is_one_file_that_asks_for_nothing(report: Path) -> None:
    text = report.read_text()
    assert len(text.encode()) < 5_000_000
    tags = Tags()
    tags.feed(text)
    assert tags.open == []
    assert all(link.startswith("#") for link in tags.links), tags.links
    assert {link.removeprefix("#") for link in tags.links} <= set(tags.ids)
    # What the charts' library says in its messages and namespaces is not asked for: test_report_in_browser sees to it.
    own = without_scripts(text)
    assert not re.search(r"https?://|@import|url\(", own)
    assert not re.search(r"<script[^>]*src=|<link", own)


def test_it_has_a_chart_for_every_measure_and_machine(report: Path) -> None:
    text = report.read_text()
    # latt: p50 and p99, pipe: the first of the usual metrics that it has, also p50 and p99; each on two machines.
    assert text.count('class="spec"') == 8
    # One-way plots: the same at each load, of which latt has two and pipe one; below each, and as its name.
    assert text.count("below: differences, ") == 2 * (2 * 2 * (2 + 1))
    # And one picture of all at once.
    assert text.count("<figure>") == 8 + 12 + 1
    # A schedule for each workload.
    assert text.count('<figure class="schedule simulated">') == 2
    assert text.count("<figcaption>") == 8 + 12 + 1 + 2
    for label in ("bfs", "cfs", "bfs:rules=424"):
        assert label in text


def without_scripts(text: str) -> str:
    return re.sub(r"<script>.*?</script>", "", text, flags=re.DOTALL)


def embedded(text: str) -> Any:
    """The page's own data: JSON, or base64 of gzip of it."""
    found = re.search(r'<script type="application/(json|gzip)" id="data">(.*?)</script>', text, re.DOTALL)
    assert found
    return json.loads(gzip.decompress(base64.b64decode(found[2])) if found[1] == "gzip" else found[2])


def test_large_data_are_compressed() -> None:
    content = {"values": [str(number) for number in range(200_000)], "text": "</script>"}
    text = document.raw_data(content, "Values")
    assert 'type="application/gzip"' in text
    assert embedded(text) == content
    assert text == document.raw_data(content, "Values")


def test_the_data_are_inside(report: Path) -> None:
    text = report.read_text()
    inside = embedded(text)
    assert inside["summary"]["reference"] == "bfs"
    # Three schedulers, latt at two loads and pipe at one, two machines, ten repetitions, three metrics.
    assert len(inside["cells"]) == 3 * 3 * 2 * 10 * 3
    assert inside["manifest"]["digests"]["schedulers"]["bfs"]


def test_text_from_files_cannot_become_markup(lab: Callable, checkout: Path) -> None:
    path = checkout / "workloads" / "latt.toml"
    path.write_text(path.read_text().replace("clients woken at once", "</script><img src=x onerror=alert(1)>"))
    assert lab("compare", "bfs,cfs", "-w", "latt", "-n", "1", "-o", "out").returncode == 0
    text = (checkout / "out" / "report.html").read_text()
    assert "&lt;/script&gt;&lt;img" in text
    assert "<img" not in without_scripts(text)


def test_dark_pages_have_another_value_for_every_colour_of_the_charts(report: Path) -> None:
    text = report.read_text()
    svgs = "".join(re.findall(r"<figure>.*?</figure>", text, re.DOTALL))
    drawn = set(re.findall(r'(?:fill|stroke)="(#[0-9a-fA-F]{3,6})"', svgs))
    known = {light for light, _ in [*palette.SERIES, palette.INK, palette.SOFT, palette.LINE]}
    assert drawn
    assert drawn <= known, "a colour that dark pages do not know"


def _luminance(colour: str) -> float:
    def linear(part: float) -> float:
        return part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4

    red, green, blue = (linear(int(colour[at : at + 2], 16) / 255) for at in (1, 3, 5))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _contrast(one: str, two: str) -> float:
    low, high = sorted((_luminance(one), _luminance(two)))
    return (high + 0.05) / (low + 0.05)


def test_lines_stand_out_from_the_page_and_text_more_so() -> None:
    """WCAG 2.2: 3 to 1 for graphics, 4.5 to 1 for text."""
    for light, dark in [*palette.SERIES, palette.ASIDE]:
        assert _contrast(light, "#ffffff") >= 3, light
        assert _contrast(dark, "#15181b") >= 3, dark
    for light, dark in (palette.INK, palette.SOFT):
        assert _contrast(light, "#ffffff") >= 4.5, light
        assert _contrast(dark, "#15181b") >= 4.5, dark
