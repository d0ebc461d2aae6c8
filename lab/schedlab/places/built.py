# SPDX-License-Identifier: GPL-2.0-or-later
"""Policies for the runner of real kernels: it holds those of the tree; others are built for the campaign.

Whether it holds them as they are in the tree is asked before anything boots.
"""

import json
import subprocess
from pathlib import Path

from schedlab import checkout
from schedlab.campaign.cells import sources_digest
from schedlab.campaign.matrix import Campaign
from schedlab.errors import InputError, PlaceError

_COMPILER = "schedlab-sim"


def objects(engine: Path, campaign: Campaign, folder: Path) -> dict[str, Path]:
    """The objects of those policies that are not of the tree, by name, built into the folder."""
    check(engine, campaign)
    built = {}
    for arm in campaign.arms:
        scheduler = arm.scheduler
        if scheduler.path is None or _of_the_tree(scheduler.folder) or scheduler.name in built:
            continue
        folder.mkdir(parents=True, exist_ok=True)
        made = folder / f"{scheduler.name}.bpf.o"
        command = [str(checkout.need_binary(_COMPILER)), "object", str(scheduler.path), str(made)]
        result = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
        if result.returncode:
            said = result.stderr.strip().splitlines()
            raise InputError(next((line for line in said if "error:" in line), said[-1] if said else "cannot be built"))
        built[scheduler.name] = made
    return built


def _of_the_tree(folder: Path | None) -> bool:
    return folder is not None and folder.resolve().parent == (checkout.root() / "schedulers").resolve()


def check(engine: Path, campaign: Campaign) -> None:
    listed = subprocess.run([str(engine), "list", "--json"], capture_output=True, text=True, check=False)
    try:
        holds = {entry["name"]: entry["digest"] for entry in json.loads(listed.stdout)}
    except (ValueError, KeyError, TypeError) as error:
        raise PlaceError(f"{engine}: does not say which schedulers it holds: run 'make build'") from error
    for arm in campaign.arms:
        name, folder = arm.scheduler.name, arm.scheduler.folder
        if folder is None or not _of_the_tree(folder):
            continue
        if name not in holds:
            raise PlaceError(f"{folder}: {name} is not built into {engine.name}: run 'make build'")
        if holds[name] != sources_digest(folder):
            raise PlaceError(f"{folder}: has changed since {engine.name} was built: run 'make build'")
