# SPDX-License-Identifier: GPL-2.0-or-later
"""What schedlab is built and run with, and what real applications need: programs, headers, packages."""

import re
import sys
from collections.abc import Iterator, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from schedlab import checkout
from schedlab.catalogue import toml, workloads
from schedlab.distribution import INSTALL, Distribution, System
from schedlab.doctor.requirement import Requirement

# scripts/toolchain.sh holds the same versions for set-up.
RUST_MIN = (1, 88)
CLANG_MIN = (17,)

# What an installed schedlab runs: clang makes policies, the others what a guest boots.
COMMANDS_OF_GUESTS = ("busybox", "stress-ng", "cpio", "zstd")
HEADERS = {"cc": "stdio.h", "libbpf": "bpf/bpf_helpers.h", "libelf": "libelf.h", "zlib": "zlib.h"}
COMMANDS = ("make", "git", "pkg-config", *COMMANDS_OF_GUESTS)
REQUIREMENTS = Path(__file__).parents[2] / "requirements.txt"


def of_the_run(system: System, distribution: Distribution) -> Iterator[Requirement]:
    """Where schedlab was installed, and nothing is built but policies."""
    yield _versioned(distribution, "clang", CLANG_MIN, system.programs(r"clang(-\d+)?"), system)
    for name in COMMANDS_OF_GUESTS:
        yield _present(distribution, name, system.which(name), f"no command {name}")
    yield _python_packages([(name, "") for name in _declared()], checkout.mend())


def _declared() -> list[str]:
    """The packages that the installed one asks for."""
    wanted = (re.match(r"[\w.-]+", asked) for asked in metadata.requires("schedlab") or [] if "extra ==" not in asked)
    return [name[0] for name in wanted if name]


def of_the_build(system: System, distribution: Distribution) -> Iterator[Requirement]:
    yield _versioned(distribution, "rust", RUST_MIN, system.programs("rustc"), system)
    yield _versioned(distribution, "clang", CLANG_MIN, system.programs(r"clang(-\d+)?"), system)
    for name, header in HEADERS.items():
        path = f"/usr/include/{header}"
        yield _present(distribution, name, path if system.at(path).is_file() else "", f"no {path}")
    for name in COMMANDS:
        yield _present(distribution, name, system.which(name), f"no command {name}")
    yield _python()


def _present(distribution: Distribution, name: str, found: str, lacking: str) -> Requirement:
    return Requirement("build", name, bool(found), found or lacking, "" if found else distribution.install(name))


def _versioned(
    distribution: Distribution, name: str, minimum: tuple[int, ...], programs: list[str], system: System
) -> Requirement:
    """The newest of several programs, each of which tells its version after --version."""
    wanted = ".".join(map(str, minimum))
    versions = [(version_of(system.output(path, "--version")), path) for path in programs]
    version, path = max(versions, default=((), ""))
    if version >= minimum:
        return Requirement("build", name, True, f"{'.'.join(map(str, version))} ({path})")
    detail = f"{'.'.join(map(str, version))} is too old" if version else "none"
    return Requirement("build", name, False, f"{detail}: {wanted} or newer is needed", distribution.install(name))


def version_of(text: str) -> tuple[int, ...]:
    """The first dotted number in a program's words; empty where there is none."""
    found = re.search(r"\d+(?:\.\d+)+", text)
    return tuple(map(int, found[0].split("."))) if found else ()


def _python() -> Requirement:
    """Whether this interpreter has the packages of requirements.txt, in these very versions."""
    wanted = re.findall(r"^([\w.-]+)==([^\s;]+)(?![^\n]*;)", REQUIREMENTS.read_text("utf-8"), re.MULTILINE)
    return _python_packages(wanted, "make setup")


def _python_packages(wanted: Sequence[tuple[str, str]], mend: str) -> Requirement:
    """By name and version; any does where that is empty."""
    running = ".".join(map(str, sys.version_info[:3]))
    lacking = [f"{name} {version}".strip() for name, version in wanted if not _has(name, version)]
    if not lacking:
        return Requirement("build", "python", True, f"{running} with {len(wanted)} packages")
    some = ", ".join(lacking[:3]) + (f" and {len(lacking) - 3} more" if len(lacking) > 3 else "")
    return Requirement("build", "python", False, f"{running} lacks {some}", mend)


def _has(name: str, version: str) -> bool:
    try:
        return metadata.version(name) == (version or metadata.version(name))
    except metadata.PackageNotFoundError:
        return False


def of_applications(system: System, distribution: Distribution) -> Iterator[Requirement]:
    """A line for each; the workloads name Debian's packages, so only there a command mends a gap."""
    for name, tools in needs().items():
        lacking = _missing(system, tools)
        wanted = " ".join(sorted(set(lacking.values())))
        install = f"{distribution.sudo()}{INSTALL['debian']} {wanted}" if distribution.name == "debian" else ""
        detail = f"lacks {', '.join(lacking)}" if lacking else f"has its {len(tools)} programs and headers"
        yield Requirement("applications", name, not lacking, detail, install if lacking else "", optional=True)


def missing_packages(system: System) -> list[str]:
    """What to install so that all can run."""
    return sorted({package for tools in needs().values() for package in _missing(system, tools).values()})


def needs() -> dict[str, dict[str, str]]:
    """By workload, what it needs and what making its input needs, each with its package."""
    found = {}
    for name, path in workloads.files().items():
        command: dict[str, Any] | None = toml.read(path).get("command")
        if command:
            found[name] = command["tools"] | command.get("input", {}).get("tools", {})
    return found


def _missing(system: System, tools: dict[str, str]) -> dict[str, str]:
    return {tool: package for tool, package in tools.items() if not _is_here(system, tool)}


def _is_here(system: System, tool: str) -> bool:
    """A command, or a path with `*` for a version."""
    if tool.startswith("/"):
        return any(path.is_file() for path in system.root.glob(tool.lstrip("/")))
    return bool(system.which(tool)) or any(system.at(f"{folder}/{tool}").is_file() for folder in ("/usr/sbin", "/sbin"))
