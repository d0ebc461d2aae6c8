# SPDX-License-Identifier: GPL-2.0-or-later
"""Builds the package: what pyproject.toml names as the build backend; build_wheel.py FOLDER makes the wheel alone.

maturin makes the wheel, of the lab and of schedlab-sim. The loader cannot be one of maturin's programs: it is linked
statically, whereas the simulator opens what it compiles as a shared object, and maturin calls cargo once. So
scripts/build makes both, as it always does, and the loader goes into the wheel as one of its scripts. The command
schedlab is another: maturin takes no entry points beside programs. What all of them look for is in share/schedlab.
"""

import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Mapping
from pathlib import Path

import maturin
from maturin import build_sdist, get_requires_for_build_sdist, get_requires_for_build_wheel

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_wheel",
]

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT / "build" / "wheel"
# What the programs look for, as it lies in the checkout.
FOLDERS = ("include", "machines", "profiles", "published", "schedulers", "studies", "workloads")
# How far simulated numbers are off. What else lies in results is of runs on this machine.
LEDGER = Path("results/agreement/ledger.csv")
NOTES = [ROOT / "target" / "share" / "schedlab" / name for name in ("commit", "engine")]
LOADER = "schedlab-host"
# Who installs the wheel puts the interpreter's path into the first line.
COMMAND = """\
#!python
import sys

from schedlab.cli import main

sys.exit(main())
"""
# The loader is the scheduler by whose name it is called. A wheel holds no links.
SCHEDULER = f"""\
#!python
import os
import sys

os.execv(os.path.join(os.path.dirname(os.path.realpath(__file__)), "{LOADER}"), sys.argv)
"""

Settings = Mapping[str, object] | None
get_requires_for_build_editable = get_requires_for_build_wheel


def prepare_metadata_for_build_wheel(metadata_directory: str, config_settings: Settings = None) -> str:
    _find_tools()
    DATA.mkdir(parents=True, exist_ok=True)
    return maturin.prepare_metadata_for_build_wheel(metadata_directory, config_settings)


def build_wheel(wheel_directory: str, config_settings: Settings = None, metadata_directory: str | None = None) -> str:
    _find_tools()
    _run("scripts/build")
    _lay_out()
    return maturin.build_wheel(wheel_directory, config_settings, metadata_directory)


def build_editable(
    wheel_directory: str, config_settings: Settings = None, metadata_directory: str | None = None
) -> str:
    """The checkout itself is used, with its data and programs."""
    _find_tools()
    _run("scripts/build")
    shutil.rmtree(DATA, ignore_errors=True)
    DATA.mkdir()
    return maturin.build_editable(wheel_directory, config_settings, metadata_directory)


def _find_tools() -> None:
    """Puts the checkout's cargo and this environment's maturin on the PATH, or says what has to be installed."""
    _run("scripts/setup", "programs")
    path = _run("bash", "-c", '. scripts/toolchain.sh && use_toolchain && echo "$PATH"').strip()
    os.environ["PATH"] = os.pathsep.join([path, sysconfig.get_path("scripts")])


def _lay_out() -> None:
    """What goes into the wheel beside maturin's own."""
    shutil.rmtree(DATA, ignore_errors=True)
    shared = DATA / "data" / "share" / "schedlab"
    for folder in FOLDERS:
        shutil.copytree(ROOT / folder, shared / folder)
    (shared / LEDGER).parent.mkdir(parents=True)
    shutil.copy(ROOT / LEDGER, shared / LEDGER)
    for note in NOTES:
        if note.exists():
            shutil.copy(note, shared)
    programs = DATA / "scripts"
    programs.mkdir()
    shutil.copy2(ROOT / "target" / "release" / LOADER, programs)
    schedulers = [link.name for link in (ROOT / "build" / "bin").iterdir()]
    for name, text in {"schedlab": COMMAND, **dict.fromkeys(schedulers, SCHEDULER)}.items():
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)


def _run(*command: str) -> str:
    """What it prints. Ends this program where it fails, which has then said why."""
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        sys.exit(done.returncode)
    return done.stdout


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("build_wheel.py: expected one argument, the folder for the wheel")
    Path(sys.argv[1]).mkdir(parents=True, exist_ok=True)
    print(build_wheel(sys.argv[1]))
