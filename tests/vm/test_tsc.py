# SPDX-License-Identifier: GPL-2.0-or-later
"""The guest is told how fast the counter of this machine runs."""

import time

import pytest

from schedlab import vm
from schedlab.vm import tiers, tsc


def test_the_figure_is_the_same_every_time():
    first = tsc.khz()
    if first is None:
        pytest.skip("no time-stamp counter here")
    tsc.khz.cache_clear()
    assert abs(tsc.khz() - first) <= first / 1000
    assert f"tsc_early_khz={tsc.khz()}" in tiers.kernel_arguments("emulated")


@pytest.mark.usefixtures("guest")
def test_a_second_in_the_guest_is_a_second():
    seen: list[tuple[str, float]] = []
    vm.run(
        ["sh", "-c", "cut -d' ' -f1 /proc/uptime; sleep 3; cut -d' ' -f1 /proc/uptime"],
        tier="emulated",
        on_line=lambda line: seen.append((line, time.monotonic())),
    )
    (start, started_at), (end, ended_at) = seen
    # Lines come up to a few polls late, more on a busy machine; a wrong clock is off by times.
    assert 0.5 < (float(end) - float(start)) / (ended_at - started_at) < 1.5
