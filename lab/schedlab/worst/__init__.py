# SPDX-License-Identifier: GPL-2.0-or-later
"""A policy's worst case: machines and workloads are drawn, changed for the worse, and what is found is made small.

Imports: bisection, campaign, capture, catalogue, collect, decisions, places, search, statistics, trace.

scene           a machine's shape and the work on it, and the machine's file
shares          what CPUs, work and weights alone explain of a number
aim             what is hunted for: a number, and what it is compared with
change          scenes that are drawn, and scenes that differ from one a little
smaller         scenes that are smaller than one, the boldest first
chase           draws, climbs, shrinks, within a number of runs
simulated_runs  many scenes in one run of the simulator
judge           what each scene comes to, and which do not count
waits           every wait of a cell's tasks in a trace
exact_guest     a find in a guest of the exact tier: as bad there, or not
case_folder     a find as files, and back
"""
