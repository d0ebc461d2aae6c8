# SPDX-License-Identifier: GPL-2.0-or-later
"""Work on all CPUs: order, errors, and nothing left behind."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from schedlab import parallel
from schedlab.errors import InputError


def raises(text: str) -> int:
    raise InputError(text)


@pytest.fixture(params=[1, 2], ids="{} CPUs".format)
def cpus(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(request.param)))
    return request.param


def test_what_jobs_find_comes_in_their_order(cpus: int) -> None:
    jobs: list[Callable[[], tuple[int, int]]] = [lambda n=n: (n, os.getpid()) for n in range(600)]
    found = parallel.each(jobs)
    assert [number for number, _ in found] == list(range(600))
    assert (os.getpid() in {pid for _, pid in found}) == (cpus == 1)


def test_jobs_may_be_many(cpus: int) -> None:
    """More than a pipe holds, at little cost each."""
    begin = time.perf_counter()
    assert parallel.each([partial(int, n) for n in range(40_000)]) == list(range(40_000))
    assert time.perf_counter() - begin < 5


def test_the_first_job_s_error_is_raised(cpus: int) -> None:
    with pytest.raises(InputError, match="the first"):
        parallel.each([partial(raises, "the first"), partial(raises, "the second")])


def test_an_error_ends_the_jobs_still_at_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    begin = time.monotonic()
    with pytest.raises(InputError, match="the first"):
        parallel.each([partial(raises, "the first"), partial(time.sleep, 60)])
    assert time.monotonic() - begin < 20


def test_jobs_may_spread_their_own_work(cpus: int) -> None:
    inner = partial(parallel.each, [os.getpid, os.getpid])
    assert len(parallel.each([inner, inner])) == 2


def test_a_copy_that_was_ended_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    with pytest.raises(RuntimeError, match="ended with status -9"):
        parallel.each([lambda: os.kill(os.getpid(), signal.SIGKILL), time.time])


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGKILL])
def test_copies_end_with_the_one_that_waits(sign: signal.Signals, tmp_path: Path) -> None:
    program = (
        "import os, time\nfrom schedlab import parallel\nos.sched_getaffinity = lambda _: {0, 1}\n"
        f"note = lambda: (open(f'{tmp_path}/{{os.getpid()}}', 'w'), time.sleep(0.1))\n"
        "parallel.each([note] * 600)\n"
    )
    waiting = subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.DEVNULL)
    while len(list(tmp_path.iterdir())) < 2:
        assert waiting.poll() is None
        time.sleep(0.01)
    waiting.send_signal(sign)
    waiting.wait()
    copies = [int(path.name) for path in tmp_path.iterdir()]
    until = time.monotonic() + 20
    while any(Path(f"/proc/{pid}").exists() for pid in copies) and time.monotonic() < until:
        time.sleep(0.02)
    assert not [pid for pid in copies if Path(f"/proc/{pid}").exists()]
