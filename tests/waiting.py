# SPDX-License-Identifier: GPL-2.0-or-later
"""Waits for what other processes do."""

import time
from collections.abc import Callable


def wait(until: Callable[[], object], within_s: float = 30) -> bool:
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        if until():
            return True
        time.sleep(0.02)
    return bool(until())
