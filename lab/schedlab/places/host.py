# SPDX-License-Identifier: GPL-2.0-or-later
"""The host: the running kernel, one cell at a time, the previous scheduler put back at the end."""

import os
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from schedlab import atomic, checkout
from schedlab.campaign.matrix import Campaign, PlannedCell
from schedlab.catalogue.schedulers import DEFAULT
from schedlab.collect.store import Store
from schedlab.places import real_kernel
from schedlab.places.place import Done, Say
from schedlab.places.runner import drive
from schedlab.sched_ext import sysfs
from schedlab.sched_ext.attached import put_back

RUNNER = "schedlab-host"


def engine() -> Path:
    return checkout.need_binary(RUNNER)


def ready(campaign: Campaign, say: Say) -> AbstractContextManager[None]:
    """For the time of the context no scheduler is loaded; the one that was is put back. Raises PlaceError."""
    # Where nothing can run but the kernel's own scheduler, nothing is to be put back.
    own_alone = all(arm.scheduler.name == DEFAULT for arm in campaign.arms)
    restored = nullcontext() if own_alone and not sysfs.there() else put_back(say)
    if not own_alone:
        # A lack of sched_ext is said before a lack of privileges, which sudo would mend.
        sysfs.read()
    sysfs.need_root("measuring on this machine")
    return restored


def run(campaign: Campaign, store: Store, todo: set[str], jobs: int | None, done: Done, say: Say) -> int:
    if not todo:
        return 0
    restored = ready(campaign, say)
    objects = real_kernel.objects(engine(), campaign.arms, store.directory / "objects")
    shard = store.directory / "shard.json"

    def run_cells(cells: list[PlannedCell]) -> int:
        content = campaign.shard(cells)
        content["files"]["schedulers"].update({name: str(path.resolve()) for name, path in objects.items()})
        atomic.write_json_lines(shard, content)
        command = [str(engine()), "run", str(shard), "--out", str(store.cells), "--parent", str(os.getpid())]
        return drive(command, done, say)

    status = 0
    with restored:
        for _, cells in real_kernel.unfinished(campaign, store, todo):
            status = max(status, real_kernel.until_not_void(cells, store, run_cells, say))
    return status
