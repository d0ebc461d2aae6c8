# SPDX-License-Identifier: GPL-2.0-or-later
"""Real applications beside their models, and recorded programs beside their replays, as Markdown for docs/agreement.md.

The data are what `schedlab agree --applications` writes: applications.json, and the rows of applications.csv.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Any

from schedlab.catalogue.metrics import metric
from schedlab.catalogue.schedulers import DEFAULT
from schedlab.format.numbers import number, percent, scale
from schedlab.ledger.application_scope import LEFT_OUT, gap_pct, of
from schedlab.ledger.entries import SIGN_FROM_PCT, Entry
from schedlab.ledger.measures import MEASURES
from schedlab.ledger.tallies import of_measure, quantile, tally
from schedlab.report.markdown import table
from schedlab.statistics.agreement import Place, title

MARK = "applications"
_NONE = "–"
_WRONG = "wrong"


def text(data: dict[str, Any], entries: Sequence[Entry]) -> str:
    """Everything between the page's two lines."""
    models = of(entries, data["applications"])
    replays = of(entries, [one["name"] for one in data["recorded"]])
    parts = [_made_of(data, models, replays)]
    if models:
        parts += [_changes(data, models), _by_measure(models)]
    if replays:
        parts += [_replays(data, replays), _absolute(replays)]
    parts.append("".join(f"- {line}.\n" for line in _left_out(data)))
    return "\n".join(parts)


def _made_of(data: dict[str, Any], models: Sequence[Entry], replays: Sequence[Entry]) -> str:
    times = data["repetitions"]
    runs = "once" if times == 1 else f"{times} times with other seeds"
    found = tally([*models, *replays])
    recorded = ", ".join(f"{one['name']} (`{one['root']}` of {one['application']})" for one in data["recorded"])
    return (
        f"{len(models)} rows of {', '.join(data['applications'])} at load {data['load']}, each {runs}"
        + (f", and {len(replays)} of recordings: {recorded}" if replays else "")
        + f"; under {', '.join(data['schedulers'])}, on machine `{data['machine']}` and Linux {data['kernel']} "
        f"({data['place']}, CPUs: {data['cpus']}). Sizes: `{'`, `'.join(data['params'])}`. Where the kernel changes by "
        f"more than {SIGN_FROM_PCT:g} % against `{DEFAULT}`, the simulator has the sign right in "
        f"{_signs(found.right, found.signs)}"
        + (f": {_signs_of(models)} of applications, {_signs_of(replays)} of recordings" if models and replays else "")
        + ".\n"
    )


def _signs_of(entries: Sequence[Entry]) -> str:
    found = tally(entries)
    return _signs(found.right, found.signs)


def _signs(right: int, signs: int) -> str:
    return f"{right} of {signs}"


def _changes(data: dict[str, Any], models: Sequence[Entry]) -> str:
    others = [label for label in data["schedulers"] if label != DEFAULT]
    again = {(one["workload"], one["metric"], one["statistic"]): one["error_pct"] for one in data["again"]}
    by_place = {entry.place: entry for entry in models}
    header = ["application", "metric", *(f"{label}: simulator, kernel" for label in others), "kernel again"]
    rows = []
    for place in (place for place in by_place if place.label == DEFAULT):
        own = [by_place.get(place._replace(label=label)) for label in others]
        second = again.get((place.workload, place.metric, place.statistic), math.nan)
        rows.append([place.workload, title(_measure(place)), *map(_change, own), percent(second)])
    return (
        f"Each scheduler's change against `{DEFAULT}`, in the model and in the application, and that of a second run "
        f"of `{DEFAULT}` in the same guest:\n\n{table(header, rows)}"
    )


def _change(entry: Entry | None) -> str:
    if entry is None or math.isnan(entry.kernel.change_pct):
        return _NONE
    both = f"{percent(entry.simulator.change_pct)}, {percent(entry.kernel.change_pct)}"
    return both if entry.sign_is_right is not False else f"{both}: {_WRONG}"


def _by_measure(models: Sequence[Entry]) -> str:
    header = ["metric", "rows", "sign right", "ratio off: median, %", "9 in 10 within, %", "largest, %"]
    rows = []
    for measure in [*MEASURES, None]:
        own = [one for one in (of_measure(models, measure) if measure else models) if math.isfinite(gap_pct(one))]
        if own:
            found, gaps = tally(own), [abs(gap_pct(one)) for one in own]
            sizes = [quantile(gaps, 0.5), quantile(gaps, 0.9), max(gaps)]
            signs = _signs(found.right, found.signs) if found.signs else _NONE
            rows.append([title(measure) if measure else "all", str(found.rows), signs, *(number(s, 1) for s in sizes)])
    return (
        f"How far the model's ratio to `{DEFAULT}` lies from the application's, without sign, and how often its sign "
        f"is right:\n\n{table(header, rows)}"
    )


def _replays(data: dict[str, Any], replays: Sequence[Entry]) -> str:
    header = ["recording", "scheduler", "metric", "simulator", "kernel", "error", "change: simulator, kernel"]
    rows = []
    for entry in sorted(replays, key=lambda one: _order(data, one.place)):
        factor, unit = scale(metric(entry.place.metric).unit, [entry.simulator.mean, entry.kernel.mean])
        told = [f"{number(value.mean * factor)} {unit}".rstrip() for value in (entry.simulator, entry.kernel)]
        place = entry.place
        error = percent(entry.error_pct)
        rows.append([place.workload, place.label, title(_measure(place)), *told, error, _change(entry)])
    return (
        f"What was recorded under `{DEFAULT}`, replayed in the simulator under each scheduler, beside the program "
        f"recorded under the same scheduler:\n\n{table(header, rows)}"
    )


def _order(data: dict[str, Any], place: Place) -> tuple[int, int, int]:
    names = [one["name"] for one in data["recorded"]]
    return names.index(place.workload), data["schedulers"].index(place.label), MEASURES.index(_measure(place))


def _absolute(replays: Sequence[Entry]) -> str:
    header = ["metric", f"under {DEFAULT}: largest error, %", "under the others: median, largest, %"]
    rows = []
    for measure in MEASURES:
        own = of_measure(replays, measure)
        same = [abs(one.error_pct) for one in own if one.place.label == DEFAULT]
        others = [abs(one.error_pct) for one in own if one.place.label != DEFAULT]
        if same or others:
            theirs = f"{number(quantile(others, 0.5), 1)}, {number(max(others), 1)}" if others else _NONE
            rows.append([title(measure), number(max(same), 1) if same else _NONE, theirs])
    return f"How far the replays are off, without sign:\n\n{table(header, rows)}"


def _measure(place: Place) -> tuple[str, str]:
    return place.metric, place.statistic


def _left_out(data: dict[str, Any]) -> Iterator[str]:
    if count := data["below_floor"]:
        yield f"Left out as too small in both worlds: {count} numbers"
    for name, why in LEFT_OUT.items():
        yield f"Not run: {name}: {why}"
    for one in data["troubles"]:
        where = f"{one['label']}, {one['workload']}, load {one['load']}"
        reason = f": {one['reason']}" if one["reason"] else ""
        yield f"No value in the {one['world']}: {where}: {one['status']}{reason}"
