# SPDX-License-Identifier: GPL-2.0-or-later
"""Which schedlab this is: the number, which only Cargo.toml has, and the commit."""

import re
import subprocess
from functools import cache
from importlib import metadata

from schedlab import checkout


@cache
def number() -> str:
    tree = checkout.tree()
    if tree is None:
        return metadata.version("schedlab")
    found = re.search(r'^version = "(.+)"$', (tree / "Cargo.toml").read_text(encoding="utf-8"), re.MULTILINE)
    assert found, "Cargo.toml: no version of the workspace"
    return found[1]


@cache
def commit() -> str:
    """`1a2b3c4d5`, with `-dirty` after it where files were changed since; empty where nobody knows.

    A clone asks git. What was built from one, as a wheel or an image, has a note of it.
    """
    tree = checkout.tree()
    if tree and (tree / ".git").exists():
        # Root may run what belongs to somebody else, which git refuses to look into by itself.
        command = ["git", "--no-optional-locks", "-c", f"safe.directory={tree}", "describe", "--always", "--dirty"]
        try:
            done = subprocess.run(
                [*command, "--abbrev=9", "--exclude=*"], cwd=tree, capture_output=True, text=True, check=False
            )
        except OSError:
            return ""
        return done.stdout.strip()
    try:
        return ((tree or checkout.root()) / "commit").read_text(encoding="utf-8").partition("\n")[0]
    except OSError:
        return ""


def told() -> str:
    """`0.1.0 (1a2b3c4d5-dirty)`."""
    return f"{number()} ({commit()})" if commit() else number()
