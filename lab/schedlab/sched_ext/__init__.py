# SPDX-License-Identifier: GPL-2.0-or-later
"""The running kernel's scheduler.

Imports: none.

sysfs     what /sys/kernel/sched_ext says: the only truth about which scheduler runs
attached  loads a scheduler, ends it, and puts back the previous one
"""
