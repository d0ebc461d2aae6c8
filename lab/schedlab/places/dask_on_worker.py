# SPDX-License-Identifier: GPL-2.0-or-later
"""What runs in Dask's workers: what cells need lies in a worker's own folder, for all hands that come to it.

Like hand_on_worker, this module goes there by its text.
"""

import shutil
from collections.abc import Callable
from pathlib import Path

from distributed import Worker, WorkerPlugin, get_worker

from schedlab.places.hand_on_worker import run, unpack


class Unpacked(WorkerPlugin):
    """Of workers that come later, too."""

    def __init__(self, archive: bytes, name: str) -> None:
        self.name = name
        self._archive = archive
        self.folder = ""

    def setup(self, worker: Worker) -> None:
        self.folder = str(Path(worker.local_directory) / self.name)
        unpack(self._archive, self.folder)

    def teardown(self, worker: Worker) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


def runner(name: str) -> Callable[[bytes], tuple[bytes, int, str]]:
    """For tasks. Dask sends the text of such an inner function, and of others the name of their module."""

    def run_there(shard: bytes) -> tuple[bytes, int, str]:
        # A worker's thread runs one cell at a time: Dask knows how many threads there are.
        return run(get_worker().plugins[name].folder, shard, 1)

    return run_there
