# SPDX-License-Identifier: GPL-2.0-or-later
"""rt-app's files as workloads: what their events mean, under any scheduler, and what is refused."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from schedlab import checkout
from tests.command_line import schedlab

ROOT = Path(__file__).resolve().parents[2]
FILES = ROOT / "crates" / "workload" / "tests" / "rtapp"


def metrics(file: Path, scheduler: str, *options: str) -> dict[str, Any]:
    runner = checkout.need_binary("schedlab-sim")
    command = [runner, "cell", "--json", "--scheduler", scheduler, "--workload", file, *options]
    done = subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True, cwd=ROOT)
    return json.loads(done.stdout)["metrics"]


def loops(of: dict[str, Any]) -> int:
    return round(of["throughput_per_s"] * of["elapsed_s"])


def written(folder: Path, tasks: dict[str, Any], **of_all: Any) -> Path:
    path = folder / "mine.json"
    path.write_text(json.dumps({"global": of_all, "tasks": tasks}))
    return path


@pytest.mark.parametrize("scheduler", ["eevdf", "bfs", "fifo"])
@pytest.mark.parametrize(("name", "expected"), [("pipeline", 150), ("handover", 40), ("forks", 100), ("meeting", 72)])
def test_every_turn_is_taken_under_every_scheduler(name: str, expected: int, scheduler: str) -> None:
    assert loops(metrics(FILES / f"{name}.json", scheduler)) == expected
    assert loops(metrics(FILES / f"{name}.json", scheduler, "--load", "3")) == 3 * expected


def test_a_resume_that_nobody_awaits_is_lost(tmp_path: Path) -> None:
    tasks = {
        "waker": {"loop": 10, "run": 100, "resume": "late", "sleep": 1000},
        "late": {"suspend": "", "run": 1500},
    }
    # Every second resume finds it at work; a semaphore would remember it.
    assert loops(metrics(written(tmp_path, tasks, duration=1), "eevdf")) == 10 + 5
    tasks["waker"]["sem_post"] = tasks["waker"].pop("resume")
    tasks["late"] = {"sem_wait": "late", "run": 1500}
    assert loops(metrics(written(tmp_path, tasks, duration=1), "eevdf")) == 10 + 10


@pytest.mark.parametrize(("mode", "elapsed_s"), [("absolute", 0.100), ("relative", 0.125)])
def test_timers_after_one_that_was_missed(tmp_path: Path, mode: str, elapsed_s: float) -> None:
    """One burst of 35 ms in a period of 10: absolute timers catch up, relative ones go on from there."""
    timer = {"ref": "unique", "period": 10_000, "mode": mode}
    phases = {"long": {"run": 35_000, "timer": timer}, "rest": {"loop": 9, "run": 1_000, "timer": timer}}
    of = metrics(written(tmp_path, {"a": {"loop": 1, "phases": phases}}), "eevdf")
    assert of["elapsed_s"] == pytest.approx(elapsed_s, abs=0.001)


def test_who_comes_first_to_a_barrier_waits(tmp_path: Path) -> None:
    def both(first_us: int, then_us: int, events: dict[str, str]) -> dict[str, Any]:
        names = list(events)
        return {"loop": 10, "run": first_us, names[0]: "one", "run2": then_us, names[1]: "two"}

    for events, expected_s in (({"barrier1": "", "barrier2": ""}, 0.06), ({"resume1": "", "resume2": ""}, 0.04)):
        tasks = {"a": both(1_000, 3_000, events), "b": both(3_000, 1_000, events)}
        found = metrics(written(tmp_path, tasks), "eevdf")
        assert found["elapsed_s"] == pytest.approx(expected_s, rel=0.02)


@pytest.mark.parametrize(("name", "elapsed_s"), [("unique", 0.05), ("tick", 0.1)])
def test_each_use_of_a_shared_timer_puts_it_off_for_all(tmp_path: Path, name: str, elapsed_s: float) -> None:
    task = {"loop": 5, "run": 100, "timer": {"ref": name, "period": 10_000}}
    found = metrics(written(tmp_path, {"a": task, "b": task}), "eevdf")
    assert found["elapsed_s"] == pytest.approx(elapsed_s, abs=0.001)


def test_writing_to_memory_takes_the_time_of_copying(tmp_path: Path) -> None:
    found = metrics(written(tmp_path, {"a": {"loop": 1, "mem": 1 << 30}}), "eevdf")
    # copy_kib_ns of the default machine is 10.
    assert found["cpu_s"] == pytest.approx((1 << 20) * 10e-9, rel=0.02)


def test_runtime_counts_the_wait_for_the_cpu_and_run_does_not(tmp_path: Path) -> None:
    other = {"loop": 1, "cpus": [0], "run": 50_000}
    for event, expected_s in (("run", 0.1), ("runtime", 0.075)):
        tasks = {"a": {"loop": 1, "cpus": [0], event: 50_000}, "b": other}
        assert metrics(written(tmp_path, tasks), "eevdf")["elapsed_s"] == pytest.approx(expected_s, abs=0.01)


def test_compare_takes_it(tmp_path: Path) -> None:
    out = tmp_path / "out"
    words = ["bfs,cfs", "-w", str(FILES / "periodic.json"), "-p", "duration_s=2", "-n", "2", "-o", str(out)]
    done = schedlab("compare", *words)
    assert done.returncode == 0, done.stderr
    records = [json.loads(path.read_text()) for path in (out / "cells").glob("*.json")]
    assert [record["metrics"]["elapsed_s"] for record in records] == [2.0] * 4
    assert {record["cell"]["workload"] for record in records} == {"periodic"}


def test_a_folder_is_listed_with_reasons_and_remarks(tmp_path: Path) -> None:
    written(tmp_path, {"a": {"loop": 1, "run": 10}}, frag=1)
    (tmp_path / "refused.json").write_text('{"tasks": {"a": {"policy": "SCHED_DEADLINE", "run": 10}}}')
    done = schedlab("list", "workloads", str(tmp_path))
    assert done.returncode == 2
    *_, last = done.stdout.splitlines()
    assert last == "1 of 2 files are accepted"
    refused, remark = done.stderr.splitlines()
    assert "refused.json:1: tasks.a.policy: SCHED_DEADLINE has no counterpart here" in refused
    assert "mine.json:1: global.frag: ignored" in remark
    assert schedlab("list", "workloads", str(tmp_path / "mine.json")).returncode == 0
    for words in (["workloads", str(tmp_path / "none")], ["machines", str(tmp_path)]):
        assert schedlab("list", *words).returncode == 2


def test_what_it_cannot_say_is_one_line_and_status_2(tmp_path: Path) -> None:
    path = written(tmp_path, {"a": {"loop": 1, "run": 10, "memrun": {}}})
    done = schedlab("compare", "bfs,cfs", "-w", str(path), "-n", "1", "-o", str(tmp_path / "out"))
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert "mine.json:1: tasks.a.memrun: memrun has no counterpart here" in line
