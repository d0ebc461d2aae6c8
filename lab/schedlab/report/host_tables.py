# SPDX-License-Identifier: GPL-2.0-or-later
"""The hosts of a fleet on the page: what each was like, how much ran there, and which blocks were void."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from schedlab.collect.records import Record
from schedlab.format.numbers import number
from schedlab.report.html import Markup, element, table

_MOST_VOID = 50
_READING = (
    "All cells of a block with the same workload and load ran on one host, and only such cells are compared with each "
    "other: no host is compared with another. A block is void where its host was not what it was for its first block, "
    "or where others kept it busy."
)


def section(fleet: dict[str, Any], found: Iterable[Record]) -> Markup:
    cells = Counter(str(record.provenance.get("host", "")) for record in found)
    blocks = Counter(block["host"] for block in fleet["blocks"] if not block["void"])
    rows = [
        [name, cells[name], blocks[name], *_is(host["environment"]), _range(fleet["blocks"], name)]
        for name, host in sorted(fleet["hosts"].items())
    ]
    head = ["host", "cells", "blocks", "kernel", "CPUs", "governor, turbo", "clock source", "virtualised", "°C"]
    return element(
        "section",
        element("h2", "Hosts"),
        table(head, rows),
        element("p", _READING, class_="note"),
        _void(fleet["blocks"]),
        id="hosts",
    )


def _is(environment: dict[str, Any]) -> list[object]:
    speed = ", ".join(environment[key] for key in ("governors", "turbo") if environment[key])
    return [
        environment["kernel"],
        f"{environment['cpus']} × {environment['cpu_model'] or 'CPU'}",
        speed or "not told",
        environment["clocksource"],
        environment["virtualised"] or "no",
    ]


def _range(blocks: Iterable[dict[str, Any]], host: str) -> str:
    own = (block[when] for block in blocks if block["host"] == host for when in ("before", "after"))
    warm = [float(moment["temperature_c"]) for moment in own if moment and moment["temperature_c"] is not None]
    if not warm:
        return "not told"
    return f"{number(min(warm), 0)} to {number(max(warm), 0)}"


def _void(blocks: list[dict[str, Any]]) -> Markup:
    void = [block for block in blocks if block["void"]]
    if not void:
        return Markup("")
    rows: list[list[object]] = [
        [block["host"], f"repetition {block['repetition']} on {block['machine']}", block["void"]]
        for block in void[:_MOST_VOID]
    ]
    rest = len(void) - _MOST_VOID
    return Markup(
        element("h3", "Blocks that did not count, and ran again")
        + table(["host", "block", "why"], rows)
        + (element("p", f"And {rest} more.") if rest > 0 else "")
    )
