# SPDX-License-Identifier: GPL-2.0-or-later
"""schedlab vm: set up the virtual machine, run a command or a shell in a guest.

The options that name a guest, which `record` and `calibrate` have too, are read here.
"""

import argparse
import sys
from pathlib import Path

from schedlab.capture.tracing import Guest
from schedlab.errors import InputError, PlaceError
from schedlab.vm import command, kernel, qemu, tiers, tools


def vm(options: argparse.Namespace) -> int:
    return {"setup": _setup, "exec": _exec, "shell": _shell}[options.action](options)


def _setup(options: argparse.Namespace) -> int:
    try:
        emulator = qemu.find()
    except PlaceError:
        qemu.install(lambda line: print(line, flush=True))
        emulator = qemu.find()
    wanted = options.kernel or kernel.SERIES
    if options.refresh or not kernel.is_kept(wanted):
        print(f"vm: fetching a kernel ({wanted})", flush=True)
        booted = kernel.resolve(wanted, refresh=options.refresh)
        print(f"vm: QEMU {emulator.version}, kernel {booted.release} ({booted.origin})")
    kernel.resolve(wanted)
    return 0


def _exec(options: argparse.Namespace) -> int:
    words = options.words + options.passed_on
    if not words:
        raise InputError("schedlab vm exec: expected a command after --")
    result = command.run(
        words,
        dict(map(_file, options.file)),
        tier=options.tier,
        cpus=options.cpus,
        memory_mib=tiers.memory_mib(options.memory),
        topology=options.topology and tiers.topology(options.topology),
        kernel_spec=options.kernel or kernel.SERIES,
        append=options.append,
        on_disk=options.disk,
        limit_s=options.limit,
        on_line=lambda line: print(line, flush=True),
        on_error_line=lambda line: print(line, file=sys.stderr, flush=True),
    )
    if options.verbose:
        print(
            f"vm: {result.tier}, kernel {result.kernel_release}, QEMU {result.qemu_version}, booted in "
            f"{result.boot_s:.1f} s; console {result.console_path}",
            file=sys.stderr,
        )
    return result.exit_code


def _shell(options: argparse.Namespace) -> int:
    shape = tiers.Shape(
        options.cpus, tiers.memory_mib(options.memory), options.topology and tiers.topology(options.topology)
    )
    append = f"{command.append()} {options.append}"
    files = dict(map(_file, options.file))
    guest = command.prepare(None, files, {}, options.tier, shape, options.kernel or kernel.SERIES, append, options.disk)
    return command.interact(guest)


def guest(options: argparse.Namespace) -> Guest | None:
    """None: this machine."""
    if options.on == "host":
        if options.file or options.package:
            raise InputError("--file, --package: this machine has its files; only the guest (--on vm) is given some")
        return None
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
