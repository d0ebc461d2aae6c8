# SPDX-License-Identifier: GPL-2.0-or-later
"""Other machines, through OpenSSH: blocks are shared out among the hosts of a file, and no host keeps anything."""

from pathlib import Path

from schedlab import checkout
from schedlab.campaign.matrix import Campaign
from schedlab.collect.store import Store
from schedlab.places import real_kernel, vm
from schedlab.places.carried import Carried, archive, workloads
from schedlab.places.place import Done, Say
from schedlab.places.shared_out import SharedOut
from schedlab.places.ssh_session import RUNNER

_IN_A_GUEST = "/lab/"


def engine() -> Path:
    return checkout.need_binary(RUNNER)


def run(campaign: Campaign, store: Store, todo: set[str], jobs: int | None, done: Done, say: Say) -> int:
    if not todo:
        return 0
    objects = real_kernel.objects(engine(), campaign.arms, store.directory / "objects")
    return SharedOut(campaign, store, carried(campaign, objects), done, say).run()


def carried(campaign: Campaign, objects: dict[str, Path]) -> Carried:
    """Paths are from the folder in which the runner starts."""
    files, own = workloads(campaign)
    files[RUNNER] = engine()
    places: dict[str, dict[str, str]] = {"schedulers": {}, "workloads": own, "machines": {}}
    for scheduler in (arm.scheduler for arm in campaign.arms if arm.scheduler.origin):
        if real_kernel.is_held(scheduler):
            # The runner holds it, and goes by its name.
            continue
        inside, path = vm.within(scheduler, objects)
        where = inside.removeprefix(_IN_A_GUEST)
        places["schedulers"][scheduler.name] = where
        files[where] = path
    return Carried(archive(files), places)
