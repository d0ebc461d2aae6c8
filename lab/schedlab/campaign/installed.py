# SPDX-License-Identifier: GPL-2.0-or-later
"""Installed programs among schedulers: exec:"PROGRAM OPTION…"."""

import re
import shlex
import shutil

from schedlab.catalogue.schedulers import OPTIONS
from schedlab.errors import InputError

_EXEC = re.compile(r"""(?:^|(?<=,))\s*exec:("[^"]*"|'[^']*'|[^,"']*)\s*(?=,|$)""")


def spelled(text: str) -> str:
    """With every exec:"scx_mine -m x" as PATH:options=-m x."""
    made = _EXEC.sub(lambda found: _program(found[1]), text)
    if "exec:" in made:
        raise InputError(f"schedulers '{text}': expected exec:\"PROGRAM OPTION…\"")
    return made


def _program(quoted: str) -> str:
    command = quoted[1:-1] if quoted[:1] in ("'", '"') else quoted
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise InputError(f"scheduler exec:{quoted}: {error}") from error
    if not words:
        raise InputError(f"scheduler exec:{quoted}: expected a program")
    path = shutil.which(words[0])
    if path is None:
        raise InputError(f"scheduler exec:{quoted}: {words[0]} is not installed here")
    path = path if "/" in path else f"./{path}"
    return f"{path}:{OPTIONS}={' '.join(map(_word, words[1:]))}" if words[1:] else path


def _word(word: str) -> str:
    """A comma outside of quotation marks would end the scheduler."""
    return f'"{word}"' if "," in word and '"' not in word else shlex.quote(word)
