# SPDX-License-Identifier: GPL-2.0-or-later
"""The scheduler that runs before a campaign is put back after it, whatever happens in between."""

import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from schedlab.errors import PlaceError
from schedlab.sched_ext import attached, sysfs

_SERVICE = "scx.service"


@contextmanager
def put_back(say: Callable[[str], None]) -> Iterator[None]:
    """Stop what runs and start it again at the end; refuse where nobody could start it again."""
    state = sysfs.read()
    if not state.enabled:
        yield
        return
    ours = attached.find()
    if ours:
        say(f"stopping {ours.name}; it is put back at the end")
        attached.stop(ours)
        try:
            yield
        finally:
            attached.start(ours.name, ours.command)
            say(f"{ours.name} runs again")
    elif _service("is-active"):
        say(f"stopping {_SERVICE} ({state.ops}); it is put back at the end")
        if not _service("stop") or not sysfs.wait(enabled=False, patience_s=30):
            raise PlaceError(f"{state.ops} is running and {_SERVICE} cannot be stopped: stop it first")
        try:
            yield
        finally:
            done = _service("start") and sysfs.wait(enabled=True, patience_s=30)
            say(f"{_SERVICE} {'runs again' if done else 'could not be started again: systemctl start ' + _SERVICE}")
    else:
        raise PlaceError(
            f"{state.ops or 'a scheduler'} is running and was not started by schedlab or {_SERVICE}, so that nobody "
            "could put it back: stop it first, with Ctrl-C where it was started, or with scxctl stop"
        )


def _service(verb: str) -> bool:
    if not shutil.which("systemctl"):
        return False
    return subprocess.run(["systemctl", "--quiet", verb, _SERVICE], capture_output=True, check=False).returncode == 0
