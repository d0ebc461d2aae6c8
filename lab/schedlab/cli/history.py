# SPDX-License-Identifier: GPL-2.0-or-later
"""schedlab history: runs every step of a list, and says and draws where the number's level changed."""

import argparse
import json
import shlex
import sys
from contextlib import nullcontext

from schedlab import atomic
from schedlab.bisection import one_run, series_rows
from schedlab.bisection.policy_history import History
from schedlab.bisection.series import Point, Series
from schedlab.cli import bisect
from schedlab.collect.store import Store
from schedlab.errors import InterruptedRun, LabError


def history(options: argparse.Namespace) -> int:
    bisect.refuse(options)
    asked = bisect.asked_of(options)
    steps, commits, store = bisect.walk_of(options, asked, "history")
    store.create()
    tell = bisect.teller(options.json)
    found = Series(asked, [], options.smallest, shlex.join(["schedlab", *sys.argv[1:]]))
    with store.locked(), commits.files() if commits else nullcontext():
        tell(f"{bisect.question_said(asked)}; a change: by more than {options.smallest:g} %")
        for at, step in enumerate(steps):
            try:
                said = one_run.ask(step, asked, store, bisect.say)
            except InterruptedRun:
                raise
            except LabError as error:
                point = Point(step.name, step.title, None, bisect.line_of(error))
            else:
                # A kernel's name says little of what was booted.
                point = Point(step.name, step.title or said.kernel, said.value, "")
            found.points.append(point)
            tell(f"{at + 1:>{len(str(len(steps)))}}/{len(steps)}  {found.told(point)}")
        _write(found, store, commits)
    if not found.measured:
        raise LabError(f"none of the {len(steps)} steps has a value; the first: {found.points[0].why}")
    if options.json:
        print(json.dumps(series_rows.as_json(found), ensure_ascii=False, indent=1))
    else:
        print("\n".join([*found.sentences(), f"results: {store.directory}/ (history.html, history.csv)"]))
    return 0


def _write(found: Series, store: Store, commits: History | None) -> None:
    from schedlab.report import history_page

    atomic.write(store.directory / "history.csv", series_rows.as_csv(found))
    atomic.write(store.directory / "history.html", history_page.render(found, "commits" if commits else "kernels"))
