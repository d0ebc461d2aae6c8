# SPDX-License-Identifier: GPL-2.0-or-later
"""Work on all CPUs, in forked copies of this process: what they work on needs no copying, only what they find does."""

import ctypes
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from multiprocessing.process import BaseProcess
from typing import TypeVar

T = TypeVar("T")

# So many times does each copy come for jobs: often enough that none ends long before the others.
_TURNS = 32
_PR_SET_PDEATHSIG = 1


def each(jobs: Iterable[Callable[[], T]]) -> list[T]:
    """What every job returns, in order; the first one's exception, if it raises one. Long jobs come first at best."""
    work = list(jobs)
    workers = min(len(work), len(os.sched_getaffinity(0)))
    if workers < 2:
        return [job() for job in work]
    others = multiprocessing.active_children()
    fork = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(workers, fork, _begin, (work, os.getpid())) as pool:
        pool.submit(os.getpid)  # The first submission forks the copies.
        copies = [child for child in multiprocessing.active_children() if child not in others]
        try:
            return list(pool.map(_do, range(len(work)), chunksize=max(1, len(work) // (workers * _TURNS))))
        except BrokenProcessPool:
            pool.shutdown()
            raise RuntimeError(f"a copy of this process ended with status {_status(copies)}") from None
        except BaseException:
            for copy in copies:
                with suppress(ProcessLookupError):
                    os.kill(copy.pid, signal.SIGINT)
            pool.shutdown(cancel_futures=True)
            raise


def _status(copies: list[BaseProcess]) -> int:
    """The exit status of the copy that ended by itself; the pool ends the others by SIGTERM."""
    ended = [copy.exitcode for copy in copies if copy.exitcode]
    return next((status for status in ended if status != -signal.SIGTERM), -signal.SIGTERM)


class _Copy:
    """A copy's own state. SIGINT ends its job, but never the copy: a message half sent would hold up its reader."""

    def __init__(self, work: list[Callable[[], T]]) -> None:
        self.work = work
        self.busy = False
        self.stopped = False

    def do(self, number: int) -> T:
        self.busy = True
        try:
            if self.stopped:
                raise KeyboardInterrupt
            return self.work[number]()
        finally:
            self.busy = False

    def stop(self, *_: object) -> None:
        raising = self.busy and not self.stopped
        self.stopped = True
        if raising:
            raise KeyboardInterrupt


_copy = _Copy([])


def _begin(work: list[Callable[[], T]], parent: int) -> None:
    global _copy
    _copy = _Copy(work)
    signal.signal(signal.SIGINT, _copy.stop)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    # A copy waits for jobs for ever: only the kernel can tell it that nobody is left to give it any.
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def _do(number: int) -> T:
    return _copy.do(number)
