# SPDX-License-Identifier: GPL-2.0-or-later
"""Halving between a good end and a worse one, around what cannot be told."""

from collections.abc import Callable


def narrow(count: int, is_worse: Callable[[int], bool | None]) -> tuple[int, int]:
    """The last that is known as good and the first known as worse, of so many whose first is good and last is worse.

    What lies between the two, if anything, are those of which `is_worse` tells nothing: None.
    """
    good, worse = 0, count - 1
    untold: set[int] = set()
    while left := [at for at in range(good + 1, worse) if at not in untold]:
        at = min(left, key=lambda one: abs(2 * one - good - worse))
        found = is_worse(at)
        if found is None:
            untold.add(at)
        elif found:
            worse = at
        else:
            good = at
    return good, worse
