# SPDX-License-Identifier: GPL-2.0-or-later
"""schedlab trace: one simulated cell, every decision of it, as a file for other tools."""

import argparse
import os
import sys
from pathlib import Path

from schedlab import atomic
from schedlab.campaign import arms, request
from schedlab.campaign.request import MAX_LOAD
from schedlab.catalogue import machines, workloads
from schedlab.errors import InputError
from schedlab.trace import simulated

PERFETTO, FTRACE = "perfetto", "ftrace"
_SUFFIXES = {
    ".pftrace": PERFETTO,
    ".perfetto-trace": PERFETTO,
    ".pb": PERFETTO,
    ".txt": FTRACE,
    ".ftrace": FTRACE,
}


def trace(options: argparse.Namespace) -> int:
    path = Path(options.output)
    form = options.format or _SUFFIXES.get(path.suffix)
    if form is None:
        known = ", ".join(_SUFFIXES)
        raise InputError(f"-o {path}: expected a name that ends in {known}, or --format")
    what = _traced(options)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.new")
    with atomic.write_errors_explained(path):
        try:
            with simulated.lines(what) as lines, temporary.open("wb") as out:
                if form == FTRACE:
                    out.writelines(line.encode() for line in lines)
                else:
                    from schedlab.trace import perfetto

                    out.writelines(perfetto.encode(simulated.events(lines)))
            temporary.replace(path)
        except FileNotFoundError as error:
            raise InputError(f"-o {path}: there is no folder {path.parent}") from error
        finally:
            temporary.unlink(missing_ok=True)
    print(f"schedlab: {path}: {path.stat().st_size:,} bytes, {form}", file=sys.stderr)
    return 0


def _traced(options: argparse.Namespace) -> simulated.Traced:
    found = arms.parse(options.scheduler, "sim")
    if len(found) != 1:
        raise InputError(f"'{options.scheduler}': expected one scheduler")
    workload = workloads.find(options.workload)
    for remark in workload.remarks:
        print(f"schedlab: {remark}", file=sys.stderr)
    machine = machines.find(options.machine)
    load = workload.loads_on(machine.cpus)[0] if options.load is None else options.load
    if not 1 <= load <= MAX_LOAD:
        raise InputError(f"--load {load}: expected 1 to {MAX_LOAD:,}")
    if options.seed < 0:
        raise InputError(f"--seed {options.seed}: expected 0 or more")
    assert found[0].scheduler.path
    assert machine.path
    given = request.assign_params(options.param or [], [workload])[workload.name]
    return simulated.Traced(
        scheduler=found[0].scheduler.path,
        workload=workload.path,
        machine=machine.path,
        load=load,
        seed=options.seed,
        tunables=found[0].tunables,
        params=given,
        built_in=found[0].built_in,
        api=options.api,
    )
