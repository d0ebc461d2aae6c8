# SPDX-License-Identifier: GPL-2.0-or-later
"""What the checkout is built with."""

import re
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from schedlab.distribution import Distribution
from schedlab.doctor.requirement import Check
from schedlab.system import System

# scripts/toolchain.sh holds the same versions for set-up.
RUST_MIN = (1, 88)
CLANG_MIN = (17,)

HEADERS = {"cc": "stdio.h", "libbpf": "bpf/bpf_helpers.h", "libelf": "libelf.h", "zlib": "zlib.h"}
COMMANDS = ("make", "git", "pkg-config", "busybox", "stress-ng", "cpio", "zstd")
REQUIREMENTS = Path(__file__).parents[2] / "requirements.txt"


def checks(system: System, distribution: Distribution) -> Iterator[Check]:
    yield _versioned(distribution, "rust", RUST_MIN, system.programs("rustc"), system)
    yield _versioned(distribution, "clang", CLANG_MIN, system.programs(r"clang(-\d+)?"), system)
    for name, header in HEADERS.items():
        path = f"/usr/include/{header}"
        yield _present(distribution, name, path if system.at(path).is_file() else "", f"no {path}")
    for name in COMMANDS:
        yield _present(distribution, name, system.which(name), f"no command {name}")
    yield _python()


def _present(distribution: Distribution, name: str, found: str, lacking: str) -> Check:
    return Check("build", name, bool(found), found or lacking, "" if found else distribution.install(name))


def _versioned(
    distribution: Distribution, name: str, minimum: tuple[int, ...], programs: list[str], system: System
) -> Check:
    """The newest of several programs, each of which tells its version after --version."""
    wanted = ".".join(map(str, minimum))
    versions = [(version_of(system.output(path, "--version")), path) for path in programs]
    version, path = max(versions, default=((), ""))
    if version >= minimum:
        return Check("build", name, True, f"{'.'.join(map(str, version))} ({path})")
    detail = f"{'.'.join(map(str, version))} is too old" if version else "none"
    return Check("build", name, False, f"{detail}: {wanted} or newer is needed", distribution.install(name))


def version_of(text: str) -> tuple[int, ...]:
    """The first dotted number in a program's words; empty where there is none."""
    found = re.search(r"\d+(?:\.\d+)+", text)
    return tuple(map(int, found[0].split("."))) if found else ()


def _python() -> Check:
    """Whether this interpreter has the packages of requirements.txt, in these very versions."""
    running = ".".join(map(str, sys.version_info[:3]))
    wanted = re.findall(r"^([\w.-]+)==([^\s;]+)(?![^\n]*;)", REQUIREMENTS.read_text("utf-8"), re.MULTILINE)
    lacking = [f"{name} {version}" for name, version in wanted if _installed(name) != version]
    if not lacking:
        return Check("build", "python", True, f"{running} with {len(wanted)} packages")
    some = ", ".join(lacking[:3]) + (f" and {len(lacking) - 3} more" if len(lacking) > 3 else "")
    return Check("build", "python", False, f"{running} lacks {some}", "make setup")


def _installed(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""
