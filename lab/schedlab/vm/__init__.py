# SPDX-License-Identifier: GPL-2.0-or-later
"""A stock sched_ext kernel in QEMU: fetch it, boot it, run one command in it.

result = run(["sh", "-c", "cat /sys/kernel/sched_ext/state"], tier="exact", cpus=2, on_line=print)
"""

from schedlab.vm.command import run
from schedlab.vm.machine import GuestFailed, Result
from schedlab.vm.tiers import TIERS

__all__ = ["TIERS", "GuestFailed", "Result", "run"]
