# SPDX-License-Identifier: GPL-2.0-or-later
"""The results directory: the records of cells, and the manifest that says what they answer.

Imports: campaign, catalogue, vm.

on_disk    a record whose numbers stay on the disk, where there are many
store      the directory: which cells have a record, and what is in the way of the others
records    a cell's record, read with suspicion
packs      records that came together, in one file instead of a file each
histogram  a record's distributions, merged by adding bucket counts
manifest   manifest.json and guests.json
manifest_shape  what has to be where in a manifest
hosts      hosts.json: what the hosts of a fleet were like
function_counts  instructions of some cells by kernel function
traces     traced runs of some cells, for pictures
baseline   saved results as the reference of later ones
"""
