# SPDX-License-Identifier: GPL-2.0-or-later
"""The first of several kernels, or of a policy's commits, at which one number of one cell became worse.

Imports: campaign, catalogue, collect, export, format, places, statistics, vm.

step            one of the list: a kernel, or a policy as a commit has it
kernel_list     kernels as steps
policy_history  the commits of a policy's file or folder as steps
one_run         a step's cell, run once
first_worse     the search between a good end and a worse one
series          one number of every step, and the levels of it
series_rows     that as CSV and as plain data
"""
