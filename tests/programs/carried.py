# SPDX-License-Identifier: GPL-2.0-or-later
"""A program that carries a scheduler, as users have them installed: the loader's example `carrier` with an object."""

import subprocess
from pathlib import Path

from schedlab import checkout

ROOT = Path(__file__).parents[2]
SOURCE = Path(__file__).with_name("carried.bpf.c")


def build(folder: Path) -> Path:
    """The program `scx_carried`, in this folder."""
    target = ROOT / "target"
    words = ["cargo", "build", "--quiet", "--locked", "--package=loader", "--example=carrier", "--target-dir", target]
    subprocess.run(words, cwd=ROOT, check=True)
    carried = folder / "carried.bpf.o"
    subprocess.run([checkout.need_binary("schedlab-sim"), "object", SOURCE, carried], check=True)
    carrier, program = folder / "carrier", folder / "scx_carried"
    # It reads itself to find what it carries, which takes an emulated machine long enough without what debuggers want.
    subprocess.run(["strip", "-o", carrier, target / "debug" / "examples" / "carrier"], check=True)
    program.write_bytes(carrier.read_bytes() + carried.read_bytes())
    program.chmod(0o755)
    return program
