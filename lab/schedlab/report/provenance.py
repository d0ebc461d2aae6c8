# SPDX-License-Identifier: GPL-2.0-or-later
"""Where the numbers come from: command, programs, digests, machines."""

from typing import Any

from schedlab.collect.records import Record
from schedlab.report.html import Markup, element, table
from schedlab.statistics import design, verdict
from schedlab.statistics.summary import Summary

_MOST_TROUBLES = 50


def section(summary: Summary, found: dict[str, Record], guests: list[dict[str, Any]]) -> Markup:
    data = summary.manifest.data
    host = data["host"]
    facts: list[list[object]] = [
        ["command", element("code", data["command"])],
        ["place", data["place"]],
        ["cells", ", ".join(f"{count} {kind}" for kind, count in summary.counts.items() if count)],
        ["repetitions", f"{data['repetitions']}, seeds from {data['seed_base']}"],
        ["engine", _distinct(found, "engine")],
        ["kernel", _distinct(found, "kernel") or "none: simulated"],
        ["run on", f"{host['cpu'] or host['machine']}, {host['cpus']} CPUs, {host['system']}"],
        ["schedlab", f"{data['schedlab']}, Python {host['python']}"],
    ]
    for guest in guests:
        hashes = ", ".join(f"{name} {value[:16]}" for name, value in guest["hashes"].items())
        facts.append(["guest", f"{guest['tier']}, Linux {guest['kernel']}, QEMU {guest['qemu']}, {hashes}"])
    for kind, digests in data["digests"].items():
        for name, digest in digests.items():
            if digest:
                facts.append([f"{kind.removesuffix('s')} {name}", element("code", digest)])
    return element("section", element("h2", "Provenance"), table(["", ""], facts, class_="facts"), id="provenance")


def troubles(summary: Summary) -> Markup:
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


def method(summary: Summary) -> Markup:
    pairing = {
        design.SEEDS: "One seed gives all schedulers the same draws: changes are paired by seed.",
        design.BLOCKS: "Every block holds each scheduler once, in shuffled order: changes are paired by block.",
    }[summary.design]
    lines = [
        "± and ranges are 95 % intervals: bias-corrected and accelerated bootstrap over repetitions.",
        pairing,
        "Percentiles are those of the merged histograms of all repetitions, to 0.1 %; percentiles are never averaged.",
        "“No difference found” does not say that there is none, but how large one could still be.",
        f"A claim (better, worse, more, less) needs {verdict.FEWEST} repetitions, an interval that excludes zero, and "
        f"p below {verdict.ALPHA} after Holm's adjustment over all {summary.tested} comparisons of the first tables "
        f"({summary.tested_others} of the details, for themselves). Open: only the interval excludes zero.",
        "Quantile tables use the (n+1)p rule.",
    ]
    reading = element("ul", *[element("li", line) for line in lines])
    return element("section", element("h2", "How to read this"), reading)


def _distinct(found: dict[str, Record], key: str) -> str:
    return ", ".join(sorted({str(r.provenance.get(key, "")) for r in found.values()} - {""}))
