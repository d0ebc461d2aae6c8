# SPDX-License-Identifier: GPL-2.0-or-later
"""A scene: the shape of a machine, and the work on it.

The machine is a guest of the exact tier, so that what is found can be tried in one. Its CPUs take turns on one clock:
beside a second busy one a CPU takes twice as long for the same work.
"""

import re
from dataclasses import dataclass

from schedlab import checkout
from schedlab.search.case import Case


@dataclass(frozen=True)
class Shape:
    sockets: int
    cores: int  # of a socket

    @property
    def cpus(self) -> int:
        return self.sockets * self.cores

    @property
    def guest(self) -> str:
        """As -m names such a guest."""
        return str(self.cpus) if self.sockets == 1 else f"{self.sockets}x{self.cores}x1"

    def __str__(self) -> str:
        parts = [f"{self.cpus} CPU{'s' if self.cpus > 1 else ''}"]
        parts += [f"{self.sockets} sockets"] * (self.sockets > 1)
        return ", ".join(parts)


# The smallest first. Hardware threads are left out: an emulated one is as fast as a core.
SHAPES = [Shape(1, 1), Shape(1, 2), Shape(2, 1), Shape(1, 3), Shape(1, 4), Shape(2, 2)]


@dataclass(frozen=True)
class Scene:
    case: Case
    shape: Shape


def machine_text(shape: Shape, name: str) -> str:
    """The file of the machine, with the costs of such a guest as they were measured."""
    measured = checkout.root() / "machines" / f"guest-exact-{1 if shape.cpus == 1 else 2}.toml"
    text = measured.read_text(encoding="utf-8")
    values = {
        "name": f'"{name}"',
        "title": f'"a guest of the exact tier, {shape}"',
        "sockets": str(shape.sockets),
        "llcs_per_socket": "1",
        "cores_per_llc": str(shape.cores),
        "threads_per_core": "1",
    }
    for key, value in values.items():
        text, many = re.subn(rf"(?m)^{key} = .*$", f"{key} = {value}", text)
        assert many == 1, f"{measured}: {key}"
    return text
