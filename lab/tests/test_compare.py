# SPDX-License-Identifier: GPL-2.0-or-later
"""schedlab compare from the command to the files."""

import csv
import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import duckdb


def compare(lab: Callable, *more: str, **environment: str) -> subprocess.CompletedProcess:
    return lab("compare", "bfs,cfs", "-w", "latt", "-n", "6", "-o", "out", "--no-report", *more, **environment)


def test_a_comparison_writes_records_tables_and_manifest(lab: Callable, checkout: Path) -> None:
    result = compare(lab)
    assert result.returncode == 0, result.stderr
    out = checkout / "out"
    # Two schedulers, two loads, six repetitions.
    assert len(list((out / "cells").glob("*.json"))) == 24
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["schedulers"] == ["bfs", "cfs"]
    assert len(manifest["cells"]) == 24
    with (out / "results.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 24 * 3
    assert duckdb.sql(f"SELECT count(*) FROM '{out}/results.parquet'").fetchall() == [(72,)]
    # The fake makes cfs a fifth slower than bfs.
    assert "worse" in result.stdout
    assert "better" not in result.stdout.replace("lower is better", "")


def test_seeds_are_shared_by_schedulers_and_follow_the_repetition(lab: Callable, checkout: Path) -> None:
    compare(lab, "--seed-base", "7")
    cells = [entry["cell"] for entry in json.loads((checkout / "out" / "manifest.json").read_text())["cells"]]
    for name in ("bfs", "cfs"):
        pairs = {(c["repetition"], c["seed"]) for c in cells if c["scheduler"] == name}
        assert pairs == {(r, 7 + r) for r in range(6)}


def test_the_same_command_again_runs_nothing(lab: Callable, checkout: Path) -> None:
    compare(lab, FAKE_LOG="log")
    before = (checkout / "log").read_text().splitlines()
    again = compare(lab, FAKE_LOG="log")
    assert again.returncode == 0
    assert "24 of 24 cells have a record already" in again.stderr
    assert (checkout / "log").read_text().splitlines() == before


def test_more_repetitions_run_only_the_new_ones(lab: Callable, checkout: Path) -> None:
    compare(lab)
    more = lab("compare", "bfs,cfs", "-w", "latt", "-n", "8", "-o", "out", FAKE_LOG="log")
    assert more.returncode == 0
    assert len((checkout / "log").read_text().splitlines()) == 8


def test_json_is_all_that_is_printed(lab: Callable) -> None:
    result = compare(lab, "--json")
    summary = json.loads(result.stdout)
    assert result.stderr == ""
    assert summary["reference"] == "bfs"
    assert summary["cells"] == {"planned": 24, "ok": 24, "ejected": 0, "failed": 0, "void": 0, "missing": 0}
    headline = [row for row in summary["results"] if row["headline"]]
    assert {(row["load"], row["statistic"]) for row in headline} == {(1, "p50"), (1, "p99"), (4, "p50"), (4, "p99")}
    for row in headline:
        change = row["changes"]["cfs"]
        assert change["n"] == 6
        assert change["paired"]
        assert change["low_pct"] <= change["pct"] <= change["high_pct"]


def test_variants_of_one_scheduler_are_columns_of_their_own(lab: Callable) -> None:
    result = lab("compare", "bfs,bfs:rules=424,bfs:rules=311+rr_interval_us=3000", "-w", "latt", "-n", "1", "--json")
    summary = json.loads(result.stdout)
    assert summary["schedulers"] == ["bfs", "bfs:rules=424", "bfs:rr_interval_us=3000+rules=311"]
    assert summary["cells"]["ok"] == 6


def test_a_policy_may_be_given_by_its_path(lab: Callable, checkout: Path) -> None:
    folder = checkout / "mine"
    folder.mkdir()
    (folder / "scx_vtime.bpf.c").write_text("// vtime\n")
    for text in ("./mine", "mine/scx_vtime.bpf.c"):
        result = lab("compare", f"bfs,{text}", "-w", "latt", "-n", "1", "--json")
        assert json.loads(result.stdout)["schedulers"] == ["bfs", "vtime"], result.stderr


def test_an_ejected_scheduler_is_a_result(lab: Callable) -> None:
    result = compare(lab, FAKE_EJECT="cfs")
    assert result.returncode == 0
    assert "12 ok, 12 ejected" in result.stdout
    assert "failed to run for 30.0s" in result.stderr


def test_a_failed_cell_fails_the_comparison_and_runs_again(lab: Callable) -> None:
    failed = compare(lab, FAKE_FAIL="cfs")
    assert failed.returncode == 1
    assert "reproduce: fake --seed 1" in failed.stderr
    mended = compare(lab)
    assert mended.returncode == 0
    assert "12 of 24 cells have a record already" in mended.stderr


def test_a_condition_that_is_crossed_ends_with_status_1_and_says_where(lab: Callable) -> None:
    # The fake makes cfs a fifth slower than bfs.
    result = compare(lab, "--fail-on", "wakeup_latency_us.p99 > +5 %")
    assert result.returncode == 1
    said = [line for line in result.stderr.splitlines() if "--fail-on" in line]
    assert len(said) == 2
    assert said[0].startswith("schedlab: --fail-on 'wakeup_latency_us.p99 > +5 %': cfs is +")
    assert said[0].endswith("against bfs in wake-up latency, p99, of latt at load 1 on desktop-4")


def test_a_condition_that_is_not_crossed_changes_nothing(lab: Callable) -> None:
    for condition in ("wakeup_latency_us.p99 > +60 %", "wakeup_latency_us.p99 < +5%", "elapsed_s < -3"):
        result = compare(lab, "--fail-on", condition)
        assert (result.returncode, result.stderr.count("--fail-on")) == (0, 0), result.stderr


def test_too_few_repetitions_cross_nothing(lab: Callable) -> None:
    few = ["compare", "bfs,cfs", "-w", "latt", "-n", "3", "-o", "out", "--no-report"]
    assert lab(*few, "--fail-on", "wakeup_latency_us.p99 > +5 %").returncode == 0


def test_a_condition_that_cannot_be_read_or_asks_for_nothing_is_bad_input(lab: Callable) -> None:
    unread = compare(lab, "--fail-on", "p99 is bad")
    assert unread.returncode == 2
    assert "expected METRIC[.STATISTIC] > or < PERCENT, as in 'elapsed_s > +5 %', got 'p99 is bad'" in unread.stderr
    unknown = compare(lab, "--fail-on", "wakeup_latency_us.p42 > 5 %")
    assert unknown.returncode == 2
    assert "no such metric in these results; there are: elapsed_s.mean," in unknown.stderr
