# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs a hand of cells on somebody else's machine, which has Python and nothing of this project.

This module goes there by its text, so it imports nothing but what comes with Python.
"""

import gzip
import io
import os
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path

RUNNER = "schedlab-sim"
_LAST_BYTES = 4000
# What is sent is read once.
_LEVEL = 1
# No compiler is looked for: what the cells need was built before it was sent.
_NO_COMPILER = {"SCHEDLAB_CLANG": "none", "SCHEDLAB_CACHE": "cache"}


def unpack(archive: bytes, folder: str | Path) -> None:
    """The runner and what it needs go into the folder, which is made, unless it is there. Raises OSError."""
    folder = Path(folder)
    if folder.is_dir():
        return
    fresh = Path(tempfile.mkdtemp(prefix=".schedlab-", dir=folder.parent))
    try:
        with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
            tar.extractall(fresh, filter="data")
        fresh.rename(folder)
    except BaseException:
        shutil.rmtree(fresh, ignore_errors=True)
        raise


def run(folder: str, shard: bytes, jobs: int) -> tuple[bytes, int, str]:
    """The records as lines of JSON, compressed; the runner's status, below zero the signal that ended it; and the end
    of what it wrote for people. A runner that breaks leaves the records of the cells that it had finished.

    `shard` is as the runner reads it, compressed. Raises OSError where the runner cannot be started.
    """
    # Paths in it are from the folder. The runner ends when this process does.
    words = [f"./{RUNNER}", "run", "/dev/stdin", "--out", "-", "--jobs", str(jobs), "--parent", str(os.getpid())]
    # Of a pipe somebody would have to wake up for every record.
    with tempfile.TemporaryFile(dir=folder) as records:
        done = subprocess.run(
            words,
            input=gzip.decompress(shard),
            stdout=records,
            stderr=subprocess.PIPE,
            cwd=folder,
            env=os.environ | _NO_COMPILER,
            check=False,
        )
        records.seek(0)
        came = gzip.compress(records.read(), compresslevel=_LEVEL)
    return came, done.returncode, done.stderr[-_LAST_BYTES:].decode("utf-8", "replace")
