# SPDX-License-Identifier: GPL-2.0-or-later
"""The simulator: one process, threads over cells inside it."""

import os
from pathlib import Path

from schedlab import atomic, checkout
from schedlab.campaign.matrix import Campaign
from schedlab.collect.store import Store
from schedlab.places.place import Done, Say
from schedlab.places.runner import drive

RUNNER = "schedlab-sim"


def engine() -> Path:
    return checkout.need_binary(RUNNER)


def run(campaign: Campaign, store: Store, todo: set[str], jobs: int | None, done: Done, say: Say) -> int:
    planned = [cell for cell in campaign.cells if cell.id in todo]
    if not planned:
        return 0
    shard = store.directory / "shard.json"
    atomic.write_json_lines(shard, campaign.shard(planned))
    command = [str(engine()), "run", str(shard), "--out", str(store.cells), "--parent", str(os.getpid())]
    if jobs:
        command += ["--jobs", str(jobs)]
    return drive(command, done, say)
