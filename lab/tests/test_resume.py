# SPDX-License-Identifier: GPL-2.0-or-later
"""What may go wrong in the middle: Ctrl-C, a full disk, a corrupt record. No finished record is lost."""

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console

from schedlab.campaign.matrix import campaign
from schedlab.campaign.request import request
from schedlab.cli import compare
from schedlab.collect.store import Store
from schedlab.errors import InterruptedRun
from schedlab.places import sim

LAB = Path(__file__).resolve().parents[1]
COMMAND = ["compare", "bfs,cfs", "-w", "latt", "-n", "6", "-o", "out", "--no-report"]
SMALL = ["compare", "bfs", "-w", "latt", "-n", "1", "-o", "out", "--no-report"]


def cells(checkout: Path) -> set[Path]:
    return set((checkout / "out" / "cells").glob("*.json"))


def test_all_is_loaded_before_anything_is_forked(
    checkout: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    loaded = []

    def load(_: bool, over: threading.Event) -> None:
        time.sleep(0.5)
        loaded.append(not over.is_set())

    monkeypatch.setattr(compare, "_load", load)
    monkeypatch.setattr(sim, "run", lambda *_: 0)
    asked = request("bfs,cfs", workload_names="latt", repetitions=1)
    with compare.execute(asked, tmp_path / "out", None, Console(quiet=True), True) as (_, _, status):
        assert (status, loaded) == (0, [True])

    def interrupted(*_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(sim, "run", interrupted)
    with (
        pytest.raises(InterruptedRun),
        compare.execute(asked, tmp_path / "other", None, Console(quiet=True), True),
    ):
        pass
    assert loaded == [True, False]


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_keeps_its_records_and_resumes(lab: Callable, checkout: Path, sign: int) -> None:
    child = subprocess.Popen(
        [sys.executable, "-m", "schedlab", *COMMAND],
        cwd=checkout,
        env={**os.environ, "PYTHONPATH": str(LAB), "FAKE_DELAY_S": "0.2"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 120
    while len(cells(checkout)) < 3:
        assert time.monotonic() < deadline, "no records came"
        time.sleep(0.02)
    child.send_signal(sign)
    stdout, stderr = child.communicate(timeout=60)
    assert child.returncode == 130
    kept = {path: path.read_bytes() for path in cells(checkout)}
    assert 3 <= len(kept) < 24
    assert stderr == f"schedlab: interrupted: {len(kept)} of 24 cells have a record in out; the same command resumes\n"
    assert stdout == ""
    # The runner is gone too: nothing more appears.
    time.sleep(0.5)
    assert cells(checkout) == set(kept)

    again = lab(*COMMAND, FAKE_LOG="log")
    assert again.returncode == 0
    assert f"{len(kept)} of 24 cells have a record already" in again.stderr
    assert len((checkout / "log").read_text().splitlines()) == 24 - len(kept)
    assert all(path.read_bytes() == data for path, data in kept.items())


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda text: text[: len(text) // 2], "not valid JSON"),
        (lambda text: "", "not valid JSON"),
        (lambda text: "[]", "not a JSON object"),
        (lambda text: text.replace('"format": 1', '"format": 0'), "key 'format': expected 1, got 0"),
        (lambda text: text.replace('"load": 1', '"load": 2').replace('"load": 4', '"load": 2'), "its hash is not"),
        (lambda text: text.replace('"status": "ok"', '"status": "fine"'), "unknown status 'fine'"),
        (lambda text: text.replace('"elapsed_s": ', '"elapsed_s": null, "x": '), "key 'metrics.elapsed_s'"),
        (lambda text: text.replace('"count": 200', '"count": 201'), "bucket counts do not add up to count"),
    ],
)
def test_a_damaged_record_is_set_aside_with_its_reason(
    checkout: Path, fake_record: Callable, damage: Callable[[str], str], reason: str
) -> None:
    planned = campaign(request("bfs", workload_names="latt", repetitions=1), checkout / "bin" / "schedlab-sim").cells
    store = Store(checkout / "out")
    store.create()
    for cell in planned:
        store.path(cell.id).write_text(json.dumps(fake_record(cell.id, cell.data)))
    path = store.path(planned[0].id)
    whole = path.read_text()
    path.write_text(damage(whole))
    assert path.read_text() != whole
    said: list[str] = []
    assert store.prepare([cell.id for cell in planned], said.append) == {cell.id for cell in planned[1:]}
    (line,) = said
    assert line.startswith(f"{path}: corrupt record (")
    assert reason in line
    assert not path.exists()
    assert path.with_name(path.name + ".corrupt").exists()


def test_a_corrupt_record_is_named_and_run_again(lab: Callable, checkout: Path) -> None:
    lab(*COMMAND)
    path = min(cells(checkout))
    whole = path.read_text()
    path.write_text(whole[: len(whole) // 2])
    result = lab(*COMMAND, FAKE_LOG="log")
    assert result.returncode == 0
    (line,) = [line for line in result.stderr.splitlines() if path.name in line]
    assert "the cell runs again" in line
    assert (checkout / "log").read_text().split() == [path.stem]
    assert path.read_text() == whole


def test_a_full_disk_is_one_line_and_loses_nothing(lab: Callable, checkout: Path) -> None:
    lab(*COMMAND)
    before = {path: path.read_bytes() for path in cells(checkout)}
    # The kernel refuses files beyond this size as it refuses them on a full disk.
    limit = max(map(len, before.values())) + 1000
    full = subprocess.run(
        [sys.executable, "-m", "schedlab", *COMMAND],
        cwd=checkout,
        env={**os.environ, "PYTHONPATH": str(LAB)},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert full.returncode == 2
    assert full.stderr == (
        "schedlab: out/manifest.json: no space left to write it; free some and run the same command again "
        "(finished records are kept)\n"
    )
    assert {path: path.read_bytes() for path in cells(checkout)} == before
    assert not list((checkout / "out").glob(".*.json.*")), "a temporary file was left"
    assert lab(*COMMAND).returncode == 0


def test_what_a_killed_writer_left_half_is_swept_away_and_nothing_else(lab: Callable, checkout: Path) -> None:
    assert lab(*SMALL).returncode == 0
    out = checkout / "out"
    record = min(cells(checkout))
    half = [
        out / "cells" / f".{record.stem}.aB3xY9",  # the runners'
        out / "cells" / f".{record.stem}.json.k3_x9abc",
        out / ".manifest.json.abcdefgh",
        out / ".report.html.abcd_fg1",
        out / ".results.parquet.new",
    ]
    (out / "packs").mkdir()
    half.append(out / "packs" / f".{'0' * 20}.jsonl.gz.abcdefgh")
    kept = [out / ".lock", out / ".gitignore", out / "cells" / ".keep", out / "cells" / f"{record.name}.corrupt"]
    for path in [*half, *kept]:
        path.write_text("half")
    assert lab(*SMALL).returncode == 0
    assert [path for path in half if path.exists()] == []
    assert all(path.exists() for path in kept)


_READ_ONLY = """\
mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" || { echo "cannot mount"; exit 99; }
shift
exec "$@"
"""


def read_only(checkout: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """With the folder of results laid over itself so that nothing in it can be written, by root neither."""
    command = [sys.executable, "-m", "schedlab", *arguments]
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", _READ_ONLY, "sh", checkout / "out", *command],
        cwd=checkout,
        env={**os.environ, "PYTHONPATH": str(LAB)},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode == 99 or done.stderr.startswith("unshare: "):
        pytest.skip(f"nothing can be mounted here: {done.stderr.strip()}")
    return done


@pytest.mark.skipif(not shutil.which("unshare"), reason="no unshare, which mounts a folder read-only")
def test_a_read_only_folder_is_one_line_and_stays_as_it_is(lab: Callable, checkout: Path) -> None:
    (checkout / "out").mkdir()
    first = read_only(checkout, *SMALL)
    assert first.returncode == 2
    assert first.stderr == (
        "schedlab: out: cannot be written: Read-only file system; make it writable or choose another folder\n"
    )
    assert lab(*SMALL).returncode == 0
    before = {path: path.read_bytes() for path in (checkout / "out").rglob("*") if path.is_file()}
    for arguments in (SMALL, ["report", "out"]):
        done = read_only(checkout, *arguments)
        assert done.returncode == 2, done.stdout
        assert done.stderr.startswith("schedlab: out/")
        assert done.stderr.endswith(
            "cannot be written: Read-only file system; make it writable or choose another folder\n"
        )
        assert done.stderr.count("\n") == 1
    assert {path: path.read_bytes() for path in (checkout / "out").rglob("*") if path.is_file()} == before


_NEWER = {
    "cells": lambda out: min((out / "cells").iterdir()),
    "manifest": lambda out: out / "manifest.json",
}


@pytest.mark.parametrize("which", _NEWER)
@pytest.mark.parametrize("arguments", [SMALL, ["report", "out"]])
def test_a_format_to_come_is_one_line_and_stays_as_it_is(
    lab: Callable, checkout: Path, which: str, arguments: list[str]
) -> None:
    assert lab(*SMALL).returncode == 0
    path = _NEWER[which](checkout / "out")
    # Other keys, too: only its number says that it is no damage.
    data = json.loads(path.read_text())
    path.write_text(json.dumps({"format": 7, "all": list(data)}))
    before = {path: path.read_bytes() for path in (checkout / "out").rglob("*") if path.is_file()}
    done = lab(*arguments, FAKE_LOG="log")
    assert done.returncode == 2
    shown = path.relative_to(checkout)
    assert done.stderr == (
        f"schedlab: {shown}: its format is 7, and this schedlab knows 1: update schedlab; the file stays as it is\n"
    )
    assert not (checkout / "log").exists()
    assert {path: path.read_bytes() for path in (checkout / "out").rglob("*") if path.is_file()} == before


def test_a_directory_that_cannot_be_made_is_one_line(lab: Callable, checkout: Path) -> None:
    (checkout / "out").write_text("a file")
    result = lab(*COMMAND)
    assert result.returncode == 2
    assert result.stderr.startswith("schedlab: out")
    assert result.stderr.count("\n") == 1


def test_two_runs_in_one_directory_refuse_each_other(lab: Callable, checkout: Path) -> None:
    child = subprocess.Popen(
        [sys.executable, "-m", "schedlab", *COMMAND],
        cwd=checkout,
        env={**os.environ, "PYTHONPATH": str(LAB), "FAKE_DELAY_S": "0.2"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        deadline = time.monotonic() + 120
        while not cells(checkout):
            assert time.monotonic() < deadline, "no records came"
            time.sleep(0.02)
        second = lab(*COMMAND)
        assert second.returncode == 2
        assert second.stderr == (
            "schedlab: out: another schedlab is running there; wait for it, or name another folder with -o\n"
        )
    finally:
        child.send_signal(signal.SIGINT)
        child.wait(timeout=60)


def test_report_makes_the_same_files_from_the_records_alone(lab: Callable, checkout: Path) -> None:
    lab(*COMMAND[:-1])
    names = ("results.csv", "groups.csv", "report.html")
    before = {name: (checkout / "out" / name).read_bytes() for name in names}
    for name in names:
        (checkout / "out" / name).unlink()
    assert lab("report", "out").returncode == 0
    assert {name: (checkout / "out" / name).read_bytes() for name in names} == before
    # Without the simulator there is everything but the picture of the schedule, and the page says so.
    (checkout / "bin" / "schedlab-sim").unlink()
    assert lab("report", "out").returncode == 0
    for name in names[:2]:
        assert (checkout / "out" / name).read_bytes() == before[name]
    text = (checkout / "out" / "report.html").read_text()
    assert "No picture of the schedule: schedlab-sim is not built" in text
    assert '<figure class="schedule' not in text
