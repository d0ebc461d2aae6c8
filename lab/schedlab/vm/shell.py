# SPDX-License-Identifier: GPL-2.0-or-later
"""A shell on the guest's console."""

import os
import re
import shutil
import subprocess
import sys

from schedlab.errors import InputError
from schedlab.vm.machine import Guest


def append() -> str:
    """What a shell wants on the kernel's command line: the words it does not know become init's environment."""
    size = shutil.get_terminal_size()
    kind = os.environ.get("TERM", "")
    term = kind if re.fullmatch(r"[\w.+-]+", kind) else "linux"
    return f"quiet TERM={term} COLUMNS={size.columns} LINES={size.lines}"


def interact(guest: Guest) -> int:
    """Give the terminal to the guest until its shell ends (Ctrl-D), or QEMU is ended with Ctrl-A x."""
    if not sys.stdin.isatty():
        raise InputError("schedlab vm shell: standard input is no terminal; use schedlab vm exec -- COMMAND")
    print(f"{guest.tier}, kernel {guest.kernel.release}. End with Ctrl-D, or Ctrl-A x.", file=sys.stderr)
    chardevs = ["-chardev", "stdio,id=console,mux=on,signal=off", "-serial", "chardev:console", "-mon", "console"]
    process = subprocess.Popen(guest.command(chardevs))
    try:
        return process.wait()
    finally:
        process.kill()
        process.wait()
