# SPDX-License-Identifier: GPL-2.0-or-later
"""Prints the licences of what is linked into the loader, each text once: Rust's crates, libelf and what it needs.

notices.py [ROOT]    the checkout; the current folder where none is named
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

# Debian's packages of the static libraries. What is not installed was not linked.
LIBRARIES = ("libelf-dev", "zlib1g-dev", "libzstd-dev", "libc6-dev")
NAMED = ("LICENSE", "LICENCE", "COPYING", "UNLICENSE", "NOTICE", "COPYRIGHT")


def crates(root: Path) -> Iterator[tuple[str, str, list[Path]]]:
    """Name with version, licence and the files with its text, of each crate of others that the loader links."""
    command = ["cargo", "metadata", "--format-version", "1", "--locked", "--manifest-path", str(root / "Cargo.toml")]
    told = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    packages = {package["id"]: package for package in told["packages"]}
    nodes = {node["id"]: node for node in told["resolve"]["nodes"]}
    reached: set[str] = set()
    pending = [name for name, package in packages.items() if package["name"] == "loader"]
    while pending:
        name = pending.pop()
        if name in reached:
            continue
        reached.add(name)
        for used in nodes[name]["deps"]:
            if any(kind["kind"] is None for kind in used["dep_kinds"]):
                pending.append(used["pkg"])
    for package in sorted((packages[name] for name in reached), key=lambda found: (found["name"], found["version"])):
        if package["source"]:  # ours has none
            folder = Path(package["manifest_path"]).parent
            texts = sorted(path for path in folder.iterdir() if path.is_file() and path.name.upper().startswith(NAMED))
            yield f"{package['name']} {package['version']}", package["license"] or "", texts


def libraries() -> Iterator[tuple[str, list[Path]]]:
    for package in LIBRARIES:
        path = Path("/usr/share/doc") / package / "copyright"
        if path.is_file():
            yield package, [path]


def main(root: str = ".") -> int:
    names: dict[str, list[str]] = {}
    for name, licence, texts in crates(Path(root)):
        print(f"{name}: {licence}")
        for text in texts:
            names.setdefault(text.read_text("utf-8", "replace").strip(), []).append(name)
    for name, texts in libraries():
        print(f"{name}: as below")
        for text in texts:
            names.setdefault(text.read_text("utf-8", "replace").strip(), []).append(name)
    for text, whose in names.items():
        print(f"\n{'=' * 79}\nOf {', '.join(dict.fromkeys(whose))}:\n\n{text}")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(*sys.argv[1:]))
    except subprocess.CalledProcessError:
        sys.exit(1)  # cargo has said why
