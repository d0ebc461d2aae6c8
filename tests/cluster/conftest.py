# SPDX-License-Identifier: GPL-2.0-or-later
"""Clusters on this machine, or why there is none."""

import importlib.util
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.dask_here import Dask
from tests.cluster.slurm_here import Slurm, lacking
from tests.cluster.workload import ROOT


@pytest.fixture
def dask(tmp_path: Path) -> Iterator[Dask]:
    _require("distributed")
    folder = tmp_path / "dask"
    folder.mkdir()
    made = Dask(folder)
    try:
        made.start()
        yield made
    finally:
        made.stop()


@pytest.fixture
def slurm(tmp_path: Path) -> Iterator[Slurm]:
    _require("submitit")
    if why := lacking():
        pytest.skip(f"no Slurm on this machine: {why}")
    folder = tmp_path / "daemons"
    folder.mkdir()
    made = Slurm(folder)
    try:
        made.start()
        yield made
    finally:
        made.stop()


@pytest.fixture(params=["dask", "slurm"])
def cluster(request: pytest.FixtureRequest) -> Dask | Slurm:
    return request.getfixturevalue(request.param)


def _require(package: str) -> None:
    if not importlib.util.find_spec(package):
        pytest.skip(f"no Python package {package}")
    if not (ROOT / "target/release/schedlab-sim").exists():
        pytest.skip("no schedlab-sim in target/release: make build")
