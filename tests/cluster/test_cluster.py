# SPDX-License-Identifier: GPL-2.0-or-later
"""compare on a real Dask and a real Slurm (docs/cluster.md): workers and heads that die lose no cell and double none.

SCHEDLAB_CLUSTER_CELLS is how many cells there are; the proof in the docs has 10,000.
"""

import os
import signal
from pathlib import Path

from tests.cluster.dask_here import Dask
from tests.cluster.processes import running_in
from tests.cluster.slurm_here import Slurm
from tests.cluster.workload import Campaign, kept
from tests.waiting import wait

CELLS = int(os.environ.get("SCHEDLAB_CLUSTER_CELLS", "600"))
# Much more than they take: other programs may keep all CPUs busy.
_WITHIN_S = 300 + CELLS / 10


def test_no_cell_is_lost_or_doubled_when_a_worker_and_the_head_die(cluster: Dask | Slurm, tmp_path: Path) -> None:
    campaign, out = Campaign(tmp_path, CELLS), tmp_path / "out"
    head = campaign.start(cluster.on, out, cluster.environment)
    cluster.kill_worker_in_a_hand(head)
    assert wait(lambda: kept(out) or head.poll() is not None, _WITHIN_S), cluster.said()
    assert head.poll() is None, head.communicate()[1]
    os.killpg(head.pid, signal.SIGKILL)
    head.communicate()
    before = {path: path.stat().st_mtime_ns for path in (out / "packs").iterdir()}
    first = len(kept(out))
    assert 0 < first < CELLS, first
    if isinstance(cluster, Dask):
        # It comes when the campaign has begun, and has everything from the others or from the head.
        cluster.add_worker()

    done = campaign.run(cluster.on, out, cluster.environment)
    assert done.returncode == 0, f"{done.stderr}\n{cluster.said()}"
    found = kept(out)
    ids = [record["id"] for record in found]
    assert len(ids) == len(set(ids)) == CELLS
    assert {record["status"] for record in found} == {"ok"}
    assert f"{first} of {CELLS} cells have a record already" in done.stderr
    assert {path: path.stat().st_mtime_ns for path in before} == before
    # The same cells in the simulator here have the same records, and so the cluster's are theirs.
    here = tmp_path / "here"
    assert campaign.run("sim", here).returncode == 0
    assert sorted(kept(here), key=lambda record: record["id"]) == sorted(found, key=lambda record: record["id"])
    assert (here / "results.csv").read_bytes() == (out / "results.csv").read_bytes()
    # Nothing is left of what was only for the run.
    assert not (out / "slurm").exists()
    assert wait(lambda: not [pid for pid in running_in(out) if pid != os.getpid()], 20)


def test_a_scheduler_that_goes_is_one_line_and_keeps_what_came(dask: Dask, tmp_path: Path) -> None:
    campaign, out = Campaign(tmp_path, 600), tmp_path / "out"
    head = campaign.start(dask.on, out, dask.environment)
    assert wait(lambda: kept(out) or head.poll() is not None, _WITHIN_S), dask.said()
    dask.lose_scheduler()
    _, said = head.communicate(timeout=_WITHIN_S)
    assert head.returncode == 3, said
    line = "schedlab: Dask's scheduler is gone; finished cells are kept, and the same command resumes"
    assert said.splitlines()[-1] == line
    assert 0 < len(kept(out)) < 600
