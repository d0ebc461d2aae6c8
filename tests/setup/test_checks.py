# SPDX-License-Identifier: GPL-2.0-or-later
"""The checks of `make check` catch what they are there for."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
# Put together here, so that this file is clean itself.
PYTHON_INDEX, CRATE_INDEX, MIRROR = (
    ".".join(parts) for parts in (("pypi", "org"), ("crates", "io"), ("deb.debian", "org"))
)
CHECKOUT, HOME = ("/".join(("", *parts)) for parts in (("work", "main"), ("home", "anna")))
LICENCE_LINE, KERNELS_LICENCE_LINE = (
    "SPDX-License-Identifier: " + licence for licence in ("GPL-2.0-or-later", "GPL-2.0-only")
)


def script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


licences = script("check_licences")


@pytest.mark.parametrize(
    ("expression", "fine"),
    [
        ("MIT", True),
        ("MIT OR Apache-2.0", True),
        ("MIT/Apache-2.0", True),
        ("Apache-2.0 OR BSL-1.0 OR MIT", True),
        ("(MIT OR Apache-2.0) AND Unicode-3.0", True),
        ("Apache-2.0 WITH LLVM-exception", True),
        ("Apache-2.0", False),
        ("MIT AND Apache-2.0", False),
        ("(MIT OR ISC) AND Apache-2.0", False),
        ("GPL-3.0-only", False),
        ("GPL-3.0-or-later OR Apache-2.0", False),
        ("Made-Up-1.0", False),
    ],
)
def test_an_expression_needs_a_compatible_choice(expression: str, fine: bool) -> None:
    assert licences.leaves_choice(expression, licences.COMPATIBLE) is fine


def test_the_lab_may_use_what_version_3_can_take() -> None:
    assert licences.leaves_choice("Apache-2.0", licences.COMPATIBLE_WITH_LATER)
    assert not licences.leaves_choice("GPL-3.0-only", licences.COMPATIBLE_WITH_LATER)


@pytest.mark.parametrize("expression", ["", "MIT OR", "(MIT", "MIT)", "MIT Apache-2.0", "OR MIT"])
def test_what_is_no_expression_is_refused(expression: str) -> None:
    with pytest.raises(ValueError, match="no licence expression"):
        licences.leaves_choice(expression, licences.COMPATIBLE)


def workspace(folder: Path, licence_line: str) -> None:
    """A package that depends on another one, whose manifest says `licence_line`."""
    for name, dependency in (("project", 'planted = { path = "planted" }'), ("planted", "")):
        place = folder if name == "project" else folder / name
        (place / "src").mkdir(parents=True)
        (place / "src/lib.rs").touch()
        line = 'license = "GPL-2.0-only"' if name == "project" else licence_line
        (place / "Cargo.toml").write_text(
            f'[package]\nname = "{name}"\nversion = "0.1.0"\nedition = "2024"\n{line}\n[dependencies]\n{dependency}\n'
        )
    (folder / "Cargo.lock").write_text(
        'version = 4\n\n[[package]]\nname = "planted"\nversion = "0.1.0"\n\n'
        '[[package]]\nname = "project"\nversion = "0.1.0"\ndependencies = [\n "planted",\n]\n'
    )


def check(name: str, folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "CARGO_NET_OFFLINE": "true"}
    command = [sys.executable, str(ROOT / "scripts" / f"{name}.py"), str(folder)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_a_crate_with_a_good_licence_passes(tmp_path: Path) -> None:
    workspace(tmp_path, 'license = "MIT OR Apache-2.0"')
    done = check("check_licences", tmp_path)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


@pytest.mark.parametrize(
    ("line", "named"), [('license = "Apache-2.0"', "'Apache-2.0'"), ('license-file = "LICENSE"', "'not named'")]
)
def test_a_planted_crate_is_caught(tmp_path: Path, line: str, named: str) -> None:
    workspace(tmp_path, line)
    done = check("check_licences", tmp_path)
    assert done.returncode == 1
    assert done.stdout == f"crate planted 0.1.0: licence {named} has no choice compatible with GPL-2.0-only\n"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A repository in which all is well: every kind of file, the licence line where a comment can be."""
    (tmp_path / "a.py").write_text(f"#!/usr/bin/env python3\n# {LICENCE_LINE}\n")
    (tmp_path / "a.md").write_text(f"<!-- {LICENCE_LINE} -->\nIt shows /sys/kernel/sched_ext/root/ops.\n")
    (tmp_path / "a.json").write_text("{}\n")
    (tmp_path / "Cargo.lock").write_text(f'source = "registry+https://github.com/rust-lang/{CRATE_INDEX}-index"\n')
    (tmp_path / "empty.py").touch()
    for folder in ("schedulers", "include"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.h").write_text(f"/* {KERNELS_LICENCE_LINE} */\n")
    (tmp_path / "snapshots").mkdir()
    (tmp_path / "snapshots/help.txt").write_text("usage: schedlab\n")
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    return tmp_path


def tree_check(tree: Path) -> subprocess.CompletedProcess[str]:
    subprocess.run(["git", "-C", tree, "add", "."], check=True)
    return check("check_tree", tree)


def test_a_good_tree_passes(tree: Path) -> None:
    done = tree_check(tree)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


@pytest.mark.parametrize("name", ["a.rs", "a.h", "a.toml", "a.sh", "Makefile", "program"])
def test_a_missing_licence_line_is_caught(tree: Path, name: str) -> None:
    (tree / name).write_text("x\n" * 3 + LICENCE_LINE + "\n")
    done = tree_check(tree)
    assert done.returncode == 1
    assert done.stdout == f"{name}:1: no line '{LICENCE_LINE}' among the first 3\n"


@pytest.mark.parametrize(
    ("name", "line", "wanted"),
    [("schedulers/b.h", LICENCE_LINE, KERNELS_LICENCE_LINE), ("lab.py", KERNELS_LICENCE_LINE, LICENCE_LINE)],
)
def test_a_folder_has_its_own_licence(tree: Path, name: str, line: str, wanted: str) -> None:
    (tree / name).write_text(line + "\n")
    done = tree_check(tree)
    assert done.returncode == 1
    assert done.stdout == f"{name}:1: no line '{wanted}' among the first 3\n"


@pytest.mark.parametrize(
    ("planted", "fault"),
    [
        (f"https://{PYTHON_INDEX}/simple", f"names a package registry: {PYTHON_INDEX}"),
        (f"deb http://{MIRROR}/debian", f"names a package registry: {MIRROR}"),
        (f"cd {CHECKOUT}/x", f"a path of one machine: {CHECKOUT[:7]}…"),
        (f'"{HOME}/x"', f"a path of one machine: {HOME[:7]}…"),
    ],
)
def test_what_belongs_to_one_machine_is_caught(tree: Path, planted: str, fault: str) -> None:
    (tree / "b.md").write_text(f"<!-- {LICENCE_LINE} -->\n{planted}\n")
    done = tree_check(tree)
    assert done.returncode == 1
    assert done.stdout == f"b.md:2: {fault}\n"


@pytest.fixture
def crates(tmp_path: Path) -> Path:
    """Two crates with the names of real ones; the second may use the first, and each file only what lies below it."""
    order = script("check_order")
    for name in order.CRATES:
        (tmp_path / "crates" / name / "src").mkdir(parents=True)
        (tmp_path / "crates" / name / "Cargo.toml").write_text(f'[package]\nname = "{name}"\n')
        (tmp_path / "crates" / name / "src/lib.rs").write_text("mod above;\nmod below;\npub use above::above;\n")
        (tmp_path / "crates" / name / "src/above.rs").write_text("use crate::below::{self, below};\n")
        (tmp_path / "crates" / name / "src/below.rs").write_text(
            "// use crate::above;\npub fn below() {}\n#[cfg(test)]\nmod tests {\n    use crate::above;\n}\n"
        )
    return tmp_path


def test_references_downwards_pass(crates: Path) -> None:
    done = check("check_order", crates)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


def test_a_crate_that_uses_one_above_it_is_caught(crates: Path) -> None:
    with (crates / "crates/cell/Cargo.toml").open("a") as manifest:
        manifest.write("[dependencies]\nkernel.workspace = true\n")
    done = check("check_order", crates)
    assert done.returncode == 1
    assert done.stdout == "crates/cell/Cargo.toml: cell may not use kernel (scripts/check_order.py)\n"


@pytest.mark.parametrize(
    "line", ["use crate::above::above;", "use super::{above};", "fn f() { crate::above::above() }"]
)
def test_a_circle_of_files_is_caught(crates: Path, line: str) -> None:
    (crates / "crates/kernel/src/below.rs").write_text(line + "\n")
    done = check("check_order", crates)
    assert done.returncode == 1
    assert done.stdout == "crates/kernel/src: these files refer to each other in a circle: above.rs, below.rs\n"


@pytest.fixture
def pages(tmp_path: Path) -> Path:
    """Two pages whose links all lead somewhere."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/b.md").write_text("# B\n\n## What `x` is, and why\n\n## Files\n\n## Files\n\n[up](../a.md#a)\n")
    (tmp_path / "a.md").write_text(
        "# A\n\n[`b`](docs/b.md), [x](docs/b.md#what-x-is-and-why), [two](docs/b.md#files-1)\n"
        "[self](#a), [docs](docs), [net](https://example.org/#none) and `[code](none.md)`\n\n"
        "```\n# No heading\n[code](none.md)\n```\n"
    )
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    return tmp_path


def links_check(pages: Path) -> subprocess.CompletedProcess[str]:
    subprocess.run(["git", "-C", pages, "add", "."], check=True)
    return check("check_links", pages)


def test_good_links_pass(pages: Path) -> None:
    done = links_check(pages)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


@pytest.mark.parametrize(
    ("link", "missing"),
    [
        ("b.md", "file"),
        ("docs/b.md#c", "heading"),
        ("#no-heading", "heading"),
        ("docs/b.md#files-2", "heading"),
        ("docs#b", "heading"),
    ],
)
def test_a_link_that_leads_nowhere_is_caught(pages: Path, link: str, missing: str) -> None:
    page = pages / "a.md"
    page.write_text(f"{page.read_text()}\n[`c`]({link})\n")
    done = links_check(pages)
    assert done.returncode == 1
    assert done.stdout == f"a.md:11: links to {link}, and there is no such {missing}\n"
