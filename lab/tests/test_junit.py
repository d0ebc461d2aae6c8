# SPDX-License-Identifier: GPL-2.0-or-later
"""Conditions as JUnit's test cases, and a comparison with saved results."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from schedlab.export import junit
from schedlab.export.junit import ERROR, FAILURE, SKIPPED, Case, Suite
from tests.junit_form import read, verdicts

WORSE = "wakeup_latency_us.p99 > +5 %"
BETTER = "wakeup_latency_us.p99 < -5 %"


def compare(lab: Callable, schedulers: str, out: str, *more: str, **environment: str):
    return lab("compare", schedulers, "-n", "6", "-o", out, "--no-report", *more, **environment)


def test_what_xml_cannot_say_is_escaped_or_replaced(tmp_path: Path) -> None:
    evil = 'a < b & "c" ]]> \x1b[31m\x00 é \ud800'
    cases = [Case(evil, verdict, evil, evil, evil) for verdict in ("", FAILURE, ERROR, SKIPPED)]
    junit.write(tmp_path / "new" / "j.xml", evil, [Suite(evil, cases), Suite("none")])
    root = read(tmp_path / "new" / "j.xml")
    plain = 'a < b & "c" ]]> \ufffd[31m\ufffd é \ufffd'
    assert root.attrib["name"] == root[0].attrib["name"] == plain
    failed = root[0][1]
    assert failed.attrib["name"] == failed[0].attrib["message"] == failed[0].text == failed[1].text == plain
    assert [next(iter(case)).tag for case in root[0]] == ["system-out", FAILURE, ERROR, SKIPPED]


def test_a_suite_a_workload_and_a_case_a_condition(lab: Callable, checkout: Path) -> None:
    # The fake makes cfs a fifth slower than bfs, and gives nothing a throughput.
    conditions = ["--fail-on", WORSE, "--fail-on", BETTER]
    result = compare(lab, "bfs,cfs", "out", "-w", "latt,pipe", *conditions, "--junit", "ci/j.xml")
    assert result.returncode == 1, result.stderr
    root = read(checkout / "ci" / "j.xml")
    assert verdicts(root) == {
        f"latt: {WORSE}": FAILURE,
        f"latt: {BETTER}": "",
        "latt: every cell has a value": "",
        f"pipe: {WORSE}": FAILURE,
        f"pipe: {BETTER}": "",
        "pipe: every cell has a value": "",
    }
    # It says what standard error says, and a line for each load that was judged.
    told = root[0][0][0].text.splitlines()
    assert len(told) == 2
    assert all(f"--fail-on '{WORSE}': {line}" in result.stderr for line in told)
    assert root[0][1].find("system-out").text.splitlines() == told
    before = (checkout / "ci" / "j.xml").read_bytes()
    compare(lab, "bfs,cfs", "out", "-w", "latt,pipe", *conditions, "--junit", "ci/j.xml")
    assert (checkout / "ci" / "j.xml").read_bytes() == before


def test_too_few_repetitions_are_no_pass(lab: Callable, checkout: Path) -> None:
    few = ["compare", "bfs,cfs", "-w", "latt", "-n", "3", "-o", "out", "--no-report", "--junit", "j.xml"]
    assert lab(*few, "--fail-on", WORSE).returncode == 0
    assert verdicts(read(checkout / "j.xml"))[f"latt: {WORSE}"] == SKIPPED


def test_cells_without_a_value_are_an_error_as_they_are_in_the_status(lab: Callable, checkout: Path) -> None:
    assert compare(lab, "bfs,cfs", "out", "-w", "latt", "--junit", "j.xml", FAKE_FAIL="cfs").returncode == 1
    root = read(checkout / "j.xml")
    assert verdicts(root) == {"latt: every cell has a value": ERROR}
    assert "reproduce: fake --seed 1" in root[0][0][0].text
    assert compare(lab, "bfs,cfs", "out2", "-w", "latt", "--junit", "j.xml", FAKE_EJECT="cfs").returncode == 0
    assert verdicts(read(checkout / "j.xml")) == {"latt: every cell has a value": ""}


def test_a_report_judges_what_is_there(lab: Callable, checkout: Path) -> None:
    compare(lab, "bfs,cfs", "out", "-w", "latt")
    next((checkout / "out" / "cells").glob("*.json")).unlink()
    assert lab("report", "out", "--fail-on", WORSE, "--junit", "j.xml").returncode == 1
    assert verdicts(read(checkout / "j.xml")) == {f"latt: {WORSE}": FAILURE, "latt: every cell has a value": ERROR}


def test_saved_results_are_the_reference(lab: Callable, checkout: Path) -> None:
    compare(lab, "bfs", "saved", "-w", "latt")
    same = compare(lab, "bfs", "again", "-w", "latt", "--baseline", "saved", "--fail-on", WORSE, "--json")
    assert same.returncode == 0, same.stderr
    summary = json.loads(same.stdout)
    assert (summary["reference"], summary["schedulers"]) == ("bfs (baseline)", ["bfs (baseline)", "bfs"])
    assert summary["cells"]["planned"] == 12
    change = summary["results"][0]["changes"]["bfs"]
    assert (change["pct"], change["paired"], change["n"]) == (0, True, 6)
    worse = compare(lab, "cfs", "other", "-w", "latt", "--baseline", "saved", "--fail-on", WORSE)
    assert worse.returncode == 1
    assert "cfs is +" in worse.stderr
    assert "against bfs (baseline) in wake-up latency, p99, of latt at load 1 on desktop-4" in worse.stderr
    both = json.loads(lab("report", "other", "--baseline", "saved", "--json").stdout)
    assert both["reference"] == "bfs (baseline)"


def test_seeds_that_both_have_are_paired(lab: Callable) -> None:
    compare(lab, "bfs", "saved", "-w", "latt,pipe", "--seed-base", "3")
    result = compare(lab, "cfs", "out", "-w", "latt", "--baseline", "saved", "--json")
    rows = json.loads(result.stdout)["results"]
    # What only the saved results have is left out.
    assert {row["workload"] for row in rows} == {"latt"}
    assert {row["changes"]["cfs"]["n"] for row in rows} == {4}


@pytest.mark.parametrize(
    ("saved", "now", "message"),
    [
        ([], ["--baseline", "no/such"], "no/such/manifest.json: not there"),
        (["-w", "pipe"], [], "it has none of the workloads, loads and machines that are compared"),
        (["-w", "latt", "-p", "duration_s=7"], [], "latt at load 1 on desktop-4 ran with another file"),
        (["-w", "latt", "--exact-costs"], [], "latt at load 1 on desktop-4 ran with another file"),
        (["-w", "latt"], ["--on", "host"], "only simulated results can be compared with later ones"),
    ],
    ids=["missing", "workload", "parameter", "option", "place"],
)
def test_what_cannot_be_compared_is_bad_input(lab: Callable, saved: list, now: list, message: str) -> None:
    compare(lab, "bfs", "saved", *saved)
    result = compare(lab, "bfs", "out", "-w", "latt", "--baseline", "saved", *now)
    assert result.returncode == 2, result.stderr
    assert message in result.stderr
