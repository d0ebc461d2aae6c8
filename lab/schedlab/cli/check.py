# SPDX-License-Identifier: GPL-2.0-or-later
"""schedlab check: a real kernel's opinion of a policy, then the simulator's swarm."""

import argparse
import json
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from schedlab import checkout
from schedlab.catalogue import schedulers
from schedlab.cli.check_results import Results
from schedlab.errors import CHECK_FAILED, InputError, PlaceError
from schedlab.places import trial
from schedlab.sched_ext import dumps_in_text, explanation, stall

_RUNNER = "schedlab-sim"
# Options that are passed on to the simulator unchanged.
_PASSED_ON = (
    "each",
    "seed",
    "runs",
    "time_s",
    "jobs",
    "directory",
    "idle_ms",
    "starvation_ms",
    "share_ms",
    "pause_us",
    "api",
    "rodata",
    "coverage",
)


def check(options: argparse.Namespace) -> int:
    runner = checkout.need_binary(_RUNNER)
    if options.conformance:
        return _conformance(runner, options)
    if options.policy is None:
        raise InputError("check: expected a policy, or --conformance DIR")
    source = _source(options.policy)
    policy = options.policy if source is None else str(source)
    results = Results(options.policy, _again(options))
    with results.kept(options.sarif, options.junit):
        return _check(runner, policy, options, results)


def _check(runner: Path, policy: str, options: argparse.Namespace, results: Results) -> int:
    command = [str(runner), "check", policy]
    if options.replay:
        if options.coverage:
            raise InputError("--replay: one case tells little; --coverage adds up all of a swarm")
        return _simulate([*command, "--replay", options.replay], options.json, results)
    _try_kernel(runner, policy, options, results)
    for value in options.set:
        command += ["-o", value]
    for name in _PASSED_ON:
        value = getattr(options, name)
        if value is not None:
            command += [f"--{name.replace('_', '-')}", str(value)]
    if options.interleave:
        command.append("--interleave")
    if options.no_real_time:
        command.append("--no-real-time")
    if options.no_cgroups:
        command.append("--no-cgroups")
    status = _simulate(command, options.json, results)
    if results.kernel and not results.kernel.good:
        return status or CHECK_FAILED
    return status


def _again(options: argparse.Namespace) -> str:
    """The command that tries the policy on the kernel once more, and does little else."""
    words = ["schedlab", "check", options.policy, *(word for pair in options.set for word in ("-o", pair))]
    words += ["--rodata", options.rodata] if options.rodata else []
    return shlex.join([*words, "--kernel", options.kernel, "--stress-s", str(options.stress_s), "--runs", "1"])


def _conformance(runner: Path, options: argparse.Namespace) -> int:
    """The simulator is judged, by the kernel's own policies: none is given."""
    if options.policy is not None:
        raise InputError("--conformance takes a kernel tree and no policy")
    if options.sarif or options.junit or options.coverage:
        raise InputError(
            "--conformance: --sarif, --junit and --coverage tell of a policy; --json tells of the kernel's tests"
        )
    if options.set or options.each or options.replay or options.api or options.rodata:
        raise InputError("--conformance: -o, --each, --replay, --api and --rodata are for a policy of one's own")
    command = [str(runner), "conformance", options.conformance]
    return _run([*command, "--json"] if options.json else command, False)[0]


def _source(name: str) -> Path | None:
    """A file or folder as it was given; None for a scheduler of the tree."""
    if schedulers.is_path(name):
        if not Path(name).exists():
            raise InputError(f"{name}: no such policy file or folder")
        return Path(name)
    found = schedulers.find(name)
    if found.path is None:
        raise InputError("'default' is the kernel's own scheduler: there is no policy to check")
    return None


def _try_kernel(runner: Path, policy: str, options: argparse.Namespace, results: Results) -> None:
    place = options.kernel
    with tempfile.TemporaryDirectory(prefix="schedlab-check-") as folder:
        name = schedulers.policy_name(Path(policy))
        built = Path(folder) / f"{name}.bpf.o"
        _build(runner, policy, built, options.set)
        if place == "none":
            return
        reason = trial.why_not(place)
        if reason and place != "auto":
            raise PlaceError(reason)
        if reason:
            results.no_kernel = reason
            _say(f"no kernel to try it on: {reason}")
            return
        where = "this machine" if place == "host" else "a guest"
        _say(f"built for the kernel; loading it in {where}, {options.stress_s} s of stress")
        values = Path(options.rodata) if options.rodata else None
        where = "vm" if place == "auto" else place
        results.kernel = trial.try_out(where, built, _tunables(options.set), values, options.stress_s)
    show(results.kernel, sys.stderr if options.json else sys.stdout)


def _build(runner: Path, policy: str, built: Path, tunables: list[str]) -> None:
    """The compiler writes what it complains of to standard error."""
    options = [word for pair in tunables for word in ("-o", pair)]
    status = subprocess.run([str(runner), "object", policy, str(built), *options], check=False).returncode
    if status:
        raise SystemExit(status)


def _tunables(pairs: list[str]) -> dict[str, str]:
    tunables = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals:
            raise InputError(f"-o {pair}: expected NAME=VALUE")
        tunables[name] = value
    return tunables


def show(outcome: trial.Outcome, out: Any) -> None:
    """A log of the verifier leads up to what it refused; a dump follows its reason, and what it comes to."""
    word = "good" if outcome.good else ("lost" if outcome.loaded else "refused")
    told = [f"Linux {outcome.kernel}: {word}: {outcome.summary}"]
    log = [] if outcome.good else list(outcome.log)
    found = dumps_in_text.find("\n".join(log))
    if found.dumps:
        told += [f"  {each}" for each in explanation.sentences(stall.of(found.dumps[-1]), found.lockups)]
    for line in [*told, *log] if found.dumps else [*log, *told]:
        print(line, file=out)
    out.flush()


def _simulate(command: list[str], as_json: bool, results: Results) -> int:
    """What it finds goes to a file, which is whole up to the last line however it ends."""
    with tempfile.NamedTemporaryFile(prefix="schedlab-check-", suffix=".jsonl") as file:
        status, output = _run([*command, "--results", file.name, *["--json"] * as_json], as_json)
        results.take(Path(file.name).read_text(encoding="utf-8"), status)
    for line in (output or "").splitlines():
        print(json.dumps(json.loads(line) | {"kernel": _told(results.kernel)}, ensure_ascii=False))
    return status


def _run(command: list[str], captured: bool) -> tuple[int, str | None]:
    """Ctrl-C reaches the simulator too, which ends in order and prints what it has found."""
    with subprocess.Popen(command, stdout=subprocess.PIPE if captured else None, text=True) as child:
        while True:
            try:
                output, _ = child.communicate()
                break
            except KeyboardInterrupt:
                continue
    return child.returncode if child.returncode >= 0 else CHECK_FAILED, output


def _told(outcome: trial.Outcome | None) -> dict[str, Any] | None:
    if outcome is None:
        return None
    return {
        "place": outcome.place,
        "release": outcome.kernel,
        "loaded": outcome.loaded,
        "kept": outcome.kept,
        "summary": outcome.summary,
    }


def _say(text: str) -> None:
    print(f"schedlab: {text}", file=sys.stderr, flush=True)
