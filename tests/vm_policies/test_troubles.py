# SPDX-License-Identifier: GPL-2.0-or-later
"""bfs lives through each trouble by itself: see bench/troubles, and bench/soak.py for all of them at once.

Beside these, test_stress.py has changing affinities, storms and hotplug at once, test_groups.py cpusets that shrink,
test_unit.py a unit that starts who was killed again, and test_loader.py another scheduler that is active. The guests
of here do not come back from a suspend: QEMU's piix4 wakes neither from S3 nor from s2idle. Its two halves, tasks that
are frozen and CPUs that go, are `freeze` and `hotplug`.
"""

from pathlib import Path

import pytest

from tests.vm_policies.conftest import Said, need_program, run_script

TROUBLES = Path(__file__).parents[2] / "bench" / "troubles"
SECONDS = 5


@pytest.fixture(scope="module")
def said(can_boot: None, loader: Path) -> Said:
    files = {"/bin/stress-ng": need_program("stress-ng"), "/troubles": TROUBLES}
    return run_script("troubles.sh", loader, files, [str(SECONDS)], memory_mib=2048)


@pytest.mark.parametrize(
    "name", ["kthreads", "masks", "realtime", "storm", "churn", "freeze", "herd", "many", "bomb", "hotplug"]
)
def test_it_stays_and_keeps_its_promise_under(said: Said, name: str) -> None:
    event = said.event("trouble", trouble=name)
    assert (event["exit"], event["said"]) == (0, "")
    assert (event["state"], event["rejected"], event["stalls"]) == ("enabled", 0, 0), event["log"]
    assert "EXIT:" not in event["log"]


def test_a_loader_that_is_killed_leaves_the_kernels_own_and_can_be_started_again(said: Said) -> None:
    event = said.event("killed")
    assert (event["left"], event["again"]) == ("disabled", "enabled")


@pytest.mark.parametrize(
    ("why", "line"),
    [
        ("btf", "schedlab-host: this kernel does not tell its types, which loading a scheduler needs: /sys/kernel/btf"),
        ("sched_ext", "schedlab-host: this kernel has no sched_ext: /sys/kernel/sched_ext/state is missing"),
        ("lockdown", "schedlab-host: cannot load bfs: this kernel is locked down (confidentiality)"),
    ],
)
def test_a_kernel_that_cannot_is_one_line(said: Said, why: str, line: str) -> None:
    event = said.event("cannot", why=why)
    # The version and the command line stand above.
    told = [text for text in event["said"].split("|") if text.startswith("schedlab-host: ")]
    assert event["exit"] == 3, event
    assert len(told) == 1, event["said"]
    assert told[0].startswith(line)
    assert event["said"].rstrip("|").endswith(told[0])


def test_a_kernel_locked_down_for_integrity_loads_it(said: Said) -> None:
    assert said.event("integrity")["state"] == "enabled"
