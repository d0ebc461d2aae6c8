# SPDX-License-Identifier: GPL-2.0-or-later
"""Slurm, through submitit: a hand is a job of an array, and what it needs lies in the folder of results.

Jobs outlive us. Which ones there are stands in jobs.json, so that the same command waits for them instead of
submitting their cells again. Accounting need not be on: squeue tells what has become of a job.
"""

import hashlib
import os
import shutil
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from schedlab import atomic, foreign
from schedlab.campaign.matrix import Campaign
from schedlab.collect.store import Store
from schedlab.errors import LabError, PlaceError
from schedlab.places import hand_on_worker, sim
from schedlab.places.carried import simulator
from schedlab.places.hands import Came, Hand, Hands, cut, need_package
from schedlab.places.place import Done, Say

FOLDER = "slurm"
_JOBS = "jobs.json"
_FORMAT = 1
_COMMANDS = ("sbatch", "squeue", "scancel", "sinfo")
# Slurm's own limit is 1001 unless a cluster has another.
_MOST_IN_ARRAY = 1000
_LOOK_S = 0.3
# squeue is asked less often the longer nothing happens.
_ASK_S, _ASK_AT_MOST_S = 2.0, 30.0
# A file that another machine has written may be seen some time after its job is over.
_LATE_S = 6.0
_OVER = {
    *("BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED"),
    *("REVOKED", "TIMEOUT"),
}
# squeue forgets a job some minutes after its end.
_GONE = "GONE"

engine = sim.engine


def run(campaign: Campaign, store: Store, todo: set[str], jobs: int | None, done: Done, say: Say) -> int:
    planned = [cell for cell in campaign.cells if cell.id in todo]
    if not planned:
        return 0
    _require()
    cpus = jobs or 1
    slots = max(1, _cpus() // cpus)
    carried = simulator(campaign, engine())
    hands = Hands(campaign, store, carried, done, say)
    array = _Array(store.directory.resolve() / FOLDER, hands, carried.files, cpus)
    try:
        begun = array.begun({cell.id: cell for cell in planned})
        if begun:
            say(f"{begun} jobs of an earlier run go on")
        waited_for = {cell.id for hand in array.out.values() for cell in hand.cells}
        array.submit(cut([cell for cell in planned if cell.id not in waited_for], slots))
        array.wait()
    except BaseException:
        array.cancel()
        raise
    array.clear()
    return hands.finish()


def _require() -> None:
    need_package("submitit", "submitit")
    lacks = next((name for name in (*_COMMANDS, "srun") if not shutil.which(name)), None)
    if lacks:
        raise PlaceError(f"no command {lacks}: this machine submits to no Slurm (Debian: slurm-client)")


def _ask(*words: str) -> str:
    """Raises PlaceError where Slurm does not answer."""
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode:
        said = done.stderr.strip().splitlines() or [f"status {done.returncode}"]
        raise PlaceError(f"{words[0]}: {said[-1]}")
    return done.stdout


def _cpus() -> int:
    """Of all nodes that run jobs or could, in the largest partition that jobs may go to."""
    partition = os.environ.get("SBATCH_PARTITION", "")
    lines = _ask("sinfo", "--noheader", "--format=%C", *([f"--partition={partition}"] if partition else []))
    # Allocated, idle, other, total.
    counts = [line.split("/")[:2] for line in lines.split()]
    return max((int(allocated) + int(idle) for allocated, idle in counts), default=0)


def _noted(path: Path) -> dict[str, Any]:
    """What an earlier run wrote of its jobs; empty where there is nothing that can be read. Raises NewerFormat."""
    try:
        found = foreign.parse(path.read_bytes())
    except (OSError, ValueError):
        return {}
    if not isinstance(found, dict):
        return {}
    if foreign.is_newer(found.get("format"), _FORMAT):
        raise foreign.newer(path, found["format"], _FORMAT)
    return found


class _Array:
    """`out` are the hands whose jobs are not over, by job."""

    def __init__(self, folder: Path, hands: Hands, archive: bytes, cpus: int) -> None:
        digest = hashlib.sha256(bytes(folder)).hexdigest()[:12]
        # Jobs of this folder, and no others.
        self._name = f"schedlab-{digest}"
        self._folder = folder
        self._hands = hands
        self._cpus = cpus
        self.out: dict[str, Hand] = {}
        self._unpacked = folder / f"runner-{hashlib.sha256(archive).hexdigest()[:16]}"
        self._noted = _noted(folder / _JOBS)
        folder.mkdir(parents=True, exist_ok=True)
        hand_on_worker.unpack(archive, self._unpacked)

    def begun(self, planned: dict[str, Any]) -> int:
        """Takes up the jobs of an earlier run whose cells are still wanted, and ends others of its name. Returns how
        many it took up.
        """
        states = self._states()
        with suppress(ValueError, KeyError, TypeError):
            for entry in self._noted["jobs"]:
                job, wanted = str(entry["job"]), [planned[one] for one in entry["cells"] if one in planned]
                if wanted and (states.get(job, _GONE) not in (_OVER | {_GONE}) or self._result(job).exists()):
                    self.out[job] = Hand(wanted, int(entry["tries"]))
        strays = [job for job, state in states.items() if state not in _OVER and job not in self.out]
        if strays:
            _ask("scancel", *strays)
        return len(self.out)

    def submit(self, hands: Sequence[Hand]) -> None:
        for start in range(0, len(hands), _MOST_IN_ARRAY):
            some = hands[start : start + _MOST_IN_ARRAY]
            self.out |= dict(zip(self._submitted(some), some, strict=True))
            entries = [
                {"job": job, "tries": hand.tries, "cells": [cell.id for cell in hand.cells]}
                for job, hand in self.out.items()
            ]
            atomic.write_json_lines(self._folder / _JOBS, {"format": _FORMAT, "jobs": entries})

    def _submitted(self, hands: Sequence[Hand]) -> list[str]:
        import cloudpickle
        import submitit

        # Nodes need nothing of ours but this folder, and the same Python.
        cloudpickle.register_pickle_by_value(hand_on_worker)
        executor = submitit.SlurmExecutor(folder=self._folder)
        # A cluster's own defaults hold for all else, and what SBATCH_… says in the environment goes before them.
        executor.update_parameters(
            job_name=self._name,
            cpus_per_task=self._cpus,
            array_parallelism=len(hands),
            use_srun=False,
            time=None,
            wckey=None,
        )
        count = len(hands)
        try:
            submitted = executor.map_array(
                hand_on_worker.run,
                [str(self._unpacked)] * count,
                [self._hands.shard(hand) for hand in hands],
                [self._cpus] * count,
            )
        except (RuntimeError, OSError, subprocess.SubprocessError) as error:
            said = str(error).strip().splitlines() or [type(error).__name__]
            raise PlaceError(f"sbatch: {said[-1]}") from error
        return [job.job_id for job in submitted]

    def wait(self) -> None:
        asked = changed = time.monotonic()
        over: dict[str, tuple[float, str]] = {}  # without a result: since when, in which state
        while self.out:
            back = [job for job in self._results() if job in self.out]
            now = time.monotonic()
            if now - asked > min(_ASK_S + (now - changed) / 10, _ASK_AT_MOST_S):
                asked = now
                # A controller that does not answer is no reason to give up jobs.
                with suppress(PlaceError):
                    states = self._states()
                    for job in self.out:
                        state = states.get(job, _GONE)
                        if state in _OVER or state == _GONE:
                            over.setdefault(job, (now, state))
                        else:
                            over.pop(job, None)
            left: list[Hand] = []
            for job in back:
                left += self._collect(job)
            for job, (since, state) in list(over.items()):
                if job in self.out and now - since > _LATE_S:
                    left += self._hands.lost(self.out.pop(job), self._why(job, state))
                    self._remove(job)
            if left:
                self.submit(left)
            if back or left:
                changed = now
            elif self.out:
                time.sleep(_LOOK_S)

    def _states(self) -> dict[str, str]:
        """Of all jobs of this name that Slurm remembers."""
        lines = _ask("squeue", "--noheader", "--array", "--states=all", f"--name={self._name}", "--format=%i|%T")
        pairs = (line.strip().partition("|") for line in lines.splitlines() if line.strip())
        return {job: state for job, _, state in pairs}

    def _result(self, job: str) -> Path:
        return self._folder / f"{job}_0_result.pkl"

    def _results(self) -> list[str]:
        end = self._result("").name
        return [name.removesuffix(end) for name in os.listdir(self._folder) if name.endswith(end)]

    def _collect(self, job: str) -> list[Hand]:
        import submitit

        hand = self.out.pop(job)
        try:
            left = self._hands.came(hand, Came(*submitit.SlurmJob(self._folder, job).result()))
        except LabError:
            raise
        except Exception as error:
            said = str(error).strip().splitlines() or [type(error).__name__]
            left = self._hands.lost(hand, said[-1])
        self._remove(job)
        return left

    def _why(self, job: str, state: str) -> str:
        lines: list[str] = []
        with suppress(OSError):
            lines = (self._folder / f"{job}_0_log.err").read_text(errors="replace").strip().splitlines()
        return f"Slurm's job {job} ended as {state}" + (f": {lines[-1]}" if lines else "")

    def _remove(self, job: str) -> None:
        """What submitit wrote for it."""
        for path in self._folder.glob(f"{job}_[!0-9]*"):
            path.unlink(missing_ok=True)
        for path in self._folder.glob(f"{job}_0_*"):
            path.unlink(missing_ok=True)

    def cancel(self) -> None:
        try:
            _ask("scancel", f"--name={self._name}")
        except LabError:
            # Jobs that cannot be told to end still want the folder, and the same command takes them up.
            return
        self.clear()

    def clear(self) -> None:
        """Nothing of a job is wanted any more."""
        shutil.rmtree(self._folder, ignore_errors=True)
