# SPDX-License-Identifier: GPL-2.0-or-later
"""Shards for the tests, as docs/records.md has them; workloads lie in /workloads of the guest."""

import json
from pathlib import Path
from typing import Any

from schedlab.campaign.cells import cell_id

NO_DIGESTS = dict.fromkeys(("engine", "machine", "scheduler", "workload"), "")


def cell(
    scheduler: str,
    workload: str,
    load: int,
    params: dict[str, str] | None = None,
    tunables: dict[str, str] | None = None,
    place: str = "vm-emulated",
    seed: int = 1,
) -> dict[str, Any]:
    data = {
        "digests": NO_DIGESTS,
        "load": load,
        "machine": "2",
        "params": params or {},
        "place": place,
        "repetition": seed - 1,
        "scheduler": scheduler,
        "seed": seed,
        "tunables": tunables or {},
        "workload": workload,
    }
    return {"id": cell_id(data), **data}


def write(
    path: Path, cells: list[dict[str, Any]], folder: str = "/workloads", schedulers: dict[str, str] | None = None
) -> Path:
    workloads = {name: f"{folder}/{name}.toml" for name in sorted({cell["workload"] for cell in cells})}
    files = {"schedulers": schedulers or {}, "workloads": workloads, "machines": {}}
    path.write_text(json.dumps({"files": files, "cells": cells}), encoding="utf-8")
    return path
