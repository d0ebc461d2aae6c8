# SPDX-License-Identifier: GPL-2.0-or-later
"""What two schedulers' repetitions have in common, which decides how they are compared."""

from collections.abc import Collection

SEEDS = "paired by seed"  # the simulator: the same draws for all
BLOCKS = "paired by block"  # a real kernel: every block holds each scheduler once
INDEPENDENT = "independent"

PAIRED_TEST = {SEEDS: "paired t over seeds", BLOCKS: "paired t over blocks"}


def of_place(place: str) -> str:
    return SEEDS if place == "sim" else BLOCKS


def of_pair(planned: str, reference: Collection[int], other: Collection[int]) -> str:
    """Paired as planned, unless more than half of the smaller group has lost its partner."""
    shared = len(set(reference) & set(other))
    return planned if shared and 2 * shared >= min(len(reference), len(other)) else INDEPENDENT
