# SPDX-License-Identifier: GPL-2.0-or-later
"""What the short form holds its rows to: the error that each had when the file was written, and some slack.

The file is written from RUNS runs of both worlds, each with its own seed, which both worlds share. A row's limit is the
largest error of these runs and SLACK_PCT, which is the same for all rows and not to be widened by hand. Only numbers of
HELD have a limit, and none where the errors lie further apart than STEADY_PCT: what a kernel does not hold itself to
says nothing of the simulator. How often a cell switches and waits may change with the build of the runner alone, whose
first microseconds decide between several states (cfs under hackbench with one group waited for 10 and for 97 ms in the
same kernel).

A kernel also has states that few runs meet: of three seeds of pipe with four pairs under cfs one had a median
turnaround 9 % below the others, and three of hackbench with one group lay 0.7 % apart where twelve lie 4 % apart. So
there are many runs, and what is worse in one run is looked at in MORE_RUNS more, with other seeds, and counts if it is
worse in most of them all.
"""

import csv
import io
import itertools
import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from schedlab.errors import InputError
from schedlab.ledger.entries import Entry, place_of
from schedlab.statistics.agreement import Place

NAME = "short.csv"
# So often each cell runs when limits are written.
RUNS = 12
# And so often more when a row is worse than its limit.
MORE_RUNS = 4
SLACK_PCT = 3.0
STEADY_PCT = 25.0
HELD = ("elapsed_s", "throughput_per_s", "turnaround_us")
_COLUMNS = [
    *Place._fields,
    *("simulator", "kernel", "error_pct", "least_error_pct", "most_error_pct", "tolerance_pct"),
]


@dataclass(frozen=True)
class Worse:
    """A row that is not as good as it was."""

    place: Place
    why: str


def as_csv(runs: Sequence[Sequence[Entry]]) -> str:
    """Of the rows of the first run, which is the one of the test: its values, and between what errors all runs lie."""
    lines = io.StringIO()
    writer = csv.writer(lines, lineterminator="\n")
    writer.writerow(_COLUMNS)
    errors_pct: dict[Place, list[float]] = {}
    for entry in itertools.chain.from_iterable(runs):
        errors_pct.setdefault(entry.place, []).append(entry.error_pct)
    for entry in runs[0]:
        least, most = min(errors_pct[entry.place]), max(errors_pct[entry.place])
        held = entry.place.metric in HELD and most - least <= STEADY_PCT
        numbers = [entry.simulator.mean, entry.kernel.mean, entry.error_pct, least, most]
        tolerance = f"{max(abs(least), abs(most)) + SLACK_PCT:.6g}" if held else ""
        writer.writerow([*entry.place, *(f"{value:.6g}" for value in numbers), tolerance])
    return lines.getvalue()


def read(path: Path) -> dict[Place, float]:
    """Tolerances in per cent; infinite for a row without a limit."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return {place_of(row): float(row["tolerance_pct"] or "inf") for row in csv.DictReader(file)}
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}; --short --keep writes it") from error
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{path}: expected the columns {', '.join(_COLUMNS)}: {error!r}") from error


def worse(limits: Mapping[Place, float], entries: Iterable[Entry], below_floor: Collection[Place]) -> Iterator[Worse]:
    """A row that has become too small to be one is as good as it can be; one without a value is not.

    A row that is new, where a count has crossed its floor, has no limit yet; --short --keep writes it.
    """
    there = {entry.place: entry for entry in entries}
    for place, tolerance in limits.items():
        entry = there.get(place)
        if entry is None and place not in below_floor and math.isfinite(tolerance):
            yield Worse(place, "expected a value in both worlds, found none")
        elif entry is not None and abs(entry.error_pct) > tolerance:
            yield Worse(place, f"{_told(entry)}; expected ±{tolerance:.1f} % at most")


def in_most(runs: Sequence[Iterable[Worse]]) -> list[Worse]:
    """What is worse in more than half of the runs, as the first of them says it."""
    found = [one for run in runs for one in run]
    times = Counter(one.place for one in found)
    first = {one.place: one for one in reversed(found)}
    return [one for place, one in sorted(first.items()) if 2 * times[place] > len(runs)]


def _told(entry: Entry) -> str:
    return f"simulator {entry.simulator.mean:.6g}, kernel {entry.kernel.mean:.6g}, {entry.error_pct:+.1f} %"
