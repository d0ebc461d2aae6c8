# SPDX-License-Identifier: GPL-2.0-or-later
"""The machine of a recording or a profile: as many CPUs as it had, in one cache domain."""

from pathlib import Path

from schedlab.capture.workload_file import EXIT_NS

_TEXT = """\
name = "recorded-on"
title = "as many CPUs as the recording had, in one cache domain"
source = "the recording"
hz = {hz}

[topology]
sockets = 1
llcs_per_socket = 1
cores_per_llc = {cpus}
threads_per_core = 1

[costs]
exit_ns = {exit_ns}
"""


def write(folder: Path, cpus: int | str, hz: int | str = 250, exit_ns: int = EXIT_NS) -> Path:
    path = folder / "recorded-on.toml"
    path.write_text(_TEXT.format(cpus=cpus, hz=hz, exit_ns=exit_ns), encoding="utf-8")
    return path
