# SPDX-License-Identifier: GPL-2.0-or-later
"""The commands setup, exec and shell."""

import argparse
import sys
from pathlib import Path

from schedlab.errors import InputError, PlaceError
from schedlab.vm import command, kernel, qemu, shell, tiers


def main(arguments: list[str]) -> int:
    """Run one of the commands and return its exit status."""
    options = _parser().parse_args(arguments)
    return options.action(options)


def _setup(options: argparse.Namespace) -> int:
    try:
        emulator = qemu.find()
    except PlaceError:
        qemu.install(lambda line: print(line, flush=True))
        emulator = qemu.find()
    if options.refresh or not kernel.is_kept(options.kernel):
        print(f"vm: fetching a kernel ({options.kernel})", flush=True)
        booted = kernel.resolve(options.kernel, refresh=options.refresh)
        print(f"vm: QEMU {emulator.version}, kernel {booted.release} ({booted.origin})")
    booted = kernel.resolve(options.kernel)
    return 0


def _exec(options: argparse.Namespace) -> int:
    if not options.words:
        raise InputError("schedlab vm exec: expected a command after --")
    result = command.run(
        options.words,
        dict(map(_file, options.file)),
        tier=options.tier,
        cpus=options.cpus,
        memory_mib=tiers.memory_mib(options.memory),
        topology=options.topology and tiers.topology(options.topology),
        kernel_spec=options.kernel,
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
    append = f"{shell.append()} {options.append}"
    files = dict(map(_file, options.file))
    guest = command.prepare(None, files, {}, options.tier, shape, options.kernel, append, options.disk)
    return shell.interact(guest)


def _file(text: str) -> tuple[str, Path]:
    """PATH[:GUESTPATH]; without the latter the file lies in /, under its own name."""
    source, _, guest_path = text.partition(":")
    path = Path(source)
    return guest_path or f"/{path.resolve().name}", path


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="schedlab vm", description="A stock sched_ext kernel in a virtual command.")
    commands = parser.add_subparsers(required=True, metavar="setup | exec | shell")

    setup = commands.add_parser("setup", help="install QEMU, fetch the kernel; nothing the second time")
    setup.add_argument("--refresh", action="store_true", help="look for a newer kernel")
    setup.set_defaults(action=_setup)

    guest = argparse.ArgumentParser(add_help=False)
    guest.add_argument(
        "--tier",
        choices=["auto", *tiers.TIERS],
        default="auto",
        help="exact: counts instructions, runs are identical; virtual: KVM; emulated: software, a thread per CPU "
        "(default: virtual where KVM boots a guest, else emulated)",
    )
    guest.add_argument("--cpus", type=int, default=1, metavar="N", help="virtual CPUs (default: 1)")
    guest.add_argument("--memory", default="1G", metavar="M", help="512M, 2G (default: 1G)")
    guest.add_argument("--topology", metavar="SxCxT", help="sockets x cores x threads, such as 1x4x2 (default: flat)")
    guest.add_argument(
        "--file",
        action="append",
        default=[],
        metavar="PATH[:GUESTPATH]",
        help="bring a file or folder along, executables with their libraries (default place: /NAME, where commands "
        "are looked for as well)",
    )
    guest.add_argument("--disk", action="store_true", help="files on a disk, not in memory (not in the exact tier)")
    guest.add_argument("--append", default="", metavar="TEXT", help="more for the kernel's command line")

    run = commands.add_parser("exec", parents=[guest], help="run a command in a guest; its exit status is ours")
    run.add_argument("--limit", type=float, default=command.DEFAULT_LIMIT_S, metavar="S", help="seconds (default: 600)")
    run.add_argument("-v", "--verbose", action="store_true", help="say what it ran on and how long it took to boot")
    run.add_argument("words", nargs="*", metavar="-- COMMAND", help="with its arguments")
    run.set_defaults(action=_exec)

    interactive = commands.add_parser("shell", parents=[guest], help="a busybox shell on the guest's console")
    interactive.set_defaults(action=_shell)

    for each in (setup, run, interactive):
        each.add_argument(
            "--kernel",
            default=kernel.SERIES,
            metavar="K",
            help=f"a series, a release, or host (default: {kernel.SERIES}, as Debian has it)",
        )
    return parser
