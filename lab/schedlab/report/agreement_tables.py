# SPDX-License-Identifier: GPL-2.0-or-later
"""How far the simulator agrees with a kernel, number by number, as the Markdown of docs/agreement.md.

The data are what `schedlab agree` writes: ledger.json, and the rows of ledger.csv.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from schedlab.catalogue.metrics import metric
from schedlab.format.numbers import number, percent, scale
from schedlab.ledger.causes import Cause, cause
from schedlab.ledger.entries import KEPT, LOOKED_AT, SIGN_FROM_PCT, STEADY_PCT, Entry
from schedlab.ledger.knobs import MOVED_FROM_PCT
from schedlab.ledger.measures import FLOORS, LEFT_OUT, MEASURES, SHORTEST_WAIT_US, WAIT
from schedlab.ledger.scope import NOT_RUN
from schedlab.ledger.tallies import Tally, of_measure, quantile, tally, worst
from schedlab.report.markdown import table
from schedlab.statistics.agreement import Measure, title

MARK = "ledger"
HOST_MARK = "host"
_WORST = 10
_NONE = "–"


def mark(cpus: int) -> str:
    """Of the page's part on guests with so many CPUs."""
    return MARK if cpus == 1 else f"{MARK}-{cpus}"


def text(data: dict[str, Any], entries: Sequence[Entry], causes: Sequence[Cause]) -> str:
    """Everything between the page's two lines."""
    parts = [_made_of(data, entries), _errors(data, entries)]
    if data["repetitions"] > 1:
        parts.append(steady(entries))
    parts += [_sides(entries), _worst(data, entries, causes)]
    if data["moved"]:
        parts.append(_moved(data))
    parts.append("".join(f"- {line}.\n" for line in _left_out(data)))
    return "\n".join(parts)


def short_text(data: dict[str, Any], entries: Sequence[Entry], causes: Sequence[Cause]) -> str:
    """Of another machine, without what is as in the first part; signs where there is another scheduler."""
    parts = [_made_of(data, entries), _errors(data, entries)]
    if len(data["schedulers"]) > 1:
        parts.append(_sides(entries))
    parts.append(_worst(data, entries, causes))
    if data["troubles"]:
        parts.append("".join(f"- {line}.\n" for line in _troubles(data)))
    return "\n".join(parts)


def _made_of(data: dict[str, Any], entries: Sequence[Entry]) -> str:
    cells = {(entry.place.label, entry.place.workload, entry.place.load) for entry in entries}
    times = data["repetitions"]
    runs = "once" if times == 1 else f"{times} times with other seeds"
    sizes = f" Sizes that are not the workloads' own: `{'`, `'.join(data['params'])}`." if data["params"] else ""
    return (
        f"{len(entries):,} rows of {len(cells)} cells: {_schedulers(data)} under "
        f"{', '.join(data['workloads'])} at their loads, each {runs}, on machine `{data['machine']}` and Linux "
        f"{data['kernel']} ({data['place']}, CPUs: {data['cpus']}).{sizes}\n"
    )


def _schedulers(data: dict[str, Any]) -> str:
    labels = data["schedulers"]
    return f"{len(labels)} schedulers" if len(labels) > 1 else f"`{labels[0]}` alone"


def _errors(data: dict[str, Any], entries: Sequence[Entry]) -> str:
    again = {(one["metric"], one["statistic"]): one for one in data["again"]}
    errors = ["median, %", "9 in 10 within, %", "largest, %"]
    repeated, seeds = data["repetitions"] > 1, data.get("seeds", 0)
    own_runs = ["kernel's runs apart, %", "among its runs"] if repeated else []
    of_seeds = ["seeds apart, %", "among the seeds", "beyond them, 9 in 10 within, %"] if seeds else []
    header = ["metric", "rows", *errors, "kernel again, %", *own_runs, *of_seeds]
    rows = []
    for measure, own in [*_measured(entries), (None, list(entries))]:
        found = tally(own)
        second = again.get(measure) if measure else None
        rows.append(
            [
                title(measure) if measure else "all",
                f"{found.rows:,}",
                *(_pct(value) for value in (found.median_pct, found.p90_pct, found.largest_pct)),
                f"{_pct(second['median_pct'])}, {_pct(second['largest_pct'])}" if second else _NONE,
                *([_pct(found.kernel_range_pct), f"{found.within} of {found.rows}"] if repeated else []),
                *(_seeds_of(found) if seeds else []),
            ]
        )
    of_runs = (
        "; how far the kernel's own repetitions lie apart, over the kernel's mean (median of the rows), and in how "
        "many rows the simulator's mean lies among them"
    )
    told_of_seeds = (
        f". What another seed says is no error of the model, and a cell with several states has a large one by chance: "
        f"the last columns are of {seeds} runs of the simulator with other seeds, how far they lie apart (median), in "
        "how many rows the kernel lies among them (one run more of the simulator would in "
        f"{_among_pct(seeds):.0f} %), and how far outside of them"
    )
    return (
        "The simulator's error, without its sign, in per cent of the kernel's value. Beside it: how far a second run "
        f"of the kernel's own scheduler with the same seeds lies from the first (median, largest){of_runs * repeated}"
        f"{told_of_seeds if seeds else ''}:\n\n{table(header, rows)}"
    )


def _seeds_of(found: Tally) -> list[str]:
    among = f"{found.among_seeds} of {found.seeded}"
    return [_pct(found.seeds_range_pct), among, _pct(found.beyond_p90_pct)] if found.seeded else [_NONE] * 3


def _among_pct(runs: int) -> float:
    """How often one more run lies neither below nor above so many."""
    return 100 * (1 - 2 / (runs + 1))


def steady(entries: Sequence[Entry]) -> str:
    """The errors of rows on which the kernel agrees with itself, beside how far it does on all."""
    header = [
        "metric",
        "rows",
        "the kernel's, 9 in 10 within, %",
        "steady rows",
        "the simulator's there, 9 in 10 within, %",
        "its sign right there",
    ]
    rows = []
    for name, own in [*((title(measure), own) for measure, own in _measured(entries)), ("all", list(entries))]:
        still = tally(entry for entry in own if entry.unrest_pct <= STEADY_PCT)
        unrest = quantile([entry.unrest_pct for entry in own], 0.9)
        rows.append([name, f"{len(own):,}", _pct(unrest), f"{still.rows:,}", _pct(still.p90_pct), _signs(still)])
    return (
        "No model is nearer to a kernel than the kernel is to itself. How far the kernel's repetition that lies "
        "furthest off is from their mean, over the mean; and the simulator's error in the rows in which that is "
        f"{STEADY_PCT:g} % at most:\n\n{table(header, rows)}"
    )


def _sides(entries: Sequence[Entry]) -> str:
    sides = [("all", list(entries))] + [(side, [e for e in entries if e.side == side]) for side in (LOOKED_AT, KEPT)]
    names = [name for name, _ in sides]
    header = ["metric", *(f"sign right: {name}" for name in names), *(f"{n}: median, 9 in 10, %" for n in names[1:])]
    rows = []
    for measure in [*(measure for measure, _ in _measured(entries)), None]:
        found = [tally(of_measure(own, measure) if measure else own) for _, own in sides]
        rows.append([title(measure) if measure else "all", *map(_signs, found), *map(_two, found[1:])])
    return (
        f"The sign of a scheduler's change against `default`, where the kernel's change is more than "
        f"{SIGN_FROM_PCT:g} %; and the cells in halves, by a hash of scheduler, workload and load: those that one may "
        "look at while the model is mended, and those that are kept for the end:\n\n" + table(header, rows)
    )


def _signs(found: Tally) -> str:
    return f"{found.right} of {found.signs}" if found.signs else _NONE


def _two(found: Tally) -> str:
    return f"{_pct(found.median_pct)}, {_pct(found.p90_pct)}" if found.rows else _NONE


def _measured(entries: Sequence[Entry]) -> Iterator[tuple[Measure, list[Entry]]]:
    """The measures that have rows."""
    for measure in MEASURES:
        if own := of_measure(entries, measure):
            yield measure, own


def _worst(data: dict[str, Any], entries: Sequence[Entry], causes: Sequence[Cause]) -> str:
    seeds, repeated = data.get("seeds"), data["repetitions"] > 1
    spans = [*(["its seeds"] if seeds else []), "kernel", *(["kernel's runs"] if repeated else [])]
    header = ["scheduler", "workload", "load", "metric", "simulator", *spans, "error", "cause"]
    rows = []
    for entry in worst(entries, _WORST):
        place, kernel = entry.place, entry.kernel
        factor, unit = scale(metric(place.metric).unit, [entry.simulator.mean, kernel.mean])
        told = {"simulator": [entry.simulator.mean], "its seeds": entry.seeds, "kernel": [kernel.mean]}
        told["kernel's runs"] = [kernel.least, kernel.most]
        rows.append(
            [
                place.label,
                place.workload,
                str(place.load),
                title((place.metric, place.statistic)),
                *(_span(told[name], factor, unit) for name in ["simulator", *spans]),
                percent(entry.error_pct),
                cause(place, causes),
            ]
        )
    which = "rows that lie furthest outside of the simulator's seeds" if seeds else "largest errors"
    return f"The {len(rows)} {which}, and what is known of their causes:\n\n{table(header, rows)}"


def _span(values: Iterable[float], factor: float, unit: str) -> str:
    told = dict.fromkeys(number(value * factor) for value in values if math.isfinite(value))
    return f"{'–'.join(told)} {unit}".strip() if told else _NONE


def _moved(data: dict[str, Any]) -> str:
    knobs = list(dict.fromkeys(one["knob"] for one in data["moved"]))
    by_both = {(one["metric"], one["statistic"], one["knob"]): one for one in data["moved"]}
    rows = []
    for measure in MEASURES:
        found = [by_both.get((*measure, knob)) for knob in knobs]
        if any(found):
            told = [f"{_pct(one['median_pct'])}, {_pct(one['p90_pct'])}" if one else _NONE for one in found]
            rows.append([title(measure), *told])
    return (
        "A number that nothing moves would be no evidence. How far each goes in the simulator when a knob is turned, "
        f"without sign (median, and 9 in 10 within):\n\n{table(['metric', *(f'{knob}, %' for knob in knobs)], rows)}"
    )


def _left_out(data: dict[str, Any]) -> Iterator[str]:
    for name, count in data["below_floor"].items():
        floor = f"{FLOORS[name]:g} {metric(name).unit}".rstrip()
        or_less = f" or less than {SHORTEST_WAIT_US:g} µs a wait" if name == WAIT[0] else ""
        yield f"Left out as too small: {metric(name).title} below {floor}{or_less} in both worlds, {count:,} numbers"
    by_measure: dict[Measure, list[dict[str, Any]]] = {}
    for one in data["still"]:
        by_measure.setdefault((one["metric"], one["statistic"]), []).append(one)
    for measure, ones in by_measure.items():
        told = ", ".join(f"{one['workload']} ({one['largest_pct']:.2f} %)" for one in ones)
        yield f"Left out because no knob moves it by {MOVED_FROM_PCT:g} %: {title(measure)} of {told}"
    for name, why in NOT_RUN.items():
        yield f"Not run unless it is asked for: {name}: {why}"
    for what, why in LEFT_OUT.items():
        yield f"Not compared: {what}: {why}"
    yield from _troubles(data)


def _troubles(data: dict[str, Any]) -> Iterator[str]:
    for one in data["troubles"]:
        where = f"{one['label']}, {one['workload']}, load {one['load']}"
        reason = f": {one['reason']}" if one["reason"] else ""
        yield f"No value in the {one['world']}: {where}: {one['status']}{reason}"


def _pct(value: float | None) -> str:
    """Without sign, and without unit: the headers have it."""
    if value is None or not math.isfinite(value):
        return _NONE
    return number(value, 1 if value < 99.95 else 0)
