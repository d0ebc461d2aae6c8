# SPDX-License-Identifier: GPL-2.0-or-later
"""Where cells run: the simulator, a virtual machine, the host.

A place is a module with `engine()`, the runner's binary, and `run(campaign, store, todo, jobs, done, say)`.
"""

from typing import Any

from schedlab.campaign.request import Request


def place_of(request: Request) -> Any:
    from schedlab.places import host, sim, vm

    return {"sim": sim, "vm": vm, "host": host}[request.place]
