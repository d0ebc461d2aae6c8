# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs command lines of schedlab, each in a child of a process that has the large libraries in memory already: to
import them takes a second of CPU, more than most of these commands.

A request is a line of JSON on standard input: the words, the folder, and the files for what it prints. The answer is a
line with its exit status.
"""

import json
import os
import sys
import traceback

import duckdb  # noqa: F401
import scipy.stats  # noqa: F401

from schedlab.cli import main


def child(words: list[str], folder: str, files: list[str]) -> int:
    for number, file in enumerate(files, 1):
        os.dup2(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
    os.chdir(folder)
    try:
        return main(words)
    except SystemExit as end:
        return int(end.code or 0)
    except BaseException:
        traceback.print_exc()
        return 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()


for line in sys.stdin:
    asked = json.loads(line)
    process = os.fork()
    if not process:
        os._exit(child(asked["words"], asked["folder"], asked["files"]))
    print(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), flush=True)
