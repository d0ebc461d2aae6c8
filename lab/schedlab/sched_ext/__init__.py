# SPDX-License-Identifier: GPL-2.0-or-later
"""The running kernel's scheduler, and what the kernel tells of one that it threw out.

Imports: none.

sysfs          what /sys/kernel/sched_ext says: the only truth about which scheduler runs
attached       loads a scheduler, ends it, and puts back the previous one
dump           a debug dump: CPUs, the tasks that could run, the reason
dumps_in_text  finds dumps in a journal, in dmesg, in what a loader printed
stall          who waited, and what the CPUs that it may use did
explanation    the same in three sentences
"""
