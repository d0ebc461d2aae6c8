# SPDX-License-Identifier: GPL-2.0-or-later
"""How fast this machine's time-stamp counter runs: software emulation without counting shows it to the guest.

A guest that finds out by itself is off by up to seven times while the host is busy, and its clock with it.
"""

import ctypes
import functools
import mmap
import platform
import time
from collections.abc import Callable

# rdtsc; shl rdx, 32; or rax, rdx; ret
_READ = bytes.fromhex("0f31 48c1e220 4809d0 c3")
_INTERVAL_S = 0.05
_TRIES = 50
# The kernel refines the figure; rounding keeps the kernel's command line the same every time.
_ROUND_KHZ = 100


@functools.cache
def khz() -> int | None:
    """None where it cannot be read: another architecture, or memory that must not be executed."""
    if platform.machine() not in ("x86_64", "AMD64"):
        return None
    try:
        page = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    except OSError:
        return None
    page.write(_READ)
    read = ctypes.CFUNCTYPE(ctypes.c_uint64)(ctypes.addressof(ctypes.c_char.from_buffer(page)))
    start_ns, start = _sample(read)
    time.sleep(_INTERVAL_S)
    end_ns, end = _sample(read)
    return round((end - start) * 1_000_000 / (end_ns - start_ns) / _ROUND_KHZ) * _ROUND_KHZ


def _sample(read: Callable[[], int]) -> tuple[int, int]:
    """Time and counter at the same moment: of many tries, that with the least time between two looks at the clock."""
    tries = []
    for _ in range(_TRIES):
        before_ns = time.monotonic_ns()
        count = read()
        after_ns = time.monotonic_ns()
        tries.append((after_ns - before_ns, (before_ns + after_ns) // 2, count))
    return min(tries)[1:]
