# SPDX-License-Identifier: GPL-2.0-or-later
"""schedlab doctor: what this machine can do, one line a check, and the one command that mends each gap."""

from schedlab.distribution import Distribution, System, detect
from schedlab.doctor import places, programs
from schedlab.doctor.requirement import Requirement


def examine(system: System, guest: places.Guest) -> tuple[Distribution, list[Requirement]]:
    distribution = detect(system)
    found = [
        *programs.of_the_build(system, distribution),
        *places.of_sim(system),
        *places.of_vm(system, distribution, guest),
        *places.of_host(system, distribution),
        *programs.of_applications(system, distribution),
    ]
    return distribution, found
