# SPDX-License-Identifier: GPL-2.0-or-later
"""The service of scx_bfs under a real systemd, with everything that its unit forbids, on a real kernel."""

from pathlib import Path

import pytest

from tests.vm_policies.conftest import Said, need_program, run_script

UNIT = Path(__file__).parents[2] / "packaging" / "scx_bfs.service"
UNITS = Path("/lib/systemd/system")
# What a system needs to be up, and no more: everything that is started takes an emulated CPU its time.
TARGETS = ["basic", "multi-user", "paths", "shutdown", "slices", "sockets", "sysinit", "timers"]


@pytest.fixture(scope="module")
def said(can_boot: None, loader: Path) -> Said:
    systemctl = need_program("systemctl")
    systemd = UNITS.parent / "systemd"
    if not systemd.exists():
        pytest.skip(f"{systemd} is not installed: make setup")
    files = {f"{UNITS}/{name}.target": UNITS / f"{name}.target" for name in TARGETS}
    files |= {"/lib/systemd/systemd": systemd.resolve(), "/usr/bin/systemctl": systemctl.resolve()}
    return run_script("unit.sh", loader, {**files, f"/usr/lib/systemd/system/{UNIT.name}": UNIT}, [])


def test_the_script_ran_without_complaints(said: Said):
    assert said.exit_code == 0
    assert [line for line in said.lines if line.startswith("stderr: ") and "Job for" not in line] == []


def test_it_runs_with_all_that_its_unit_forbids_and_is_asked_from_outside(said: Said):
    started = said.event("started")
    assert (started["active"], started["state"], started["restarts"]) == ("active", "enabled", 0)
    assert started["ops"].startswith("bfs_0.")
    # Version, command, and that it schedules: nothing that it has to do without.
    first, command, schedules = started["log"].rstrip("|").split("|")
    assert first.startswith("scx_bfs 0.")
    assert command == "command line: /usr/bin/scx_bfs"
    assert schedules == f"scx_bfs: {started['ops']} schedules"
    assert started["socket"] == "/run/scx/root/stats"
    assert all(line.startswith("kicks ") for line in started["monitor"].rstrip("|").split("|"))


def test_who_is_killed_comes_back_until_it_was_too_often(said: Said):
    for times in (1, 2, 3):
        killed = said.event("killed", times=times)
        assert (killed["active"], killed["restarts"], killed["state"]) == ("active", times, "enabled")
        assert killed["log"].endswith(f"scx_bfs: {killed['ops']} schedules|")
    given_up = said.event("given up")
    assert (given_up["active"], given_up["state"], given_up["ops"]) == ("failed", "disabled", "")


def test_one_scheduler_at_a_time(said: Said):
    another = said.event("another starts")
    assert (another["active"], another["result"]) == ("inactive", "success")
    assert (another["state"], another["ops"].split("_")[0]) == ("enabled", "vtime")
    back = said.event("taken back")
    assert (back["active"], back["other"]) == ("active", "inactive")
    assert back["ops"].startswith("bfs_0.")


def test_stopped_it_leaves_the_kernel_its_own_scheduler_and_no_socket(said: Said):
    stopped = said.event("stopped")
    assert (stopped["active"], stopped["result"], stopped["state"]) == ("inactive", "success", "disabled")
    assert stopped["log"] == "scx_bfs: EXIT: unregistered from user space|"
    assert stopped["left"] == ""
    assert said.event("end")["state"] == "disabled"


def test_options_are_those_of_the_file_of_scx(said: Said):
    bad = said.event("bad options")
    assert (bad["active"], bad["restarts"], bad["state"]) == ("failed", 0, "disabled")
    assert bad["log"] == "scx_bfs: unexpected argument '--no-such-option' found|"
    assert "command line: /usr/bin/scx_bfs|" in said.event("for another")["log"]
    overridden = said.event("overridden")
    assert "command line: /usr/bin/scx_bfs --rules 424|" in overridden["log"]
    assert overridden["active"] == "active"
