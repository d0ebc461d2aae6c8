#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Build a small kernel from Debian's source for a guest, with one change or without: a column for `compare`.

    bench/kernel.py -o build/kernels/plain
    bench/kernel.py --feature NO_DELAY_DEQUEUE -o build/kernels/no-delay-dequeue

The source is that of the cloud kernel which --kernel SERIES boots; its configuration is the cloud kernel's as far as a
guest needs it (kernel_config.py). All builds of a source share a tree and its objects, in the cache, so that only what
a change touches is compiled again.
"""

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "lab"))

import kernel_config
from kernel_tree import Tree

from schedlab import atomic, cache
from schedlab.errors import INTERRUPTED, LabError, PlaceError
from schedlab.vm import apt, candidates
from schedlab.vm import kernel as kernels
from schedlab.vm.apt import Apt
from schedlab.vm.kernel import Kernel

# What a build runs or includes, and the package that has it.
PROGRAMS = {name: name for name in "bc bison flex gcc make patch perl tar zstd".split()} | {
    "ld": "binutils",
    "xz": "xz-utils",
}
HEADERS = {"gelf.h": "libelf-dev", "zlib.h": "zlib1g-dev"}
# Policies load by the type information that it writes. Linux 7 asks for 1.26, Debian 12 has 1.24, and kernels that were
# built with Debian 13's lacked some of it (candidates.py).
PAHOLE_SUITE = "sid"
IMAGE = "arch/x86/boot/bzImage"


@dataclass(frozen=True)
class Work:
    """A source in the cache and all that belongs to it."""

    home: Path

    @property
    def tree(self) -> Tree:
        return Tree(self.home / "source", self.home / "kept")

    @property
    def objects(self) -> Path:
        return self.home / "objects"

    @property
    def log(self) -> Path:
        return self.home / "build.log"

    def make(self, release_suffix: str, jobs: int, target: str, **environment: str) -> None:
        """Raises LabError with the first error of the build."""
        command = ["make", "-s", "-C", str(self.tree.path), f"-j{jobs}", f"O={self.objects}", f"PAHOLE={pahole()}"]
        command += [f"LOCALVERSION={release_suffix}", "KBUILD_BUILD_USER=schedlab", "KBUILD_BUILD_HOST=schedlab"]
        command += ["KBUILD_BUILD_TIMESTAMP=2026-01-01", "KBUILD_BUILD_VERSION=1", target]
        with open(self.log, "w", encoding="utf-8") as log:
            given = {**os.environ, "LC_ALL": "C", **environment}
            done = subprocess.run(command, stdout=log, stderr=subprocess.STDOUT, env=given, check=False)
        if done.returncode != 0:
            lines = self.log.read_text("utf-8", "replace").splitlines()
            first = next(
                (line for line in lines if re.search(r"error:|\*\*\*|undefined reference", line)), "no message"
            )
            raise LabError(f"the kernel does not build: {first.strip()} (all of it: {self.log})")


def say(text: str) -> None:
    print(f"kernel: {text}", file=sys.stderr, flush=True)


def need_tools() -> None:
    """Raises PlaceError with the command that installs what is missing."""
    lacking = {package for program, package in PROGRAMS.items() if shutil.which(program) is None}
    lacking |= {package for header, package in HEADERS.items() if not lacking and not _included(header)}
    if lacking:
        names = " ".join(sorted(lacking))
        raise PlaceError(f"a kernel cannot be built here yet: apt-get install {names}")


def _included(header: str) -> bool:
    command = ["gcc", "-fsyntax-only", "-x", "c", "-include", header, os.devnull]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def work(cloud: Kernel, series: str) -> Work:
    """The source of a cloud kernel, fetched the first time."""
    version = cloud.release.partition("+")[0].partition("-")[0]
    home = cache.directory("built", version)
    if not (home / "source").is_dir():
        archive = _archive_with(f"linux-source-{series}", version)
        with tempfile.TemporaryDirectory(prefix="source-", dir=home) as scratch:
            archive.unpack([f"linux-source-{series}"], Path(scratch))
            [packed] = Path(scratch).glob("usr/src/linux-source-*.tar.xz")
            subprocess.run(["tar", "-C", scratch, "-xf", str(packed)], check=True)
            Path(scratch, f"linux-source-{series}").rename(home / "source")
    return Work(home)


def _archive_with(package: str, version: str) -> Apt:
    """The suite whose package is of the same version. Raises PlaceError, naming what there is."""
    others = []
    for suite in candidates.SUITES:
        archive = Apt(suite, {apt.mirror(): [suite]})
        archive.update()
        found = archive.candidate(package)
        if found and re.match(rf"{re.escape(version)}[-+~]", found):
            say(f"fetching {package} {found} from Debian {suite}")
            return archive
        if found:
            others.append(f"{found} in {suite}")
    there = ", ".join(others) or "none"
    raise PlaceError(
        f"Debian has no {package} of {version} now, the cloud kernel of this series here; it has {there}. "
        f"Where that is newer, run: schedlab vm setup --refresh"
    )


def pahole() -> Path:
    """A pahole that is new enough, as a command: with the loader and the libraries of its suite around it."""
    home = cache.root() / "built" / "pahole"
    command = home / "run"
    if not command.exists():
        archive = Apt(PAHOLE_SUITE, {apt.mirror(): [PAHOLE_SUITE]})
        archive.update()
        say(f"fetching pahole {archive.candidate('pahole')} from Debian {PAHOLE_SUITE}")
        archive.unpack(archive.needed_by("pahole"), home)
        loader = [home / "usr/lib64/ld-linux-x86-64.so.2", "--library-path", home / "usr/lib/x86_64-linux-gnu"]
        words = shlex.join(map(str, [*loader, home / "usr/bin/pahole"]))
        cache.write(command, f'#!/bin/sh\nexec {words} "$@"\n')
        command.chmod(0o755)
    return command


def build(options: argparse.Namespace) -> Kernel:
    """The kernel, in the folder that was asked for and fit for a guest."""
    changed = kernel_config.asked(options.config)
    need_tools()
    cloud = kernels.resolve(options.series)
    with cache.lock("built"):
        place = work(cloud, options.series)
        place.tree.change(options.patch, options.feature)
        place.objects.mkdir(exist_ok=True)
        suffix = "-" + re.sub(r"[^\w.-]", "-", options.output.resolve().name)
        seed = place.home / "options"
        cache.write(seed, kernel_config.of_guest(cloud.config.read_text("utf-8"), changed))
        place.make(suffix, options.jobs, "allnoconfig", KCONFIG_ALLCONFIG=str(seed))
        made = (place.objects / ".config").read_text("utf-8")
        kernel_config.check(made, changed)
        say(f"building {place.home.name}{suffix}; what the compiler says is in {place.log}")
        place.make(suffix, options.jobs, "bzImage")
        options.output.mkdir(parents=True, exist_ok=True)
        image = options.output / "bzImage"
        atomic.write(options.output / "config", made)
        atomic.write(image, (place.objects / IMAGE).read_bytes())
    return kernels.resolve(str(image.absolute()))


def arguments(words: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description="A kernel from Debian's source for a guest, with one change or without."
    )
    parser.add_argument("--series", default=kernels.SERIES, help=f"of Debian's kernels (default: {kernels.SERIES})")
    parser.add_argument(
        "--feature",
        action="append",
        default=[],
        metavar="WORD",
        help="switch the default of a scheduler feature: a word of kernel/sched/features.h, NO_ before it for off",
    )
    parser.add_argument(
        "--patch", action="append", default=[], type=Path, metavar="FILE", help="apply a patch, as git writes it"
    )
    parser.add_argument(
        "--config", action="append", default=[], metavar="NAME=VALUE", help="an option, such as HZ_1000=y"
    )
    parser.add_argument("-j", "--jobs", type=int, default=len(os.sched_getaffinity(0)), help="default: one a CPU")
    parser.add_argument(
        "-o", "--output", type=Path, required=True, help="folder for bzImage and config; it names the release"
    )
    options = parser.parse_args(words)
    if not re.fullmatch(r"\d+\.\d+", options.series):
        parser.error(f"--series {options.series}: expected a series such as {kernels.SERIES}")
    if options.jobs < 1:
        parser.error(f"--jobs {options.jobs}: expected 1 or more")
    if options.output.exists() and not options.output.is_dir():
        parser.error(f"--output {options.output}: expected a folder")
    return options


def main() -> int:
    options = arguments()
    started_at = time.monotonic()
    try:
        kernel = build(options)
    except LabError as error:
        print(f"bench/kernel.py: {error}", file=sys.stderr)
        return error.status
    except KeyboardInterrupt:
        return INTERRUPTED
    print(f"{options.output / 'bzImage'}: {kernel.release}, {time.monotonic() - started_at:.0f} s")
    if kernel.without_policies:
        print(f"runs its own scheduler alone: {kernel.without_policies}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
