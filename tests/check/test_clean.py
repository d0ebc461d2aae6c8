# SPDX-License-Identifier: GPL-2.0-or-later
"""Sound policies pass. What a scheduler is known not to promise is not asked of it, and said in docs/checking.md."""

import pytest

from tests.check.conftest import POLICIES, check

# A bound that no run reaches: the question is not asked.
NEVER = "100000"
CFS = ["--idle-ms", NEVER]


@pytest.mark.parametrize(
    ("policy", "options", "runs"),
    [
        (POLICIES / "sound.bpf.c", [], 400),
        ("bfs", ["-o", "rules=232"], 150),
        ("bfs", ["-o", "rules=311"], 150),
        ("bfs", ["-o", "rules=424"], 150),
        ("bfs", ["-o", "rules=modern"], 150),
        # Balances now and then, so that CPUs stand idle meanwhile; its tunables can switch that off.
        # Tasks that hop over an idle CPU go before one that stays (docs/checking.md).
        ("cfs", ["-o", "rules=2.6.31", *CFS, "--starvation-ms", "10000"], 150),
        ("cfs", ["-o", "rules=2.6.32", *CFS, "--starvation-ms", "10000"], 150),
        ("cfs", ["-o", "rules=3.6", *CFS, "--starvation-ms", "10000"], 150),
        # The example that everybody copies: nothing is left out.
        ("vtime", [], 400),
    ],
    ids=str,
)
def test_nothing_is_found(policy: object, options: list[str], runs: int) -> None:
    checked = check(str(policy), *options, "--runs", str(runs))
    assert checked.status == 0, checked
    assert checked.data["finding"] is None
    assert checked.data["runs"] == runs
    assert checked.data["cut"] <= runs // 50
