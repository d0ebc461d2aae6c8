# SPDX-License-Identifier: GPL-2.0-or-later
"""A search for what the simulator says otherwise than a real kernel: small random cases, of which the worst are shrunk.

Imports: campaign, catalogue, collect, format, ledger, places, statistics.

case           a scheduler with tunables and a few groups of tasks
case_file      a case as the workload file that both worlds run
draw           random cases: case k of a seed is the same everywhere
disagreement   how far the two worlds lie apart, over what is usual for the number
both_worlds    many cases in the simulator, and in one boot of a real kernel
hunt           draws, compares, looks again at the worst, shrinks them
shrink         simpler cases than one, the boldest first
saved          the files that a search leaves behind
"""
