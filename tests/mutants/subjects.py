# SPDX-License-Identifier: GPL-2.0-or-later
"""What mistakes are planted in, and whether one of them changes anything: policies in C, and the lab's arithmetic."""

import ast
import functools
import hashlib
import subprocess
from pathlib import Path

from tests.mutants import btf, cover, includes
from tests.mutants.cover import Test
from tests.mutants.mutant import Mutant
from tests.mutants.tree import ROOT, environment
from tests.policies.schedules import simulator


class DoesNotCompile(Exception):
    """It is no mistake that anybody could make and keep."""


class Policies:
    """`schedulers/`: a mistake counts where it changes the BPF object of a policy, and that policy's tests cover it.

    Its C programs cover the headers that they include.
    """

    folders = cover.POLICIES
    suffixes = (".h", ".c")

    @staticmethod
    def files() -> list[str]:
        found = [path for path in ROOT.glob("schedulers/*/*") if path.suffix in Policies.suffixes]
        return sorted(path.relative_to(ROOT).as_posix() for path in found)

    def __init__(self, root: Path) -> None:
        self.root = root
        self._originals: dict[str, str] = {}

    @functools.cached_property
    def _includers(self) -> dict[str, list[str]]:
        includers: dict[str, list[str]] = {}
        for source in sorted((self.root / "schedulers").glob("*/scx_*.bpf.c")):
            for file in includes.closure(source):
                includers.setdefault(file.relative_to(self.root.resolve()).as_posix(), []).append(source.parent.name)
        return includers

    def prepare(self, mutant: Mutant) -> None:
        """Before the mistake is planted: what it is to be held against."""
        for policy in self._includers.get(mutant.file, []):
            if policy not in self._originals:
                self._originals[policy] = self._object(policy)

    def changed(self, mutant: Mutant) -> list[str]:
        """With the mistake planted: the policies that are others now."""
        return [name for name in self._includers.get(mutant.file, []) if self._object(name) != self._originals[name]]

    def covers(self, test: Test, mutant: Mutant, changed: list[str]) -> bool:
        if test.files:
            return mutant.file in test.files
        return not set(changed).isdisjoint(test.policies)

    def _object(self, policy: str) -> str:
        out = self.root.parent / "policy.bpf.o"
        command = [simulator(), "object", f"schedulers/{policy}", out]
        built = subprocess.run(command, cwd=self.root, env=environment(self.root), capture_output=True, text=True)
        if built.returncode:
            raise DoesNotCompile(built.stderr)
        return btf.essence(out.read_bytes())


class Lab:
    """The lab's statistics and the score: tests that call something of a file cover it."""

    folders = cover.LAB
    suffixes = (".py",)

    @staticmethod
    def files() -> list[str]:
        found = [*ROOT.glob("lab/schedlab/statistics/*.py"), ROOT / "lab/schedlab/studies/score.py"]
        return sorted(path.relative_to(ROOT).as_posix() for path in found)

    def __init__(self, root: Path) -> None:
        self.root = root
        self.before = ""

    def prepare(self, mutant: Mutant) -> None:
        self.before = self._tree(mutant)

    def changed(self, mutant: Mutant) -> list[str]:
        return [mutant.file] if self._tree(mutant) != self.before else []

    def covers(self, test: Test, mutant: Mutant, changed: list[str]) -> bool:
        return mutant.file in test.files

    def _tree(self, mutant: Mutant) -> str:
        try:
            tree = ast.parse((self.root / mutant.file).read_text("utf-8"))
        except SyntaxError as error:
            raise DoesNotCompile(str(error)) from error
        return hashlib.sha256(ast.dump(tree).encode()).hexdigest()


def of_file(file: str) -> type[Policies] | type[Lab]:
    return Lab if file.endswith(".py") else Policies
