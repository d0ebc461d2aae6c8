# SPDX-License-Identifier: GPL-2.0-or-later
"""
A kernel without memory refuses a DSQ. A policy that was loaded nevertheless would be thrown out in the middle of its
work, when it names that queue; so the answer has to reach the kernel, whichever of the policy's queues it is.
"""

from pathlib import Path

import pytest

from tests.policies.schedules import ROOT, free_machine, hog, simulate, simulator

ENOMEM = 12
# The policy, with a kernel that refuses one of its queues, counted from 1 in the order in which it asks for them.
REFUSES = """
#include <scx.h>
TUNABLE(u32, refused, 0, 0, 1000, "", "which queue is refused");
static u32 asked;
static s32 create_dsq(u64 dsq_id, s32 node)
{{
	return ++asked == refused ? -{error} : scx_bpf_create_dsq(dsq_id, node);
}}
#define scx_bpf_create_dsq create_dsq
#include "{policy}"
"""
# How many each has on two CPUs that share a cache.
QUEUES = {"bfs": 3, "o1": 2, "sd": 2, "cfs": 2, "eevdf": 4, "fifo": 3, "rr": 3, "mlfq": 3, "vtime": 1}

pytestmark = pytest.mark.skipif(not simulator(), reason="schedlab-sim is not built")


@pytest.mark.parametrize("scheduler", QUEUES)
def test_a_queue_that_the_kernel_refuses_ends_the_load(scheduler: str, tmp_path: Path) -> None:
    folder = tmp_path / "refuses"
    folder.mkdir()
    policy = ROOT / "schedulers" / scheduler / f"scx_{scheduler}.bpf.c"
    (folder / "scx_refuses.bpf.c").write_text(REFUSES.format(error=ENOMEM, policy=policy), "utf-8")
    machine = free_machine(tmp_path, cores=2)

    def run(refused: int) -> None:
        simulate(tmp_path, f"{folder}:refused={refused}", hog("a"), 0.01, machine, strict=False)

    for refused in range(1, QUEUES[scheduler] + 1):
        with pytest.raises(AssertionError, match=rf"ops\.init\(\) failed \(-{ENOMEM}\)"):
            run(refused)
    run(0)
