# SPDX-License-Identifier: GPL-2.0-or-later
"""The ledger of agreement: the same cells in the simulator and on a real kernel, a row for every number.

docs/agreement.md shows what comes of it.

Imports: campaign, capture, catalogue, places, statistics.

scope      which cells: policies, workloads and their sizes, the short form's
measures   which numbers of a cell, and why others are left out
entries    a row, from both campaigns, and ledger.csv
knobs      what is turned to see whether a number moves at all, and by how much it did
tallies    many rows in a few numbers
causes     why rows differ, as far as somebody knows: causes.toml
measured_error  what a value or a change in the simulator may be off by
application_scope  which real applications have rows, and what is compared of them
recordings     programs recorded in a guest, and what their traces say
own_machines  rows of users' own machines: host.csv and host.json
limits     what the short form holds rows to: short.csv
"""
