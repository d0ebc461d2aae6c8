# SPDX-License-Identifier: GPL-2.0-or-later
"""Which real applications can run here, and the packages with what they lack."""

from collections.abc import Iterator
from typing import Any

from schedlab.catalogue import toml, workloads
from schedlab.distribution import INSTALL, Distribution
from schedlab.doctor.requirement import Check
from schedlab.system import System


def checks(system: System, distribution: Distribution) -> Iterator[Check]:
    """A line for each; the workloads name Debian's packages, so only there a command mends a gap."""
    for name, tools in needs().items():
        lacking = _missing(system, tools)
        wanted = " ".join(sorted(set(lacking.values())))
        install = f"{distribution.sudo()}{INSTALL['debian']} {wanted}" if distribution.name == "debian" else ""
        detail = f"lacks {', '.join(lacking)}" if lacking else f"has its {len(tools)} programs and headers"
        yield Check("applications", name, not lacking, detail, install if lacking else "", optional=True)


def packages(system: System) -> list[str]:
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
