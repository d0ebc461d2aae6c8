# SPDX-License-Identifier: GPL-2.0-or-later
"""The three ways to run a guest, as QEMU's arguments and the kernel's command line. Their results are never pooled.

exact     software emulation that counts instructions: a nanosecond of guest time is an instruction, and two runs are
          identical to the byte. All vCPUs take turns on one clock, so several of them check decisions, not speed.
virtual   KVM, where a guest really boots with it.
emulated  software emulation with a host thread per vCPU: the slow stand-in for virtual.
"""

import re
from dataclasses import dataclass

from schedlab.errors import InputError
from schedlab.vm import tsc

TIERS = ("exact", "virtual", "emulated")
MAXIMUM_CPUS = 255
MINIMUM_MEMORY_MIB = 128

# The same for all: no reboot after a panic, addresses that do not move, no grouping of tasks by session, and no tests
# of the kernel's ciphers, which are a third of a boot's instructions and go on beside what is measured first. Nor
# DAMON's statistics: their thread samples every 5 ms after boot and ever more seldom, so that a cell would depend on
# how long the guest has been up.
_COMMON = "console=ttyS0 panic=-1 nokaslr noautogroup cryptomgr.notests damon_stat.enabled=n"
# The kernel's defences stay as they come: mitigations=off moved pipes and switches in the exact tier by 3 % at most,
# in either direction.
# On a busy host the timer may come too late for the kernel's check that it ticks, which panics; KVM guests skip it too.
_EMULATED = f"{_COMMON} tsc=reliable clocksource=tsc no_timer_check"
_KERNEL_ARGUMENTS = {
    # One instruction is 1 ns, so the time-stamp counter runs at 1 GHz: calibration would only miss it by a little.
    "exact": f"{_EMULATED} random.trust_cpu=off tsc_early_khz=1000000",
    "virtual": _COMMON,
    "emulated": _EMULATED,
}
_QEMU_ARGUMENTS = {
    "exact": [
        *("-accel", "tcg,thread=single"),
        *("-icount", "shift=0,sleep=off"),
        *("-rtc", "base=2026-01-01T00:00:00,clock=vm"),
        *("-seed", "1"),
        *("-cpu", "qemu64,-rdrand,-rdseed"),
    ],
    "virtual": ["-accel", "kvm", "-cpu", "host"],
    "emulated": ["-accel", "tcg,thread=multi", "-cpu", "qemu64"],
}


@dataclass(frozen=True)
class Shape:
    """The guest's size: vCPUs, memory in MiB, and the topology (sockets, cores a socket, threads a core)."""

    cpus: int = 1
    memory_mib: int = 1024
    topology: tuple[int, int, int] | None = None

    def __post_init__(self) -> None:
        if not 1 <= self.cpus <= MAXIMUM_CPUS:
            raise InputError(f"--cpus {self.cpus}: expected 1 to {MAXIMUM_CPUS}")
        if self.memory_mib < MINIMUM_MEMORY_MIB:
            raise InputError(f"--memory {self.memory_mib}M: expected {MINIMUM_MEMORY_MIB}M or more")
        if self.topology is not None:
            sockets, cores, threads = self.topology
            if sockets * cores * threads != self.cpus:
                raise InputError(
                    f"--topology {sockets}x{cores}x{threads}: makes {sockets * cores * threads} CPUs, not {self.cpus}"
                )

    def arguments(self) -> list[str]:
        smp = str(self.cpus)
        if self.topology is not None:
            smp += ",sockets={},cores={},threads={}".format(*self.topology)
        return ["-m", f"{self.memory_mib}M", "-smp", smp]


def topology(text: str, option: str = "--topology") -> tuple[int, int, int]:
    """`2x4x2`: sockets, cores in each, hardware threads in each core. An error names the option."""
    found = re.fullmatch(r"([1-9]\d*)x([1-9]\d*)x([1-9]\d*)", text)
    if not found:
        raise InputError(f"{option} {text}: expected SOCKETSxCORESxTHREADS, such as 1x4x2")
    return int(found[1]), int(found[2]), int(found[3])


def memory_mib(text: str) -> int:
    """`512M` or `2G`, in MiB."""
    found = re.fullmatch(r"(\d+)([MG])", text)
    if not found:
        raise InputError(f"--memory {text}: expected a size such as 512M or 2G")
    return int(found[1]) * (1024 if found[2] == "G" else 1)


def kernel_arguments(tier: str) -> str:
    """The kernel's command line in this tier."""
    arguments = _KERNEL_ARGUMENTS[_known(tier)]
    if tier == "emulated" and (khz := tsc.khz()):
        return f"{arguments} tsc_early_khz={khz}"
    return arguments


def qemu_arguments(tier: str, shape: Shape) -> list[str]:
    """QEMU's arguments for the accelerator, the clock, the CPU and the machine."""
    machine = ["-nodefaults", "-no-user-config", "-no-reboot", "-display", "none", "-monitor", "none"]
    return [*machine, "-M", "pc,hpet=off", *_QEMU_ARGUMENTS[_known(tier)], *shape.arguments()]


def _known(tier: str) -> str:
    if tier not in TIERS:
        raise InputError(f"--tier {tier}: expected one of {', '.join(TIERS)}, auto")
    return tier
