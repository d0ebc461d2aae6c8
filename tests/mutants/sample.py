# SPDX-License-Identifier: GPL-2.0-or-later
"""The mistakes that make test plants: each with the one test that finds it, so that it needs only that."""

import json
import random
from collections import Counter
from dataclasses import asdict
from pathlib import Path

from tests.mutants import judge
from tests.mutants.judge import Verdict

FILE = Path(__file__).resolve().parent / "sample.json"
# Of what a test takes alone, in s: with a longer one the sample would take too long.
QUICK_S = 3.0


def write(verdicts: list[Verdict], seconds: dict[str, float], count: int, seed: int) -> None:
    """Of those that a quick test killed, drawn by the seed, with no more of a file than of the file with fewest."""
    quick = [v for v in verdicts if v.outcome == judge.KILLED and seconds.get(v.by, QUICK_S) < QUICK_S]
    random.Random(seed).shuffle(quick)
    taken: Counter[str] = Counter()
    ranked = []
    for verdict in quick:
        ranked.append((taken[verdict.mutant.file], verdict))
        taken[verdict.mutant.file] += 1
    ranked.sort(key=lambda pair: pair[0])
    chosen = sorted((verdict.mutant, verdict.by) for _, verdict in ranked[:count])
    entries = [asdict(mutant) | {"test": test} for mutant, test in chosen]
    FILE.write_text(json.dumps(entries, indent=1, ensure_ascii=False) + "\n", "utf-8")
