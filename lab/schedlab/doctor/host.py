# SPDX-License-Identifier: GPL-2.0-or-later
"""What this machine's own kernel needs to run a policy."""

import gzip
import re
from collections.abc import Iterator

from schedlab.distribution import Distribution
from schedlab.doctor.requirement import Check
from schedlab.system import System

SYSFS = "/sys/kernel/sched_ext"

# What a loader of sched_ext policies needs besides root's CAP_SYS_ADMIN: the bits of CAP_PERFMON and CAP_BPF.
CAPABILITIES = {"CAP_SYS_ADMIN": 21, "CAP_PERFMON": 38, "CAP_BPF": 39}

# Services that load schedulers of their own, and put them back after a change.
SERVICES = ("scx.service", "scx_loader.service")


def checks(system: System, distribution: Distribution) -> Iterator[Check]:
    yield _sched_ext(system, distribution)
    yield _running(system)
    yield _btf(system, distribution)
    yield _privileges(system)
    for service in SERVICES:
        yield _service(system, distribution, service)


def _sched_ext(system: System, distribution: Distribution) -> Check:
    kernel = system.kernel()
    if system.at(SYSFS).is_dir():
        return Check("host", "sched_ext", True, f"in kernel {kernel}")
    set_in_config = re.search(r"^CONFIG_SCHED_CLASS_EXT=y$", config(system, kernel), re.MULTILINE)
    if set_in_config:
        return Check("host", "sched_ext", False, f"built into {kernel}, but {SYSFS} is not there: mount sysfs")
    mend = distribution.install("kernel")
    way_out = "restart into another kernel" if mend else f"{distribution.title} has none that is known: use --on vm"
    return Check("host", "sched_ext", False, f"not in kernel {kernel}; {way_out}", mend)


def config(system: System, kernel: str) -> str:
    """The kernel's configuration, where it can be read: from the kernel itself, else from its package."""
    try:
        return gzip.decompress(system.at("/proc/config.gz").read_bytes()).decode("utf-8", "replace")
    except (OSError, EOFError):
        return system.read(f"/boot/config-{kernel}") or system.read(f"/usr/lib/modules/{kernel}/config")


def _running(system: System) -> Check:
    """A scheduler that is loaded is no gap: a comparison puts it back when it ends."""
    state = system.read(f"{SYSFS}/state")
    if state in ("", "disabled"):
        return Check("host", "scheduler", True, "the kernel's own")
    return Check("host", "scheduler", True, f"{system.read(f'{SYSFS}/root/ops') or 'a sched_ext policy'} ({state})")


def _btf(system: System, distribution: Distribution) -> Check:
    there = system.at("/sys/kernel/btf/vmlinux").is_file()
    detail = "/sys/kernel/btf/vmlinux" if there else "the kernel tells no types (CONFIG_DEBUG_INFO_BTF)"
    return Check("host", "BTF", there, detail, "" if there else distribution.install("kernel"))


def _privileges(system: System) -> Check:
    has = system.capabilities()
    lacking = [name for name, bit in CAPABILITIES.items() if not has >> bit & 1]
    if not lacking:
        return Check("host", "privileges", True, "root" if system.is_root() else "all capabilities")
    return Check("host", "privileges", False, f"lacks {', '.join(lacking)}", "sudo ./schedlab …")


def _service(system: System, distribution: Distribution, service: str) -> Check:
    if not system.at(f"/sys/fs/cgroup/system.slice/{service}").is_dir():
        return Check("host", service, True, "not running")
    mend = f"{distribution.sudo()}systemctl stop {service}"
    return Check("host", service, False, "running: it would load its own scheduler in between", mend)
