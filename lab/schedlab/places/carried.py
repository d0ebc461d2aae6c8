# SPDX-License-Identifier: GPL-2.0-or-later
"""What goes to other machines in an archive: a runner, and the schedulers, workloads and machines of its cells."""

import gzip
import io
import posixpath
import subprocess
import tarfile
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from schedlab import atomic, cache
from schedlab.campaign.cells import file_digest
from schedlab.campaign.matrix import Campaign, PlannedCell
from schedlab.catalogue import schedulers
from schedlab.catalogue.schedulers import Scheduler
from schedlab.errors import InputError
from schedlab.places.hand_on_worker import RUNNER


@dataclass(frozen=True)
class Carried:
    """Paths in `places` are from the folder in which the runner starts."""

    files: bytes
    places: dict[str, dict[str, str]]


def archive(files: Mapping[str, Path]) -> bytes:
    """Files by where they are to lie, as a compressed tar."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", dereference=True) as tar:
        for name, path in sorted(files.items()):
            tar.add(path, name, filter=_of_root)
    # The same files make the same archive.
    return gzip.compress(made.getvalue(), compresslevel=1, mtime=0)


def _of_root(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """Users of this machine are none of the host's."""
    member.uid = member.gid = 0
    member.uname = member.gname = "root"
    return member


def workloads(campaign: Campaign) -> tuple[dict[str, Path], dict[str, str]]:
    """Their files by where they are to lie, and where each workload's own lies."""
    files: dict[str, Path] = {}
    places = {}
    for workload in campaign.request.workloads:
        files |= workload.within("workloads")
        places[workload.name] = posixpath.join("workloads", workload.path.name)
    return files, places


def simulator(campaign: Campaign, engine: Path) -> Carried:
    """The simulator with all that it would build there, which the cache keeps.

    Raises InputError for what is wrong with any cell.
    """
    files, own = workloads(campaign)
    places: dict[str, dict[str, str]] = {"schedulers": {}, "workloads": own, "machines": {}}
    for machine in campaign.request.machines:
        assert machine.path
        places["machines"][machine.name] = where = posixpath.join("machines", machine.path.name)
        files[where] = machine.path
    for scheduler in {arm.scheduler.name: arm.scheduler for arm in campaign.arms}.values():
        built = _object(engine, scheduler)
        places["schedulers"][scheduler.name] = where = posixpath.join("schedulers", built.name)
        files[where] = built
    for path in _translated(campaign, engine, places, files):
        files[posixpath.join("cache", path.parent.name, path.name)] = path
    return Carried(archive(files | {RUNNER: engine}), places)


def _object(engine: Path, scheduler: Scheduler) -> Path:
    """What the simulator runs without a compiler. A snapshot is complete as it is."""
    assert scheduler.path
    if scheduler.is_snapshot:
        return scheduler.path
    kept = cache.directory("objects", f"{file_digest(engine)}-{schedulers.digest(scheduler)}")
    made = kept / f"{scheduler.name}.bpf.o"
    if not made.exists():
        with tempfile.TemporaryDirectory(dir=kept) as folder:
            fresh = Path(folder, made.name)
            _run([str(engine), "object", str(scheduler.path), str(fresh)])
            fresh.replace(made)
    return made


def _translated(
    campaign: Campaign, engine: Path, places: dict[str, dict[str, str]], files: Mapping[str, Path]
) -> list[Path]:
    """What the simulator keeps of these objects as its own code."""
    here = {kind: {name: str(files[path]) for name, path in named.items()} for kind, named in places.items()}
    with tempfile.TemporaryDirectory(prefix="schedlab-") as folder:
        shard = Path(folder, "build.json")
        atomic.write_json_lines(shard, campaign.shard(_different(campaign), here))
        built = _run([str(engine), "run", str(shard), "--build-only"])
    return [Path(line) for line in built.splitlines()]


def _different(campaign: Campaign) -> list[PlannedCell]:
    """A cell of each kind: what differs in their draws alone is built once."""
    kinds = {}
    for cell in campaign.cells:
        data = cell.data
        kind = (data["scheduler"], sorted(data["tunables"].items()), data["workload"], data["load"], data["machine"])
        kinds.setdefault(str((*kind, data.get("built_in"))), cell)
    return list(kinds.values())


def _run(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode:
        said = done.stderr.strip().splitlines()
        raise InputError(
            next((line for line in said if "error:" in line), said[-1] if said else f"{command[0]} failed")
        )
    return done.stdout
