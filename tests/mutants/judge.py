# SPDX-License-Identifier: GPL-2.0-or-later
"""What becomes of one mistake: it is killed by a test, survives them all, or is none."""

from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path

from tests.mutants import pytest_run
from tests.mutants.cover import Test
from tests.mutants.mutant import Mutant
from tests.mutants.subjects import DoesNotCompile, Lab, Policies
from tests.mutants.tree import planted

# A test may take that many times as long as it does without a mistake, and so many seconds more: the first of a run
# waits for the compiler, and others may be busy here. A test that is only late must not count as one that fails.
TIMES, MORE_S = 10, 120

KILLED, SURVIVED, SAME_CODE, EQUIVALENT, NO_CODE = "killed", "survived", "same code", "equivalent", "does not compile"


@dataclass(frozen=True)
class Verdict:
    mutant: Mutant
    line: int
    outcome: str
    by: str = ""
    policies: tuple[str, ...] = ()


class Judge:
    def __init__(self, root: Path, subject: Policies | Lab, tests: list[Test], before: list[Verdict]) -> None:
        """`before`: verdicts that there are already."""
        self.root, self.subject, self.tests = root, subject, tests
        # How many mistakes of a file, and of a folder, a test has found.
        self._kills: dict[str, Counter[str]] = defaultdict(Counter)
        for verdict in before:
            self._count(verdict.mutant.file, verdict.by)

    def judge(self, mutant: Mutant, known: str = "") -> Verdict:
        """`known`: the test that killed it before, which runs first."""
        line = mutant.line(self.root) or 0
        self.subject.prepare(mutant)
        with planted(self.root, mutant):
            try:
                changed = self.subject.changed(mutant)
            except DoesNotCompile:
                return Verdict(mutant, line, NO_CODE)
            if not changed:
                return Verdict(mutant, line, SAME_CODE)
            by = self._killer(mutant, changed, known)
        self._count(mutant.file, by)
        return Verdict(mutant, line, KILLED if by else SURVIVED, by or "", tuple(changed))

    def _count(self, file: str, by: str | None) -> None:
        if by:
            self._kills[file][by] += 1
            self._kills[file.rpartition("/")[0]][by] += 1

    def _killer(self, mutant: Mutant, changed: list[str], known: str) -> str | None:
        """The first that finds it; those come first that found others of this file, then of its folder."""
        of_file, of_folder = self._kills[mutant.file], self._kills[mutant.file.rpartition("/")[0]]
        covering = [test for test in self.tests if self.subject.covers(test, mutant, changed)]
        covering.sort(
            key=lambda test: (test.name != known, -of_file[test.name], -of_folder[test.name], test.seconds, test.name)
        )
        if not covering:
            return None
        files = sorted({test.name.split("::")[0] for test in covering})
        allowed = [(test.name, TIMES * test.seconds + MORE_S) for test in covering]
        return pytest_run.failed(pytest_run.run(self.root, files, allowed))
