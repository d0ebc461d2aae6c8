# SPDX-License-Identifier: GPL-2.0-or-later
"""The service: what systemd makes of the unit, and which options it takes out of the file of scx's own service."""

import shlex
import subprocess
from collections.abc import Callable
from configparser import RawConfigParser
from pathlib import Path

import pytest

from tests.packaging.conftest import ROOT

UNIT = ROOT / "packaging/scx_bfs.service"
# The most that `systemd-analyze security` may find exposed, of 10 (a service without any hardening has 9.6).
MOST_EXPOSED = 2.0


def section(name: str) -> dict[str, str]:
    parser = RawConfigParser(strict=False, comment_prefixes=("#",))
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string(UNIT.read_text("utf-8"))
    return dict(parser[name])


def test_systemd_accepts_it(tmp_path: Path, scx_bfs: Path, needs: Callable[..., None]):
    needs("systemd-analyze")
    unit = tmp_path / UNIT.name
    unit.write_text(UNIT.read_text("utf-8").replace("/usr/bin/scx_bfs", str(scx_bfs)), "utf-8")
    command = ["systemd-analyze", "verify", "--man=no", unit]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_it_is_hardened(needs: Callable[..., None]):
    needs("systemd-analyze")
    command = ["systemd-analyze", "security", "--offline=true", f"--threshold={MOST_EXPOSED * 10:.0f}", UNIT]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_it_stands_aside_and_comes_back():
    assert section("Unit")["Conflicts"].split() == ["scx.service", "scx_loader.service"]
    assert section("Unit")["ConditionPathIsDirectory"] == "/sys/kernel/sched_ext"
    service = section("Service")
    assert service["Restart"] == "on-failure"
    # Statuses of the program that no second attempt changes.
    assert service["RestartPreventExitStatus"].split() == ["2", "3"]


def started(tmp_path: Path, environment: dict[str, str]) -> list[str]:
    """The words with which the unit starts the program."""
    program = tmp_path / "scx_bfs"
    program.write_text('#!/bin/sh\nfor word; do echo "$word"; done\n')
    program.chmod(0o755)
    line = section("Service")["ExecStart"].replace("/usr/bin/scx_bfs", str(program)).replace("$$", "$")
    done = subprocess.run(shlex.split(line), env=environment, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout.splitlines()


@pytest.mark.parametrize(
    ("environment", "words"),
    [
        ({}, []),
        ({"SCX_SCHEDULER": "scx_bfs"}, []),
        ({"SCX_SCHEDULER": "scx_bfs", "SCX_FLAGS": "--rr-interval-us 3000 -v"}, ["--rr-interval-us", "3000", "-v"]),
        # As scx ships the file, it is another scheduler's.
        ({"SCX_SCHEDULER": "scx_cosmos", "SCX_FLAGS": "-s 700 -S"}, []),
        (
            {"SCX_SCHEDULER": "scx_cosmos", "SCX_SCHEDULER_OVERRIDE": "scx_bfs", "SCX_FLAGS_OVERRIDE": "--verbose"},
            ["--verbose"],
        ),
        ({"SCX_SCHEDULER": "scx_bfs", "SCX_FLAGS": "-v", "SCX_SCHEDULER_OVERRIDE": "scx_lavd"}, []),
    ],
)
def test_options_come_from_the_file_of_scx_where_it_names_the_scheduler(
    tmp_path: Path, environment: dict[str, str], words: list[str]
):
    assert section("Service")["EnvironmentFile"] == "-/etc/default/scx"
    assert started(tmp_path, environment) == words


def test_the_service_of_scx_starts_it_by_the_same_file(scx_bfs: Path):
    # scx.service execs the words of these two variables, as a shell splits them.
    environment = {"PATH": f"{scx_bfs.parent}:/usr/bin:/bin", "SCX_SCHEDULER": "scx_bfs", "SCX_FLAGS": "--rules 424 -V"}
    line = "exec ${SCX_SCHEDULER_OVERRIDE:-$SCX_SCHEDULER} ${SCX_FLAGS_OVERRIDE:-$SCX_FLAGS}"
    done = subprocess.run(["bash", "-c", line], env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("scx_bfs ")
