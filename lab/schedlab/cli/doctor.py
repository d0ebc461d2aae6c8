# SPDX-License-Identifier: GPL-2.0-or-later
"""schedlab doctor: what this machine can do, one line a requirement, and the one command that mends each gap."""

import argparse

from schedlab.distribution import System
from schedlab.doctor import examine, requirement
from schedlab.doctor.places import LabGuest
from schedlab.errors import NO_PLACE


def doctor(options: argparse.Namespace) -> int:
    """Exit status: 0 the simulator works here, 3 it does not."""
    distribution, found = examine(System(), LabGuest())
    print((requirement.as_json if options.json else requirement.as_text)(distribution, found))
    return 0 if requirement.places(found)["sim"] else NO_PLACE
