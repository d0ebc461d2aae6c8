# SPDX-License-Identifier: GPL-2.0-or-later
"""What the places require.

The simulator has to work, this machine's own kernel to be able to run a policy, and the virtual machine to have QEMU, a
kernel with sched_ext, and KVM where it is to be fast.
"""

import gzip
import os
import re
from collections.abc import Iterator
from typing import Protocol

from schedlab import checkout
from schedlab.distribution import Distribution, System
from schedlab.doctor.programs import version_of
from schedlab.doctor.requirement import Requirement
from schedlab.errors import LabError
from schedlab.vm import command, kernel, qemu

RUNNER = "schedlab-sim"
SMALL = {"scheduler": "vtime", "workload": "pipe.toml", "machine": "desktop-4.toml"}


SYSFS = "/sys/kernel/sched_ext"
POWERCAP = "/sys/class/powercap"
# What a loader of sched_ext policies needs besides root's CAP_SYS_ADMIN: the bits of CAP_PERFMON and CAP_BPF.
CAPABILITIES = {"CAP_SYS_ADMIN": 21, "CAP_PERFMON": 38, "CAP_BPF": 39}
# Services that load schedulers of their own, and put them back after a change.
SERVICES = ("scx.service", "scx_loader.service", "scx_bfs.service")
# What installs QEMU and fetches a kernel; on Debian it needs no package of another name or suite.
SETUP = "vm setup"
QEMU = "qemu-system-x86_64"
# 7.2 crashed guests while they patched their own code.
QEMU_MIN = (10,)


def of_sim(system: System) -> Iterator[Requirement]:
    path = checkout.find_binary(RUNNER)
    mend = checkout.remedy()
    if path is None:
        yield Requirement("sim", RUNNER, False, "not there", mend)
        return
    version = system.output(str(path), "--version")
    if not version:
        yield Requirement("sim", RUNNER, False, f"{path} does not run", mend)
        return
    yield Requirement("sim", RUNNER, True, version.partition(" ")[2])
    root = checkout.root()
    sources = (f"--{kind}={root}/{kind}s/{name}" for kind, name in SMALL.items())
    command = (str(path), "cell", *sources, "--param=trips=10")
    fault = system.fault(*command)
    yield Requirement("sim", "simulation", not fault, fault or "pipe under vtime ran", mend if fault else "")


def of_host(system: System, distribution: Distribution) -> Iterator[Requirement]:
    yield _sched_ext(system, distribution)
    yield _running(system)
    yield _btf(system, distribution)
    yield _privileges(system)
    yield _energy(system)
    for service in SERVICES:
        yield _service(system, distribution, service)


def _sched_ext(system: System, distribution: Distribution) -> Requirement:
    kernel = system.kernel()
    if system.at(SYSFS).is_dir():
        return Requirement("host", "sched_ext", True, f"in kernel {kernel}")
    set_in_config = re.search(r"^CONFIG_SCHED_CLASS_EXT=y$", kernel_config(system, kernel), re.MULTILINE)
    if set_in_config:
        return Requirement("host", "sched_ext", False, f"built into {kernel}, but {SYSFS} is not there: mount sysfs")
    mend = distribution.install("kernel")
    way_out = "restart into another kernel" if mend else f"{distribution.title} has none that is known: use --on vm"
    return Requirement("host", "sched_ext", False, f"not in kernel {kernel}; {way_out}", mend)


def kernel_config(system: System, kernel: str) -> str:
    """The kernel's configuration, where it can be read: from the kernel itself, else from its package."""
    try:
        return gzip.decompress(system.at("/proc/config.gz").read_bytes()).decode("utf-8", "replace")
    except (OSError, EOFError):
        return system.read(f"/boot/config-{kernel}") or system.read(f"/usr/lib/modules/{kernel}/config")


def _running(system: System) -> Requirement:
    """A scheduler that is loaded is no gap: a comparison puts it back when it ends."""
    state = system.read(f"{SYSFS}/state")
    if state in ("", "disabled"):
        return Requirement("host", "scheduler", True, "the kernel's own")
    return Requirement(
        "host", "scheduler", True, f"{system.read(f'{SYSFS}/root/ops') or 'a sched_ext policy'} ({state})"
    )


def _btf(system: System, distribution: Distribution) -> Requirement:
    there = system.at("/sys/kernel/btf/vmlinux").is_file()
    detail = "/sys/kernel/btf/vmlinux" if there else "the kernel tells no types (CONFIG_DEBUG_INFO_BTF)"
    return Requirement("host", "BTF", there, detail, "" if there else distribution.install("kernel"))


def _privileges(system: System) -> Requirement:
    has = system.capabilities()
    lacking = [name for name, bit in CAPABILITIES.items() if not has >> bit & 1]
    if not lacking:
        return Requirement("host", "privileges", True, "root" if system.is_root() else "all capabilities")
    return Requirement("host", "privileges", False, f"lacks {', '.join(lacking)}", f"sudo {checkout.command()} …")


def _energy(system: System) -> Requirement:
    """As the runner finds it (crates/executor/src/energy.rs): the zones of whole packages, and not of their parts."""
    zones = [zone for zone in sorted(system.at(POWERCAP).glob("intel-rapl:*")) if zone.name.count(":") == 1]
    names = {zone: system.read(f"{POWERCAP}/{zone.name}/name") for zone in zones}
    packages = [zone for zone in zones if names[zone].startswith("package-")]
    if not packages:
        return Requirement("host", "energy", False, f"no energy: {POWERCAP} has no package domain", optional=True)
    for zone in packages:
        counter = f"{POWERCAP}/{zone.name}/energy_uj"
        if not system.read(counter):
            why = f"no energy: the counter of {names[zone]} may be read by root alone ({counter})"
            return Requirement("host", "energy", False, why, f"sudo {checkout.command()} …", optional=True)
    return Requirement("host", "energy", True, f"counters of {', '.join(names[zone] for zone in packages)}")


def _service(system: System, distribution: Distribution, service: str) -> Requirement:
    if not system.at(f"/sys/fs/cgroup/system.slice/{service}").is_dir():
        return Requirement("host", service, True, "not running")
    mend = f"{distribution.sudo()}systemctl stop {service}"
    return Requirement("host", service, False, "running: it would load its own scheduler in between", mend)


class Guest(Protocol):
    """What only the lab's virtual machine can tell."""

    def kernel(self) -> str:
        """The kernel that a guest would boot, as it is kept; empty where there is none."""

    def kvm_fault(self) -> str:
        """Why a guest does not boot with KVM, tried once and remembered; empty where it does."""


def of_vm(system: System, distribution: Distribution, guest: Guest) -> Iterator[Requirement]:
    qemu = _qemu(system, distribution)
    kernel = guest.kernel()
    yield qemu
    yield Requirement(
        "vm", "kernel", bool(kernel), kernel or "none is kept", "" if kernel else f"{checkout.command()} {SETUP}"
    )
    yield _kvm(system, distribution, guest if qemu.ok and kernel else None)


def _qemu(system: System, distribution: Distribution) -> Requirement:
    path = system.which(QEMU)
    version = version_of(system.output(path, "--version")) if path else ()
    if version >= QEMU_MIN:
        return Requirement("vm", "QEMU", True, f"{'.'.join(map(str, version))} ({path})")
    wanted = ".".join(map(str, QEMU_MIN))
    lacking = f"{'.'.join(map(str, version))} is older than {wanted}" if version else f"no command {QEMU}"
    mend = (
        f"{distribution.sudo()}{checkout.command()} {SETUP}"
        if distribution.name == "debian"
        else distribution.install("qemu")
    )
    return Requirement("vm", "QEMU", False, lacking, mend)


def _kvm(system: System, distribution: Distribution, guest: Guest | None) -> Requirement:
    """A device that may be used is not enough: there are machines where it does and no guest boots."""
    device = system.at("/dev/kvm")
    without = "the VM works without it, emulated"
    if not device.exists():
        flags = re.search(r"^flags\s*:.*\b(vmx|svm)\b", system.read("/proc/cpuinfo"), re.MULTILINE)
        module = {"vmx": "kvm_intel", "svm": "kvm_amd"}[flags[1]] if flags else ""
        mend = f"{distribution.sudo()}modprobe {module}" if module else ""
        lacking = "no /dev/kvm" if module else "this CPU or hypervisor offers no virtualisation"
        return Requirement("vm", "KVM", False, f"{lacking}; {without}", mend, optional=True)
    if not os.access(device, os.R_OK | os.W_OK):
        mend = f"{distribution.sudo()}usermod -aG kvm $USER"
        lacking = "no permission for /dev/kvm (after the change, log in again)"
        return Requirement("vm", "KVM", False, f"{lacking}; {without}", mend, optional=True)
    if guest is None:
        return Requirement("vm", "KVM", False, f"not tried: QEMU and a kernel come first; {without}", optional=True)
    fault = guest.kvm_fault()
    if fault:
        return Requirement("vm", "KVM", False, f"{fault}; {without}", optional=True)
    return Requirement("vm", "KVM", True, "a guest boots with it", optional=True)


class LabGuest:
    def kernel(self) -> str:
        if not kernel.is_kept():
            return ""
        kept = kernel.resolve()
        return f"{kept.release} ({kept.origin})"

    def kvm_fault(self) -> str:
        try:
            return command.kvm_fault(qemu.find(), kernel.resolve())
        except LabError as error:
            return str(error)
