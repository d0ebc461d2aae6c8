# SPDX-License-Identifier: GPL-2.0-or-later
"""What may be asked of a guest, and the one line for what may not."""

import pytest

from schedlab.errors import InputError
from schedlab.vm import tiers
from schedlab.vm.tiers import Shape


def test_topology_becomes_qemus_words() -> None:
    shape = Shape(cpus=16, memory_mib=512, topology=tiers.topology("2x4x2"))
    assert shape.arguments() == ["-m", "512M", "-smp", "16,sockets=2,cores=4,threads=2"]


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        ({"cpus": 0}, "--cpus 0: expected 1 to 255"),
        ({"cpus": 256}, "--cpus 256: expected 1 to 255"),
        ({"memory_mib": 16}, "--memory 16M: expected 128M or more"),
        ({"cpus": 4, "topology": (1, 4, 2)}, "--topology 1x4x2: makes 8 CPUs, not 4"),
    ],
)
def test_bad_shapes(shape: dict, expected: str) -> None:
    with pytest.raises(InputError) as caught:
        Shape(**shape)
    assert str(caught.value) == expected


@pytest.mark.parametrize("text", ["", "2x2", "0x1x1", "1x2x3x4", "1x-2x1"])
def test_bad_topologies(text: str) -> None:
    with pytest.raises(InputError, match="SOCKETSxCORESxTHREADS"):
        tiers.topology(text)


@pytest.mark.parametrize(("text", "mib"), [("512M", 512), ("2G", 2048)])
def test_memory_sizes(text: str, mib: int) -> None:
    assert tiers.memory_mib(text) == mib


@pytest.mark.parametrize("text", ["", "512", "1T", "-1G", "1.5G"])
def test_bad_memory_sizes(text: str) -> None:
    with pytest.raises(InputError, match="expected a size such as 512M or 2G"):
        tiers.memory_mib(text)


def test_unknown_tier() -> None:
    with pytest.raises(InputError, match="--tier fast: expected one of exact, virtual, emulated, auto"):
        tiers.kernel_arguments("fast")
