# SPDX-License-Identifier: GPL-2.0-or-later
"""Installed programs for a guest: the files of Debian packages, as they lie on this machine.

A program brings its shared libraries by itself (initramfs.py); what is not a program, such as headers, comes with the
whole package it is in.
"""

import fnmatch
import re
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

from schedlab.errors import PlaceError

# Files that no workload needs; some are larger than all the rest.
_LEFT_OUT = [
    "/usr/share/doc*",
    "/usr/share/man*",
    "/usr/share/info*",
    "/usr/share/locale*",
    "/usr/share/lintian*",
    "*/bitcode/*",
    "*/llvmjit*",
    "*/lto1",
    "*/*lto-dump*",
    "*/lib?san*",
    "*/g++*",
    "*/gprofng*",
]


def files(tools: Iterable[str], packages: Iterable[str]) -> dict[str, Path]:
    """Guest paths and the files here: the programs, and all files of the packages and of what these depend on.

    A program is a name. What is no command, or a header, is a path, with `*` for a version, which a package's name may
    have, too. Raises PlaceError for what is not installed.
    """
    found: dict[str, Path] = {}
    for tool in tools:
        path = _program(tool)
        found[str(path)] = path
    for package in _with_dependencies([_named(package) for package in packages]):
        for path in _listed(package):
            found[str(path)] = path
    return found


def _program(tool: str) -> Path:
    if tool.startswith("/"):
        matches = sorted(Path("/").glob(tool.lstrip("/")))
        if matches:
            return matches[-1]
    elif place := shutil.which(tool, path="/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"):
        return Path(place)
    raise PlaceError(f"{tool} is not installed here, and the guest takes it from here")


def _named(package: str) -> str:
    """The newest of those installed, where the name is a pattern."""
    if not re.search(r"[*?\[]", package):
        return package
    form = "${db:Status-Status}\t${Package}\n"
    lines = [line.split("\t") for line in _query("-W", f"-f={form}", package).splitlines()]
    names = [name for status, name in lines if status == "installed" and re.fullmatch(r"[a-z-]+\d+", name)]
    return max(names, key=lambda name: int(re.sub(r"\D", "", name)), default=package)


def _with_dependencies(packages: list[str]) -> list[str]:
    """Installed dependencies too, except essential ones, whose place busybox takes, and libraries."""
    done: list[str] = []
    waiting = list(packages)
    while waiting:
        package = waiting.pop()
        if package in done:
            continue
        form = "${db:Status-Status}\t${Essential}\t${Section}\t${Pre-Depends}, ${Depends}"
        shown = _query("-W", f"-f={form}\n", package).splitlines()
        fields = shown[0].split("\t") if shown else []
        if not fields or fields[0] != "installed":
            if package in packages:
                raise PlaceError(f"the package {package} is not installed here, and the guest takes it from here")
            continue
        _, essential, section, depends = fields
        if package not in packages and (essential == "yes" or section in {"libs", "oldlibs", "perl", "debug"}):
            continue
        done.append(package)
        waiting += re.findall(r"(?:^|[,|])\s*([a-z0-9][a-z0-9+.-]*)", depends)
    return sorted(done)


def _listed(package: str) -> list[Path]:
    paths = [Path(line) for line in _query("-L", package).splitlines() if line.startswith("/")]
    wanted = [path for path in paths if not any(fnmatch.fnmatchcase(str(path), pattern) for pattern in _LEFT_OUT)]
    return [path for path in wanted if path.is_file()]


def _query(*arguments: str) -> str:
    if shutil.which("dpkg-query") is None:
        raise PlaceError("dpkg-query is missing: a guest's programs are taken from Debian packages installed here")
    return subprocess.run(["dpkg-query", *arguments], capture_output=True, text=True, check=False).stdout
