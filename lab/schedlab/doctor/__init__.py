# SPDX-License-Identifier: GPL-2.0-or-later
"""schedlab doctor: what this machine can do, one line a check, and the one command that mends each gap."""

import argparse
from collections.abc import Sequence

from schedlab.distribution import Distribution, detect
from schedlab.doctor import applications, build, host, report, sim, vm
from schedlab.doctor.requirement import Check
from schedlab.system import System

NOT_AVAILABLE = 3


def examine(system: System, guest: vm.Guest) -> tuple[Distribution, list[Check]]:
    distribution = detect(system)
    checks = [
        *build.checks(system, distribution),
        *sim.checks(system),
        *vm.checks(system, distribution, guest),
        *host.checks(system, distribution),
        *applications.checks(system, distribution),
    ]
    return distribution, checks


def main(argv: Sequence[str] | None = None) -> int:
    """Exit status: 0 the simulator works here, 3 it does not, 2 bad usage."""
    from schedlab.doctor.guest import Guest  # it uses this package itself

    parser = argparse.ArgumentParser(prog="schedlab doctor", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args(argv)
    distribution, checks = examine(System(), Guest())
    print((report.as_json if options.json else report.text)(distribution, checks))
    return 0 if report.places(checks)["sim"] else NOT_AVAILABLE
