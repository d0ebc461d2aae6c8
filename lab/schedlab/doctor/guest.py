# SPDX-License-Identifier: GPL-2.0-or-later
"""What the lab's own virtual machine says of this machine."""

from schedlab.errors import LabError
from schedlab.vm import kernel, probe, qemu


class Guest:
    def kernel(self) -> str:
        if not kernel.is_kept():
            return ""
        kept = kernel.resolve()
        return f"{kept.release} ({kept.origin})"

    def kvm_fault(self) -> str:
        try:
            return probe.kvm_fault(qemu.find(), kernel.resolve())
        except LabError as error:
            return str(error)
