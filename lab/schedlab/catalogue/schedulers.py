# SPDX-License-Identifier: GPL-2.0-or-later
"""Schedulers: a folder NAME with scx_NAME.bpf.c, described by the first paragraph of its README."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from schedlab import checkout
from schedlab.errors import InputError, unknown

DEFAULT = "default"
DEFAULT_TITLE = "the kernel's own scheduler; in the simulator it means eevdf"


@dataclass(frozen=True)
class Scheduler:
    name: str
    path: Path | None  # its folder, or its .bpf.c file where that was named; None: the kernel's own
    title: str

    @cached_property
    def folder(self) -> Path | None:
        """Where the policy's sources are."""
        return self.path.parent if self.path and self.path.is_file() else self.path


def known() -> dict[str, Scheduler]:
    found = {}
    base = checkout.root() / "schedulers"
    for folder in sorted(base.iterdir()) if base.is_dir() else []:
        if (folder / f"scx_{folder.name}.bpf.c").is_file():
            found[folder.name] = Scheduler(folder.name, folder, _first_paragraph(folder / "README.md"))
    found[DEFAULT] = Scheduler(DEFAULT, None, DEFAULT_TITLE)
    return found


def find(name: str) -> Scheduler:
    """By name, or by the path of a policy's folder or .bpf.c file."""
    if "/" in name or name.endswith(".bpf.c"):
        return _from_path(Path(name))
    schedulers = known()
    if name not in schedulers:
        raise unknown("scheduler", name, schedulers)
    return schedulers[name]


def _from_path(path: Path) -> Scheduler:
    if path.is_dir():
        sources = sorted(path.glob("scx_*.bpf.c"))
        if len(sources) != 1:
            raise InputError(f"{path}: expected one policy file scx_NAME.bpf.c in the folder, found {len(sources)}")
        source = sources[0]
    elif path.is_file():
        source = path
    else:
        raise InputError(f"{path}: no such policy file or folder")
    name = source.name.removesuffix(".bpf.c").removeprefix("scx_")
    if source.name != f"scx_{name}.bpf.c" or not name:
        raise InputError(f"{source}: a policy's file is named scx_NAME.bpf.c")
    if name == DEFAULT:
        raise InputError(f"{source}: the name 'default' is taken by the kernel's own scheduler")
    return Scheduler(name, source.resolve(), _first_paragraph(source.parent / "README.md"))


def _first_paragraph(readme: Path) -> str:
    """The README's first paragraph, in one line; headings and comments are not paragraphs."""
    try:
        lines = readme.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return ""
    paragraph: list[str] = []
    for line in map(str.strip, lines):
        if not line or line.startswith(("#", "<!--")):
            if paragraph:
                break
            continue
        paragraph.append(line)
    return " ".join(paragraph)
