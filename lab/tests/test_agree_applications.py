# SPDX-License-Identifier: GPL-2.0-or-later
"""schedlab agree --applications with the fake runner for both worlds, and a recording that is played."""

import csv
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from schedlab.capture import tracing
from schedlab.cli.program import main
from schedlab.ledger import application_scope as scope
from schedlab.ledger import entries
from schedlab.ledger.application_scope import Applications, Recorded, gap_pct
from schedlab.ledger.entries import Entry, Values
from schedlab.report import application_tables, markdown
from schedlab.statistics.agreement import Place

ROOT = Path(__file__).parents[2]
_TRACE = ROOT / "tests" / "record" / "data" / "make-lib-et-all.trace"
COMMAND = ["agree", "--applications", "bfs", "-m", "desktop-4", "-n", "2", "-o", "out", "--page", "page.md"]


@pytest.fixture
def recorded(boots: list[int], checkout: Path, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Commands that are traced; the same trace is played for all."""
    monkeypatch.setattr(scope, "SIZES", {"work": {}})
    monkeypatch.setattr(scope, "RECORDED", {"work": Recorded("recorded-work", "make")})
    monkeypatch.setattr(scope, "LOAD", 4)
    made = []

    def capture(command: list[str], *_: Any) -> tuple[list[str], int]:
        made.append(command)
        return _TRACE.read_text().splitlines(), 0

    monkeypatch.setattr(tracing, "capture", capture)
    return made


def test_rows_are_written_the_page_keeps_the_ledger_and_the_same_command_resumes(
    recorded: list[list[str]], boots: list[int], checkout: Path, capsys: pytest.CaptureFixture
) -> None:
    assert main(["agree", "bfs", "-w", "work", "-m", "desktop-4", "-n", "1", "-o", "out", "--page", "page.md"]) == 0
    ledger = (checkout / "page.md").read_text().partition("<!-- ledger-4: end")[0]
    rows_before = (checkout / "out" / "ledger.csv").read_text()
    assert len(ledger) > 1_000
    boots.clear()
    capsys.readouterr()

    assert main(COMMAND) == 0
    said = capsys.readouterr().out
    assert len(boots) == 2
    page = (checkout / "page.md").read_text()
    assert page.startswith(ledger)
    own = page.partition("<!-- applications: begin -->\n")[2].partition("<!-- applications: end")[0]
    assert said.startswith(own)
    assert "kbuild: 262 s" in own
    assert (checkout / "out" / "ledger.csv").read_text() == rows_before

    # Each recording under the kernel's own scheduler and under each other.
    under = [command[command.index("--scheduler") + 1] for command in recorded]
    assert under == ["default", "bfs"]
    with (checkout / "out" / "applications.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert {(row["label"], row["workload"]) for row in rows} == {
        (label, workload) for label in ("default", "bfs") for workload in ("work", "recorded-work")
    }
    elapsed = next(row for row in rows if row["workload"] == "recorded-work" and row["metric"] == "elapsed_s")
    assert float(elapsed["kernel_mean"]) == pytest.approx(1.33096, rel=1e-4)
    described = json.loads((checkout / "out" / "applications.json").read_text())
    assert described["recorded"] == [{"name": "recorded-work", "application": "work", "root": "make"}]

    there = {path: path.stat().st_mtime_ns for path in (checkout / "out").rglob("cells/*.json")}
    traces = list((checkout / "out").rglob("*.trace.gz"))
    assert len(traces) == 2
    assert main(COMMAND) == 0
    assert capsys.readouterr().out == said
    assert (len(boots), len(recorded)) == (2, 2)
    assert {path: path.stat().st_mtime_ns for path in (checkout / "out").rglob("cells/*.json")} == there

    # A trace that is gone, and no other, is recorded again; and the ledger leaves what the applications have.
    traces[0].unlink()
    assert main(COMMAND) == 0
    assert len(recorded) == 3
    assert main(["agree", "bfs", "-w", "work", "-m", "desktop-4", "-n", "1", "-o", "out", "--page", "page.md"]) == 0
    assert own in (checkout / "page.md").read_text()


def test_a_run_that_fails_is_no_recording(
    recorded: list[list[str]], checkout: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.setattr(tracing, "capture", lambda *_: ([], 7))
    assert main(COMMAND) == 1
    assert "work under default: the recorded run ended with status 7" in capsys.readouterr().err
    assert list((checkout / "out").rglob("*.trace.gz")) == []


def _entry(label: str, workload: str, changes: tuple[float, float], metric: str = "cpu_s") -> Entry:
    simulator, kernel = (Values(1 + pct / 100, 1 + pct / 100, 1 + pct / 100, pct) for pct in changes)
    return Entry(Place(label, workload, 2, metric, "mean"), simulator, kernel)


_NAN = math.nan
_DATA: dict[str, Any] = {
    "machine": "m",
    "cpus": 1,
    "place": "vm-exact",
    "kernel": "7.2-test",
    "repetitions": 1,
    "schedulers": ["default", "bfs"],
    "load": 2,
    "applications": ["lrzip"],
    "params": ["lrzip.scale_pct=1"],
    "recorded": [{"name": "recorded-lrzip", "application": "lrzip", "root": "lrzip"}],
    "again": [{"workload": "lrzip", "metric": "cpu_s", "statistic": "mean", "error_pct": 0.5}],
    "below_floor": 3,
    "troubles": [],
}


def test_the_tables() -> None:
    def default(workload: str, simulator: float, kernel: float) -> Entry:
        worlds = (Values(value, value, value, _NAN) for value in (simulator, kernel))
        return Entry(Place("default", workload, 2, "cpu_s", "mean"), *worlds)

    # The model takes a third of what the application takes, which is no error; that the change is the other way is.
    rows = [default("lrzip", 1, 3), _entry("bfs", "lrzip", (-10, 20))]
    rows += [default("recorded-lrzip", 1.02, 1), _entry("bfs", "recorded-lrzip", (4, 5))]
    text = application_tables.text(_DATA, rows)
    assert "the sign right in 1 of 2: 0 of 1 of applications, 1 of 1 of recordings." in text
    assert "| lrzip | CPU time | −10.0 %, +20.0 %: wrong | +0.5 % |" in text
    assert "| CPU time | 1 | 0 of 1 | 25.0 | 25.0 | 25.0 |" in text
    assert "| recorded-lrzip | default | CPU time | 1.02 s | 1.00 s | +2.0 % | – |" in text
    assert "| recorded-lrzip | bfs | CPU time | 1.04 s | 1.05 s | −1.0 % | +4.0 %, +5.0 % |" in text
    assert "| CPU time | 2.0 | 1.0, 1.0 |" in text
    assert "Left out as too small in both worlds: 3 numbers" in text
    # What was not asked for has no table.
    assert "recorded" not in application_tables.text(_DATA | {"recorded": []}, rows[:2])


def test_a_change_below_the_limit_has_no_sign() -> None:
    entry = _entry("bfs", "lrzip", (-10, 2))
    assert entry.sign_is_right is None
    assert gap_pct(entry) == pytest.approx((90 / 102 - 1) * 100)
    assert "wrong" not in application_tables.text(_DATA, [entry])


def test_the_page_says_what_the_committed_results_say() -> None:
    folder, file = ROOT / "results/agreement", ROOT / "docs/agreement.md"
    data = json.loads((folder / "applications.json").read_text("utf-8"))
    text = application_tables.text(data, entries.from_csv(folder / "applications.csv"))
    assert markdown.put_into(file, application_tables.MARK, text) == file.read_text("utf-8")


def test_what_is_recorded_is_of_what_is_chosen() -> None:
    assert list(Applications(workloads="oltp,lrzip").recorded) == ["lrzip"]
    asked = Applications("bfs", "oltp,lrzip").asked(["oltp", "lrzip"])
    assert asked["schedulers"] == "default,bfs"
    assert asked["param"] == ["oltp.scale_pct=1", "oltp.duration_ms=1000", "lrzip.scale_pct=1"]


@pytest.mark.usefixtures("boots")
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["-w", "pipe"], "unknown application 'pipe'; known: compile-e2fsprogs, lrzip, mplayer, oltp, transcode"),
        (
            ["-w", "lrzip", "--load", "1", "-p", "lrzip.scale_pct=2"],
            "--applications: sizes and place are fixed: expected",
        ),
        (["--short"], "--applications: sizes and place are fixed: expected no --short"),
        (["--on", "host", "-m", "x"], "expected no --on host"),
        (["no-such-scheduler"], "unknown scheduler 'no-such-scheduler'"),
        (["-n", "0"], "-n 0: expected 1 to"),
        (["--page", "none.md"], "--page none.md: No such file"),
        (["--page", "old.md"], "--page old.md: expected a page with the lines '<!-- applications: begin -->'"),
    ],
)
def test_bad_input_is_one_line(lab: Callable, checkout: Path, arguments: list[str], words: str) -> None:
    (checkout / "old.md").write_text("<!-- ledger: begin -->\n<!-- ledger: end -->\n")
    for name in ("compile-e2fsprogs", "lrzip", "mplayer", "oltp", "transcode"):
        text = (checkout / "workloads" / "latt.toml").read_text().replace('"latt"', f'"{name}"')
        more = "".join(f'{key} = {{ default = 1, min = 1, max = 9_000, about = "" }}\n' for key in scope.SIZES[name])
        (checkout / "workloads" / f"{name}.toml").write_text(text.replace("[params]\n", f"[params]\n{more}"))
    done = lab("agree", "--applications", "-m", "desktop-4", *arguments)
    assert done.returncode == 2, done.stderr
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert words in done.stderr
