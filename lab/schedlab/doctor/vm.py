# SPDX-License-Identifier: GPL-2.0-or-later
"""What the virtual machine needs: QEMU, a kernel with sched_ext, and KVM where it is to be fast."""

import os
import re
from collections.abc import Iterator
from typing import Protocol

from schedlab.distribution import Distribution
from schedlab.doctor.build import version_of
from schedlab.doctor.requirement import Check
from schedlab.system import System

# What installs QEMU and fetches a kernel; on Debian it needs no package of another name or suite.
SETUP = "./schedlab vm setup"

QEMU = "qemu-system-x86_64"
# 7.2 crashed guests while they patched their own code.
QEMU_MIN = (10,)


class Guest(Protocol):
    """What only the lab's virtual machine can tell."""

    def kernel(self) -> str:
        """The kernel that a guest would boot, as it is kept; empty where there is none."""

    def kvm_fault(self) -> str:
        """Why a guest does not boot with KVM, tried once and remembered; empty where it does."""


def checks(system: System, distribution: Distribution, guest: Guest) -> Iterator[Check]:
    qemu = _qemu(system, distribution)
    kernel = guest.kernel()
    yield qemu
    yield Check("vm", "kernel", bool(kernel), kernel or "none is kept", "" if kernel else SETUP)
    yield _kvm(system, distribution, guest if qemu.ok and kernel else None)


def _qemu(system: System, distribution: Distribution) -> Check:
    path = system.which(QEMU)
    version = version_of(system.output(path, "--version")) if path else ()
    if version >= QEMU_MIN:
        return Check("vm", "QEMU", True, f"{'.'.join(map(str, version))} ({path})")
    wanted = ".".join(map(str, QEMU_MIN))
    lacking = f"{'.'.join(map(str, version))} is older than {wanted}" if version else f"no command {QEMU}"
    mend = f"{distribution.sudo()}{SETUP}" if distribution.name == "debian" else distribution.install("qemu")
    return Check("vm", "QEMU", False, lacking, mend)


def _kvm(system: System, distribution: Distribution, guest: Guest | None) -> Check:
    """A device that may be used is not enough: there are machines where it does and no guest boots."""
    device = system.at("/dev/kvm")
    without = "the VM works without it, emulated"
    if not device.exists():
        flags = re.search(r"^flags\s*:.*\b(vmx|svm)\b", system.read("/proc/cpuinfo"), re.MULTILINE)
        module = {"vmx": "kvm_intel", "svm": "kvm_amd"}[flags[1]] if flags else ""
        mend = f"{distribution.sudo()}modprobe {module}" if module else ""
        lacking = "no /dev/kvm" if module else "this CPU or hypervisor offers no virtualisation"
        return Check("vm", "KVM", False, f"{lacking}; {without}", mend, optional=True)
    if not os.access(device, os.R_OK | os.W_OK):
        mend = f"{distribution.sudo()}usermod -aG kvm $USER"
        lacking = "no permission for /dev/kvm (after the change, log in again)"
        return Check("vm", "KVM", False, f"{lacking}; {without}", mend, optional=True)
    if guest is None:
        return Check("vm", "KVM", False, f"not tried: QEMU and a kernel come first; {without}", optional=True)
    fault = guest.kvm_fault()
    if fault:
        return Check("vm", "KVM", False, f"{fault}; {without}", optional=True)
    return Check("vm", "KVM", True, "a guest boots with it", optional=True)
