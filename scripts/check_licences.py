# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks that every dependency may be combined with what uses it.

Rust crates are linked into programs that load or embed policies, which are GPL-2.0-only: the licence of each must leave
a choice that GPL-2.0-only can take. An expression such as `MIT OR Apache-2.0` does, `Apache-2.0` alone does not. Python
packages meet only the lab and the tests, which are GPL-2.0-or-later: there `Apache-2.0`, which version 3 can take, will
do as well.

    check_licences.py [MANIFEST_DIR]    the folder of Cargo.toml; the current one where none is named
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import metadata

# Licences whose code may become part of a GPL-2.0-only work. The exception of LLVM is for that very purpose.
COMPATIBLE = frozenset(
    """
    0BSD Apache-2.0+LLVM-exception BSD-2-Clause BSD-3-Clause BSL-1.0 CC0-1.0 GPL-2.0-only GPL-2.0-or-later ISC
    LGPL-2.1-only LGPL-2.1-or-later MIT MIT-0 MPL-2.0 PSF-2.0 Unicode-3.0 Unlicense Zlib
    """.split()
)

# Older packages name their licence in words only; these are the words in use, nothing else is guessed.
WORDS = {
    "MIT License": "MIT",
    "The MIT License": "MIT",
    "BSD": "BSD-3-Clause",
    "BSD License": "BSD-3-Clause",
    "3-Clause BSD License": "BSD-3-Clause",
    "BSD-3-Clause License": "BSD-3-Clause",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Apache Software License": "Apache-2.0",
    "Apache 2.0": "Apache-2.0",
    "apache-2.0": "Apache-2.0",
}

# What a GPL-2.0-or-later work can take besides, by way of version 3.
COMPATIBLE_WITH_LATER = COMPATIBLE | {"Apache-2.0"}


def leaves_choice(expression: str, choices: frozenset[str]) -> bool:
    """Whether an SPDX expression leaves a choice that is among `choices`. Raises ValueError where it is not one."""
    text = expression.replace("/", " OR ")  # the form that Cargo used before SPDX
    text = re.sub(r"\s+WITH\s+", "+", text)
    tokens = re.findall(r"[()]|[^\s()]+", text)

    def either() -> bool:
        found = both()
        while tokens and tokens[0] == "OR":
            tokens.pop(0)
            found = both() or found
        return found

    def both() -> bool:
        found = one()
        while tokens and tokens[0] == "AND":
            tokens.pop(0)
            found = one() and found
        return found

    def one() -> bool:
        token = tokens.pop(0) if tokens else ""
        if token == "(":
            found = either()
            if not tokens or tokens.pop(0) != ")":
                raise ValueError(f"no licence expression: {expression!r}")
            return found
        if token in ("", ")", "OR", "AND"):
            raise ValueError(f"no licence expression: {expression!r}")
        return token in choices

    found = either()
    if tokens:
        raise ValueError(f"no licence expression: {expression!r}")
    return found


def rust_licences(folder: str) -> Iterator[tuple[str, str]]:
    command = ["cargo", "metadata", "--format-version", "1", "--locked", "--manifest-path", f"{folder}/Cargo.toml"]
    for package in json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)["packages"]:
        yield f"crate {package['name']} {package['version']}", package["license"] or ""


def python_licences() -> Iterator[tuple[str, str]]:
    """Of every package in this interpreter's environment."""
    for package in metadata.distributions():
        name = package.name
        told = package.metadata
        words = told.get("License-Expression") or ""
        if not words:
            classifiers = told.get_all("Classifier") or []
            named = [line.rpartition(" :: ")[2] for line in classifiers if line.startswith("License ::")]
            given = (told.get("License") or "").strip()
            stated = (given, *named, *_first_lines(package))
            words = next((text for text in stated if text in WORDS or text in COMPATIBLE), given[:60])
        yield f"python package {name} {package.version}", WORDS.get(words, words)


def _first_lines(package: metadata.Distribution) -> Iterator[str]:
    """Of the licence files that the package brings: some say it nowhere else."""
    for name in package.metadata.get_all("License-File") or []:
        text = package.read_text(f"licenses/{name}") or ""
        yield text.strip().partition("\n")[0].strip()


def main(folder: str = ".") -> int:
    bad = []
    held_to = (
        (rust_licences(folder), COMPATIBLE, "GPL-2.0-only"),
        (python_licences(), COMPATIBLE_WITH_LATER, "GPL-2.0-or-later"),
    )
    for packages, choices, ours in held_to:
        for name, licence in packages:
            try:
                fine = leaves_choice(licence, choices)
            except ValueError:
                fine = False
            if not fine:
                bad.append(f"{name}: licence {licence or 'not named'!r} has no choice compatible with {ours}")
    print("\n".join(sorted(bad)), end="\n" if bad else "")
    return 1 if bad else 0


if __name__ == "__main__":
    try:
        sys.exit(main(*sys.argv[1:]))
    except subprocess.CalledProcessError:
        sys.exit(1)  # cargo has said why
