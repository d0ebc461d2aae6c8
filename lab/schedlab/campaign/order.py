# SPDX-License-Identifier: GPL-2.0-or-later
"""The order of arms within a block: shuffled by a seed, the same for the same command everywhere."""

import hashlib
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


def shuffled(items: Sequence[T], *seed: object) -> list[T]:
    """Sort by a hash of seed and position: needs no generator whose stream may change between versions."""
    text = "\0".join(map(str, seed))

    def key(index: int) -> bytes:
        return hashlib.sha256(f"{text}\0{index}".encode()).digest()

    return [items[index] for index in sorted(range(len(items)), key=key)]
