# SPDX-License-Identifier: GPL-2.0-or-later
"""A scheduler for this machine and this work: candidates race in blocks until a sequential test is sure.

Imports: campaign, catalogue, collect, export, format, places, statistics.

mixes        what runs where the user names no command of his own (mixes.toml)
own_command  a command of the user as a workload file
gains        by how much one scheduler is better than another within a block
race         block after block, until it is decided, the time is over, or nobody is left
answer       what the race came to, in sentences
keep         how the winner is kept: the command, a unit of systemd, the settings of scx_loader
"""
