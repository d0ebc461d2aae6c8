# SPDX-License-Identifier: GPL-2.0-or-later
"""Campaigns: from a request to the cells that answer it.

Imports: catalogue, vm.

where          the places by name, and what has to be known of each beforehand
request        what the user asked for, checked
campaign_file  the same as a TOML file
fleet_file     the hosts of a fleet, how they are reached, and what is asked of them
arms           the columns of a comparison: schedulers with their tunables, on a kernel
installed      programs that are installed, as the user writes them among schedulers
kernels        the kernels that arms name
shown          the cells whose schedules a page shows
matrix         all cells of a request in the order in which they run, blocks, shards
cells          a cell's identity, its digests, and what it is measured for
"""
