# SPDX-License-Identifier: GPL-2.0-or-later
"""guests.json: the kernel, image and emulator of every guest that ran cells. Exact results hold for these alone."""

import json
from typing import TYPE_CHECKING, Any

from schedlab import atomic
from schedlab.collect.store import Store

if TYPE_CHECKING:
    from schedlab.vm import Result

NAME = "guests.json"


def note(store: Store, result: "Result") -> None:
    guest = {
        "tier": result.tier,
        "kernel": result.kernel_release,
        "kernel_arguments": result.kernel_arguments,
        "qemu": result.qemu_version,
        "hashes": result.hashes,
    }
    known = read(store)
    if guest not in known:
        atomic.write(store.directory / NAME, json.dumps([*known, guest], indent=1) + "\n")


def read(store: Store) -> list[dict[str, Any]]:
    try:
        return json.loads((store.directory / NAME).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []
