# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks which way the Rust code's references point: crates downwards as listed here, files of a crate in no circle.

A file refers to another of its crate by a path that begins with `crate::` or `super::`, outside of tests. A crate's or
folder's root (lib.rs, main.rs, mod.rs) that only declares and re-exports modules refers to nobody.

    check_order.py [ROOT]    the checkout; the current folder where none is named
"""

import re
import sys
import tomllib
from collections.abc import Iterable
from pathlib import Path

# Every crate with the crates of this checkout that it may use. docs/ARCHITECTURE.md draws it.
CRATES = {
    "input": "",
    "cell": "",
    "signals": "",
    "machine": "input",
    "workload": "cell input",
    "bpf": "",
    "policy": "bpf input",
    "kernel": "bpf cell machine policy workload",
    "swarm": "cell input kernel machine policy signals workload",
    "conformance": "bpf cell input kernel machine policy workload",
    "executor": "cell signals workload",
    "loader": "bpf cell executor policy signals workload",
    "sim": "cell conformance input kernel machine policy signals swarm workload",
}


def manifest_faults(root: Path) -> Iterable[str]:
    """Crates that nobody listed, and dependencies that their line does not allow."""
    found = {path.parent.name: path for path in root.glob("crates/*/Cargo.toml")}
    for name in sorted(found.keys() ^ CRATES.keys()):
        yield f"crates/{name}: listed in scripts/check_order.py or there, but not both"
    for name, path in sorted(found.items()):
        manifest = tomllib.loads(path.read_text("utf-8"))
        used = manifest.get("dependencies", {}).keys() | manifest.get("build-dependencies", {}).keys()
        for other in sorted((used & found.keys()) - set(CRATES.get(name, "").split())):
            yield f"crates/{name}/Cargo.toml: {name} may not use {other} (scripts/check_order.py)"


def code_of(text: str) -> str:
    """The text without comments, strings and what is compiled for tests only."""
    text = re.sub(r'//[^\n]*|"(?:[^"\\]|\\.)*"', "", text)
    kept, at = [], 0
    for match in re.finditer(r"#\[cfg\((?:all\()?test\b[^\]]*\]\s*(?:pub(?:\([^)]*\))? )?mod \w+ \{", text):
        if match.start() < at:
            continue
        kept.append(text[at : match.start()])
        depth, at = 1, match.end()
        while depth and at < len(text):
            depth += {"{": 1, "}": -1}.get(text[at], 0)
            at += 1
    kept.append(text[at:])
    return "".join(kept)


def paths_in(code: str) -> Iterable[tuple[str, ...]]:
    """Every path that begins with crate or super, those in braces written out."""
    for match in re.finditer(r"(?<![\w:$])(?:crate|super)\b(?:::)?", code):
        yield from written_out(code, match.start(), ())[0]


def written_out(code: str, at: int, head: tuple[str, ...]) -> tuple[list[tuple[str, ...]], int]:
    """Paths that begin at `at` in a use tree, and where it ends."""
    names = list(head)
    while True:
        word = re.compile(r"\s*(\w+|\*)").match(code, at)
        if not word:
            return [tuple(names)], at
        names.append(word[1])
        at = word.end()
        if not code.startswith("::", at):
            return [tuple(names)], at
        at += 2
        brace = re.compile(r"\s*\{").match(code, at)
        if brace:
            found, at = [], brace.end()
            while True:
                some, at = written_out(code, at, tuple(names))
                found += some
                following = re.compile(r"(?:\s+as\s+\w+)?\s*([,}])\s*").match(code, at)
                if not following:
                    return found, at
                at = following.end()
                if following[1] == "}":
                    return found, at
                if code.startswith("}", at):
                    return found, at + 1


def module_of(path: Path, src: Path) -> tuple[str, ...]:
    parts = path.relative_to(src).with_suffix("").parts
    return parts[:-1] if parts[-1] in ("lib", "main", "mod") else parts


def references(src: Path) -> dict[Path, set[Path]]:
    """Which file of a crate refers to which others."""
    files = {module_of(path, src): path for path in sorted(src.rglob("*.rs"))}
    graph: dict[Path, set[Path]] = {path: set() for path in files.values()}
    for module, path in files.items():
        code = code_of(path.read_text("utf-8"))
        # Re-exports are names of what lies below, not uses of it.
        if path.name in ("lib.rs", "main.rs", "mod.rs"):
            code = re.sub(r"pub(?:\([^)]*\))? use [^;]*;", "", code)
        for names in paths_in(code):
            at = () if names[0] == "crate" else module
            rest = list(names)
            while rest and rest[0] in ("crate", "super"):
                if rest[0] == "super":
                    at = at[:-1]
                rest.pop(0)
            while rest and (*at, rest[0]) in files:
                at = (*at, rest.pop(0))
            target = files.get(at)
            if target and target != path:
                graph[path].add(target)
    return graph


def circles(graph: dict[Path, set[Path]]) -> list[list[Path]]:
    """Strongly connected files, by Tarjan's algorithm."""
    index: dict[Path, int] = {}
    low: dict[Path, int] = {}
    stack: list[Path] = []
    found = []

    def visit(node: Path) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in sorted(graph[node]):
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            circle = []
            while True:
                circle.append(stack.pop())
                if circle[-1] == node:
                    break
            if len(circle) > 1:
                found.append(sorted(circle))

    for node in graph:
        if node not in index:
            visit(node)
    return found


def main(root: str = ".") -> int:
    top = Path(root)
    faults = list(manifest_faults(top))
    for src in sorted(top.glob("crates/*/src")):
        for circle in circles(references(src)):
            names = ", ".join(str(path.relative_to(src)) for path in circle)
            faults.append(f"{src.relative_to(top)}: these files refer to each other in a circle: {names}")
    print("\n".join(faults), end="\n" if faults else "")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
