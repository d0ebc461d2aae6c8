# SPDX-License-Identifier: GPL-2.0-or-later
"""The page of a study: claims published beside ours, and none of those we contradict left out."""

import csv
import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from lab.tests.browser import PROGRAM, chromium, complaints, opened
from lab.tests.test_report import Tags, embedded, without_scripts
from lab.tests.test_report_in_browser import check_layout

_STUDY = """\
title = "a study: two loads"
source = "test"
seed = "002"
calibrated = "CFS alone"
[[experiment]]
name = "pairs"
workload = "pipe"
published = "python counter"
schedulers = { BFS = "bfs", "CFS 2.6.31" = "cfs" }
machines = ["desktop-4"]
loads = [3, 8]
level = '(\\d+) processes'
repetitions = 5
metrics = { elapsed = "elapsed_s" }
"""
_CLAIMS = Path(__file__).resolve().parents[2] / "published" / "claims.csv"


@pytest.fixture
def made(lab: Callable[..., subprocess.CompletedProcess], checkout: Path) -> Path:
    """BFS takes 10 to the CFS's 12 in the fake runner; one claim here says so, the other the opposite."""
    with _CLAIMS.open(encoding="utf-8", newline="") as source:
        rows = [row for row in csv.DictReader(source) if row["seed"] == "002" and row["load_level"].startswith("3 pro")]
    ours = next(row for row in rows if row["scheduler_b"] == "CFS 2.6.31")
    right = ours | {"machine_id": "desktop-4", "sign": "1", "weight": "strong", "scope": "cell"}
    wrong = right | {"id": "c002-999", "load_level": "8 processes on 4 cores", "sign": "-1", "pct_a_over_b": "-5"}
    (checkout / "published").mkdir()
    with (checkout / "published" / "claims.csv").open("w", encoding="utf-8", newline="") as out:
        writer = csv.DictWriter(out, list(right))
        writer.writeheader()
        writer.writerows([right, wrong])
    (checkout / "studies" / "some.toml").write_text(_STUDY)
    result = lab("study", "some", "-o", "out")
    assert result.returncode == 0, result.stderr
    assert "report: out/some/report.html" in result.stdout
    return checkout / "out" / "some" / "report.html"


def test_a_contradicted_claim_is_shown_as_such(made: Path) -> None:
    text = made.read_text()
    tags = Tags()
    tags.feed(without_scripts(text))
    assert tags.open == []
    assert len(text.encode()) < 5_000_000
    rows = dict(re.findall(r'<tr id="(c002-\d+)" data-verdict="([^"]*)"', text))
    assert sorted(rows.values()) == ["agrees", "contradicted"]
    assert rows["c002-999"] == "contradicted"
    assert "agree with 1 and contradict 1" in text
    with (made.parent / "claims.csv").open(encoding="utf-8", newline="") as source:
        reasons = {row["id"]: row["why"] for row in csv.DictReader(source)}
    (right,) = set(rows) - {"c002-999"}
    assert reasons[right] == ""
    assert reasons["c002-999"].startswith(
        ("BFS : CFS 2.6.31 in our runs: ", "our runs of BFS and CFS 2.6.31 differ in no")
    )
    assert text.count('class="why"') == 1
    # Two measures: the values and the change; and the picture of all claims.
    assert text.count('class="spec"') == 3


def test_published_values_are_drawn_hollow_over_ours(made: Path) -> None:
    with (made.parent / "claims.csv").open(encoding="utf-8", newline="") as source:
        (right,) = [row for row in csv.DictReader(source) if row["id"] != "c002-999"]
    specs = re.findall(r'<script type="application/json" class="spec">(.*?)</script>', made.read_text(), re.S)
    layers = [layer for text in specs for layer in json.loads(text).get("layer", [])]
    (hollow,) = [layer for layer in layers if layer["mark"].get("filled") is False]
    found = {(point["scheduler"], point["load"]): point["value"] for point in hollow["data"]["values"]}
    published = {"bfs": float(right["published_a"]), "cfs": float(right["published_b"])}
    assert found == pytest.approx({(name, load): value for name, value in published.items() for load in (3, 8)})


def test_its_values_are_those_of_claims_csv(made: Path) -> None:
    """To the ten digits that the file has."""

    def told(value: float) -> float:
        return float(f"{value:.10g}")

    with (made.parent / "claims.csv").open(encoding="utf-8", newline="") as source:
        written = {row["id"]: float(row["ours_pct"]) for row in csv.DictReader(source)}
    text = made.read_text()
    shown = re.findall(r'<tr id="(c002-\d+)".*?<data value="([^"]+)">', text)
    assert {claim: told(float(value)) for claim, value in shown} == written
    inside = embedded(text)["some"]
    assert {claim["id"]: told(claim["ours_pct"]) for claim in inside["claims"]} == written
    assert inside["experiments"][0]["summary"]["cells"]["ok"] == 2 * 2 * 5


def test_all_studies_get_a_page_of_their_own_and_one_together(
    made: Path, lab: Callable[..., subprocess.CompletedProcess], checkout: Path
) -> None:
    shutil.copy(checkout / "studies" / "some.toml", checkout / "studies" / "more.toml")
    result = lab("study", "all", "-n", "2", "-o", "out")
    assert result.returncode == 0, result.stderr
    text = (checkout / "out" / "report.html").read_text()
    assert (checkout / "out" / "more" / "report.html").is_file()
    assert {"some", "more"} <= set(re.findall(r'<section id="([^"]*)"', text))
    assert "report: out/report.html" in result.stdout


def test_no_report_is_made_where_none_is_wanted(
    made: Path, lab: Callable[..., subprocess.CompletedProcess], checkout: Path
) -> None:
    made.unlink()
    result = lab("study", "some", "--no-run", "--no-report", "-o", "out")
    assert result.returncode == 0
    assert "report:" not in result.stdout
    assert not made.exists()
    lines = {line.split()[0]: line.split() for line in result.stdout.splitlines() if line.startswith("c002-")}
    assert sorted(words[-1] for words in lines.values()) == ["agrees", "contradicted"]
    assert lines["c002-999"][-1] == "contradicted"


@pytest.mark.skipif(not PROGRAM, reason="no chromium here to open the page in")
def test_on_a_phone_claims_and_scores_are_lists(made: Path) -> None:
    with chromium() as browser:
        with opened(browser, made) as page:
            check_layout(page)
        with opened(browser, made, width=390) as page:
            check_layout(page)
            shown = page.evaluate("document.querySelector('table.claims tbody tr').innerText")
            assert re.match(r"c002-\d+\npython counter, desktop-4\n", shown)
            head = "getComputedStyle(document.querySelector('table.claims td[data-head=ours]'), '::before').content"
            assert page.evaluate(head) == '"ours: "'
            assert complaints(page) == []


def test_the_kernels_outcome_says_whose_a_contradiction_is(
    made: Path, lab: Callable[..., subprocess.CompletedProcess], checkout: Path
) -> None:
    """Where results of a guest lie beside those of the simulator."""
    for said, whose in [("agrees", "the model&#x27;s"), ("contradicted", "the scheduler&#x27;s"), ("no call", "open")]:
        (checkout / "vm" / "some").mkdir(parents=True, exist_ok=True)
        (checkout / "vm" / "some" / "claims.csv").write_text(f"id,outcome,tier\nc002-999,{said},exact\n")
        result = lab("study", "some", "-o", "sim", "--json")
        assert result.returncode == 0, result.stderr
        expected = {"claims": 2, "called": int(said != "no call"), "right": int(said == "agrees")}
        assert json.loads(result.stdout)["beside"] == {"the kernel": {"some": expected}}
        text = (checkout / "sim" / "some" / "report.html").read_text()
        row = text[text.index('<tr id="c002-999"') :].partition("</tr>")[0]
        assert f'data-head="the kernel">{said}<br><small>tier exact; contradiction: {whose}</small>' in row
        assert text.count("contradiction: ") == 1
