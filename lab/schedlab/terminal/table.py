# SPDX-License-Identifier: GPL-2.0-or-later
"""The result tables: one per workload and machine, a section per metric, loads down."""

from itertools import groupby

from rich.console import Console
from rich.text import Text

from schedlab.format.numbers import scale
from schedlab.metrics import metric, sort_key
from schedlab.statistics.row import Row
from schedlab.statistics.summary import Summary
from schedlab.terminal.cell import heading
from schedlab.terminal.layout import Section, choose


def show(summary: Summary, console: Console) -> None:
    for (workload, machine), part in groupby(summary.headlines(), key=lambda row: (row.workload, row.machine)):
        load = next(w["load"] for w in summary.manifest.data["workloads"] if w["name"] == workload) or "load"
        sections = _sections(list(part))
        layout = choose(sections, load, summary.manifest.labels, console.width)
        console.print(Text.assemble((workload, "bold"), f" on {machine_name(machine)}"))
        for at, section in enumerate(sections):
            console.print(Text(section.title, style="italic"))
            console.print(layout.table(at, console.width))
        console.print()


def _sections(rows: list[Row]) -> list[Section]:
    def key(row: Row) -> tuple:
        return (sort_key(row.metric), row.metric, row.statistic)

    sections = []
    for (_, name, _), part in groupby(sorted(rows, key=key), key=key):
        section = list(part)
        factor, unit = scale(metric(name).unit, [v.value for row in section for v in row.values.values()])
        sections.append(Section(heading(section[0], unit), section, factor))
    return sections


def machine_name(name: str) -> str:
    if name == "host":
        return "this machine"
    return f"a guest with {name} CPU{'s' if name != '1' else ''}" if name.isdigit() else name
