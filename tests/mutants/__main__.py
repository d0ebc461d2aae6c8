# SPDX-License-Identifier: GPL-2.0-or-later
"""Plants mistakes in the policies and in the lab's statistics, runs what covers each, and says which went unnoticed.

Verdicts are kept in build/mutants, so that an interrupted run goes on; --afresh forgets those of what is asked for.
"""

import argparse
import random
import signal
import sys
from collections import Counter
from pathlib import Path

from tests.mutants import cover, judge, mutators, results, sample, subjects
from tests.mutants.judge import Judge, Verdict
from tests.mutants.mutant import Mutant
from tests.mutants.tree import ROOT, scratch
from tests.policies.schedules import simulator

KEPT = ROOT / "build/mutants"


def main() -> int:
    options = _options()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    files = [file for file in subjects.Policies.files() + subjects.Lab.files() if file.startswith(tuple(options.only))]
    if not files:
        print(f"no mistakes are planted in {', '.join(options.only)}: see --files", file=sys.stderr)
        return 2
    if options.files:
        print("\n".join(files))
        return 0
    if not simulator():
        print("schedlab-sim is not built: make build", file=sys.stderr)
        return 1
    KEPT.mkdir(parents=True, exist_ok=True)
    chosen = _chosen(files, options)
    with scratch() as root:
        verdicts = _judge_all(root, chosen, options)
        for one in results.stale(root, results.equivalents()):
            print(f"stale: {results.EQUIVALENT.name} names a line that {one.file} has no more: {one.was}")
    print(results.report(verdicts))
    if options.write_sample:
        sample.write(verdicts, cover.seconds(KEPT), options.write_sample, options.seed)
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/mutants", description=__doc__)
    parser.add_argument("--only", nargs="+", default=["schedulers", "lab"], metavar="PATH", help="files or folders")
    parser.add_argument("--sample", type=_count, metavar="N", help="that many, drawn with the seed")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--files", action="store_true", help="print in which files mistakes are planted")
    parser.add_argument("--survived", action="store_true", help="judge those anew that survived before, and no others")
    parser.add_argument("--afresh", action="store_true", help="forget the verdicts of these files")
    parser.add_argument("--write-sample", type=_count, metavar="N", help="keep N that were killed for make test")
    return parser.parse_args()


def _count(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"{text} is no number from 1 on")
    return int(text)


def _chosen(files: list[str], options: argparse.Namespace) -> list[Mutant]:
    """In an order that the seed draws, folders by turns: the first N of it are a sample of as many of each."""
    found = [one for file in files for one in mutators.mutants(ROOT, file)]
    random.Random(options.seed).shuffle(found)
    before: Counter[str] = Counter()
    turns = []
    for one in found:
        folder = one.file.rpartition("/")[0]
        turns.append((before[folder], folder, one))
        before[folder] += 1
    return [one for *_, one in sorted(turns, key=lambda turn: turn[:2])][: options.sample]


def _judge_all(root: Path, chosen: list[Mutant], options: argparse.Namespace) -> list[Verdict]:
    path = KEPT / "verdicts.jsonl"
    before = results.read(path)
    reasons = results.equivalents()
    verdicts = []
    for subject in (subjects.Policies(root), subjects.Lab(root)):
        mine = [one for one in chosen if subjects.of_file(one.file) is type(subject)]
        again = options.afresh or options.survived
        if options.survived:
            mine = [one for one in mine if before.get(one) and before[one].outcome == judge.SURVIVED]
        if not mine:
            continue
        tests = cover.tests(root, KEPT / f"cover-{type(subject).__name__.lower()}.json", subject.folders)
        judging = Judge(root, subject, tests, list(before.values()))
        for one in mine:
            if one in reasons:
                verdict = Verdict(one, one.line(root) or 0, judge.EQUIVALENT)
            elif one in before and before[one].outcome != judge.EQUIVALENT and not again:
                verdict = before[one]
            else:
                verdict = judging.judge(one, before[one].by if one in before else "")
                results.append(path, verdict)
            verdicts.append(verdict)
            print(results.say(verdict, reasons), flush=True)
    return verdicts


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
