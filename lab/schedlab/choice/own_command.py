# SPDX-License-Identifier: GPL-2.0-or-later
"""A command of the user as a workload file: it runs in his folder and environment, and how long it takes is measured.

Under sudo it runs as who called sudo: a game, or a build that writes files, is not root's affair.
"""

import json
import os
import pwd
import shlex
import shutil
from collections.abc import Sequence
from pathlib import Path

from schedlab.errors import InputError, PlaceError

NAME = "command"
FRAME_TIME = "frame_time_us"
# The file's only load: it runs once.
LOAD = 1


def text(words: Sequence[str], place: str, frames: str | None = None) -> str:
    """`frames`: a file that the command leaves, or a folder in which it leaves one."""
    shown = shlex.join(words)
    program = _program(words[0])
    run = shlex.join([*_as_caller(), *words]) if place == "host" else shlex.join([program, *words[1:]])
    tools = f"{{ {_quoted(program)} = {_quoted(Path(program).name)} }}"
    lines = [
        "# SPDX-License-Identifier: GPL-2.0-or-later",
        f"name = {_quoted(NAME)}",
        f"title = {_quoted(shown)}",
        'source = "the command line of schedlab choose"',
        'load = "copies"',
        f"loads = [{LOAD}]",
        "",
        "[params]",
        'copies = { default = 1, min = 1, max = 1, about = "it runs once" }',
        "",
        "# Nobody simulates it: these stand for it where a file has to have tasks.",
        "[[task]]",
        'name = "stand_in"',
        'count = "copies"',
        'program = [{ stamp = true }, { run_us = 1 }, { log = "frame_time_us", since = "stamp" }]',
        "",
        "[metrics]",
        f"promises = [{', '.join(map(_quoted, ([FRAME_TIME] if frames else []) + ['elapsed_s']))}]",
        "",
        "[command]",
        f"tools = {tools}",
        "here = true",
        f"run = {_quoted('exec ' + run)}",
    ]
    if frames:
        lines.append(f"frames = {_quoted(frames)}")
    return "\n".join(lines) + "\n"


def _program(word: str) -> str:
    found = shutil.which(word)
    if found is None:
        raise InputError(f"{word}: no such program")
    return str(Path(found).absolute())


def _as_caller() -> list[str]:
    """What goes before the command so that it runs as who called sudo."""
    user = os.environ.get("SUDO_USER", "")
    if os.geteuid() or not user or user == "root":
        return []
    try:
        who = pwd.getpwnam(user)
    except KeyError:
        return []
    if shutil.which("setpriv") is None:
        raise PlaceError("setpriv (package util-linux) is missing: without it the command would run as root")
    own = [f"HOME={who.pw_dir}", f"USER={user}", f"LOGNAME={user}"]
    return ["env", *own, "setpriv", f"--reuid={who.pw_uid}", f"--regid={who.pw_gid}", "--init-groups", "--"]


def _quoted(value: str) -> str:
    """A string of TOML: JSON's, but for DEL and what is no text."""
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise InputError(f"{value!a}: expected a command in UTF-8") from error
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
