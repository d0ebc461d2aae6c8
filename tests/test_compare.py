# SPDX-License-Identifier: GPL-2.0-or-later
"""The command line with the real simulator behind it: the documented example, bad input, interruption."""

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
EXAMPLE = re.search(r"```c\n(.*?)```", (ROOT / "docs/policies.md").read_text(), re.DOTALL)[1]

pytestmark = pytest.mark.skipif(
    not (ROOT / "target/release/schedlab-sim").exists(), reason="no simulator in target/release: make build"
)


def command(*arguments: str | Path) -> list[str]:
    return [sys.executable, "-m", "schedlab", *map(str, arguments)]


def compare(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command("compare", *arguments), cwd=ROOT / "lab", capture_output=True, text=True)


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    file = tmp_path / "scx_mine.bpf.c"
    file.write_text(EXAMPLE)
    return file


def test_the_documented_example_runs_by_its_path(policy: Path, tmp_path: Path) -> None:
    done = compare(f"{policy},vtime", "-w", "latt,counter", "--load", "3", "-n", "1", "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    records = [json.loads(path.read_text()) for path in (tmp_path / "out/cells").glob("*.json")]
    assert len(records) == 4
    assert {record["status"] for record in records} == {"ok"}


def test_the_kernel_accepts_the_same_lines(policy: Path, tmp_path: Path) -> None:
    clang = next(f"clang-{version}" for version in range(30, 16, -1) if _runs(f"clang-{version}"))
    include = ROOT / "include"
    flags = ("-g", "-O2", "-target", "bpf", "-mcpu=v3", "-Wall", "-Werror", "-D__TARGET_ARCH_x86")
    subprocess.run(
        [clang, *flags, f"-I{include}/bpf", f"-I{include}", "-c", policy, "-o", tmp_path / "mine.o"], check=True
    )


def _runs(program: str) -> bool:
    try:
        return subprocess.run([program, "--version"], capture_output=True).returncode == 0
    except FileNotFoundError:
        return False


NO_CPUS = """
name = "none"
title = "m"
source = "test"
hz = 250
[topology]
sockets = 0
llcs_per_socket = 1
cores_per_llc = 1
threads_per_core = 1
"""


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["bsf,cfs"], ["bsf", "did you mean", "bfs"]),
        (["bfs:rulez=424,cfs"], ["rulez", "rules"]),
        (["bfs:rules=999,cfs"], ["rules=999", "232"]),
        (["bfs,cfs", "-w", "lat"], ["lat", "latt"]),
        (["bfs,cfs", "--load", "-1"], ["-1", "load"]),
        (["bfs,cfs", "-m", "desktop-5"], ["desktop-5", "desktop-4"]),
        (["bfs,cfs", "-w", "latt", "--param", "clents=3"], ["clents", "clients"]),
    ],
)
def test_a_mistake_on_the_command_line_is_one_line(arguments: list[str], words: list[str], tmp_path: Path) -> None:
    assert_refused(compare(*arguments, "-n", "1", "-o", tmp_path / "out"), words)


def test_a_machine_without_cpus_is_refused(tmp_path: Path) -> None:
    machine = tmp_path / "none.toml"
    machine.write_text(NO_CPUS)
    done = compare("bfs,cfs", "-w", "latt", "-m", machine, "-n", "1", "-o", tmp_path / "out")
    assert_refused(done, ["none.toml:7", "sockets"])


def test_a_typo_in_a_workload_is_refused(tmp_path: Path) -> None:
    workload = tmp_path / "typo.toml"
    workload.write_text(
        (ROOT / "workloads/latt.toml").read_text().replace("run_us", "rum_us").replace('name = "latt"', 'name = "typo"')
    )
    done = compare("bfs,cfs", "-w", workload, "-n", "1", "-o", tmp_path / "out")
    assert_refused(done, ["typo.toml:", "rum_us", "run_us"])


def test_an_unknown_kfunc_is_refused_by_name(policy: Path, tmp_path: Path) -> None:
    policy.write_text(
        EXAMPLE.replace("return scx_bpf_create_dsq", "scx_bpf_cpuperf_set(0, 1);\n\treturn scx_bpf_create_dsq")
    )
    done = compare(f"{policy},vtime", "-w", "latt", "-n", "1", "-o", tmp_path / "out")
    assert_refused(done, ["scx_mine.bpf.c", "scx_bpf_cpuperf_set", "subset"])


CLOCKED = """
name = "clocked"
title = "a machine whose clocks change"
source = "test"
hz = 250
[topology]
sockets = 1
llcs_per_socket = 1
cores_per_llc = 2
threads_per_core = 1
[frequency]
min_khz = 1_000_000
max_khz = 2_000_000
steps_khz = [1_000_000, 2_000_000]
governor = "schedutil"
[power]
idle_mw = 100
busy_mw = [500, 3000]
"""
# The example that runs everything at half speed.
SLOW = EXAMPLE.replace("#include <scx.h>", "#include <scx.h>\n\nvoid scx_bpf_cpuperf_set(s32 cpu, u32 perf) __ksym;")
ASKS = "\tscx_bpf_cpuperf_set(0, 0);\n\tscx_bpf_cpuperf_set(1, 0);\n"
SLOW = SLOW.replace("\treturn scx_bpf_create_dsq", f"{ASKS}\treturn scx_bpf_create_dsq")


def test_who_asks_for_less_speed_takes_longer_and_less(tmp_path: Path) -> None:
    assert SLOW.count("scx_bpf_cpuperf_set") == 3
    machine = tmp_path / "clocked.toml"
    machine.write_text(CLOCKED)
    slow = tmp_path / "scx_slow.bpf.c"
    slow.write_text(SLOW)
    options = ("-w", "pi", "--load", "2", "-n", "5", "-m", machine, "-o", tmp_path / "out", "--json")
    done = compare(f"vtime,{slow}", *options)
    assert done.returncode == 0, done.stderr
    found: dict[str, dict[str, float]] = {"vtime": {}, "other": {}}
    for path in (tmp_path / "out/cells").glob("*.json"):
        record = json.loads(path.read_text())
        assert record["status"] == "ok", record["reason"]
        of = "vtime" if record["cell"]["scheduler"] == "vtime" else "other"
        found[of] = record["metrics"]
    ratio = {name: found["other"][name] / found["vtime"][name] for name in ("elapsed_s", "energy_j")}
    assert 1.95 < ratio["elapsed_s"] <= 2.0
    # Twice the time at a sixth of the power.
    assert 0.32 < ratio["energy_j"] < 0.40
    rows = (tmp_path / "out/comparisons.csv").read_text().splitlines()
    energy = [row for row in rows if "energy_j" in row]
    assert energy
    assert all(",better," in row for row in energy), rows[:1] + energy
    for file in ("results.csv", "groups.csv", "report.html"):
        assert "energy" in (tmp_path / "out" / file).read_text(), file


def test_the_kernels_own_scheduler_is_refused_where_frequencies_would_follow_its_tasks(tmp_path: Path) -> None:
    machine = tmp_path / "clocked.toml"
    machine.write_text(CLOCKED)
    done = compare("default,vtime", "-w", "pi", "--load", "2", "-n", "1", "-m", machine, "-o", tmp_path / "out")
    assert_refused(done, ["clocked: frequency.governor", "schedutil", "default", "not modelled", '"performance"'])
    machine.write_text(CLOCKED.replace("schedutil", "performance"))
    done = compare("default,vtime", "-w", "pi", "--load", "2", "-n", "1", "-m", machine, "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr


def test_a_policy_that_does_not_compile_is_refused(policy: Path, tmp_path: Path) -> None:
    policy.write_text(EXAMPLE.replace("p->scx.weight", "p->scx.wait"))
    done = compare(f"{policy},vtime", "-w", "latt", "-n", "1", "-o", tmp_path / "out")
    assert_refused(done, ["scx_mine.bpf.c:", "wait"])


def assert_refused(done: subprocess.CompletedProcess[str], words: list[str]) -> None:
    assert done.returncode == 2, done.stdout + done.stderr
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr
    for word in words:
        assert word in done.stderr


def test_an_interrupted_run_keeps_what_is_finished_and_goes_on(tmp_path: Path) -> None:
    arguments = ("compare", "bfs,cfs", "-w", "latt", "--load", "15", "-n", "20", "--param", "duration_s=600")
    arguments += ("-o", str(tmp_path / "out"))
    running = subprocess.Popen(command(*arguments), cwd=ROOT / "lab", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    cells = tmp_path / "out/cells"
    deadline = time.monotonic() + 120
    while not list(cells.glob("*.json")) and time.monotonic() < deadline and running.poll() is None:
        time.sleep(0.02)
    running.send_signal(signal.SIGINT)
    _, errors = running.communicate(timeout=60)
    assert running.returncode == 130, errors.decode()
    kept = {path.name: path.read_bytes() for path in cells.glob("*.json")}
    assert 0 < len(kept) < 40
    assert not [path for path in cells.iterdir() if path.suffix != ".json"]
    done = subprocess.run(command(*arguments), cwd=ROOT / "lab", capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert len(list(cells.glob("*.json"))) == 40
    for name, record in kept.items():
        assert (cells / name).read_bytes() == record
