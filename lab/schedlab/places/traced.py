# SPDX-License-Identifier: GPL-2.0-or-later
"""A workload's real tasks under tracing: the command that runs them once, and the guest that has what they need."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from schedlab import checkout
from schedlab.capture.tracing import Guest
from schedlab.catalogue.workloads import Workload
from schedlab.places import applications

RUNNER = "schedlab-host"
_INSIDE = f"/lab/{RUNNER}"


def command(workload: Workload, load: int, params: Mapping[str, str], scheduler: str | None = None) -> list[str]:
    """Here; `scheduler` as the runner reads it, None: whatever runs."""
    return _command(str(checkout.need_binary(RUNNER)), workload.path, load, params, scheduler)


def command_in_guest(
    workload: Workload, load: int, params: Mapping[str, str], scheduler: str | None = None
) -> list[str]:
    return _command(_INSIDE, Path("/lab/workloads", workload.path.name), load, params, scheduler)


def equipped(place: Guest, workload: Workload, load: int, params: Mapping[str, str]) -> Guest:
    """The guest with the runner, the workload and, for a real application, its programs and inputs."""
    engine = checkout.need_binary(RUNNER)
    real = applications.command(workload.path) is not None
    return replace(
        place,
        memory_mib=max(place.memory_mib, applications.MEMORY_MIB) if real else place.memory_mib,
        files={
            **applications.files(engine, [(workload.path, load, params)]),
            _INSIDE: engine,
            **workload.within("/lab/workloads"),
            **place.files,
        },
        environment={**place.environment, "SCHEDLAB_CACHE": applications.CACHE},
    )


def _command(runner: str, workload: Path, load: int, params: Mapping[str, str], scheduler: str | None) -> list[str]:
    options = [word for name, value in sorted(params.items()) for word in ("--param", f"{name}={value}")]
    under = ["--scheduler", scheduler] if scheduler else []
    return [runner, "exec", str(workload), "--load", str(load), *options, *under]
