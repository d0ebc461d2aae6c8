# SPDX-License-Identifier: GPL-2.0-or-later
"""schedlab doctor, load, status, unload: what this machine can do, and which scheduler its kernel runs."""

import argparse
import json
from dataclasses import asdict

from schedlab import checkout
from schedlab.campaign import where
from schedlab.catalogue import schedulers
from schedlab.distribution import System
from schedlab.doctor import examine, requirement
from schedlab.doctor.place_requirements import LabGuest
from schedlab.errors import NO_PLACE, InputError, LabError, PlaceError, unknown
from schedlab.sched_ext import attached, sysfs


def doctor(options: argparse.Namespace) -> int:
    """Exit status: 0 the simulator works here, 3 it does not; of a fleet, whether all its hosts are ready."""
    if options.on:
        return _fleet(options)
    distribution, found = examine(System(), LabGuest())
    print((requirement.as_json if options.json else requirement.as_text)(distribution, found))
    return 0 if requirement.places(found)["sim"] else NO_PLACE


def _fleet(options: argparse.Namespace) -> int:
    from schedlab.doctor import fleet_hosts

    fleet = where.fleet_of(options.on)
    if fleet is None:
        raise InputError(f"--on {options.on}: expected ssh:FILE; doctor alone is about this machine")
    found = fleet_hosts.examine(fleet)
    print(fleet_hosts.as_json(found) if options.json else fleet_hosts.as_text(fleet, found))
    return NO_PLACE if any(each.why_not for each in found) else 0


def first_look() -> int:
    """What `schedlab` says without a command. Exit status: 0."""
    _, found = examine(System(), LabGuest())
    works = requirement.places(found)
    # A race on this machine's own kernel says most.
    options = {"host": "-- make -j4", "vm": "--on vm", "sim": "--on sim"}
    how = next((words for place, words in options.items() if works[place]), "--on sim")
    root = "sudo " * works["host"]
    tried = {
        "schedlab compare bfs,cfs": "two schedulers over four workloads, in the simulator",
        f"{root}schedlab choose {how}": "which scheduler is best for this machine and this work",
        "schedlab check FILE.bpf.c": "try a policy of your own before anybody loads it",
    }
    width = max(map(len, tried))
    print("Which CPU scheduler is best for this machine and this work, and how sure are we?\n")
    print(requirement.verdict(found), end="\n\n")
    print(*(f"  {words:{width}}   {about}" for words, about in tried.items()), sep="\n", end="\n\n")
    print("schedlab --help has all commands, schedlab doctor what each place needs.")
    return 0


def load(options: argparse.Namespace) -> int:
    known = schedulers.known()
    if options.scheduler not in known:
        raise unknown("scheduler", options.scheduler, known)
    if options.scheduler == schedulers.DEFAULT:
        raise InputError("the kernel's own scheduler runs where none is loaded: use 'schedlab unload'")
    state = sysfs.read()
    sysfs.need_root("loading a scheduler")
    program = checkout.need_binary(f"scx_{options.scheduler}", resolve=False)
    running = attached.find()
    if running:
        attached.stop(running)
    elif state.enabled:
        raise PlaceError(f"{state.ops or 'a scheduler'} is running, and schedlab did not start it: stop it first")
    made = attached.start(options.scheduler, [str(program), *options.passed_on])
    print(f"{options.scheduler} schedules this machine (process {made.pid}); back to the kernel's own: schedlab unload")
    return 0


def status(options: argparse.Namespace) -> int:
    state = sysfs.read()
    running = attached.find()
    if options.json:
        data = asdict(state) | {"loaded": running.name if running else "", "pid": running.pid if running else 0}
        print(json.dumps(data, indent=1))
    elif state.enabled:
        owner = f"loaded by schedlab, process {running.pid}" if running else "not loaded by schedlab"
        print(f"{state.ops} is {state.state} ({owner}); {state.nr_rejected} tasks rejected")
    else:
        print("the kernel's own scheduler runs; no sched_ext scheduler is loaded")
    return 0


def unload(options: argparse.Namespace) -> int:
    state = sysfs.read()
    running = attached.find()
    if running:
        sysfs.need_root("unloading a scheduler")
        attached.stop(running)
        print(f"{running.name} is gone; the kernel's own scheduler runs")
        return 0
    if state.enabled:
        raise LabError(f"{state.ops or 'a scheduler'} was not loaded by schedlab: stop it where it was started")
    print("nothing to unload: the kernel's own scheduler runs")
    return 0
