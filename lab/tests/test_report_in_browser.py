# SPDX-License-Identifier: GPL-2.0-or-later
"""The pages opened in chromium, as people open them: from a file, without a network."""

import json
import shutil
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page

from lab.tests import hostile_results
from lab.tests.browser import PROGRAM, chromium, complaints, opened
from lab.tests.conftest import run_in
from lab.tests.real_schedules import drawn, lines_of
from schedlab.report.document import document
from schedlab.report.html import Markup

pytestmark = pytest.mark.skipif(not PROGRAM, reason="no chromium here to open the pages in")

# Boxes of what a reader sees, in a page whose folded parts are open.
_LAYOUT = """
(() => {
  document.querySelectorAll("details").forEach((d) => { d.open = true; });
  const page = document.documentElement;
  const wide = [...document.querySelectorAll("main *")]
    .filter((e) => !e.closest(".scroll, .schedule-window") && e.getBoundingClientRect().right > page.clientWidth + 1)
    .map((e) => `${e.tagName} ${e.className.baseVal ?? e.className} ${e.textContent.slice(0, 40)}`);
  const overlaps = [];
  let small = 0;
  for (const svg of document.querySelectorAll("figure svg")) {
    const texts = [...svg.querySelectorAll("text")].filter((t) => t.textContent);
    const boxes = texts.map((t) => t.getBoundingClientRect());
    boxes.forEach((a, i) => {
      if (a.height && a.height < 9) small += 1;
      boxes.slice(i + 1).forEach((b, j) => {
        if (a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1)
          overlaps.push(`${texts[i].textContent} | ${texts[i + 1 + j].textContent}`);
      });
    });
  }
  // Tables that are lists on a phone; numbers cut off from their unit at the end of a line.
  const cut = [...document.querySelectorAll(".scroll:has(> .stacked)")].filter((e) => e.scrollWidth > e.clientWidth + 1)
    .map((e) => e.firstChild.className);
  const texts = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
  for (let node; (node = texts.nextNode()); ) {
    if (node.parentElement.closest("script, svg")) continue;
    for (const found of node.data.matchAll(/\\d\\s(?:%|[mµ]?s\\b|: \\d)/g)) {
      const range = document.createRange();
      range.setStart(node, found.index);
      range.setEnd(node, found.index + found[0].length);
      if (new Set([...range.getClientRects()].map((box) => box.top)).size > 1) cut.push(node.data);
    }
  }
  const scrolls = page.scrollWidth > page.clientWidth;
  return { cut: cut.slice(0, 5), scrolls, wide: wide.slice(0, 5), overlaps, small };
})()
"""
_ALL_LIVE = """
(async () => {
  document.querySelectorAll("details").forEach((d) => { d.open = true; });
  for (const chart of document.querySelectorAll(".chart:has(> script.spec)")) {
    chart.scrollIntoView();
    while (!chart.dataset.live) await new Promise((done) => setTimeout(done, 10));
  }
  scrollTo(0, 0);
  return document.querySelectorAll(".chart[data-live] svg").length;
})()
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as running:
        yield running


@pytest.fixture
def open_page(browser: Browser) -> Iterator[Callable[..., Page]]:
    with ExitStack() as pages:
        yield lambda path, **how: pages.enter_context(opened(browser, path, **how))


def test_a_page_of_hostile_results_runs_nothing_of_theirs(
    report: Path, open_page: Callable[..., Page], tmp_path: Path
) -> None:
    root = tmp_path / "checkout"
    shutil.copytree(report.parents[1], root, symlinks=True)
    hostile_results.make(root / "out")
    done = run_in(root, "report", "out")
    assert done.returncode == 0, done.stderr
    page = open_page(root / "out" / "report.html")
    assert "onerror=owned=2" in page.inner_text("h1")
    assert page.evaluate(_ALL_LIVE) > 0
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    assert page.evaluate("typeof owned") == "undefined"
    assert page.evaluate("document.querySelectorAll('img, iframe, object, [onload], [onerror]').length") == 0
    assert page.evaluate("[...document.querySelectorAll('a')].every((a) => a.getAttribute('href').startsWith('#'))")
    assert complaints(page) == []


def check_layout(page: Page) -> None:
    seen = page.evaluate(_LAYOUT)
    assert not seen["scrolls"], seen["wide"]
    assert seen["wide"] == []
    assert seen["cut"] == []
    assert seen["overlaps"] == []
    assert seen["small"] == 0


def test_a_complaint_is_seen(open_page: Callable[..., Page], tmp_path: Path) -> None:
    """Of a script, of the console, of the browser itself, and what is asked of a network."""
    bad = tmp_path / "bad.html"
    bad.write_text(
        "<!doctype html><title>bad</title><p>bad</p><img src='http://127.0.0.1:9/x.png'>"
        "<script>console.warn('careful'); throw new Error('thrown');</script>"
    )
    found = complaints(open_page(bad))
    assert any("thrown" in text for text in found)
    assert "careful" in found
    assert any("net::ERR" in text for text in found)
    assert "asks for http://127.0.0.1:9/x.png" in found


@pytest.mark.parametrize(("width", "dark"), [(390, False), (1200, True)])
def test_it_lives_without_a_complaint_and_without_overflow(
    report: Path, open_page: Callable[..., Page], width: int, dark: bool
) -> None:
    page = open_page(report, width=width, dark=dark)
    assert page.evaluate(_ALL_LIVE) == 8
    check_layout(page)
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert paper == ("rgb(21, 24, 27)" if dark else "rgb(255, 255, 255)")
    line = page.evaluate("getComputedStyle(document.querySelector('.chart[data-live] .mark-line path')).stroke")
    assert line == ("rgb(88, 178, 238)" if dark else "rgb(0, 114, 178)")
    assert complaints(page) == []


def test_it_reads_without_javascript(report: Path, open_page: Callable[..., Page]) -> None:
    page = open_page(report, width=390, scripts=False)
    # The debugger may still ask.
    check_layout(page)
    assert page.evaluate("document.querySelectorAll('.chart > svg').length") == 21
    assert page.evaluate("document.querySelectorAll('.chart > svg').length") == page.evaluate(
        "[...document.querySelectorAll('.chart > svg')].filter((s) => s.getBoundingClientRect().height > 60).length"
    )
    assert page.evaluate("document.querySelector('#save').hidden")
    assert page.evaluate("document.querySelectorAll('.legend button').length") == 0
    assert complaints(page) == []


@pytest.mark.parametrize(("width", "height", "dark"), [(390, 844, True), (1200, 900, False)])
def test_sentence_and_picture_are_there_without_scrolling(
    report: Path, open_page: Callable[..., Page], width: int, height: int, dark: bool
) -> None:
    page = open_page(report, width=width, dark=dark)
    page.set_viewport_size({"width": width, "height": height})
    for what in (".world", ".finding", ".opening .chart svg"):
        box = page.evaluate(f"document.querySelector('{what}').getBoundingClientRect().toJSON()")
        assert 0 <= box["top"] < box["bottom"] <= height, what
        assert box["width"] > 60


@pytest.mark.parametrize(("width", "dark", "scripts"), [(390, True, True), (1200, False, True)])
def test_axe_finds_nothing_serious(
    report: Path, open_page: Callable[..., Page], width: int, dark: bool, scripts: bool
) -> None:
    page = open_page(report, width=width, dark=dark, scripts=scripts)
    page.evaluate(_ALL_LIVE)
    assert serious(page) == []


def test_axe_would_find_it(open_page: Callable[..., Page], tmp_path: Path) -> None:
    bad = tmp_path / "bad.html"
    bad.write_text(
        "<!doctype html><html lang=en><title>bad</title><main><h1>bad</h1><svg role=img viewBox='0 0 9 9'></svg>"
        "<p style='color:#aaa;background:#fff'>faint</p></main></html>"
    )
    assert {text.split(":")[0] for text in serious(open_page(bad))} == {"svg-img-alt", "color-contrast"}


def serious(page: Page) -> list[str]:
    """What axe-core finds that is serious or critical, with the first element that has it."""
    found = Axe().run(page).response["violations"]
    grave = [one for one in found if one["impact"] in ("serious", "critical")]
    return [f"{one['id']}: {one['help']}: {one['nodes'][0]['html']}" for one in grave]


def test_print_is_white_and_has_the_opening(report: Path, open_page: Callable[..., Page]) -> None:
    page = open_page(report, dark=True)
    page.emulate_media(media="print")
    shown = page.evaluate("""
        (() => {
          const paper = getComputedStyle(document.documentElement).getPropertyValue("--paper").trim();
          const picture = document.querySelector(".opening .chart svg");
          const text = getComputedStyle(picture.querySelector("text")).fill;
          const buttons = [...document.querySelectorAll(".tools button, #save")];
          const line = getComputedStyle(document.querySelector(".opening")).borderLeftStyle;
          return [paper, text, buttons.filter((b) => b.getBoundingClientRect().height).length, line];
        })()
    """)
    assert shown == ["#fff", "rgb(90, 96, 104)", 0, "dashed"]


def test_values_in_the_page_are_those_of_the_records(report: Path, open_page: Callable[..., Page]) -> None:
    """Means and counts straight from the records, past everything that made the page."""
    page = open_page(report)
    shown = page.evaluate("""
        [...document.querySelectorAll("section#pipe table.numbers[data-measure='elapsed_s mean']")].map((table) => ({
          header: [...table.querySelectorAll("thead th")].map((cell) => cell.textContent),
          rows: [...table.querySelectorAll("tbody tr")].map((row) =>
            [...row.querySelectorAll("td")].map((cell) => Number(cell.querySelector("data").value))),
        }))
    """)
    runs: dict[tuple[str, str], list[float]] = defaultdict(list)
    labels = json.loads((report.parent / "manifest.json").read_text())
    by_id = {cell["id"]: cell["label"] for cell in labels["cells"]}
    for path in (report.parent / "cells").glob("*.json"):
        record = json.loads(path.read_text())
        if record["cell"]["workload"] == "pipe":
            runs[record["cell"]["machine"], by_id[record["id"]]].append(record["metrics"]["elapsed_s"])
    machines = [machine["name"] for machine in labels["machines"]]
    assert len(shown) == len(machines)
    for machine, table in zip(machines, shown, strict=True):
        assert len(table["rows"]) == 1
        for label, value in zip(labels["schedulers"], table["rows"][0], strict=True):
            assert label in table["header"]
            assert value == pytest.approx(statistics.fmean(runs[machine, label]), rel=1e-9)


def test_a_chart_shows_the_values_of_its_table(report: Path, open_page: Callable[..., Page]) -> None:
    page = open_page(report)
    page.evaluate(_ALL_LIVE)
    charted = page.evaluate("""
        JSON.parse(document.querySelector("section#latt .chart > script.spec").textContent).data.values
          .map((point) => [point.scheduler, point.load, point.value])
    """)
    tabled = page.evaluate("""
        (() => {
          const table = document.querySelector("section#latt table.numbers");
          const labels = [...table.querySelectorAll("thead th")].slice(1).map((cell) => cell.textContent);
          return [...table.querySelectorAll("tbody tr")].flatMap((row) =>
            [...row.querySelectorAll("td")].slice(0, 3).map((cell, at) =>
              [labels[at], Number(row.querySelector("th").textContent), Number(cell.querySelector("data").value)]));
        })()
    """)
    assert len(charted) == 3 * 2
    in_ms = {(label, load): value / 1000 for label, load, value in tabled}
    assert {(label, load): value for label, load, value in charted} == pytest.approx(in_ms)


def test_the_pointer_gets_values_and_the_legend_hides(report: Path, open_page: Callable[..., Page]) -> None:
    page = open_page(report)
    page.evaluate(_ALL_LIVE)
    spot = page.evaluate("""
        (() => {
          const chart = document.querySelector(".chart[data-live]");
          chart.scrollIntoView({ block: "center" });
          const box = chart.querySelector(".mark-symbol path").getBoundingClientRect();
          return [box.left + box.width / 2, box.top + box.height / 2];
        })()
    """)
    page.mouse.move(*spot)
    page.mouse.move(spot[0] + 3, spot[1] + 2)
    page.wait_for_function("document.querySelectorAll('#vg-tooltip-element.visible').length")
    text = page.evaluate("document.querySelector('#vg-tooltip-element').innerText")
    assert "95 % interval" in text
    assert " ms" in text
    assert page.evaluate("document.querySelectorAll('.chart[data-live] .mark-line path').length") == 3 * 4
    page.evaluate("document.querySelector('.legend button').click()")
    page.wait_for_function("document.querySelectorAll('.chart[data-live] .mark-line path').length === 2 * 4")
    pressed = page.evaluate("document.querySelector('.legend button').getAttribute('aria-pressed')")
    assert pressed == "false"
    page.evaluate("document.querySelector('.legend button').click()")
    page.wait_for_function("document.querySelectorAll('.chart[data-live] .mark-line path').length === 3 * 4")
    assert complaints(page) == []


def test_the_data_can_be_saved(report: Path, open_page: Callable[..., Page]) -> None:
    page = open_page(report)
    saved = page.evaluate("""
        new Promise((done) => {
          const real = URL.createObjectURL;
          URL.createObjectURL = (blob) => {
            blob.text().then((text) => done(JSON.parse(text).cells.length));
            return real(blob);
          };
          document.getElementById("save").click();
        })
    """)
    assert saved == 3 * 3 * 2 * 10 * 3


_SHOWN = "document.querySelector('figure.schedule .tools small').textContent"


def test_the_schedule_zooms_pans_and_names_tasks(report: Path, open_page: Callable[..., Page]) -> None:
    page = open_page(report)
    page.wait_for_function("document.querySelectorAll('.schedule-window[data-live]').length === 3 * 2")
    page.evaluate("document.querySelector('.schedule-window').scrollIntoView({ block: 'center' })")
    whole = page.evaluate(_SHOWN)
    assert whole == "25 ms shown, from 0 on"
    # The fake runner's first turn: the first task on CPU 0.
    spot = page.evaluate("""
        (() => {
          const box = document.querySelector(".schedule-window rect.run").getBoundingClientRect();
          return [box.left + box.width / 2, box.top + box.height / 2];
        })()
    """)
    page.mouse.move(*spot)
    page.wait_for_function("document.querySelector('figure.schedule .tip').textContent !== ''")
    said = page.evaluate("document.querySelector('figure.schedule .tip').textContent")
    assert said == "first 1000 runs on CPU 0 for 5 ms, from 200 ns on"
    inside = page.evaluate("[...document.querySelectorAll('.schedule-window text.inside')].map((t) => t.textContent)")
    assert "first 1000" in inside
    page.mouse.wheel(0, -600)
    page.wait_for_function(f"{_SHOWN} !== {whole!r}")
    zoomed = page.evaluate(_SHOWN)
    assert float(zoomed.split()[0]) < 10
    # What was under the pointer still is.
    assert page.evaluate(f"document.elementFromPoint({spot[0]}, {spot[1]}).dataset.says") == said
    page.mouse.down()
    page.mouse.move(spot[0] - 200, spot[1])
    page.mouse.up()
    page.wait_for_function(f"{_SHOWN} !== {zoomed!r}")
    dragged = page.evaluate(_SHOWN)
    page.evaluate("document.querySelector('.schedule-window').focus()")
    page.keyboard.press("ArrowRight")
    page.wait_for_function(f"{_SHOWN} !== {dragged!r}")
    page.keyboard.press("0")
    page.wait_for_function(f"{_SHOWN} === {whole!r}")
    page.evaluate("document.querySelectorAll('figure.schedule .tools button')[1].click()")
    page.wait_for_function(f"{_SHOWN}.startsWith('12.5 ms')")
    page.evaluate("document.querySelector('figure.schedule .legend button').click()")
    page.wait_for_function("document.querySelectorAll('figure.schedule rect.run[opacity]').length > 0")
    assert complaints(page) == []


def test_the_schedule_shows_the_traces_stretches(report: Path, open_page: Callable[..., Page]) -> None:
    """Twelve turns of the fake runner: ten begin in the window, and whoever does not run waits."""
    page = open_page(report, scripts=False)
    data = page.evaluate("JSON.parse(document.querySelector('script.schedule').textContent)")
    assert data["groups"] == ["first", "second", "third"]
    assert [panel["scheduler"] for panel in data["panels"]] == ["bfs", "cfs", "bfs:rules=424"]
    runs = data["panels"][0]["runs"]
    assert len(runs) == 10
    assert sum(length for *_, length in runs) == pytest.approx(2 * 25e6, rel=1e-4)
    assert sum(length for *_, length in data["panels"][0]["waits"]) == pytest.approx(25e6, rel=1e-2)
    # The picture without scripts has a bar for each on its CPU's row and on its task's, and one for each wait.
    drawn = page.evaluate("document.querySelectorAll('.schedule-window > svg')[0].querySelectorAll('rect').length")
    assert drawn == 2 * len(runs) + len(data["panels"][0]["waits"])
    text = page.evaluate("document.querySelector('.schedule-window > svg').textContent")
    assert text.startswith("CPU 0CPU 1first 1000second 1001third 10020 ms5 ms")


@pytest.mark.parametrize(("width", "dark"), [(390, False), (1200, True)])
def test_the_schedule_of_a_kernel_names_what_else_ran(
    tmp_path: Path, open_page: Callable[..., Page], width: int, dark: bool
) -> None:
    path = tmp_path / "real.html"
    section = drawn(tmp_path, {"bfs": lines_of("bfs"), "default": lines_of("default")})
    path.write_text(document("real", [Markup(section)], with_charts=False))
    page = open_page(path, width=width, dark=dark)
    page.wait_for_function("document.querySelectorAll('.schedule-window[data-live]').length === 2")
    check_layout(page)
    said = page.evaluate("[...document.querySelectorAll('.schedule-window rect.run')].map((box) => box.dataset.says)")
    assert any(text.startswith("client ") for text in said)
    assert any(text.startswith("kdamond.0 ") for text in said)
    assert not any(text.startswith("other tasks") for text in said)
    # A guest's mark: a double line along the picture's side, which is dashed where it is simulated.
    assert page.evaluate("getComputedStyle(document.querySelector('figure.schedule')).borderLeftStyle") == "double"
    names = page.evaluate("[...document.querySelectorAll('text.inside')].map((t) => getComputedStyle(t).fill)")
    assert set(names) <= {"rgb(16, 18, 20)" if dark else "rgb(255, 255, 255)"}
    assert names or width < 600
    assert complaints(page) == []
