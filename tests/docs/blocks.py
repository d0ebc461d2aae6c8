# SPDX-License-Identifier: GPL-2.0-or-later
"""The blocks of code of the pages, and the command lines in them."""

import re
import shlex
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

_FENCE = re.compile(r"^(\s*)(`{3,})\s*(\S*)\s*$")
_SPAN = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")


@dataclass(frozen=True)
class Block:
    page: str
    line: int
    language: str
    lines: tuple[str, ...]

    @property
    def place(self) -> str:
        return f"{self.page}:{self.line}"


@dataclass(frozen=True)
class Command:
    """A command of a block; of a session with what it printed."""

    page: str
    line: int
    text: str
    printed: tuple[str, ...] = ()

    @property
    def place(self) -> str:
        return f"{self.page}:{self.line}"


def pages() -> list[str]:
    """Every tracked page, or one that is about to be."""
    command = ["git", "-C", str(ROOT), "ls-files", "--cached", "--others", "--exclude-standard", "-z", "--", "*.md"]
    listed = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    return sorted(name for name in listed.split("\0") if name and (ROOT / name).is_file())


def blocks(page: str, text: str) -> Iterator[Block]:
    """Those between fences; their lines without the fence's own indent."""
    fence = None
    for number, line in enumerate(text.splitlines(), 1):
        if fence is None:
            if found := _FENCE.match(line):
                fence, inside = (found, number), []
        elif (found := _FENCE.match(line)) and found[2] == fence[0][2] and not found[3]:
            yield Block(page, fence[1], fence[0][3], tuple(inside))
            fence = None
        else:
            inside.append(line.removeprefix(fence[0][1]))


def spans(text: str) -> Iterator[tuple[int, str]]:
    """Code within lines, with the numbers of these; what is in blocks is not among it."""
    outside = True
    for number, line in enumerate(text.splitlines(), 1):
        if _FENCE.match(line):
            outside = not outside
        elif outside:
            yield from ((number, span) for span in _SPAN.findall(line))


def commands(block: Block) -> Iterator[Command]:
    """Whole command lines without their comments; a backslash at the end joins a line with the next one."""
    whole, begin = "", block.line
    printed: list[str] = []
    found: tuple[int, str] | None = None
    session = block.language == "console"
    for number, line in enumerate(block.lines, block.line + 1):
        if session and not whole and not line.startswith("$ "):
            printed.append(line)
            continue
        begin = begin if whole else number
        whole += line.removeprefix("$ ") if session and not whole else line
        if whole.endswith("\\"):
            whole = whole[:-1].rstrip() + " "
            continue
        text = _without_comment(whole)
        whole = ""
        if not text:
            continue
        if found:
            yield Command(block.page, *found, tuple(printed))
        found, printed = (begin, text), []
    if found:
        yield Command(block.page, *found, tuple(printed))


def _without_comment(line: str) -> str:
    """A number sign begins a comment where it stands for itself and not in quotes."""
    for at in [match.start() for match in re.finditer(r"(?<!\S)#", line)]:
        if line[:at].count("'") % 2 == 0 and line[:at].count('"') % 2 == 0:
            return line[:at].strip()
    return line.strip()


def simple(text: str) -> list[list[str]]:
    """The words of each program that a command line starts, without assignments in front and without sudo."""
    lexer = shlex.shlex(text.replace("$(", " ; ").replace(")/", " ; /"), posix=True, punctuation_chars="|;&")
    lexer.whitespace_split = True
    lexer.commenters = ""
    found: list[list[str]] = [[]]
    for word in lexer:
        if set(word) <= set("|;&"):
            found.append([])
        elif found[-1] or not (_ASSIGNMENT.match(word) or word == "sudo"):
            found[-1].append(word)
    return [words for words in found if words]


def all_blocks() -> list[Block]:
    return [block for page in pages() for block in blocks(page, (ROOT / page).read_text(encoding="utf-8"))]


def all_commands() -> list[Command]:
    return [command for block in all_blocks() if block.language in ("sh", "console") for command in commands(block)]
