# SPDX-License-Identifier: GPL-2.0-or-later
"""A plugin of pytest for runs over mistakes: which tests, in which order, what they cover, and how long each may take.

SCHEDLAB_MUTANTS_TESTS    a JSON list of [test, seconds that it may take], in the order in which they run
SCHEDLAB_MUTANTS_OUT      a line of JSON goes there for every test that begins and for every one that ends
SCHEDLAB_MUTANTS_CALLS    set where tests say which of the lab's files they called
"""

import faulthandler
import json
import os
import sys
from pathlib import Path

import pytest

from tests.mutants import cover

_TESTS = json.loads(Path(os.environ["SCHEDLAB_MUTANTS_TESTS"]).read_text("utf-8"))
_MAY_TAKE = dict(_TESTS or [])
_OUT = Path(os.environ["SCHEDLAB_MUTANTS_OUT"])
_CALLS = os.environ.get("SCHEDLAB_MUTANTS_CALLS", "")


def _say(**fields: object) -> None:
    with _OUT.open("a", encoding="utf-8") as out:
        out.write(json.dumps(fields) + "\n")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if _TESTS is not None:
        order = {test: number for number, test in enumerate(_MAY_TAKE)}
        items[:] = sorted((item for item in items if item.nodeid in order), key=lambda item: order[item.nodeid])


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item: pytest.Item):
    _say(begins=item.nodeid)
    if item.nodeid in _MAY_TAKE:
        faulthandler.dump_traceback_later(_MAY_TAKE[item.nodeid], exit=True, file=sys.__stderr__)
    called: set[str] = set()
    if _CALLS:
        sys.setprofile(lambda frame, event, _: event == "call" and called.add(frame.f_code.co_filename))
    yield
    sys.setprofile(None)
    faulthandler.cancel_dump_traceback_later()
    files = cover.included(item) or {name for name in called if _CALLS in name}
    _say(test=item.nodeid, policies=cover.policies(item), files=sorted(files))


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.when == "call" or report.outcome != "passed":
        _say(ends=report.nodeid, outcome=report.outcome, seconds=round(report.duration, 3))
