# SPDX-License-Identifier: GPL-2.0-or-later
"""schedlab trace: one cell, in the simulator every decision of it, as a file for other tools."""

import argparse
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from schedlab import atomic
from schedlab.campaign import arms, request
from schedlab.campaign.matrix import campaign
from schedlab.campaign.request import MAX_LOAD
from schedlab.campaign.where import PLACES
from schedlab.capture import trace_file
from schedlab.catalogue import machines, workloads
from schedlab.collect import traces
from schedlab.decisions.as_simulated import Void, traced_cell
from schedlab.errors import InputError, LabError
from schedlab.places import pictured, place_of
from schedlab.trace import simulated

PERFETTO, FTRACE = "perfetto", "ftrace"
_SUFFIXES = {
    ".pftrace": PERFETTO,
    ".perfetto-trace": PERFETTO,
    ".pb": PERFETTO,
    ".txt": FTRACE,
    ".ftrace": FTRACE,
}
# Of each CPU, for a whole run.
_BUFFER_KIB = 32_768


def trace(options: argparse.Namespace) -> int:
    path = Path(options.output)
    form = options.format or _SUFFIXES.get(path.suffix)
    if form is None:
        known = ", ".join(_SUFFIXES)
        raise InputError(f"-o {path}: expected a name that ends in {known}, or --format")
    pieces = _simulated(options, form) if options.on == "sim" else _real(options, form)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.new")
    with atomic.write_errors_explained(path):
        try:
            if not path.parent.is_dir():
                raise InputError(f"-o {path}: there is no folder {path.parent}")
            with pieces as content, temporary.open("wb") as out:
                out.writelines(content)
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
    print(f"schedlab: {path}: {path.stat().st_size:,} bytes, {form}", file=sys.stderr)
    return 0


@contextmanager
def _simulated(options: argparse.Namespace, form: str) -> Iterator[Iterable[bytes]]:
    """As it is simulated: it need not fit into memory."""
    for option, given in (("--tier", options.tier), ("--kernel", options.kernel), ("--buffer-kib", options.buffer_kib)):
        if given is not None:
            raise InputError(f"{option} {given}: only a real kernel has one (--on vm, host)")
    with simulated.lines(_traced(options)) as lines:
        if form == FTRACE:
            yield (line.encode() for line in lines)
        else:
            from schedlab.trace import perfetto

            yield perfetto.encode(simulated.events(lines))


@contextmanager
def _real(options: argparse.Namespace, form: str) -> Iterator[Iterable[bytes]]:
    """A real kernel's run, in a guest or here."""
    cell = f"{options.scheduler}, {options.workload}"
    lines = _run(options)
    why = traces.fault(lines)
    if why:
        raise LabError(f"{cell}: no trace: {why}")
    trace = trace_file.parse(lines, "the kernel's trace", allow_lost=True)
    try:
        traced = traced_cell(trace)
        if traced.whole_until_ns is not None:
            after_ms = (traced.whole_until_ns - traced.begin_ns) / 1e6
            raise Void(f"void, the trace's buffer was full {after_ms:,.3g} ms after the start")
    except Void as error:
        raise LabError(f"{cell}: {error}: expected a whole trace, try a larger --buffer-kib") from error
    if form == FTRACE:
        yield (f"{line}\n".encode() for line in lines)
    else:
        from schedlab.trace import perfetto

        place = trace.notes.get("place", "this machine")
        marks = {traced.begin_ns: "they are let go", traced.end_ns: "the end"}
        origin = perfetto.Origin("Linux", trace.notes["kernel"], f"{place}, traced", traced.processes, marks)
        yield perfetto.encode(traced.events, origin)


def _run(options: argparse.Namespace) -> list[str]:
    """The lines of one cell's traced run, and what the lab notes about it."""
    if options.seed < 0:
        raise InputError(f"--seed {options.seed}: expected 0 or more")
    if options.buffer_kib is not None and options.buffer_kib < 1:
        raise InputError(f"--buffer-kib {options.buffer_kib}: expected 1 or more")
    asked = request.request(
        options.scheduler,
        workload_names=options.workload,
        load=None if options.load is None else str(options.load),
        machine_names=options.machine,
        place=options.on,
        tier=options.tier,
        api=options.api,
        kernel=options.kernel,
        repetitions=1,
        seed_base=options.seed,
        param=options.param or [],
        controlled=False,
    )
    for what, many in (("scheduler", asked.arms), ("workload", asked.workloads), ("machine", asked.machines)):
        if len(many) != 1:
            raise InputError(f"expected one {what}, found {len(many)}")
    for remark in asked.workloads[0].remarks:
        print(f"schedlab: {remark}", file=sys.stderr)
    planned = campaign(asked, place_of(asked).engine())
    # The least load is the first.
    cell = planned.measured()[0]
    found: list[str] = []
    pictured.take(
        planned,
        [cell],
        options.buffer_kib or _BUFFER_KIB,
        lambda _, lines: found.extend(lines),
        lambda text: print(f"schedlab: {text}", file=sys.stderr),
    )
    return found


def _traced(options: argparse.Namespace) -> simulated.Traced:
    found = arms.parse(options.scheduler, "sim")
    if len(found) != 1:
        raise InputError(f"'{options.scheduler}': expected one scheduler")
    workload = workloads.find(options.workload)
    for remark in workload.remarks:
        print(f"schedlab: {remark}", file=sys.stderr)
    machine = machines.find(options.machine or PLACES["sim"].default_machine)
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
