# SPDX-License-Identifier: GPL-2.0-or-later
"""A campaign file: what the command line of compare says, in TOML.

schedulers = ["bfs", "bfs:rules=424", "cfs"]
workloads = ["latt", "pipe"]
loads = [1, 4, 15]                # default: each workload's own
machines = ["desktop-4"]
on = "sim"                        # a place, as --on names it: "ssh:hosts.toml", "dask:10.0.0.1:8786", "slurm"
tier = "exact"                    # of the virtual machine
kernel = "6.16"                   # that it boots
built_in = true                   # in the simulator: all as parts of the kernel, and not its own scheduler alone
exact_costs = true                # in the simulator: as the machine file has them, whatever their spread
api = "6.12"                      # the release of the kernel that policies see in the simulator
repetitions = 10
seed_base = 1
[params]
duration_s = 5
"pipe.messages" = 1000
"""

from pathlib import Path
from typing import Any

from schedlab.campaign import where
from schedlab.campaign.request import TIERS
from schedlab.catalogue import toml
from schedlab.errors import InputError, unknown

_TEXTS = {"on": where.NAMES, "tier": TIERS}
_LISTS = {"schedulers": "schedulers", "workloads": "workload_names", "loads": "load", "machines": "machine_names"}
_PLAIN = {
    "api": (str, "a release as a string"),
    "built_in": (bool, "true or false"),
    "exact_costs": (bool, "true or false"),
    "kernel": (str, "a kernel as a string"),
    "repetitions": (int, "an integer"),
    "seed_base": (int, "an integer"),
}
_KEYS = [*_LISTS, *_TEXTS, *_PLAIN, "params"]


def read(path: Path) -> dict[str, Any]:
    """Arguments for campaign.request.request()."""
    data = toml.read(path)
    for key in data:
        if key not in _KEYS:
            raise InputError(f"{path}: {unknown('key', key, _KEYS)}")
    if "schedulers" not in data:
        raise InputError(f"{path}: key 'schedulers': expected a list of schedulers")
    found: dict[str, Any] = {}
    for key, argument in _LISTS.items():
        if key in data:
            found[argument] = _list(path, key, data[key], int if key == "loads" else str)
    for key, allowed in _TEXTS.items():
        if key in data:
            fine = isinstance(data[key], str) and (where.is_place(data[key]) if key == "on" else data[key] in allowed)
            if not fine:
                raise InputError(f"{path}: key '{key}': expected one of {', '.join(allowed)}, got {data[key]!r}")
            found["place" if key == "on" else key] = data[key]
    for key, (kind, expected) in _PLAIN.items():
        if key in data:
            if type(data[key]) is not kind:
                raise InputError(f"{path}: key '{key}': expected {expected}, got {data[key]!r}")
            found[key] = data[key]
    if "params" in data:
        found["param"] = _params(path, data["params"])
    return found


def _list(path: Path, key: str, value: Any, kind: type) -> str:
    if not isinstance(value, list) or not value or not all(type(item) is kind for item in value):
        what = "integers" if kind is int else "strings"
        raise InputError(f"{path}: key '{key}': expected a list of {what}")
    return ",".join(map(str, value))


def _params(path: Path, value: Any) -> list[str]:
    if not isinstance(value, dict):
        raise InputError(f"{path}: key 'params': expected a table")
    for key, item in value.items():
        if isinstance(item, bool) or not isinstance(item, str | int | float):
            raise InputError(f"{path}: key 'params.{key}': expected a string or a number; quote a key that has a dot")
    return [f"{key}={item}" for key, item in value.items()]
