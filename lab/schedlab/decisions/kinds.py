# SPDX-License-Identifier: GPL-2.0-or-later
"""What kind of difference it is, as far as who waited on both sides tells."""

from collections import Counter

from schedlab.decisions.difference import Comparison, Difference
from schedlab.decisions.moments import PREEMPTED
from schedlab.decisions.waiting import Waiting, before

# In words of the two sides' names.
LEFT_PREEMPTS = "{left} preempts, {right} does not"
RIGHT_PREEMPTS = "{right} preempts, {left} does not"
OUTSIDE = "an outside task preempts, and the task does not go on after it"
OTHER_END = "a task ends in one and sleeps in the other"
LEFT_ALONE_AWAKE = "{left} picks a task that does not wait in {right}"
RIGHT_ALONE_AWAKE = "{right} picks a task that does not wait in {left}"
ORDER = "another task is picked: both wait, but were woken in another order"
OTHER = "another task is picked: both wait, woken in the same order"


def kind(difference: Difference, comparison: Comparison, left: Waiting, right: Waiting) -> str:
    """`left`, `right`: who waited just before the switches that differ."""
    if not difference.of_picks:
        return _of_ends(difference, comparison)
    ours, theirs = difference.left.task, difference.right.task
    if ours not in right.waits:
        return LEFT_ALONE_AWAKE
    if theirs not in left.waits:
        return RIGHT_ALONE_AWAKE
    first = [now.waits[ours].order < now.waits[theirs].order for now in (left, right)]
    return OTHER if first[0] == first[1] else ORDER


def _of_ends(difference: Difference, comparison: Comparison) -> str:
    sides = (difference.left, comparison.left), (difference.right, comparison.right)
    preempted = [turn.left == PREEMPTED for turn, _ in sides]
    if not any(preempted):
        return OTHER_END
    turn, side = sides[preempted.index(True)]
    if turn.followed_by not in side.cell:
        return OUTSIDE
    return LEFT_PREEMPTS if preempted[0] else RIGHT_PREEMPTS


def counted(comparison: Comparison) -> Counter[str]:
    """How many differences there are of each kind."""
    switches = [difference.switches() for difference in comparison.differences]
    left = dict(before(comparison.left.moments, {at for at, _ in switches}))
    right = dict(before(comparison.right.moments, {at for _, at in switches}))
    names = {"left": comparison.left.name, "right": comparison.right.name}
    return Counter(
        kind(difference, comparison, left[ours], right[theirs]).format(**names)
        for difference, (ours, theirs) in zip(comparison.differences, switches, strict=True)
    )
