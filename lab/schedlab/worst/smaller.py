# SPDX-License-Identifier: GPL-2.0-or-later
"""Scenes that are smaller than one, the boldest first: fewer CPUs, then what the search for disagreement leaves out."""

from collections.abc import Iterator
from dataclasses import replace

from schedlab.search import shrink
from schedlab.search.case import Step, Steps, What
from schedlab.worst.scene import SHAPES, Scene

_TIMES = (What.RUN, What.SLEEP, What.TIMER)
_LEAST_US = 100


def scenes(scene: Scene) -> list[Scene]:
    """Each of them once."""
    return list(dict.fromkeys(other for other in _offered(scene) if other != scene))


def _offered(scene: Scene) -> Iterator[Scene]:
    for shape in SHAPES[: SHAPES.index(scene.shape)]:
        yield replace(scene, shape=shape)
    for case in shrink.simpler(scene.case):
        yield replace(scene, case=case)
    yield from _shorter(scene)


def _shorter(scene: Scene) -> Iterator[Scene]:
    """Every time of a group is halved."""
    groups = scene.case.groups
    for index, group in enumerate(groups):
        other = replace(group, steps=_halved(group.steps), answer=_halved(group.answer))
        yield replace(scene, case=replace(scene.case, groups=(*groups[:index], other, *groups[index + 1 :])))


def _halved(steps: Steps) -> Steps:
    return tuple(
        Step(one.what, one.least // 2, one.most // 2) if one.what in _TIMES and one.least >= 2 * _LEAST_US else one
        for one in steps
    )
