# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether KVM works here. A device that can be opened says little: only a guest that boots and powers off does."""

import os
from pathlib import Path

from schedlab import cache
from schedlab.errors import LabError, PlaceError
from schedlab.vm import initramfs, machine
from schedlab.vm.kernel import Kernel
from schedlab.vm.qemu import Qemu
from schedlab.vm.tiers import TIERS, Shape

DEVICE = Path("/dev/kvm")
LIMIT_S = 10.0


def choose(tier: str, emulator: Qemu, kernel: Kernel) -> str:
    """The tier that `auto` means here; any other as it is, if it can run.

    Raises PlaceError for virtual where KVM does not boot a guest.
    """
    if tier not in ("auto", "virtual"):
        return tier
    reason = kvm_fault(emulator, kernel)
    if tier == "virtual" and reason:
        raise PlaceError(f"--tier virtual: {reason}; --tier emulated and --tier exact need no KVM")
    return "emulated" if reason else "virtual"


def kvm_fault(emulator: Qemu, kernel: Kernel) -> str:
    """Why KVM cannot be used; empty where a guest boots with it.

    The answer is remembered for this host kernel, QEMU and guest kernel.
    """
    if not os.access(DEVICE, os.R_OK | os.W_OK):
        return f"{DEVICE} is missing or may not be used by this user"
    key = f"{os.uname().release} {emulator.sha256} {kernel.sha256}"
    note = cache.root() / "kvm.json"
    with cache.lock("kvm"):
        known = cache.read_json(note)
        if known is None or known.get("key") != key:
            known = {"key": key, "fault": _try(emulator, kernel)}
            cache.write_json(note, known)
    return known["fault"]


def _try(emulator: Qemu, kernel: Kernel) -> str:
    image = initramfs.build(initramfs.contents(kernel, ["true"], {}, {}))
    guest = machine.Guest(emulator, kernel, image, TIERS[1], Shape(cpus=2, memory_mib=512))
    try:
        result = machine.boot(guest, LIMIT_S, lambda line: None, lambda line: None)
    except LabError as error:
        return f"no guest boots with KVM: {error}"
    return "" if result.exit_code == 0 else f"`true` ended with status {result.exit_code} under KVM"
