# SPDX-License-Identifier: GPL-2.0-or-later
"""A stock sched_ext kernel in QEMU: fetch it, boot it, run one command in it.

result = run(["sh", "-c", "cat /sys/kernel/sched_ext/state"], tier="exact", cpus=2, on_line=print)

Imports: none.

counted      every instruction of a stretch of an exact guest
debugger     a guest that stops at an instruction
symbols      what is where in a kernel
command      prepares a guest, and runs one command or a shell in it; whether KVM works
machine      boots a guest and streams what it prints
tiers        exact, virtual, emulated: QEMU's arguments and the kernel's command line
tsc          how fast this machine's time-stamp counter runs
kernel       which kernel the guest boots
candidates   kernels that may serve, of Debian and of this machine
own_kernels  a kernel by its path: a bzImage, a built tree, a package
bzimage      what is in a bzImage
apt          Debian packages through apt, with sources and lists of our own
qemu         finds QEMU, or installs it
initramfs    what the guest boots into (init.sh is its first program)
disk         the same on a disk
cpio         a reproducible archive
tools        installed programs and packages for a guest
"""

from schedlab.vm.command import run
from schedlab.vm.machine import EmulatorFault, GuestFailed, GuestStopped, Result
from schedlab.vm.tiers import TIERS

__all__ = ["TIERS", "EmulatorFault", "GuestFailed", "GuestStopped", "Result", "run"]
