# SPDX-License-Identifier: GPL-2.0-or-later
"""What is no cluster is one line; and what a worker needs of the simulator: no compiler, and records as lines."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cluster.workload import ROOT, Campaign, kept

SIM = ROOT / "target/release/schedlab-sim"

pytestmark = pytest.mark.skipif(not SIM.exists(), reason="no schedlab-sim in target/release: make build")


@pytest.fixture
def campaign(tmp_path: Path) -> Campaign:
    return Campaign(tmp_path, 10)


def _without(folder: Path, package: str) -> dict[str, str]:
    """As if it were not installed."""
    (folder / f"{package}.py").write_text(f"raise ModuleNotFoundError('there is none', name={package!r})\n")
    return {"PYTHONPATH": str(folder)}


@pytest.mark.parametrize(
    ("on", "package", "line"),
    [
        ("dask", "distributed", "no Python package distributed: install dask and distributed (lab/requirements.txt)"),
        ("slurm", "submitit", "no Python package submitit: install submitit (lab/requirements.txt)"),
    ],
)
def test_a_missing_package_is_one_line(campaign: Campaign, tmp_path: Path, on: str, package: str, line: str) -> None:
    done = campaign.run(on, tmp_path / "out", _without(tmp_path, package))
    assert (done.returncode, done.stderr) == (3, f"schedlab: {line}\n")


def test_no_slurm_is_one_line(campaign: Campaign, tmp_path: Path) -> None:
    done = campaign.run("slurm", tmp_path / "out", {"PATH": str(tmp_path)})
    line = "no command sbatch: this machine submits to no Slurm (Debian: slurm-client)"
    assert (done.returncode, done.stderr) == (3, f"schedlab: {line}\n")


def test_no_scheduler_is_one_line(campaign: Campaign, tmp_path: Path) -> None:
    # Port 9 discards what comes, where anybody listens to it at all.
    done = campaign.run("dask:127.0.0.1:9", tmp_path / "out")
    assert done.returncode == 3
    assert done.stderr.startswith("schedlab: --on dask:127.0.0.1:9: no scheduler answers there: ")
    assert done.stderr.count("\n") == 1
    done = campaign.run("dask:127.0.0.1:9", tmp_path / "out", None, "-j", "2")
    assert done.returncode == 2
    assert done.stderr.startswith("schedlab: -j 2 with --on dask:127.0.0.1:9: its workers ")


def test_records_come_as_lines_and_need_no_compiler_where_everything_was_built(
    campaign: Campaign, tmp_path: Path
) -> None:
    assert campaign.run("sim", tmp_path / "out").returncode == 0
    there = tmp_path / "there"
    shard = _of_objects(tmp_path / "out", there)
    cache = {"SCHEDLAB_CACHE": str(there / "cache")}
    none = cache | {"SCHEDLAB_CLANG": "none"}
    refused = _run(shard, none, "--out", "-")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr.endswith("SCHEDLAB_CLANG=none: not a clang 17 or newer\n")
    built = _run(shard, cache, "--build-only")
    assert (built.returncode, built.stderr) == (0, "")
    assert sorted(map(Path, built.stdout.splitlines())) == sorted((there / "cache" / "translated").glob("*.so"))
    done = _run(shard, none, "--out", "-")
    assert (done.returncode, done.stderr) == (0, "")
    found = [json.loads(line) for line in done.stdout.splitlines()]
    for record in found:
        del record["cost"]
    assert sorted(found, key=lambda one: one["id"]) == sorted(kept(tmp_path / "out"), key=lambda one: one["id"])


def _of_objects(out: Path, there: Path) -> Path:
    """The shard of a campaign, whose policies are built into a folder."""
    there.mkdir()
    shard = out / "shard.json"
    data = json.loads(shard.read_text())
    for name, folder in data["files"]["schedulers"].items():
        made = there / f"{name}.bpf.o"
        subprocess.run([SIM, "object", folder, made], check=True)
        data["files"]["schedulers"][name] = str(made)
    shard.write_text(json.dumps(data))
    return shard


def _run(shard: Path, environment: dict[str, str], *more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [SIM, "run", shard, *more], env=os.environ | environment, capture_output=True, text=True, check=False
    )


# What a worker does with a hand, in a folder on a file system of its own.
_HAND = """\
import gzip, json, sys
from schedlab.places import hand_on_worker
folder, shard = sys.argv[1:]
try:
    records, status, said = hand_on_worker.run(folder, gzip.compress(open(shard, "rb").read()), 1)
    print(json.dumps([gzip.decompress(records).decode(), status, said]))
except OSError as error:
    print(json.dumps([type(error).__name__, error.errno, error.strerror]))
"""
_MOUNTED = """\
mount -t tmpfs -o size=20k none "$1" && ln -s "$2" "$1/schedlab-sim" || { echo "cannot mount"; exit 99; }
ln -s "$3" "$1/cache"
[ "$4" = rw ] || mount -o remount,ro "$1"
shift 4
exec "$@"
"""


@pytest.mark.skipif(not shutil.which("unshare"), reason="no unshare, which mounts a small disk")
def test_a_worker_without_room_sends_what_it_has_and_says_why(campaign: Campaign, tmp_path: Path) -> None:
    assert campaign.run("sim", tmp_path / "out").returncode == 0
    folder, there = tmp_path / "worker", tmp_path / "there"
    folder.mkdir()
    shard = _of_objects(tmp_path / "out", there)
    assert _run(shard, {"SCHEDLAB_CACHE": str(there / "cache")}, "--build-only").returncode == 0

    def hand(how: str) -> list[str | int]:
        command = [sys.executable, "-c", _HAND, folder, shard]
        done = subprocess.run(
            ["unshare", "--mount", "sh", "-c", _MOUNTED, "sh", folder, SIM, there / "cache", how, *command],
            env=os.environ | {"PYTHONPATH": str(ROOT / "lab")},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode == 99 or done.stderr.startswith("unshare: "):
            pytest.skip(f"nothing can be mounted here: {done.stderr.strip()}")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    records, status, said = hand("rw")
    assert status == 2
    assert str(said).endswith("standard output: No space left on device (os error 28)\n")
    whole = [json.loads(line) for line in str(records).splitlines(keepends=True) if line.endswith("\n")]
    assert 0 < len(whole) < campaign.cells
    assert {record["status"] for record in whole} == {"ok"}
    # Whoever gave the hand out is told, and hands its cells out again.
    assert hand("ro") == ["OSError", 30, "Read-only file system"]
