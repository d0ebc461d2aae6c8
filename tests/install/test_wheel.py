# SPDX-License-Identifier: GPL-2.0-or-later
"""The wheel: what is in it, what it asks for, and that the same tree makes the same one."""

import ast
import re
import sys
import tomllib
import zipfile
from pathlib import Path

from schedlab import version
from tests.install.environment import ROOT, build

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
# Of packages whose modules are called otherwise; the traces of perfetto are read with the protobuf that it brings.
PACKAGE_OF = {"vl_convert": "vl-convert-python", "google": "perfetto"}


def imported() -> set[str]:
    """The packages of other projects that the lab imports, anywhere in a file."""
    found = set()
    for file in (ROOT / "lab" / "schedlab").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                found.add(node.module.split(".")[0])
    others = found - {"schedlab", *sys.stdlib_module_names}
    return {PACKAGE_OF.get(name, name) for name in others}


def test_it_asks_for_what_the_lab_imports() -> None:
    assert imported() == set(PROJECT["project"]["dependencies"])


def test_set_up_installs_the_same() -> None:
    text = (ROOT / "lab" / "requirements.in").read_text(encoding="utf-8").partition("# For the package")[0]
    names = re.findall(r"^([\w.-]+)", text, re.MULTILINE)
    assert sorted(names) == sorted(PROJECT["project"]["dependencies"])


def test_its_number_is_that_of_the_workspace(wheel: Path) -> None:
    number = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]["package"]["version"]
    assert version.number() == number
    assert wheel.name.startswith(f"schedlab-{number}-py3-none-linux_")
    # No second number that could be forgotten.
    for manifest in ROOT.glob("crates/*/Cargo.toml"):
        assert "\nversion.workspace = true\n" in manifest.read_text(encoding="utf-8"), manifest


def test_the_same_tree_makes_the_same_wheel(wheel: Path, tmp_path: Path) -> None:
    assert build(tmp_path).read_bytes() == wheel.read_bytes()


def test_it_has_the_data_of_the_tree_and_no_more(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as opened:
        names = opened.namelist()
    shared = {name.partition("/share/schedlab/")[2] for name in names if "/share/schedlab/" in name}
    for folder in ("include", "machines", "profiles", "published", "schedulers", "studies", "workloads"):
        there = {str(path.relative_to(ROOT)) for path in (ROOT / folder).rglob("*") if path.is_file()}
        assert there == {name for name in shared if name.startswith(f"{folder}/")}
    assert "results/agreement/ledger.csv" in shared
    lab = {str(path.relative_to(ROOT / "lab")) for path in (ROOT / "lab/schedlab").rglob("*") if path.is_file()}
    assert {name for name in lab if "__pycache__" not in name} == {
        name for name in names if name.startswith("schedlab/")
    }
    assert not [name for name in names if name.endswith(".pyc") or "/tests/" in name]
    assert {name.split("/")[0].partition("-")[0] for name in names} == {"schedlab"}
