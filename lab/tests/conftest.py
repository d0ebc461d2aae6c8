# SPDX-License-Identifier: GPL-2.0-or-later
"""A checkout of its own for every test: two schedulers, two workloads, two machines, and the fake runner."""

import functools
import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from schedlab import vm
from schedlab.places import trial

HERE = Path(__file__).resolve().parent
LAB = HERE.parent

_LATT = """\
name = "latt"
title = "clients woken at once"
source = "test"
load = "clients"
loads = [1, 4]
[params]
clients = { default = 4, min = 1, max = 512, about = "client processes" }
duration_s = { default = 20, min = 1, max = 3600, about = "length of the run" }
[end]
after_s = "duration_s"
[[task]]
name = "client"
count = "clients"
program = [{ loop = [{ timer_us = 1_000 }, { log = "wakeup_latency_us", since = "due" }] }]
[metrics]
promises = ["wakeup_latency_us"]
"""
_PIPE = """\
name = "pipe"
title = "messages through pipes"
source = "test"
load = "pairs"
loads = [8]
[params]
pairs = { default = 8, min = 1, max = 64, about = "pairs" }
[end]
after_s = 1
[[task]]
name = "pair"
count = "pairs"
program = [{ loop = [{ timer_us = 1_000 }, { log = "wakeup_latency_us", since = "due" }] }]
[metrics]
promises = ["wakeup_latency_us"]
"""

_WORK = """\
name = "work"
title = "pieces of work"
source = "test"
load = "pieces"
loads = [1, 4]
[params]
pieces = { default = 1, min = 1, max = 64, about = "pieces" }
[[task]]
name = "piece"
count = "pieces"
program = [{ run_us = 1_000 }]
[metrics]
promises = ["elapsed_s"]
"""


_TOPOLOGY = {
    "desktop-4": "[topology]\nsockets = 1\nllcs_per_socket = 1\ncores_per_llc = 4\nthreads_per_core = 1\n",
    "server-2x8-smt": "[topology]\nsockets = 2\nllcs_per_socket = 1\ncores_per_llc = 8\nthreads_per_core = 2\n",
}


def make_checkout(root: Path) -> Path:
    for name, text in {"bfs": "BFS, one queue by virtual deadline.", "cfs": "CFS, fair by virtual run time."}.items():
        folder = root / "schedulers" / name
        folder.mkdir(parents=True)
        (folder / f"scx_{name}.bpf.c").write_text(f"// {name}\n")
        (folder / f"{name}.h").write_text(f"// {name}.h\n")
        (folder / "README.md").write_text(f"<!-- SPDX -->\n# {name}\n\n{text}\nSecond line.\n\nMore.\n")
    for folder in ("workloads", "machines", "studies", "bin"):
        (root / folder).mkdir()
    (root / "workloads" / "latt.toml").write_text(_LATT)
    (root / "workloads" / "pipe.toml").write_text(_PIPE)
    for name in _TOPOLOGY:
        text = f'name = "{name}"\ntitle = "{name} title"\nsource = "test"\nhz = 250\n{_TOPOLOGY[name]}'
        (root / "machines" / f"{name}.toml").write_text(text)
    # It starts some thousand times, and fastest so.
    fake = f"#!{sys.executable} -IS\n" + (HERE / "fake_runner.py").read_text()
    for name in ("schedlab-sim", "schedlab-host"):
        (root / "bin" / name).write_text(fake)
        (root / "bin" / name).chmod(0o755)
    # The fake runner leaves to it what it is asked about files.
    (root / "bin" / "schedlab-sim.real").symlink_to(LAB.parent / "target" / "release" / "schedlab-sim")
    return root


def run_in(root: Path, *arguments: str, **more: str) -> subprocess.CompletedProcess:
    """Run the command line in a process of its own."""
    own = {"PYTHONPATH": str(LAB), "SCHEDLAB_ROOT": str(root), "SCHEDLAB_BIN": str(root / "bin")}
    return subprocess.run(
        [sys.executable, "-m", "schedlab", *arguments],
        cwd=root,
        env={**os.environ, **own, "COLUMNS": "80", "NO_COLOR": "1", **more},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = make_checkout(tmp_path / "checkout")
    monkeypatch.setenv("SCHEDLAB_ROOT", str(root))
    monkeypatch.setenv("SCHEDLAB_BIN", str(root / "bin"))
    monkeypatch.chdir(root)
    return root


@pytest.fixture
def lab(checkout: Path) -> Callable[..., subprocess.CompletedProcess]:
    return functools.partial(run_in, checkout)


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report of three schedulers, two workloads and two machines."""
    root = make_checkout(tmp_path_factory.mktemp("report") / "checkout")
    what = ["bfs,cfs,bfs:rules=424", "-w", "latt,pipe", "-m", "desktop-4,server-2x8-smt"]
    result = run_in(root, "compare", *what, "-o", "out")
    assert result.returncode == 0, result.stderr
    return root / "out" / "report.html"


@pytest.fixture(scope="session")
def fake_record() -> Callable[[str, dict[str, Any]], dict[str, Any]]:
    """The fake runner's record of a cell."""
    spec = importlib.util.spec_from_file_location("fake_runner", HERE / "fake_runner.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.record


@pytest.fixture
def play_guests(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable], list[int]]:
    """Plays guests in which a cell, by its id and its data, has the record that is told; the cells of every boot."""

    def play(record: Callable[[str, dict[str, Any]], dict[str, Any]]) -> list[int]:
        made: list[int] = []

        def run(command: list[str], files: dict[str, Path], **options: Any) -> SimpleNamespace:
            shards = [json.loads(path.read_text()) for path in sorted(files["/lab/shards"].iterdir())]
            made.append(len(shards))
            for shard in shards:
                (cell,) = shard["cells"]
                options["on_line"](json.dumps(record(cell.pop("id"), cell)))
            told = {"kernel_release": "7.2-test", "kernel_arguments": "", "qemu_version": "10", "hashes": {}}
            return SimpleNamespace(exit_code=0, tier=options["tier"], **told)

        monkeypatch.setattr(vm, "run", run)
        monkeypatch.setattr(trial, "why_not", lambda place, own_alone=False: "")
        # The simulator's default means it.
        (checkout / "schedulers" / "eevdf").mkdir()
        (checkout / "schedulers" / "eevdf" / "scx_eevdf.bpf.c").write_text("// eevdf\n")
        return made

    return play


@pytest.fixture
def boots(checkout: Path, play_guests: Callable[[Callable], list[int]], fake_record: Callable) -> list[int]:
    """Cells of every boot of a guest that is played, for agree."""
    made = play_guests(fake_record)
    (checkout / "workloads" / "work.toml").write_text(_WORK)
    parts = "".join(f"<!-- {name}: begin -->\n<!-- {name}: end -->\n" for name in ("ledger-4", "applications", "host"))
    (checkout / "page.md").write_text(f"before\n{parts}after\n")
    return made
