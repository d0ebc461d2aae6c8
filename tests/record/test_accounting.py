# SPDX-License-Identifier: GPL-2.0-or-later
"""Tasks are accounted where there is no tracing: each to its kind, none twice, none of another program."""

import os
import subprocess
import sys
import time
from dataclasses import replace

import pytest

from schedlab.capture import accounting
from schedlab.capture.taskstats import Ended, Listener
from schedlab.errors import PlaceError

RUNNER, KEEPER = 100, 200


def ended(at_ms: int, name: str, process: int, parent: int, life_ms: int = 1, thread: int = 0, nice: int = 0) -> Ended:
    return Ended(thread or process, process, parent, name, nice, 1000, 0, life_ms * 10**6, 3, at_ms * 10**6)


def names(tasks: list[Ended]) -> list[str]:
    return [task.name for task in tasks]


def test_only_the_tree_counts_also_where_numbers_are_used_again() -> None:
    heard = [
        ended(10, "before", 300, 7),  # another's process, whose number ours gets
        ended(20, "child", 301, 300),
        ended(30, "parent", 300, RUNNER, life_ms=15),
        ended(40, "after", 301, 300),  # both numbers are another's again
        ended(50, "theirs", 300, 7),
        ended(60, "runner", RUNNER, 1, life_ms=60),
    ]
    assert names(accounting.of_the_run(heard, RUNNER)) == ["child", "parent", "runner"]


def test_children_of_a_parent_whose_end_was_heard_late_count() -> None:
    """Who listens had no CPU for a second: the parent seems to have begun only after its child's end."""
    heard = [
        ended(10, "child", 301, 300),
        replace(ended(1012, "parent", 300, RUNNER, life_ms=15), late_ns=1000 * 10**6),
        replace(ended(1013, "runner", RUNNER, 1, life_ms=20), late_ns=1001 * 10**6),
    ]
    assert names(accounting.of_the_run(heard, RUNNER)) == ["child", "parent", "runner"]


def test_a_listener_knows_how_late_it_may_be() -> None:
    try:
        listener = Listener()
    except PlaceError as error:
        pytest.skip(str(error))
    listener.heard(0.001)
    subprocess.run(["/bin/true"], check=True)
    time.sleep(0.7)
    heard = [task for _ in range(1000) for task in listener.heard(0.001) if task.parent == os.getpid()]
    listener.close()
    (true,) = [task for task in heard if task.name == "true"]
    assert true.late_ns >= 0.7e9


def test_of_an_application_its_timed_script_and_what_its_server_starts_meanwhile_count() -> None:
    heard = [
        ended(10, "mkdir", 301, 300),
        ended(20, "sh", 300, KEEPER, life_ms=15),
        ended(20, "setup", KEEPER, RUNNER, life_ms=15, thread=201),
        ended(22, "prepares", 401, 400, life_ms=10),
        ended(50, "serves", 402, 400, life_ms=20),
        ended(55, "asks", 311, 310, life_ms=30),
        ended(60, "sh", 310, KEEPER, life_ms=35),
        ended(60, "run", KEEPER, RUNNER, life_ms=35, thread=202),
        ended(70, "stops", 320, KEEPER, life_ms=5),
        ended(71, "server", 400, KEEPER, life_ms=60),
        ended(80, "schedlab-host", KEEPER, RUNNER, life_ms=79),
        ended(85, "client", 500, RUNNER, life_ms=80),
        ended(90, "schedlab-host", RUNNER, 1, life_ms=90),
    ]
    counted = names(accounting.of_the_run(heard, RUNNER))
    assert counted == ["serves", "asks", "sh", "client", "schedlab-host"]


def test_threads_are_told_apart_by_their_turn_or_are_too_many() -> None:
    few = [ended(10 + n, "x264", 300, 1, life_ms=10, thread=301 + n, nice=19) for n in range(3)]
    many = [ended(10 + n, "sum", 400, 1, thread=401 + n) for n in range(40)]
    kinds = accounting._kinds([*few, *many, ended(90, "sum", 400, 1)], 0)
    assert {name: kind.tasks for name, kind in kinds.items()} == {
        "sum/*": 40,
        "sum": 1,
        "x264+19/1": 1,
        "x264+19/2": 1,
        "x264+19/3": 1,
    }
    # Only what is not the command's own is told.
    assert list(accounting._kinds(few[:1], 19)) == ["x264/1"]
    assert kinds["sum"].blocks == [3]
    assert kinds["sum"].run == [250] * 4


def test_the_kernel_tells_of_every_task() -> None:
    try:
        Listener().close()
    except PlaceError as error:
        pytest.skip(str(error))
    burn = "import time\nwhile time.thread_time() < .05: pass"
    thread = f"import threading; t = threading.Thread(target=lambda: exec({burn!r})); t.start(); t.join()"
    kinds, status = accounting.account(
        ["sh", "-c", '/bin/true; /bin/true; "$0" -c "$1"; exit 3', sys.executable, thread]
    )
    assert status == 3
    assert kinds["true"].tasks == 2
    spinner = next(kind for name, kind in kinds.items() if name.endswith("/1"))
    assert 50e6 <= sum(spinner.cpu) <= 60e6
