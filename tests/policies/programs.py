# SPDX-License-Identifier: GPL-2.0-or-later
"""The C tests of the policies' headers, built with the run-time checks of undefined behaviour, and run."""

import os
import shutil
import subprocess
from pathlib import Path

TESTS = Path(__file__).resolve().parent
ROOT = TESTS.parents[1]
# For programs that run a policy's binding: sched_ext as plain functions, and what the kernel's compiler does not mind.
SCHED_EXT = ("tests/policies/sched_ext",)
LENIENT = ("-Wno-sign-compare", "-Wno-unused-function", "-Wno-unused-parameter")


def clang() -> str:
    names = [os.environ.get("SCHEDLAB_CLANG", ""), *(f"clang-{version}" for version in range(30, 16, -1)), "clang"]
    return next(name for name in names if name and shutil.which(name))


def names(scheduler: str) -> list[str]:
    """The programs of a scheduler's folder."""
    return sorted(path.stem for path in (TESTS / scheduler).glob("*.c"))


def build(scheduler: str, name: str, folder: Path, *flags: str, include: tuple[str, ...] = ()) -> Path:
    """`include` are folders of the checkout that come before include/ and the scheduler's own."""
    program = folder / name
    command = [clang(), "-std=gnu11", "-g", "-O1", "-Wall", "-Wextra", "-Werror"]
    command += ["-fsanitize=undefined", "-fno-sanitize-recover", *flags]
    for path in (*include, "include", f"schedulers/{scheduler}"):
        command += ["-I", str(ROOT / path)]
    command += [str(TESTS / scheduler / f"{name}.c"), "-lm", "-o", str(program)]
    subprocess.run(command, check=True)
    return program


def run(program: Path, *arguments: str) -> None:
    done = subprocess.run([program, *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
