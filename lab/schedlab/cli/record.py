# SPDX-License-Identifier: GPL-2.0-or-later
"""schedlab record: a program's scheduling as a workload."""

import argparse
import re
import sys
import tempfile
from pathlib import Path

from schedlab import atomic
from schedlab.capture import process_tree, replay, trace_file, tracing, workload_file
from schedlab.capture.tasks import Post, Recording, Sleep, Wait
from schedlab.cli.guest import guest
from schedlab.errors import CHECK_FAILED, InputError


def record(options: argparse.Namespace) -> int:
    output = Path(options.output)
    name = _name(output)
    status = 0
    if options.source:
        if options.passed_on:
            raise InputError("expected either --from TRACE or a command after --, found both")
        read = trace_file.read(Path(options.source), options.allow_lost)
    else:
        if not options.passed_on:
            raise InputError("expected a command after --, or --from TRACE")
        lines, status = tracing.capture(options.passed_on, guest(options), options.buffer_kib, options.others)
        if options.trace:
            atomic.write(Path(options.trace), "\n".join(lines) + "\n")
        if status:
            print(f"schedlab: the command ended with status {status}", file=sys.stderr)
        read = trace_file.parse(lines, options.trace or "the trace", options.allow_lost)
    recording = process_tree.follow(read, options.root, options.others)
    text = workload_file.text(recording, name, read.notes.get("command") or recording.root.comm or "a program")
    atomic.write(output, text)
    _tell(recording, output)
    if options.replay and not _replay(recording, text, name, options):
        return CHECK_FAILED
    return CHECK_FAILED if status else 0


def _name(output: Path) -> str:
    """A workload is called as its file is."""
    if output.suffix != ".toml" or not re.fullmatch(r"[a-z][a-z0-9-]*", output.stem):
        raise InputError(f"-o {output}: expected a name of a-z, 0-9 and -, beginning with a letter, and .toml")
    return output.stem


def _tell(recording: Recording, output: Path) -> None:
    posts = sum(isinstance(step, Post) and step.real for task in recording.tasks for step in task.steps)
    assert posts >= recording.count(Wait)
    print(
        f"{output}: {len(recording.tasks)} tasks, {recording.elapsed_ns / 1e9:.3f} s, {recording.cpu_ns / 1e9:.3f} s "
        f"of CPU; blocked {recording.count(Wait)} times until another of them came, {recording.count(Sleep)} times for "
        f"something else; {recording.switches} switches, interrupted {recording.interrupted} times from outside"
    )
    for remark in recording.remarks:
        print(f"schedlab: {remark}", file=sys.stderr)
    path = output if "/" in str(output) else f"./{output}"
    print(f"replay: schedlab compare default,bfs -w {path}")


def _replay(recording: Recording, text: str, name: str, options: argparse.Namespace) -> bool:
    """Prints both runs side by side; whether the replay is near enough."""
    with tempfile.TemporaryDirectory(prefix="schedlab-replay-") as folder:
        path = Path(folder, f"{name}.toml")
        path.write_text(text, encoding="utf-8")
        figures = replay.replay(recording, path, options.replay, options.machine)
    width = max(12, len(options.replay) + 2)
    print(f"{'':<22}{'recorded':>12}{options.replay:>{width}}{'change':>10}")
    for figure in figures:
        bound = f"  at most {figure.bound_pct:g} %: {'kept' if figure.good else 'missed'}" if figure.bound_pct else ""
        values = f"{figure.recorded:>12.6g}{figure.replayed:>{width}.6g}{figure.change_pct:>+9.1f}%"
        print(f"{figure.name:<22}{values}{bound}")
    return all(figure.good for figure in figures)
