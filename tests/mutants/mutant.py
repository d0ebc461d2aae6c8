# SPDX-License-Identifier: GPL-2.0-or-later
"""One planted mistake: a line of a file that becomes another one."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, order=True)
class Mutant:
    """`nth` of the lines of the file that read like this one, from 0: so it stays the same when others move it."""

    file: str
    was: str
    becomes: str
    nth: int = 0

    def line(self, root: Path) -> int | None:
        """The number of its line, from 1; none where the file has no such line any more."""
        path = root / self.file
        lines = path.read_text("utf-8").splitlines() if path.is_file() else []
        same = [number for number, text in enumerate(lines, 1) if text.strip() == self.was]
        return same[self.nth] if self.nth < len(same) else None

    def plant(self, root: Path) -> None:
        """Into a copy of the tree. Indentation stays, which Python needs."""
        number = self.line(root)
        if number is None:
            raise ValueError(f"{self.file} has no such line: {self.was}")
        path = root / self.file
        lines = path.read_text("utf-8").splitlines()
        text = lines[number - 1]
        lines[number - 1] = text[: len(text) - len(text.lstrip())] + self.becomes
        path.write_text("\n".join(lines) + "\n", "utf-8")


def of(entry: dict) -> Mutant:
    """As files of results, of the sample and of equivalents have it."""
    return Mutant(entry["file"], entry["was"], entry["becomes"], entry.get("nth", 0))
