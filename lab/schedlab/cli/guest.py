# SPDX-License-Identifier: GPL-2.0-or-later
"""Options of commands that run something on this machine or in a guest."""

import argparse
from pathlib import Path

from schedlab.capture.tracing import Guest
from schedlab.errors import InputError


def guest(options: argparse.Namespace) -> Guest | None:
    """None: this machine."""
    if options.on == "host":
        if options.file or options.package:
            raise InputError("--file, --package: this machine has its files; only the guest (--on vm) is given some")
        return None
    from schedlab.vm import tiers, tools

    return Guest(
        tier=options.tier,
        cpus=options.cpus,
        memory_mib=tiers.memory_mib(options.memory),
        files=tools.files([], options.package) | dict(map(_file, options.file)),
        limit_s=options.limit,
    )


def _file(text: str) -> tuple[str, Path]:
    """PATH[:GUESTPATH]; without the latter the file lies in /, under its own name."""
    source, _, guest_path = text.partition(":")
    path = Path(source)
    return guest_path or f"/{path.resolve().name}", path
