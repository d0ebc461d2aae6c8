# SPDX-License-Identifier: GPL-2.0-or-later
"""In which world numbers came about: simulated, in a virtual machine, or on real hardware.

Nobody may take one for another, so each has a word and a line of its own beside every picture: dashed, double, solid.
The lines are told apart without colours, on paper and in the dark, too.
"""

from schedlab.campaign import where
from schedlab.report.html import Markup, element

SIMULATED, VIRTUAL, REAL = "simulated", "virtual", "real"
_TITLES = {
    "sim": "simulated",
    "vm-exact": "virtual machine (exact)",
    "vm-virtual": "virtual machine",
    "vm-emulated": "virtual machine (emulated)",
    "host": "this machine",
    "ssh": "a fleet of machines",
}
_MEANING = {
    SIMULATED: "no kernel ran, but a model of one",
    VIRTUAL: "a real kernel ran, in a guest",
    REAL: "a real kernel ran on the hardware",
}


def kind(place: str) -> str:
    """Of a place as records name it."""
    if where.of_record(place).simulated:
        return SIMULATED
    return VIRTUAL if place.partition("-")[0] == "vm" else REAL


def title(place: str) -> str:
    return _TITLES.get(place, f"{kind(place)} ({place})")


def badge(place: str) -> Markup:
    """With a word of what it means, for the top of a page."""
    found = kind(place)
    return element("p", element("b", title(place), class_="world"), f" {_MEANING[found]}", class_="note")
