# SPDX-License-Identifier: GPL-2.0-or-later
"""Bad input: one line on standard error that names what is wrong and what was expected, and exit status 2."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from schedlab.places.runner import RunnerBroke, drive

_LATT = ["-w", "latt"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["bsf,cfs"], "unknown scheduler 'bsf'; did you mean bfs? known: bfs, cfs, default"),
        (["zzz"], "unknown scheduler 'zzz'; known: bfs, cfs, default"),
        (["bfs", "-w", "lat"], "unknown workload 'lat'; did you mean latt? known: latt, pipe"),
        (
            ["bfs", *_LATT, "-m", "desktop"],
            "unknown machine 'desktop'; did you mean desktop-4? known: desktop-4, server-2x8-smt",
        ),
        (["bfs,,cfs"], "schedulers 'bfs,,cfs': expected NAME[@KERNEL][:KEY=VALUE[+KEY=VALUE…]], separated by commas"),
        (["bfs,bfs"], "schedulers 'bfs,bfs': 'bfs' is given twice"),
        (["bfs:"], "scheduler 'bfs:': tunable '': expected KEY=VALUE, several joined by '+'"),
        (["bfs:rules"], "scheduler 'bfs:rules': tunable 'rules': expected KEY=VALUE, several joined by '+'"),
        (["bfs:=424"], "scheduler 'bfs:=424': tunable '=424': expected KEY=VALUE, several joined by '+'"),
        (["bfs:a=1+"], "scheduler 'bfs:a=1+': tunable '': expected KEY=VALUE, several joined by '+'"),
        (["bfs:a=1+a=2"], "scheduler 'bfs:a=1+a=2': tunable 'a' is given twice"),
        (
            ["bfs,default", *_LATT],
            "scheduler 'default' means 'eevdf' in the simulator, and there is no schedulers/eevdf yet; "
            "choose among bfs, cfs, or use --on vm",
        ),
        (["./nowhere"], "nowhere: no such policy file or folder"),
        (["bfs", *_LATT, "--load", "-1"], "--load '-1': expected integers from 1 to 1,000,000, separated by commas"),
        (["bfs", *_LATT, "--load", "0"], "--load '0': expected integers from 1 to 1,000,000, separated by commas"),
        (["bfs", *_LATT, "--load", "4,4"], "--load: '4' is given twice"),
        (["bfs", *_LATT, "--load", "²"], "--load '²': expected integers from 1 to 1,000,000, separated by commas"),
        (["bfs", *_LATT, "-n", "0"], "-n 0: expected 1 to 1000 repetitions"),
        (["bfs", *_LATT, "-p", "duration_s"], "--param 'duration_s': expected KEY=VALUE or WORKLOAD.KEY=VALUE"),
        (
            ["bfs", *_LATT, "-p", "duration=3"],
            "unknown parameter 'duration'; did you mean duration_s? known: clients, duration_s",
        ),
        (["bfs", *_LATT, "-p", "clients=3"], "--param 'clients=3': 'clients' is the load of latt: use --load"),
        (["bfs", *_LATT, "-p", "pip.pairs=3"], "unknown workload 'pip'; known: latt"),
        (["bfs", *_LATT, "--tier", "exact"], "--tier exact: only the virtual machine has tiers (--on vm)"),
        (
            ["bfs", *_LATT, "--on", "vm", "--built-in"],
            "--built-in with --on vm: a real kernel loads every policy; only the simulator builds one in",
        ),
        (
            ["bfs", *_LATT, "--on", "vm", "--api", "6.12"],
            "--api 6.12: only the simulator shows another release's interface (--on sim)",
        ),
        (
            ["bfs", *_LATT, "--on", "vm", "-m", "desktop-4"],
            "-m 'desktop-4': in the virtual machine expected a number of CPUs, 1 to 64, or such as 1x4x2",
        ),
        (
            ["default:a=1", *_LATT, "--on", "vm"],
            "scheduler 'default:a=1': the kernel's own scheduler takes no tunables",
        ),
    ],
)
def test_compare_refuses(lab: Callable, arguments: list[str], message: str) -> None:
    result = lab("compare", *arguments)
    assert result.stderr == f"schedlab: {message}\n"
    assert result.stdout == ""
    assert result.returncode == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["frob"],
            "schedlab: unknown command 'frob'; known: agree, bisect, calibrate, check, choose, compare, ",
        ),
        (["compar"], "schedlab: unknown command 'compar'; did you mean compare or compatibility?"),
        (["list", "workload"], "schedlab list: unknown kind 'workload'; did you mean workloads?"),
        (
            ["compare", "bfs", "--on", "mars"],
            "schedlab compare: unknown place 'mars'; known: dask[:ADDRESS], host, sim, slurm, ssh:FILE, vm",
        ),
        (["compare", "bfs", "--on", "dask:"], "schedlab compare: unknown place 'dask:'; did you mean "),
        (["compare", "bfs", "--on", "slurm:all"], "schedlab compare: unknown place 'slurm:all'; "),
        (["trace", "bfs", "-w", "latt", "-o", "x", "--on", "slurm"], "schedlab trace: unknown place 'slurm'; "),
        (["choose", "--on", "dask:mars:8786"], "schedlab choose: unknown place 'dask:mars:8786'; "),
        (["study", "all", "--on", "ssh:hosts.toml"], "schedlab study: unknown place 'ssh:hosts.toml'; "),
        (["compare"], "schedlab compare: the following arguments are required: SCHEDULERS"),
        (
            ["compare", "bfs", "--negligible", "much"],
            "schedlab compare: argument --negligible: expected per cent, from 0 and below 100, got 'much'",
        ),
        (["compare", "bfs", "-n", "many"], "schedlab compare: argument -n/--repetitions: invalid int value: 'many'"),
    ],
)
def test_usage_errors_are_one_line(lab: Callable, arguments: list[str], message: str) -> None:
    result = lab(*arguments)
    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr.startswith(message)
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("there", "instead", "message"),
    [
        ('"latt"', '"latt', ":1: expected TOML: "),
        ('name = "latt"', 'names = "latt"', ": name: expected this key, found none"),
        ('name = "latt"', 'name = "other"', ": key 'name': expected 'latt', as the file is called, got 'other'"),
        ("[1, 4]", "[0]", ":5: loads[0]: expected an integer from 1 to 512, found 0"),
        ("[1, 4]", '"1"', ":5: loads: expected a list, found "),
        ("[1, 4]", '["cores"]', ":5: loads[0]: unknown name cores"),
        ("[1, 4]", '["8 / (4 - cpus)"]', ":5: loads[0]: expected a divisor above 0"),
        ("[params]", "params = 3\n[param]", ":6: params: expected a table, found 3"),
        ('["wakeup_latency_us"]', '"x"', ":16: metrics.promises: expected a list, found "),
        ('["wakeup_latency_us"]', '["cpu"]', ":16: metrics.promises[0]: unknown metric cpu"),
    ],
)
def test_a_broken_workload_file_is_named_with_its_key(
    lab: Callable, checkout: Path, there: str, instead: str, message: str
) -> None:
    path = checkout / "workloads" / "latt.toml"
    path.write_text(path.read_text().replace(there, instead, 1))
    result = lab("compare", "bfs", "-w", "latt")
    assert result.returncode == 2
    assert result.stderr.startswith(f"schedlab: {path}{message}")
    assert result.stderr.count("\n") == 1


def test_one_broken_file_does_not_hide_the_others_from_list(lab: Callable, checkout: Path) -> None:
    (checkout / "workloads" / "broken.toml").write_text("name = ")
    result = lab("list", "workloads")
    assert result.returncode == 2
    assert "latt" in result.stdout
    assert "broken.toml:1: expected TOML" in result.stderr


def test_a_missing_runner_says_how_to_build_it(lab: Callable, checkout: Path) -> None:
    (checkout / "bin" / "schedlab-sim").unlink()
    result = lab("compare", "bfs", "-w", "latt", PATH="/nowhere")
    assert result.returncode == 3
    assert result.stderr == f"schedlab: schedlab-sim is not built: run 'make build' in {checkout}\n"


@pytest.mark.parametrize("status", [2, 3])
def test_the_runner_s_own_words_and_status_are_passed_on(lab: Callable, status: int) -> None:
    message = "/w/latt.toml: key 'tasks': expected a table"
    result = lab("compare", "bfs", "-w", "latt", FAKE_STATUS=str(status), FAKE_MESSAGE=message)
    assert result.returncode == status
    assert result.stderr == f"schedlab: {message}\n"


def test_a_runner_that_dies_is_not_taken_for_success(lab: Callable) -> None:
    result = lab("compare", "bfs", "-w", "latt", FAKE_STATUS="77", FAKE_MESSAGE="thread main panicked")
    assert result.returncode == 1
    assert "schedlab-sim ended with status 77: thread main panicked" in result.stderr


def test_a_runner_that_is_killed_is_named_with_what_to_do() -> None:
    child = [sys.executable, "-c", "import os; os.kill(os.getpid(), 9)"]
    with pytest.raises(RunnerBroke) as error:
        drive(child, lambda *_: None, pytest.fail)
    assert str(error.value) == f"{Path(sys.executable).name} was ended by SIGKILL; the same command resumes"


def test_the_host_needs_sched_ext(lab: Callable) -> None:
    if Path("/sys/kernel/sched_ext/state").exists():
        pytest.skip("this kernel has sched_ext")
    result = lab("compare", "bfs", "-w", "latt", "-n", "1", "--on", "host")
    assert result.returncode == 3
    assert result.stderr == (
        "schedlab: this kernel has no sched_ext; 'schedlab doctor' names one that has, --on vm needs none\n"
    )


def test_report_needs_results(lab: Callable, checkout: Path) -> None:
    result = lab("report", "bin")
    assert result.returncode == 2
    assert result.stderr == "schedlab: bin/manifest.json: not there: bin holds no results of 'schedlab compare'\n"
    (checkout / "bin" / "manifest.json").write_text("[]")
    assert "not a manifest" in lab("report", "bin").stderr
