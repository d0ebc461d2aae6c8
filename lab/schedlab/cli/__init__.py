# SPDX-License-Identifier: GPL-2.0-or-later
"""The command line. A command calls one stage after the other; no stage calls the next by itself.

Imports: bisection, campaign, capture, catalogue, choice, collect, decisions, doctor, export, format, ledger, places,
probes, report, sched_ext, search, statistics, studies, terminal, trace, vm, worst.

program           entry point: parses, runs one command, turns errors into one line and an exit status
commands          the commands in their groups, and how --help looks
choose_options    options of choose
measure_options   options of compare, run, study, report, trace, decisions
bisect_options    options of bisect
history_options   options of history
hunt_options      options of hunt
agree_options     options of agree
workload_options  options of record, snapshot, calibrate
machine_options   options of check, explain, compatibility, list, doctor, vm, load, status, unload
choose            choose: candidates race until a sequential test is sure
compare           compare, run: a campaign from the request to its files
outcome           the end of these, and report: from records to files and a summary
bisect            bisect: the kernel or commit at which a number became worse
history           history: a number over commits or kernels, and where its level changes
hunting           hunt: a policy's worst case, kept as files and tried in a guest
conditions        the conditions of --fail-on, judged, for the terminal and as JUnit's test cases
compatibility     compatibility: other people's schedulers, simulated and on a real kernel
agree             agree: many cells simulated and on a real kernel, number beside number
agree_worlds      the two worlds that agree compares
agree_told        what agree tells when it is through, in its part of a page
agree_applications  agree --applications: applications beside their models, recordings beside their replays
agree_search      agree --search: random cases in which the two worlds disagree
study             study: published studies again, their claims beside ours
trace             trace: what runs when in a cell as a file
traced_runs       the traced runs whose schedules a comparison's page shows
profiled_runs     the runs whose instructions are counted by kernel function
decisions         decisions: a cell simulated and in a real kernel, and what differs first
record            record: a program's scheduling as a workload
calibrate         calibrate: a workload's real tasks as a profile
machine_costs     calibrate machine: what things cost on a real machine
snapshot          snapshot: what a scheduler's program sets up as a file
check             check: a policy on a real kernel, then in the simulator's swarm
check_results     what a check came to, for continuous integration
explain           explain: a debug dump of sched_ext in three sentences
stall_case        explain --case: a simulated case that ends as the dump does
listing           list
this_machine      doctor, load, status, unload
guest             vm, and the options by which record and calibrate name a guest
"""

from schedlab.cli.program import main

__all__ = ["main"]
