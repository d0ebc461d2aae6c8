# SPDX-License-Identifier: GPL-2.0-or-later
"""schedlab agree --on host with the fake runner, on a kernel without sched_ext and on one that has it."""

import csv
import json
import os
from pathlib import Path

import pytest

from schedlab.cli.program import main
from schedlab.ledger import causes, own_machines
from schedlab.ledger.entries import Entry, Values
from schedlab.places import trial
from schedlab.report import agreement_tables, markdown
from schedlab.sched_ext import sysfs
from schedlab.statistics.agreement import Place

ROOT = Path(__file__).parents[2]


def _machine(checkout: Path, name: str) -> str:
    """Of as many CPUs as there are here."""
    text = (checkout / "machines" / "desktop-4.toml").read_text().replace("desktop-4", name)
    text = text.replace("cores_per_llc = 4", f"cores_per_llc = {os.cpu_count()}")
    file = checkout / "machines" / f"{name}.toml"
    file.write_text(text)
    return str(file)


_WHY_NOT = trial.why_not


@pytest.fixture
def real_trial(boots: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial, "why_not", _WHY_NOT)


@pytest.fixture
def no_sched_ext(boots: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sysfs, "ROOT", tmp_path / "nowhere")
    monkeypatch.setattr(os, "geteuid", lambda: 0)


def _command(machine: str) -> list[str]:
    return ["agree", "bfs", "-w", "work", "-n", "1", "--on", "host", "-m", machine, "-o", "out", "--page", "page.md"]


@pytest.mark.usefixtures("no_sched_ext")
def test_without_sched_ext_the_kernels_own_scheduler_runs_alone(
    boots: list[int], checkout: Path, capsys: pytest.CaptureFixture
) -> None:
    assert main(_command(_machine(checkout, "mine"))) == 0
    out, err = capsys.readouterr()
    line = "schedlab: this kernel has no sched_ext: only its own scheduler, default, runs on it"
    assert [text for text in err.splitlines() if text.startswith("schedlab:")] == [line]
    assert boots == []
    there = [json.loads(path.read_text())["cell"] for path in (checkout / "out" / "host" / "cells").glob("*.json")]
    assert {(cell["scheduler"], cell["place"]) for cell in there} == {("default", "host")}
    rows = _rows(checkout)
    assert {(row["machine"], row["label"]) for row in rows} == {("mine", "default")}
    assert "`default` alone" in out
    page = (checkout / "page.md").read_text()
    assert out.startswith(page.partition("<!-- host: begin -->\n")[2].partition("<!-- host: end")[0])


@pytest.mark.usefixtures("no_sched_ext")
def test_rows_of_another_machine_and_of_the_guest_stay(checkout: Path, capsys: pytest.CaptureFixture) -> None:
    guest = ["agree", "bfs", "-w", "work", "-n", "1", "-m", "desktop-4", "-o", "out", "--page", "page.md"]
    assert main(guest) == 0
    ledger = (checkout / "page.md").read_text().partition("<!-- ledger-4: end")[0]
    of_guest = (checkout / "out" / "ledger.csv").read_text()
    for name in ("first", "second"):
        assert main(_command(_machine(checkout, name))) == 0
    before = _rows(checkout)
    assert list(dict.fromkeys(row["machine"] for row in before)) == ["first", "second"]
    assert (checkout / "page.md").read_text().startswith(ledger)
    assert (checkout / "out" / "ledger.csv").read_text() == of_guest
    # The same again resumes, and a machine's rows are there once.
    capsys.readouterr()
    assert main(_command(_machine(checkout, "first"))) == 0
    assert "have a record already" in capsys.readouterr().err
    assert _rows(checkout) == before


@pytest.mark.usefixtures("no_sched_ext", "real_trial")
def test_what_needs_policies_says_what_is_missing(checkout: Path, capsys: pytest.CaptureFixture) -> None:
    machine = _machine(checkout, "mine")
    assert main(["compare", "bfs", "-w", "work", "-n", "1", "--on", "host"]) == 3
    assert main(["compare", "default", "-w", "work", "-n", "1", "--on", "host", "--no-report"]) == 0
    assert main(["agree", "--short", "--keep", "--on", "host", "-m", machine]) == 3
    assert capsys.readouterr().err.count("this kernel has no sched_ext;") == 2


def test_the_measuring_needs_root(
    no_sched_ext: None,
    checkout: Path,
    real_trial: None,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture,
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert main(_command(_machine(checkout, "mine"))) == 3
    assert capsys.readouterr().err == "schedlab: measuring on this machine needs root: run it with sudo\n"


def test_a_file_that_is_not_ours_is_named(no_sched_ext: None, checkout: Path, capsys: pytest.CaptureFixture) -> None:
    (checkout / "out").mkdir()
    (checkout / "out" / "host.json").write_text('{"format": 1}')
    assert main(_command(_machine(checkout, "mine"))) == 2
    assert "host.json" in capsys.readouterr().err.splitlines()[-1]


def test_rows_are_read_as_they_were_kept(tmp_path: Path) -> None:
    def entry(value: float) -> Entry:
        nan = float("nan")
        place = Place("default", "pipe", 1, "elapsed_s", "mean")
        return Entry(place, Values(value, value, value, nan), Values(2.0, 2.0, 2.0, nan))

    own_machines.keep(tmp_path, {"machine": "a"}, [entry(1.0)])
    own_machines.keep(tmp_path, {"machine": "b"}, [entry(3.0), entry(4.0)])
    own_machines.keep(tmp_path, {"machine": "a"}, [entry(5.0)])
    found = own_machines.read(tmp_path)
    assert [(data["machine"], [row.simulator.mean for row in rows]) for data, rows in found] == [
        ("a", [5.0]),
        ("b", [3.0, 4.0]),
    ]


def test_the_page_says_what_the_committed_results_say() -> None:
    folder, file = ROOT / "results/agreement", ROOT / "docs/agreement.md"
    known = causes.read(folder / causes.NAME)
    parts = [agreement_tables.short_text(data, rows, known) for data, rows in own_machines.read(folder)]
    assert markdown.put_into(file, agreement_tables.HOST_MARK, "\n".join(parts)) == file.read_text("utf-8")


def _rows(checkout: Path) -> list[dict[str, str]]:
    with (checkout / "out" / "host.csv").open() as file:
        return list(csv.DictReader(file))
