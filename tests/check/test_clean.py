# SPDX-License-Identifier: GPL-2.0-or-later
"""Sound policies pass. What a scheduler is known not to promise is not asked of it, and said in docs/checking.md."""

import pytest

from tests.check.conftest import POLICIES, check

# A bound that no run reaches: the question is not asked.
NEVER = "100000"
# Balances now and then, so that CPUs stand idle meanwhile; tunables can switch that off.
# Tasks that hop over an idle CPU go before one that stays (docs/checking.md).
# Balance does not count real-time tasks, so that their CPU keeps who waits there.
BALANCES = ("--idle-ms", NEVER, "--starvation-ms", "10000", "--no-real-time")
SEEDS = (1, 2)
RUNS = 150


def _rules(policy: str, rules: str, *options: str) -> list[tuple[object, tuple[str, ...]]]:
    return [(policy, ("-o", f"rules={one}", *options)) for one in rules.split()]


# With the waits that its published rules allow, and the number of the rule.
POLICIES_AND_WAITS: list[tuple[object, tuple[str, ...]]] = [
    (POLICIES / "sound.bpf.c", ()),
    # The example that everybody copies: nothing is left out.
    ("vtime", ()),
    # A task of SCHED_ISO may have a CPU for seconds (rule 1.3.14).
    *_rules("bfs", "232 311 424 modern", "-o", "iso_policy=none"),
    *_rules("cfs", "2.6.31 2.6.32 3.6", *BALANCES),  # rules 2.2.11, 2.1.3 and 2.2.5
    *_rules("eevdf", "6.6 6.12 7.2", *BALANCES),  # rule 3.11
    ("o1", ("--idle-ms", "10000", "--starvation-ms", "10000", "--no-real-time")),  # rule 4.10
    # rules 4.10, 5.2 and 5.4
    *_rules("sd", "rsdl sd", "--idle-ms", "10000", "--starvation-ms", "12000", "--no-real-time"),
    # With a queue for each CPU only idle CPUs look elsewhere, as in the kernel's own SCHED_RR and SCHED_FIFO.
    ("rr", ("-o", "queues=shared")),
    ("rr", ("-o", "queues=percpu", "--no-real-time")),
    ("fifo", ("-o", "queues=shared", "--starvation-ms", "12000")),  # rule 6.1.1
    ("fifo", ("-o", "queues=percpu", "--starvation-ms", "12000", "--no-real-time")),
    *_rules("mlfq", "windows textbook", "--starvation-ms", "12000"),  # rule 6.2.5
]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("policy", "options"), POLICIES_AND_WAITS, ids=str)
def test_nothing_is_found(policy: object, options: tuple[str, ...], seed: int) -> None:
    checked = check(str(policy), *options, "--runs", str(RUNS), "--seed", str(seed))
    assert checked.status == 0, checked
    assert checked.data["finding"] is None
    assert checked.data["runs"] == RUNS
    assert checked.data["cut"] <= RUNS // 50
