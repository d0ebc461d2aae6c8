# SPDX-License-Identifier: GPL-2.0-or-later
"""Schedulers: a folder NAME with scx_NAME.bpf.c; by their paths, other such files, objects, snapshots, programs."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

from schedlab import checkout
from schedlab.catalogue import described
from schedlab.errors import InputError, unknown

DEFAULT = "default"
# The one tunable of a program.
OPTIONS = "options"
_SOURCE, _OBJECT, SNAPSHOT = ".bpf.c", ".bpf.o", ".bpf.json"
# What scx's schedulers in Rust call each of their sources, as scx_NAME/src/bpf/main.bpf.c.
_MAIN = "main.bpf.c"


@dataclass(frozen=True)
class Scheduler:
    name: str
    path: Path | None  # its folder, or the file that was named: source, object, program; None: the kernel's own

    @property
    def is_program(self) -> bool:
        """Whether it is a program that loads an object it holds."""
        built = (_SOURCE, _OBJECT, SNAPSHOT)
        return bool(self.path and self.path.is_file() and not self.path.name.endswith(built))

    @property
    def is_snapshot(self) -> bool:
        return bool(self.path and self.path.name.endswith(SNAPSHOT))

    @cached_property
    def origin(self) -> Path | None:
        """What it is made of: the folder of its sources, or its object."""
        if self.path and self.path.is_file() and self.path.name.endswith(_SOURCE):
            return self.path.parent
        return self.path


def known() -> dict[str, Scheduler]:
    found = {}
    base = checkout.root() / "schedulers"
    for folder in sorted(base.iterdir()) if base.is_dir() else []:
        if (folder / f"scx_{folder.name}.bpf.c").is_file():
            found[folder.name] = Scheduler(folder.name, folder)
    found[DEFAULT] = Scheduler(DEFAULT, None)
    return found


def find(name: str) -> Scheduler:
    """By name, or by the path of a policy's folder, .bpf.c file, object, snapshot, or program that holds an object."""
    if is_path(name):
        return _from_path(Path(name))
    schedulers = known()
    if name not in schedulers:
        raise unknown("scheduler", name, schedulers)
    return schedulers[name]


def is_path(name: str) -> bool:
    return "/" in name or name.endswith((_SOURCE, _OBJECT, SNAPSHOT))


def policy_name(file: Path) -> str:
    """What a policy is called whose file this is; main.bpf.c, as the nearest folder that is called scx_NAME."""
    name = file.name.removesuffix(_SOURCE).removesuffix(_OBJECT).removesuffix(SNAPSHOT)
    if file.name == _MAIN:
        folders = (folder.name for folder in file.absolute().parents)
        name = next((folder for folder in folders if folder.startswith("scx_")), name)
    return name.removeprefix("scx_")


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
    name = policy_name(source)
    program = source.name == f"scx_{name}" and _is_elf(source)
    ends = [f"scx_{name}{end}" for end in (_SOURCE, _OBJECT, SNAPSHOT)]
    named = source.name in (*ends, f"{name}{_OBJECT}", f"{name}{SNAPSHOT}", _MAIN)
    if not name or not (program or named):
        raise InputError(
            f"{source}: a policy's file is named scx_NAME.bpf.c, its object scx_NAME.bpf.o or NAME.bpf.o, "
            "its snapshot NAME.bpf.json, and a program that holds one scx_NAME"
        )
    if name == DEFAULT:
        raise InputError(f"{source}: the name 'default' is taken by the kernel's own scheduler")
    return Scheduler(name, source.resolve())


def _is_elf(file: Path) -> bool:
    with file.open("rb") as start:
        return start.read(4) == b"\x7fELF"


def titles(schedulers: Iterable[Scheduler]) -> list[str]:
    """The first paragraph of each one's README."""
    named = [scheduler.path or scheduler.name for scheduler in schedulers]
    return [entry.get("about", "") for entry in described.entries(schedulers=named)["schedulers"]]


@cache
def digest(scheduler: Scheduler) -> str:
    """Of its sources or its object; empty for the kernel's own."""
    if scheduler.path is None:
        return ""
    entry = described.entries(schedulers=[scheduler.path])["schedulers"][0]
    if "error" in entry:
        raise InputError(entry["error"])
    return entry["digest"]


def written(scheduler: object, tunables: Mapping[str, str]) -> str:
    """A scheduler's name or path with its tunables, as the runners read it."""
    return f"{scheduler}:{'+'.join(f'{key}={value}' for key, value in tunables.items())}".removesuffix(":")
