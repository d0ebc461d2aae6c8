# SPDX-License-Identifier: GPL-2.0-or-later
"""The page of a comparison: the verdict over all loads, workloads, how to read it, provenance, raw data."""

from enum import IntEnum
from functools import partial
from pathlib import Path
from typing import Any

from schedlab import atomic, parallel
from schedlab.campaign.where import SSH
from schedlab.collect import hosts, manifest
from schedlab.collect.records import Record
from schedlab.collect.store import Store
from schedlab.export import results
from schedlab.export.plain import as_json
from schedlab.format.finding import certain_log
from schedlab.format.numbers import interval, number, percent
from schedlab.format.sentences import WORDS, certainty, enumerated, machine_name, repetitions
from schedlab.report import energy_fact, host_tables, moment_picture, opening, tables, workload_section
from schedlab.report.document import MOST_BYTES, document, raw_data
from schedlab.report.html import Markup, element, join, table
from schedlab.statistics import design, verdict
from schedlab.statistics.summary import MIXED, Measure, Summary, measures

# A page with more cells would be too large, and drawing it first takes time; the same holds for one of more measures.
_MOST_CELLS = 3_000
_MOST_MEASURES = 120
# Rows of the table of verdicts, of a page that leaves the workloads out.
_MOST_ROWS = 400

_MOST_TROUBLES = 50


class Detail(IntEnum):
    """How much a page shows: of a large campaign there is too much for one file."""

    BRIEF = 0  # the verdicts alone
    SUMMARISED = 1  # workloads with charts and tables, no single cells
    WHOLE = 2


def write(summary: Summary, found: dict[str, Record], store: Store) -> None:
    booted = manifest.read_guests(store)
    fleet = hosts.read(store)
    for detail in range(_most(summary), -1, -1):
        text = render(summary, found, booted, store.directory, Detail(detail), fleet)
        if len(text.encode()) <= MOST_BYTES:
            break
    atomic.write(store.directory / "report.html", text)


def _most(summary: Summary) -> Detail:
    if len(measures(summary)) > _MOST_MEASURES:
        return Detail.BRIEF
    return Detail.WHOLE if len(summary.manifest.cells) <= _MOST_CELLS else Detail.SUMMARISED


def render(
    summary: Summary,
    found: dict[str, Record],
    booted: list[dict[str, Any]],
    results_in: Path,
    detail: Detail = Detail.WHOLE,
    fleet: dict[str, Any] | None = None,
) -> str:
    data = summary.manifest.data
    whole = detail == Detail.WHOLE
    title = f"{enumerated(summary.manifest.labels)}: {_place(data['place'])}"
    sections = (
        parallel.each(
            partial(workload_section.section, summary, described, results_in, whole) for described in data["workloads"]
        )
        if detail > Detail.BRIEF
        else []
    )
    body = [
        element("h1", title),
        element("p", _subtitle(summary), class_="lead"),
        opening.section(summary),
        _left_out(summary, detail),
        moment_picture.section(summary, results_in) if whole else "",
        _overview(summary, detail > Detail.BRIEF),
        element("p", " ".join(certainty(summary)), class_="note"),
        _troubles(summary),
        *sections,
        _method(summary),
        host_tables.section(fleet, found.values()) if fleet else Markup(""),
        _provenance(summary, found, booted),
        _raw(summary, found, detail),
    ]
    return document(title, body, place=data["place"])


def _left_out(summary: Summary, detail: Detail) -> Markup:
    """A page that summarises says so where it begins."""
    if detail == Detail.WHOLE:
        return Markup("")
    count = f"{len(summary.manifest.cells):,} cells"
    what = (
        "single cells, one-way plots and schedules are left out; results.csv beside it has every cell"
        if detail == Detail.SUMMARISED
        else f"the verdicts of {len(measures(summary)):,} measures alone are shown, and of no workload its charts; "
        "comparisons.csv, groups.csv and results.csv beside it have everything"
    )
    return element(
        "p", element("b", "Summarised. "), f"Of {count}, more than one file can hold, {what}.", class_="note"
    )


def _place(place: str) -> str:
    return {
        "sim": "compared in the simulator",
        "vm-exact": "compared in a virtual machine that counts instructions",
        "vm-virtual": "compared in a virtual machine",
        "vm-emulated": "compared in an emulated machine",
        "host": "compared on this machine",
        "ssh": "compared on a fleet of machines",
    }.get(place, place)


def _subtitle(summary: Summary) -> str:
    data = summary.manifest.data
    names = [w["name"] for w in data["workloads"]]
    machines = [m["name"] for m in data["machines"]]
    return f"{enumerated(names)} on {enumerated(machines)}, {data['repetitions']} repetitions of every cell."


def _raw(summary: Summary, found: dict[str, Record], detail: Detail) -> Markup:
    described = {key: value for key, value in summary.manifest.data.items() if key != "cells"}
    if detail == Detail.BRIEF:
        what = (
            "The manifest without its cells (all numbers are in comparisons.csv, groups.csv and results.csv beside it)"
        )
        return raw_data({"manifest": described}, what)
    content = {"summary": as_json(summary), "manifest": described}
    if detail == Detail.SUMMARISED:
        return raw_data(content, "The summary and the manifest (every cell's metrics are in results.csv beside it)")
    return raw_data(
        content | {"cells": list(results.rows(summary.manifest, found))}, "The summary and every cell's metrics"
    )


def _verdicts(summary: Summary) -> Markup:
    found = []
    every = measures(summary)
    for label in summary.manifest.labels[1:]:
        seen = [measure.word(label) for measure in every]
        parts = [
            f"{phrase} in {seen.count(word)}"
            for word, phrase in (
                (verdict.BETTER, "better"),
                (verdict.WORSE, "worse"),
                (MIXED, "better at some loads and worse at others"),
                (verdict.MORE, "more"),
                (verdict.LESS, "less"),
                (verdict.SAME, f"the same within {number(summary.negligible_pct, 1)} %"),
                (verdict.UNCLEAR, "unclear"),
                (verdict.MODEL, "clear over the seeds, but not with what the simulator may be off by"),
                (verdict.NOISE, "within what the default differs from itself"),
                (verdict.UNKNOWN, "too few repetitions to say"),
            )
            if word in seen
        ]
        found.append(
            element(
                "li",
                element("b", label),
                f" against {summary.reference}: ",
                ", ".join(parts),
                f" of {len(every)} measures.",
            )
        )
    return element("ul", *found, class_="verdict") if found else Markup("")


def _overview(summary: Summary, linked: bool) -> Markup:
    """What is the same everywhere is negligible, and folded away."""
    others = summary.manifest.labels[1:]
    if not others:
        return Markup("")
    every = measures(summary)
    same = [measure for measure in every if all(measure.word(label) == verdict.SAME for label in others)]
    counted = f"{len(same)} of {len(every)} measures are the same within {number(summary.negligible_pct, 1)} %"
    folded = (
        element("details", element("summary", counted), _verdicts_table(summary, same[:_MOST_ROWS], linked))
        if same
        else ""
    )
    left = [measure for measure in every if not all(measure.word(label) == verdict.SAME for label in others)]
    shown = _surest(left, others)
    return element(
        "section",
        element("h2", "Every measure"),
        _verdicts(summary),
        _verdicts_table(summary, shown, linked),
        element("p", f"{len(left) - len(shown):,} more, whose certain changes are smaller, are in comparisons.csv.")
        if len(shown) < len(left)
        else "",
        folded,
        id="measures",
    )


def _surest(found: list[Measure], others: list[str]) -> list[Measure]:
    """Those with the largest changes that are certain, in their order, where there are too many for a page."""
    if len(found) <= _MOST_ROWS:
        return found

    def size(measure: Measure) -> float:
        return max(certain_log(row.against[label]) for row in measure.rows for label in others if label in row.against)

    kept = {id(measure) for measure in sorted(found, key=size, reverse=True)[:_MOST_ROWS]}
    return [measure for measure in found if id(measure) in kept]


def _verdicts_table(summary: Summary, shown: list[Measure], linked: bool) -> Markup:
    if not shown:
        return Markup("")
    others = summary.manifest.labels[1:]
    rows: list[list[object]] = []
    for measure in shown:
        first = measure.first
        link = element("a", first.workload, href=f"#{first.workload}") if linked else first.workload
        name = join(
            [
                link,
                f" on {machine_name(first.machine)}",
                Markup("<br>"),
                element("small", f"{first.title}, n = {repetitions(measure.rows)}"),
            ]
        )
        rows.append([name, *[_cell(measure, label) for label in others]])
    return table(
        ["measure", *[f"{label} against {summary.reference}" for label in others]], rows, class_="glance stacked"
    )


def _cell(measure: Measure, label: str) -> Markup:
    ends = measure.extremes(label)
    if ends is None:
        return element("td", "–")
    word = measure.word(label)
    agreeing = measure.agreeing(label)
    where = f" at {agreeing} of {len(measure.rows)} loads" if 0 < agreeing < len(measure.rows) else ""
    changes = [row.changes[label] for row in (ends[:1] if ends[0] is ends[1] else ends)]
    spans = [
        element("span", percent(c.pct), interval(c.interval.low, c.interval.high), class_="whole") for c in changes
    ]
    text = element("b", WORDS[word].long if word in WORDS else "better and worse")
    span: object = join(spans, " to ")
    if word == verdict.SAME:
        span = f"within {number(measure.smaller_than_pct(label), 1)} %"
    return element("td", text, where, Markup("<br>"), element("small", span), class_=tables.style(word))


def _provenance(summary: Summary, found: dict[str, Record], guests: list[dict[str, Any]]) -> Markup:
    data = summary.manifest.data
    host = data["host"]
    facts: list[list[object]] = [
        ["command", element("code", data["command"])],
        ["place", data["place"]],
        ["cells", ", ".join(f"{count} {kind}" for kind, count in summary.counts.items() if count)],
        ["repetitions", f"{data['repetitions']}, seeds from {data['seed_base']}"],
        ["engine", _distinct(found, "engine")],
        ["kernel", _distinct(found, "kernel") or "none: simulated"],
        # Where a fleet ran is told apart.
        [
            "asked from" if data["place"] == SSH else "run on",
            f"{host['cpu'] or host['machine']}, {host['cpus']} CPUs, {host['system']}",
        ],
        ["schedlab", f"{data['schedlab']}, Python {host['python']}"],
    ]
    if measured := energy_fact.energy(found.values()):
        facts.append(["energy", measured])
    for guest in guests:
        hashes = ", ".join(f"{name} {value[:16]}" for name, value in guest["hashes"].items())
        facts.append(["guest", f"{guest['tier']}, Linux {guest['kernel']}, QEMU {guest['qemu']}, {hashes}"])
    for kind, digests in data["digests"].items():
        for name, digest in digests.items():
            if digest:
                facts.append([f"{kind.removesuffix('s')} {name}", element("code", digest)])
    return element("section", element("h2", "Provenance"), table(["", ""], facts, class_="facts"), id="provenance")


def _troubles(summary: Summary) -> Markup:
    if not summary.troubles:
        return Markup("")
    rows: list[list[object]] = [
        [t.label, t.status, f"{t.workload}, load {t.load}, {t.machine}, seed {t.seed}", t.reason]
        for t in summary.troubles[:_MOST_TROUBLES]
    ]
    rest = len(summary.troubles) - _MOST_TROUBLES
    return element(
        "section",
        element("h2", "Cells without a value"),
        table(["scheduler", "status", "cell", "reason"], rows),
        element("p", f"And {rest} more." if rest > 0 else ""),
        id="troubles",
    )


def _method(summary: Summary) -> Markup:
    pairing = {
        design.SEEDS: "One seed gives all schedulers the same draws: changes are paired by seed.",
        design.BLOCKS: "Every block holds each scheduler once, in shuffled order: changes are paired by block.",
        design.HOSTS: "Every block holds each scheduler once, in shuffled order, and at each workload and load on one "
        "host: changes are paired by block, and no host is compared with another.",
    }[summary.design]
    lines = [
        "± and ranges are 95 % intervals: bias-corrected and accelerated bootstrap over repetitions.",
        pairing,
        "Percentiles are those of the merged histograms of all repetitions, to 0.1 %; percentiles are never averaged.",
        f"“Same”: no difference is above {number(summary.negligible_pct, 1)} %, and so large one could still be.",
        f"A claim (better, worse, more, less) needs {verdict.FEWEST} repetitions, an interval wholly beyond that, and "
        f"p below {verdict.ALPHA} after Holm's adjustment over all {summary.tested} comparisons of the first tables "
        f"({summary.tested_others} of the details, for themselves). Unclear: the interval is too wide, or p too large.",
        "Quantile tables use the (n+1)p rule.",
    ]
    reading = element("ul", *[element("li", line) for line in lines])
    return element("section", element("h2", "How to read this"), reading)


def _distinct(found: dict[str, Record], key: str) -> str:
    return ", ".join(sorted({str(r.provenance.get(key, "")) for r in found.values()} - {""}))
