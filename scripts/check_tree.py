# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks every tracked file: its licence line is there, and nothing that belongs to one machine or one mirror.

check_tree.py [ROOT]    the checkout; the current folder where none is named
"""

import re
import subprocess
import sys
from pathlib import Path

# Policies and what they include are the kernel's; everything else may also be had under a later version.
KERNELS_FOLDERS = {"schedulers", "include"}


def licence_line(name: str) -> str:
    licence = "GPL-2.0-only" if Path(name).parts[0] in KERNELS_FOLDERS else "GPL-2.0-or-later"
    return f"SPDX-License-Identifier: {licence}"


# Files that cannot carry a comment, or are written by a tool.
NO_LICENCE_LINE = {".csv", ".json", ".lock", ".proptest-regressions"}
NO_LICENCE_LINE_NAMES = {"LICENSE"}
# What a program printed, kept to the letter.
NO_LICENCE_LINE_FOLDERS = {"snapshots"}

# The licence line may follow a #! line, an encoding, or an opening <!DOCTYPE>.
HEAD_LINES = 3

# Package registries and mirrors: which one serves a machine is that machine's own affair.
REGISTRY = re.compile(
    r"(?:pypi|pythonhosted|npmjs|maven)[.]org|crates[.]io|proxy[.]golang[.]org|static[.]rust-lang[.]org"
    r"|(?:deb|security|snapshot|backports|ftp(?:[.]\w+)?)[.]debian[.]org"
)
# Folders of one person or one machine; /sys/kernel/sched_ext/root/ops is none.
MACHINE_PATH = re.compile(r"(?<![\w.$}*-])/(?:root|home|work|Users)/\w")
# Cargo writes the name of its registry into the lock file.
MAY_NAME_REGISTRY = {"Cargo.lock"}


def faults(root: Path, name: str) -> list[str]:
    try:
        text = (root / name).read_text("utf-8")
    except UnicodeDecodeError:
        return [f"{name}: not UTF-8 text: binary files do not belong in the tree"]
    lines = text.splitlines()
    found = []
    path = Path(name)
    exempt = (
        path.suffix in NO_LICENCE_LINE
        or path.name in NO_LICENCE_LINE_NAMES
        or not NO_LICENCE_LINE_FOLDERS.isdisjoint(path.parts[:-1])
    )
    wanted = licence_line(name)
    if lines and not exempt and not any(wanted in line for line in lines[:HEAD_LINES]):
        found.append(f"{name}:1: no line {wanted!r} among the first {HEAD_LINES}")
    for number, line in enumerate(lines, 1):
        if name not in MAY_NAME_REGISTRY and (match := REGISTRY.search(line)):
            found.append(f"{name}:{number}: names a package registry: {match[0]}")
        if match := MACHINE_PATH.search(line):
            found.append(f"{name}:{number}: a path of one machine: {match[0]}…")
    return found


def main(root: str = ".") -> int:
    listed = subprocess.run(["git", "-C", root, "ls-files", "-z"], check=True, stdout=subprocess.PIPE).stdout
    names = [name for name in listed.decode().split("\0") if name and (Path(root) / name).is_file()]
    found = [fault for name in names for fault in faults(Path(root), name)]
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
