# SPDX-License-Identifier: GPL-2.0-or-later
"""Workload parameters from the command line: KEY=VALUE, or WORKLOAD.KEY=VALUE for one workload alone."""

from schedlab.catalogue.workloads import Workload
from schedlab.errors import InputError
from schedlab.names import unknown


def assign(given: list[str], workloads: list[Workload]) -> dict[str, dict[str, str]]:
    """For each workload the parameters meant for it."""
    assigned: dict[str, dict[str, str]] = {workload.name: {} for workload in workloads}
    for text in given:
        key, equals, value = text.partition("=")
        if not equals or not key or not value:
            raise InputError(f"--param '{text}': expected KEY=VALUE or WORKLOAD.KEY=VALUE")
        owner, dot, bare = key.rpartition(".")
        if dot and owner not in assigned:
            raise unknown("workload", owner, assigned)
        takers = [w for w in workloads if bare in w.params and (not dot or w.name == owner)]
        if not takers:
            raise unknown("parameter", bare, {p for w in workloads if not dot or w.name == owner for p in w.params})
        for workload in takers:
            if bare == workload.load:
                raise InputError(f"--param '{text}': '{bare}' is the load of {workload.name}: use --load")
            assigned[workload.name][bare] = value
    return assigned
