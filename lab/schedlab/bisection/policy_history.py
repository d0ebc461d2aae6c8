# SPDX-License-Identifier: GPL-2.0-or-later
"""The commits of a policy's file or folder as steps, each as its commit has it.

The line of first parents is walked, on which every commit has all that those before it have; a merge stands for what
came by it. A commit's files are taken out of git's archive into a folder of their own, so that the repository and its
work tree stay as they are. With the policy's folder come those beside it, from which policies include.
"""

import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from schedlab.atomic import write_errors_explained
from schedlab.bisection.step import Step
from schedlab.catalogue import schedulers
from schedlab.errors import InputError, LabError, PlaceError

_SHORT = 12


@dataclass(frozen=True)
class History:
    """Of one policy in one repository."""

    top: Path
    policy: Path  # file or folder, below top
    tunables: str  # as they were written, with their colon
    folder: Path  # where commits' files lie for as long as they are used

    def steps(self, good: str, worse: str) -> list[Step]:
        """The good end, and each commit after it that changed the policy, oldest first."""
        first, last = self._commit(good, "--from"), self._commit(worse, "--to")
        if self._git("merge-base", "--is-ancestor", first, last).returncode:
            raise InputError(f"--from {good}: expected a commit before {worse} (--to) in its history")
        shown = ["log", "--first-parent", "--reverse", "--format=%H %s"]
        begin = self._lines(*shown, "-1", first)
        changed = self._lines(*shown, f"{first}..{last}", "--", str(self.policy))
        if not changed:
            raise InputError(f"--from {good}, --to {worse}: no commit between them changes {self.policy}")
        return [self._step(*line.partition(" ")[::2]) for line in [*begin, *changed]]

    def merged(self, commit: str) -> tuple[str, str] | None:
        """Of a merge, from where to where its own commits go; None for any other commit."""
        parents = self._lines("log", "-1", "--format=%P", commit)[0].split()
        if len(parents) < 2:
            return None
        return self._lines("merge-base", *parents[:2])[0][:_SHORT], parents[1][:_SHORT]

    @contextmanager
    def files(self) -> Iterator[None]:
        """Nothing of the commits is left when the context ends, nor of one that was killed before."""
        shutil.rmtree(self.folder, ignore_errors=True)
        try:
            yield
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)

    def _step(self, commit: str, subject: str) -> Step:
        return Step(commit[:_SHORT], subject, partial(self._there, commit))

    @contextmanager
    def _there(self, commit: str) -> Iterator[str]:
        """The commit's policy, as compare reads it."""
        # Always the same path for a commit: what was compiled from it is found again.
        place = self.folder / commit[:_SHORT]
        try:
            with write_errors_explained(place):
                place.mkdir(parents=True, exist_ok=True)
                self._unpack(commit, place)
            policy = place / self.policy
            if not policy.exists():
                raise InputError(f"{self.policy} is not there in this commit")
            yield f"{policy}{self.tunables}"
        finally:
            shutil.rmtree(place, ignore_errors=True)

    def _unpack(self, commit: str, place: Path) -> None:
        holder = self.policy if (self.top / self.policy).is_dir() else self.policy.parent
        command = ["git", "-C", str(self.top), "archive", "--format=tar", commit, "--", str(holder.parent)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as git:
            assert git.stdout
            assert git.stderr
            try:
                with tarfile.open(fileobj=git.stdout, mode="r|") as files:
                    files.extractall(place, filter="data")
            except tarfile.TarError as error:
                said = git.stderr.read().decode("utf-8", "replace").strip().splitlines()
                raise LabError(said[-1] if said else f"its files cannot be unpacked: {error}") from error

    def _commit(self, name: str, option: str) -> str:
        found = self._git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
        if found.returncode:
            raise InputError(f"{option} {name}: no such commit in {self.top}")
        return found.stdout.strip()

    def _lines(self, *words: str) -> list[str]:
        done = self._git(*words)
        if done.returncode:
            raise LabError(f"git {words[0]}: {(done.stderr.strip().splitlines() or ['failed'])[-1]}")
        return done.stdout.splitlines()

    def _git(self, *words: str) -> "subprocess.CompletedProcess[str]":
        return _git(self.top, *words)


def of(text: str, folder: Path) -> History:
    """Of a policy as compare reads it: a name, or the path of a folder or a .bpf.c file, with tunables."""
    name, colon, tunables = text.partition(":")
    scheduler = schedulers.find(name)
    path = scheduler.path
    sources = path and (path.is_dir() or path.name.endswith(".bpf.c"))
    if path is None or not sources:
        raise InputError(f"--policy {name}: expected a policy's folder or its .bpf.c file")
    # A folder that was named stands for all that is in it, and not for its one .bpf.c file.
    given = Path(name) if schedulers.is_path(name) else path
    given = given.resolve()
    beside = given if given.is_dir() else given.parent
    found = _git(beside, "rev-parse", "--show-toplevel")
    if found.returncode:
        said = (found.stderr.strip().splitlines() or ["it is in no git repository"])[-1]
        raise InputError(f"--policy {name}: {said.removeprefix('fatal: ')}")
    top = Path(found.stdout.strip())
    return History(top, given.relative_to(top.resolve()), f"{colon}{tunables}", folder)


def _git(folder: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    try:
        return subprocess.run(["git", "-C", str(folder), *words], capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise PlaceError("git is not installed, which knows a policy's history") from error
