# SPDX-License-Identifier: GPL-2.0-or-later
"""The order of the lab's packages: each imports those below it and none above, and says so itself."""

import ast
import re
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "schedlab"

# From the command line down. A line imports only what stands on lines below it; a plain module, which stands beside
# the packages, is imported by any of them.
ORDER = """
cli
doctor
report  terminal
studies
worst
bisection  choice  search
export  format
ledger
statistics
decisions
places  probes
collect
capture  trace
campaign
sched_ext
vm
catalogue
""".split("\n")
LEVEL = {name: level for level, line in enumerate(ORDER) for name in line.split()}
# Plain modules from the top down; each imports only those before it in this list.
PLAIN = ["errors", "foreign", "atomic", "cache", "checkout", "version", "parallel", "distribution", "simulator"]

Graph = dict[str, set[str]]  # module: the modules it imports


@cache
def graph(package: Path) -> Graph:
    """Of every import, wherever it stands in a file; those of other projects are left out."""
    files = {_name(path, package): path for path in package.rglob("*.py")}
    return {name: _imports(path, package.name, set(files)) for name, path in files.items()}


def _name(path: Path, package: Path) -> str:
    parts = path.relative_to(package.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imports(path: Path, root: str, known: set[str]) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names if alias.name.split(".")[0] == root}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == root:
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                found.add(whole if whole in known else str(node.module))
    return found


def package_of(module: str) -> str:
    """cli of schedlab.cli.program; a plain module stands for itself."""
    return module.split(".")[1] if "." in module else ""


def upward(imports: Graph) -> list[str]:
    """Imports from a package to another that does not stand below it."""
    found = []
    for module, targets in imports.items():
        here = package_of(module)
        for target in targets:
            there = package_of(target)
            if here == there or here in ("", "__main__") or there == "":
                continue
            below = _rank(there) > _rank(here)
            if not below:
                found.append(f"{module} imports {target}")
    return sorted(found)


def _rank(name: str) -> int:
    if name in PLAIN:
        return len(ORDER) + len(PLAIN) - PLAIN.index(name)
    return LEVEL[name]


def cycles(imports: Graph) -> list[list[str]]:
    """Modules that import themselves by way of others: each that lies on a circle, with what it reaches and back."""
    reach = {module: _reachable(module, imports) for module in imports}
    on_a_circle = {module for module in imports if module in reach[module]}
    groups = {
        tuple(sorted(other for other in reach[module] if module in reach.get(other, ()))) for module in on_a_circle
    }
    return sorted(list(group) for group in groups)


def _reachable(module: str, imports: Graph) -> set[str]:
    found: set[str] = set()
    waiting = [module]
    while waiting:
        for target in imports.get(waiting.pop(), ()):
            if target not in found:
                found.add(target)
                waiting.append(target)
    return found


def test_no_package_imports_one_above_it() -> None:
    assert upward(graph(PACKAGE)) == []


def test_no_module_imports_itself_by_way_of_others() -> None:
    assert cycles(graph(PACKAGE)) == []


def test_every_package_has_its_place_in_the_order() -> None:
    packages = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert packages == set(LEVEL)
    plain = {path.stem for path in PACKAGE.glob("*.py")} - {"__init__", "__main__"}
    assert plain == set(PLAIN)


def test_no_two_modules_have_the_same_name() -> None:
    names = Counter(path.stem for path in PACKAGE.rglob("*.py") if path.stem != "__init__")
    assert [name for name, count in names.items() if count > 1] == []


@pytest.mark.parametrize("name", sorted(LEVEL))
def test_a_package_says_what_is_in_it_and_what_it_imports(name: str) -> None:
    folder = PACKAGE / name
    text = ast.get_docstring(ast.parse((folder / "__init__.py").read_text(encoding="utf-8"))) or ""
    modules = {path.stem for path in folder.glob("*.py")} - {"__init__"}
    assert set(re.findall(r"^(\w+) {2,}\S", text, re.MULTILINE)) == modules
    said = re.search(r"^Imports: ([^.]*)\.$", text, re.MULTILINE | re.DOTALL)
    assert said, "a line 'Imports: PACKAGE, PACKAGE.'"
    imported = {
        package_of(target)
        for module, targets in graph(PACKAGE).items()
        if package_of(module) == name
        for target in targets
    }
    assert set(re.findall(r"\w+", said[1])) - {"none"} == (imported & set(LEVEL)) - {name}


def test_importing_does_nothing() -> None:
    """The environment and the garbage collector are left to main()."""
    modules = sorted(graph(PACKAGE))
    text = "import gc, os, sys; before = dict(os.environ)\n" + "".join(f"import {module}\n" for module in modules)
    text += "assert gc.isenabled(); assert dict(os.environ) == before"
    subprocess.run([sys.executable, "-c", text], check=True)


def test_a_planted_import_is_found(tmp_path: Path) -> None:
    """The test of the tests above: one import upwards, and one that closes a circle."""
    package = tmp_path / "schedlab"
    for path, text in {
        "__init__.py": "",
        "errors.py": "",
        "campaign/__init__.py": "from schedlab import errors\n",
        "campaign/cells.py": "def late():\n    from schedlab.report import page\n",
        "report/__init__.py": "",
        "report/page.py": "from schedlab.report.frame import text\nfrom schedlab.campaign import cells\n",
        "report/frame.py": "import schedlab.report.page\n",
    }.items():
        (package / path).parent.mkdir(parents=True, exist_ok=True)
        (package / path).write_text(text)
    found = graph(package)
    assert upward(found) == ["schedlab.campaign.cells imports schedlab.report.page"]
    assert cycles(found) == [["schedlab.campaign.cells", "schedlab.report.frame", "schedlab.report.page"]]
