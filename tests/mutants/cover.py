# SPDX-License-Identifier: GPL-2.0-or-later
"""Which tests cover a file, and how long they take: found by running all of them once, without a mistake."""

import hashlib
import inspect
import json
import re
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.mutants import includes, pytest_run
from tests.mutants.tree import ROOT

_POLICIES = sorted(path.parent.name for path in (ROOT / "schedulers").glob("*/scx_*.bpf.c"))
_NAMED = re.compile(rf"\b({'|'.join(_POLICIES)})\b")
# Where no parameter of a test and no word of it names a policy, its file does.
_BY_FILE = {"queue": ["fifo", "rr", "mlfq"]}
POLICIES = ["tests/policies"]
# Those that draw pages or run campaigns take minutes.
LAB = [f"lab/tests/test_{name}.py" for name in (
    "agreement analysis_of_variance change_points comparisons ledger methods model_error numbers sequential statistics "
    "studies"
).split()]  # fmt: skip


@dataclass(frozen=True)
class Test:
    name: str
    seconds: float
    policies: tuple[str, ...]
    files: tuple[str, ...]  # that it covers; none: all of its policies'


def policies(item: pytest.Item) -> list[str]:
    """Those that a test of a policy runs."""
    if "tests/policies" not in item.nodeid:
        return []
    parameters = getattr(item, "callspec", None)
    if named := _NAMED.findall(" ".join(str(value) for value in parameters.params.values()) if parameters else ""):
        return sorted(set(named))
    of_file = re.sub(r".*/test_|_(rules|modern|sim|limits|cgroups)\.py.*|\.py.*", "", item.nodeid)
    if of_file in _POLICIES:
        return [of_file]
    named = re.findall(rf"[\"'f]({'|'.join(_POLICIES)})[\":]", inspect.getsource(item.function))
    return sorted(set(named)) or _BY_FILE.get(of_file, [])


def included(item: pytest.Item) -> set[str]:
    """The policy's headers that a C program of its tests is made of; nothing where the test runs no such program."""
    if "programs.build(" not in inspect.getsource(item.function):
        return set()
    (policy,) = policies(item)
    folder = item.path.parent
    root = folder.parents[1]
    program = folder / policy / f"{item.callspec.params.get('name', 'pick')}.c"
    places = (folder / policy, root / "include", root / "schedulers", root / "schedulers" / policy)
    return {str(path) for path in includes.closure(program, *places) if "schedulers" in path.parts}


def tests(root: Path, kept_in: Path, folders: list[str]) -> list[Test]:
    """Of the folders, those that pass. Asked for again, those come from the file whose own file has not changed."""
    kept = json.loads(kept_in.read_text("utf-8")) if kept_in.is_file() else {}
    found = {file: {"digest": digest} for file, digest in _digests(root, folders).items()}
    for file, now in found.items():
        if kept.get(file, {}).get("digest") == now["digest"]:
            now["tests"] = kept[file]["tests"]
    if changed := [file for file, now in found.items() if "tests" not in now]:
        print(f"running once, without a mistake: {', '.join(changed)}", flush=True)
        ran = _run(root, changed)
        for file in changed:
            found[file]["tests"] = {name: test for name, test in ran.items() if name.split("::")[0] == file}
        kept_in.write_text(json.dumps(found, indent=1), "utf-8")
    by_name = [(name, test) for now in found.values() for name, test in now["tests"].items()]
    return [Test(name, t["seconds"], tuple(t["policies"]), tuple(t["files"])) for name, t in by_name]


def _digests(root: Path, folders: list[str]) -> dict[str, str]:
    """Of each file of tests, with what it shares with others, and with the C programs if it builds any."""
    files = sorted(file for folder in folders for file in _files(root / folder))
    of_tests = [file for file in files if file.name.startswith("test_")]
    digests = {}
    for file in of_tests:
        builds = "programs." in file.read_text("utf-8")
        digest = hashlib.sha256(file.read_bytes())
        for other in files:
            if other not in of_tests and (builds or other.suffix == ".py"):
                digest.update(other.read_bytes())
        digests[file.relative_to(root).as_posix()] = digest.hexdigest()
    return digests


def _files(path: Path) -> list[Path]:
    return [file for file in path.rglob("*") if file.suffix in {".py", ".c", ".h"}] if path.is_dir() else [path]


def _run(root: Path, folders: list[str]) -> dict[str, dict]:
    said = pytest_run.run(root, folders, tests=None, stop_at_first=False, calls=str(root / "lab/schedlab"))
    found: dict[str, dict] = defaultdict(lambda: {"seconds": 0.0, "policies": [], "files": [], "outcome": ""})
    for line in said:
        if "ends" in line:
            found[line["ends"]] |= {"seconds": line["seconds"], "outcome": line["outcome"]}
        elif "test" in line:
            files = [Path(name).relative_to(root).as_posix() for name in line["files"]]
            found[line["test"]] |= {"policies": line["policies"], "files": files}
    for name, test in found.items():
        if test["outcome"] == "failed":
            print(f"left out, as it fails without a mistake: {name}")
    return {name: test for name, test in found.items() if test["outcome"] == "passed"}


def seconds(folder: Path) -> dict[str, float]:
    """What each test takes without a mistake, of those that have run."""
    kept = [json.loads(path.read_text("utf-8")) for path in sorted(folder.glob("cover-*.json"))]
    by_file = [of_file["tests"] for files in kept for of_file in files.values()]
    return {name: test["seconds"] for tests in by_file for name, test in tests.items()}
