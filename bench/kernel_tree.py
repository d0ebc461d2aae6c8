# SPDX-License-Identifier: GPL-2.0-or-later
"""A kernel's source with a change in it that can be taken back.

There is one tree for all builds of a source, so that make compiles only what a change touches. Files are kept before
they change, and put back before the next change, even where a build was killed in between.
"""

import re
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from schedlab.errors import InputError, unknown

FEATURES = "kernel/sched/features.h"
_FEATURE = r"SCHED_FEAT\((\w+),\s*(true|false)\)"


@dataclass(frozen=True)
class Tree:
    """The source at `path`; `kept` holds the files that a change replaced, and is there only while it is in."""

    path: Path
    kept: Path

    def restore(self) -> None:
        """Put back what was changed. Files get the time of now, which tells make of them."""
        if not self.kept.is_dir():
            return
        for line in (self.kept / "list").read_text(encoding="utf-8").splitlines():
            was = self.kept / "files" / line
            (self.path / line).unlink(missing_ok=True)
            if was.is_file():
                (self.path / line).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(was, self.path / line)
                shutil.copymode(was, self.path / line)
        shutil.rmtree(self.kept)

    def change(self, patches: Iterable[Path], features: Iterable[str]) -> None:
        """Apply patches, then switch scheduler features. Raises InputError, with the tree as it was."""
        self.restore()
        texts = [(patch, _text(patch)) for patch in patches]
        words = list(features)
        self._keep([name for patch, text in texts for name in touched(text, patch)] + [FEATURES] * bool(words))
        try:
            for patch, text in texts:
                self._apply(patch, text)
            header = self.path / FEATURES
            for word in words:
                header.write_text(switched(header.read_text(encoding="utf-8"), word), encoding="utf-8")
        except BaseException:
            self.restore()
            raise

    def _keep(self, names: Iterable[str]) -> None:
        new = self.kept.with_name(f"{self.kept.name}.new")
        shutil.rmtree(new, ignore_errors=True)
        names = sorted(set(names))
        (new / "files").mkdir(parents=True)
        for name in names:
            if (self.path / name).is_file():
                (new / "files" / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(self.path / name, new / "files" / name)
        (new / "list").write_text("".join(f"{name}\n" for name in names), encoding="utf-8")
        new.rename(self.kept)

    def _apply(self, patch: Path, text: str) -> None:
        command = ["patch", "-p1", "--forward", "--batch", "--no-backup-if-mismatch", "--reject-file=-"]
        done = subprocess.run(command, cwd=self.path, input=text, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise InputError(f"--patch {patch}: does not apply to this kernel: {_refusal(done.stdout + done.stderr)}")


def _text(patch: Path) -> str:
    try:
        return patch.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError as error:
        raise InputError(f"--patch {patch}: cannot be read: {error.strerror}") from error


def touched(text: str, patch: Path) -> list[str]:
    """The files that a patch in git's form, with a/ and b/, changes, creates or removes."""
    names = re.findall(r"^(?:---|\+\+\+) [ab]/(\S+)", text, re.MULTILINE)
    if not names:
        raise InputError(f"--patch {patch}: expected a patch with a/ and b/ before the names, as git writes it")
    for name in names:
        if ".." in Path(name).parts:
            raise InputError(f"--patch {patch}: {name} is outside of the kernel")
    return names


def _refusal(said: str) -> str:
    """The first file of which a part was refused, and the part."""
    file = "a file"
    for line in said.splitlines():
        if found := re.match(r"(?:patching|checking) file (\S+)", line):
            file = found[1]
        elif re.match(r"Hunk #\d+ FAILED", line):
            return f"{file}: {line.rstrip('.')}"
    return next((line.strip() for line in said.splitlines() if line.strip()), "no message")


def switched(header: str, word: str) -> str:
    """features.h with a feature's default changed; `word` as in /sys/kernel/debug/sched/features."""
    known = dict.fromkeys(name for name, _ in re.findall(_FEATURE, header))
    name = word if word in known else word.removeprefix("NO_")
    wanted = "true" if name == word else "false"
    if name not in known:
        raise unknown("scheduler feature", word, known)
    if {value for feature, value in re.findall(_FEATURE, header) if feature == name} == {wanted}:
        raise InputError(f"--feature {word}: is the default of this kernel")
    return re.sub(rf"SCHED_FEAT\({name},\s*(?:true|false)\)", f"SCHED_FEAT({name}, {wanted})", header)
