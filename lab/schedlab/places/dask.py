# SPDX-License-Identifier: GPL-2.0-or-later
"""Dask: hands are tasks of a scheduler that runs already, or of one that is started here for the campaign.

Dask itself runs a hand again whose worker died. When we are gone, it forgets the hands that it has not begun.
"""

import hashlib
import logging
import os
import signal
import tempfile
from collections.abc import Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from schedlab.campaign.matrix import Campaign
from schedlab.collect.store import Store
from schedlab.errors import InputError, PlaceError
from schedlab.places import hand_on_worker, sim
from schedlab.places.carried import simulator
from schedlab.places.hands import Came, Hand, Hands, cut, need_package
from schedlab.places.place import Done, Say

if TYPE_CHECKING:
    from distributed import Client, Future

_CONNECT_S = 10
# A scheduler may have been started a moment before its workers.
_WORKERS_S = 60

engine = sim.engine


def run(campaign: Campaign, store: Store, todo: set[str], jobs: int | None, done: Done, say: Say) -> int:
    planned = [cell for cell in campaign.cells if cell.id in todo]
    if not planned:
        return 0
    address = campaign.request.address
    if address and jobs:
        raise InputError(f"-j {jobs} with --on dask:{address}: its workers have as many threads as cells run at once")
    need_package("distributed", "dask and distributed")
    carried = simulator(campaign, engine())
    hands = Hands(campaign, store, carried, done, say)
    with _connected(address, jobs) as client:
        # One campaign at a time runs in a folder, so that what a killed one left there is replaced.
        name = f"schedlab-{hashlib.sha256(bytes(store.directory.resolve())).hexdigest()[:16]}"
        _Tasks(client, hands, name).run(carried.files, cut(planned, _threads(client)))
    return hands.finish()


@contextmanager
def _connected(address: str, jobs: int | None) -> Iterator["Client"]:
    from distributed import Client, LocalCluster

    # What it has to say of workers that come and go is said here where it matters.
    for name in [name for name in logging.root.manager.loggerDict if name.partition(".")[0] == "distributed"]:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    if not address:
        with tempfile.TemporaryDirectory(prefix="schedlab-dask-", ignore_cleanup_errors=True) as folder:
            with _for_us_alone(signal.SIGINT):
                cluster = LocalCluster(
                    n_workers=jobs or len(os.sched_getaffinity(0)),
                    threads_per_worker=1,
                    dashboard_address=None,
                    local_directory=folder,
                    silence_logs=logging.CRITICAL,
                )
            with cluster, Client(cluster) as client:
                yield client
        return
    try:
        where = {"scheduler_file": address} if address.endswith(".json") else {"address": address}
        client = Client(**where, timeout=_CONNECT_S, set_as_default=False)
    except (OSError, ValueError) as error:
        raise PlaceError(f"--on dask:{address}: no scheduler answers there: {' '.join(str(error).split())}") from error
    with client:
        yield client


@contextmanager
def _for_us_alone(sign: signal.Signals) -> Iterator[None]:
    """Ctrl-C goes to all processes of a terminal. What is started meanwhile ignores it and ends with us."""
    before = signal.signal(sign, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(sign, before)


def _threads(client: "Client") -> int:
    try:
        client.wait_for_workers(1, timeout=_WORKERS_S)
    except TimeoutError as error:
        raise PlaceError(f"Dask's scheduler has no worker, and none came within {_WORKERS_S} s") from error
    return max(1, sum(client.nthreads().values()))


class _Tasks:
    def __init__(self, client: "Client", hands: Hands, name: str) -> None:
        import cloudpickle

        from schedlab.places import dask_on_worker

        # Workers need nothing of ours.
        for module in (hand_on_worker, dask_on_worker):
            cloudpickle.register_pickle_by_value(module)
        self._client = client
        self._hands = hands
        self._name = name
        self._unpacked = dask_on_worker.Unpacked
        self._run = dask_on_worker.runner(name)

    def run(self, archive: bytes, hands: list[Hand]) -> None:
        from distributed import as_completed

        self._client.register_plugin(self._unpacked(archive, self._name))
        out = {future: hand for hand in hands for future in [self._submit(hand)]}
        try:
            over = as_completed(list(out), loop=self._client.loop)
            for future in over:
                hand = out.pop(future)
                for left in self._outcome(future, hand):
                    again = self._submit(left)
                    out[again] = left
                    over.add(again)
                # Its records are kept here, so that Dask need not keep them.
                future.release()
        finally:
            with suppress(Exception):
                self._client.cancel(list(out))
                self._client.unregister_worker_plugin(self._name)

    def _submit(self, hand: Hand) -> "Future":
        return self._client.submit(self._run, self._hands.shard(hand), pure=False)

    def _outcome(self, future: "Future", hand: Hand) -> list[Hand]:
        try:
            came = Came(*future.result(timeout=_CONNECT_S))
        except (CancelledError, TimeoutError) as error:
            # Dask has forgotten it, and so all others.
            raise PlaceError(
                "Dask's scheduler is gone; finished cells are kept, and the same command resumes"
            ) from error
        except Exception as error:
            return self._hands.lost(hand, f"{type(error).__name__}: {error}")
        return self._hands.came(hand, came)
