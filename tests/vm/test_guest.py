# SPDX-License-Identifier: GPL-2.0-or-later
"""Guests that really boot: sched_ext is there, output and exit status come through, exact runs are identical."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from schedlab import vm
from schedlab.vm import command
from schedlab.vm.kernel import Kernel
from schedlab.vm.qemu import Qemu

# Every clock, counter and decision of the scheduler that a guest can see, with more work than CPUs.
REVEALING = """
for i in 1 2 3 4 5; do
	(j=0; while [ $j -lt 2000 ]; do j=$((j+1)); done; cat /proc/uptime; echo $i | cat | cat) &
done
wait
cat /proc/schedstat /proc/interrupts /proc/stat /proc/vmstat
head -c 64 /dev/urandom | od -An -tx1
adjtimex | grep -E 'frequency|time.tv'
dmesg
"""


@contextmanager
def busy_host() -> Iterator[None]:
    noise = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        yield
    finally:
        noise.kill()
        noise.wait()


@pytest.mark.usefixtures("guest")
def test_emulated_guest_runs_a_command(tmp_path: Path) -> None:
    data = tmp_path / "folder"
    data.mkdir()
    (data / "name with space").write_text("carried\n")
    out: list[str] = []
    errors: list[str] = []
    script = (
        'cat /sys/kernel/sched_ext/state "/data/name with space"; nproc; echo "$WORD"; echo bad >&2; printf end; exit 7'
    )
    result = vm.run(
        ["/bin/sh", "-c", script],
        {"/data": data},
        tier="emulated",
        cpus=2,
        environment={"WORD": "a 'b' $c"},
        on_line=out.append,
        on_error_line=errors.append,
    )
    assert out == ["disabled", "carried", "2", "a 'b' $c", "end"]
    assert errors == ["bad"]
    assert (result.exit_code, result.tier) == (7, "emulated")
    assert 0 < result.boot_s < 120
    assert sorted(result.hashes) == ["initramfs", "kernel", "qemu"]
    assert "Linux version " + result.kernel_release in result.console_path.read_text("utf-8", "replace")


@pytest.mark.usefixtures("guest")
@pytest.mark.parametrize("cpus", [1, 2])
def test_exact_runs_are_identical_to_the_byte(cpus: int) -> None:
    def run() -> tuple[list[str], bytes, int]:
        lines: list[str] = []
        result = vm.run(["/bin/sh", "-c", REVEALING], tier="exact", cpus=cpus, on_line=lines.append)
        return lines, result.console_path.read_bytes(), result.exit_code

    first = run()
    with busy_host():
        second = run()
    assert first[2] == 0
    assert len(first[0]) > 300
    assert any("TSC" in line for line in first[0])
    assert first == second


def test_virtual_guest_runs_a_command(emulator: Qemu, kernel: Kernel) -> None:
    fault = command.kvm_fault(emulator, kernel)
    if fault:
        pytest.skip(fault)
    out: list[str] = []
    result = vm.run(["cat", "/sys/kernel/sched_ext/state"], tier="virtual", cpus=2, on_line=out.append)
    assert (out, result.exit_code, result.tier) == (["disabled"], 0, "virtual")
