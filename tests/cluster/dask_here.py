# SPDX-License-Identifier: GPL-2.0-or-later
"""A Dask of one scheduler and two workers on this machine, each a process that can be killed."""

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from tests.cluster.processes import kill_with_a_hand, runners
from tests.waiting import wait


class Dask:
    """As a cluster has it: nothing of schedlab can be imported there."""

    def __init__(self, folder: Path) -> None:
        self.environment: dict[str, str] = {}
        self._folder = folder
        self.file = folder / "scheduler.json"
        self._scheduler: subprocess.Popen[bytes] | None = None
        self.workers: list[subprocess.Popen[bytes]] = []

    @property
    def on(self) -> str:
        return f"dask:{json.loads(self.file.read_text())['address']}"

    def start(self, workers: int = 2) -> None:
        words = ["--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(self.file)]
        self._scheduler = self._begin("scheduler", *words)
        assert wait(self.file.exists, 300), self.said()
        for _ in range(workers):
            self.add_worker()

    def add_worker(self) -> None:
        folder = self._folder / f"worker-{len(self.workers)}"
        folder.mkdir()
        words = ["--scheduler-file", str(self.file), "--host", "127.0.0.1", "--nthreads", "1", "--no-nanny"]
        self.workers.append(self._begin("worker", *words, "--no-dashboard", "--local-directory", str(folder)))

    def kill_worker_in_a_hand(self, head: subprocess.Popen[str]) -> None:
        """One that runs cells, which end with it."""
        kill_with_a_hand(
            lambda: [(worker.pid, runner) for worker in self.workers for runner in runners(worker.pid)],
            head,
            self.said,
        )

    def lose_scheduler(self) -> None:
        assert self._scheduler
        self._scheduler.kill()
        self._scheduler.wait()

    def stop(self) -> None:
        for child in [*self.workers, *([self._scheduler] if self._scheduler else [])]:
            with suppress(ProcessLookupError):
                child.send_signal(signal.SIGINT)
        for child in [*self.workers, *([self._scheduler] if self._scheduler else [])]:
            try:
                child.wait(15)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()

    def said(self) -> str:
        return "\n".join(f"{log.name}: {log.read_text(errors='replace')[-1500:]}" for log in self._folder.glob("*.log"))

    def _begin(self, what: str, *words: str) -> subprocess.Popen[bytes]:
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        # Where a module of that name cannot be imported, it has to have come by its text.
        hidden = self._folder / "hidden" / "schedlab"
        hidden.mkdir(parents=True, exist_ok=True)
        (hidden / "__init__.py").write_text("raise ImportError('workers have no schedlab')\n")
        with (self._folder / f"{what}-{len(self.workers)}.log").open("wb") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "dask", what, *words],
                env=environment | {"PYTHONPATH": str(hidden.parent)},
                cwd=self._folder,
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                process_group=0,
            )
