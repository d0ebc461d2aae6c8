# SPDX-License-Identifier: GPL-2.0-or-later
"""What each host of a fleet can do: reached as for a campaign, asked what it is like, and left as it was."""

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from schedlab import checkout
from schedlab.campaign.fleet_file import Fleet, Host
from schedlab.collect.hosts import Environment
from schedlab.errors import LabError
from schedlab.places.carried import archive
from schedlab.places.ssh_session import RUNNER, Session

_AT_ONCE = 16


@dataclass(frozen=True)
class Found:
    host: Host
    environment: Environment | None
    why_not: str  # empty where it is ready


def examine(fleet: Fleet) -> list[Found]:
    files = archive({RUNNER: checkout.need_binary(RUNNER)})
    with ThreadPoolExecutor(min(_AT_ONCE, len(fleet.hosts))) as pool:
        return list(pool.map(lambda host: _one(fleet, host, files), fleet.hosts))


def _one(fleet: Fleet, host: Host, files: bytes) -> Found:
    session = Session(host, fleet.limits, files)
    try:
        found = session.begin()
    except LabError as error:
        return Found(host, None, " ".join(str(error).split()))
    finally:
        session.close()
    return Found(host, found, _lacks(fleet, host, found))


def _lacks(fleet: Fleet, host: Host, found: Environment) -> str:
    if found["cpus"] != host.cpus:
        return f"it has {found['cpus']} CPUs online; {fleet.path} says cpus = {host.cpus}"
    if found["busy_pct"] > fleet.limits.busy_pct:
        return f"others take {found['busy_pct']:.0f} % of its CPUs' time (limit: {fleet.limits.busy_pct:g} %)"
    if found["sched_ext"] not in ("free", "none"):
        return f"{found['sched_ext']} is loaded there: stop it first"
    return ""


def as_text(fleet: Fleet, hosts: list[Found]) -> str:
    ready = sum(not found.why_not for found in hosts)
    lines = [f"{fleet.path}: {ready} of {len(hosts)} hosts are ready"]
    for found in hosts:
        lines.append(f"\n{found.host.name} ({found.host.destination}): {found.why_not or 'ready'}")
        if found.environment:
            lines += [f"  {title:14}{text}" for title, text in _facts(found.environment).items()]
    return "\n".join(lines)


def _facts(environment: Environment) -> dict[str, str]:
    schedulers = {
        "none": "not in this kernel: only 'default' runs there",
        "free": "in this kernel; the kernel's own scheduler runs",
    }
    heat = environment["temperature_c"]
    return {
        "kernel": environment["kernel"],
        "sched_ext": schedulers.get(environment["sched_ext"], f"{environment['sched_ext']} runs"),
        "CPUs": f"{environment['cpus']} ({environment['online']}), {environment['cpu_model'] or 'model not told'}",
        "governor": environment["governors"] or "not told",
        "turbo": environment["turbo"] or "not told",
        "clock source": environment["clocksource"] or "not told",
        "virtualised": environment["virtualised"] or "no",
        "busy": f"{environment['busy_pct']:.0f} % of all CPUs' time, load {environment['load_1_min']:g}",
        "temperature": "not told" if heat is None else f"{heat:.0f} °C",
    }


def as_json(hosts: list[Found]) -> str:
    said = [
        {
            "host": found.host.name,
            "address": found.host.destination,
            "ready": not found.why_not,
            "why_not": found.why_not,
            "environment": found.environment,
        }
        for found in hosts
    ]
    return json.dumps({"hosts": said}, indent=2, ensure_ascii=False)
