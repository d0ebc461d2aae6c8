# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether the simulator works: a policy is compiled and a small workload simulated under it."""

from collections.abc import Iterator

from schedlab import checkout
from schedlab.doctor.requirement import Check
from schedlab.system import System

RUNNER = "schedlab-sim"
SMALL = {"scheduler": "vtime", "workload": "pipe.toml", "machine": "desktop-4.toml"}


def checks(system: System) -> Iterator[Check]:
    path = checkout.find_binary(RUNNER)
    if path is None:
        yield Check("sim", RUNNER, False, "not built", "make build")
        return
    version = system.output(str(path), "--version")
    if not version:
        yield Check("sim", RUNNER, False, f"{path} does not run", "make build")
        return
    yield Check("sim", RUNNER, True, version.split()[-1])
    root = checkout.root()
    sources = (f"--{kind}={root}/{kind}s/{name}" for kind, name in SMALL.items())
    command = (str(path), "cell", *sources, "--param=trips=10")
    fault = system.fault(*command)
    yield Check("sim", "simulation", not fault, fault or "pipe under vtime ran", "make build" if fault else "")
