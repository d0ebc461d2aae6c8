# SPDX-License-Identifier: GPL-2.0-or-later
"""The running kernel's scheduler: what /sys/kernel/sched_ext says, and starting and stopping one."""
