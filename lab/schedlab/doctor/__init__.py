# SPDX-License-Identifier: GPL-2.0-or-later
"""What this machine can do: one line a requirement, and the one command that mends each gap.

Imports: campaign, catalogue, collect, places, vm.

requirement         what is required, whether it is there, and how that is told
programs            programs, headers and packages, of the build and of real applications
place_requirements  what the simulator, the virtual machine and the host require
fleet_hosts         what each host of a fleet can do
"""

from schedlab import checkout
from schedlab.distribution import Distribution, System, detect
from schedlab.doctor import place_requirements, programs
from schedlab.doctor.requirement import Requirement


def examine(system: System, guest: place_requirements.Guest) -> tuple[Distribution, list[Requirement]]:
    distribution = detect(system)
    found = [
        *(programs.of_the_build if checkout.tree() else programs.of_the_run)(system, distribution),
        *place_requirements.of_sim(system),
        *place_requirements.of_vm(system, distribution, guest),
        *place_requirements.of_host(system, distribution),
        *programs.of_applications(system, distribution),
    ]
    return distribution, found
