# SPDX-License-Identifier: GPL-2.0-or-later
"""Where cells run: the simulator, a virtual machine, the host."""

from schedlab.campaign.request import Request
from schedlab.places.place import Place


def place_of(request: Request) -> Place:
    from schedlab.places import host, sim, vm

    places: dict[str, Place] = {"sim": sim, "vm": vm, "host": host}
    return places[request.place]
