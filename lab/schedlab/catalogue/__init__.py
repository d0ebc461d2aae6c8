# SPDX-License-Identifier: GPL-2.0-or-later
"""What there is to choose from, schedulers, workloads and machines, read from their folders; what can be measured.

Imports: none.

schedulers    a folder NAME with scx_NAME.bpf.c each, or a policy by its path
workloads     a TOML file each, or rt-app's JSON
machines      a TOML file each
machine_file  writes one
metrics       names for people, units, which way is better
described     what schedlab-sim says of all four, and of checkers: how load levels count in CPUs, digests, titles
toml          reads such a file and its keys
"""
