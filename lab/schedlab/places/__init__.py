# SPDX-License-Identifier: GPL-2.0-or-later
"""Where cells run: the simulator, a virtual machine, the host, other machines, clusters.

Imports: campaign, capture, catalogue, collect, sched_ext, vm.

place         the protocol that every place keeps
sim           the simulator
vm            the virtual machine, a guest per block (guest.sh runs in it)
host          the running kernel
ssh           other machines, blocks shared out among them
shared_out    which host runs which block: hosts that fail are tried again, then their blocks go to others
ssh_session   one host, reached by ssh: what is sent there, what comes back, and that nothing stays
dask          the simulator on a Dask: of somebody else's scheduler, or of one started here
dask_on_worker  what runs in its workers
slurm         the simulator on a Slurm, through submitit
hands         cells that go to a cluster and come back together: checked, packed, handed out again
hand_on_worker  runs a hand where nothing of ours is
carried       what goes to other machines with a runner, in an archive
from_afar     records that another machine sent, of which nothing is believed
real_kernel   what vm and host have in common: blocks, and the policies' objects
runner        drives a runner, which prints a line per finished cell
applications  the programs and inputs that real applications need in a guest
traced        a workload's real tasks, and the guest that has what they need, under tracing
pictured      cells traced, for pictures of their schedules (pictured.sh)
profiled      cells whose instructions are counted by function (profiled.sh)
set_up        what a scheduler's own program sets up, for a snapshot of it
trial         whether a real kernel takes a policy and keeps it under stress (stress.sh)
"""

from importlib import import_module
from typing import cast

from schedlab.campaign.request import Request
from schedlab.places.place import Place


def place_of(request: Request) -> Place:
    """The module of the place's name."""
    return cast(Place, import_module(f"schedlab.places.{request.place}"))
