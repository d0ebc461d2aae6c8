# SPDX-License-Identifier: GPL-2.0-or-later
"""Work on all CPUs, in forked copies of this process: what they work on needs no copying, only what they find does."""

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterable
from multiprocessing.connection import Connection
from typing import TypeVar

T = TypeVar("T")


def each(jobs: Iterable[Callable[[], T]]) -> list[T]:
    """What every job returns, in order; the first one's exception, if it raises one. Long jobs come first at best."""
    work = list(jobs)
    workers = min(len(work), len(os.sched_getaffinity(0)))
    if workers < 2:
        return [job() for job in work]
    context = multiprocessing.get_context("fork")
    # The numbers of the jobs lie in a pipe, from which whoever is free takes the next one; the empty pipe ends a copy.
    taking, putting = os.pipe()
    os.write(putting, b"".join(number.to_bytes(2) for number in range(len(work))))
    os.close(putting)
    children = []
    for _ in range(workers):
        here, there = context.Pipe(duplex=False)
        child = context.Process(target=_work, args=(work, taking, there))
        child.start()
        there.close()
        children.append((child, here))
    os.close(taking)
    found: dict[int, T] = {}
    try:
        for child, pipe in children:
            try:
                found |= pipe.recv()
            except EOFError:
                child.join()
                raise RuntimeError(f"a copy of this process ended with status {child.exitcode}") from None
    finally:
        for child, _ in children:
            child.terminate()
            child.join()
    failed = next((found[number] for number in sorted(found) if isinstance(found[number], BaseException)), None)
    if failed:
        raise failed
    return [found[number] for number in range(len(work))]


def _work(work: list[Callable[[], T]], taking: int, pipe: Connection) -> None:
    # Ctrl-C is for the one that waits; it ends its copies.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    parent = os.getppid()
    found: dict[int, T | Exception] = {}
    while (number := os.read(taking, 2)) and os.getppid() == parent:
        at = int.from_bytes(number)
        try:
            found[at] = work[at]()
        except Exception as error:
            found[at] = error
            break
    pipe.send(found)
