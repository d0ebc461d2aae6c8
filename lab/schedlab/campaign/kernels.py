# SPDX-License-Identifier: GPL-2.0-or-later
"""The kernels of a comparison: found before anything runs, and refused where they cannot run the scheduler."""

from functools import cache
from typing import TYPE_CHECKING

from schedlab.campaign.arms import Arm
from schedlab.catalogue import schedulers
from schedlab.errors import InputError

if TYPE_CHECKING:
    from schedlab.vm.kernel import Kernel


def of_arm(arm: Arm) -> "Kernel":
    """Raises InputError for a policy on a kernel that loads none, PlaceError where the kernel cannot be had."""
    found = _resolved(arm.kernel)
    if found.without_policies and arm.scheduler.name != schedulers.DEFAULT:
        raise InputError(f"scheduler '{arm.label}': {found.without_policies}: only 'default' runs there")
    return found


@cache
def _resolved(spec: str) -> "Kernel":
    from schedlab.vm import kernel

    return kernel.resolve(spec)
