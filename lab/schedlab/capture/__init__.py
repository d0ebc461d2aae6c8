# SPDX-License-Identifier: GPL-2.0-or-later
"""From a scheduling trace of a real kernel to a workload, and to the profile of one.

Imports: catalogue, vm.

tracing        runs a command, here or in a guest, and traces its scheduling (tracing.sh)
trace_file     reads ftrace's text and what perf script prints
perfetto_file  reads the kernel's events in a Perfetto trace
events         the events of a trace and their fields
tasks          what each task of a process tree did: a recording
process_tree   follows a process tree through a trace into a recording
ticks          moves wake-ups of the recorded ticks to the simulator's
workload_file  a recording as a workload file, and its machine
replay         simulates a recording and lays it beside what was recorded
taskstats      what the kernel says of each task when it ends
accounting     kinds of task from taskstats, where there is no tracing
profile        kinds of task with their distributions, as a profile's file
model          a workload's model, simulated, beside its profile
"""
