# SPDX-License-Identifier: GPL-2.0-or-later
"""The pages of the reference, made from the program when the site is built: its parsers, its lists, and one cell that
it runs. None of them is in the tree, so none can be out of date.
"""

import argparse
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import keys

from schedlab import simulator
from schedlab.catalogue import described, metrics, schedulers
from schedlab.cli.commands import COMMANDS
from schedlab.cli.program import build_parser
from schedlab.export import function_rows, results, summary_tables
from schedlab.report import markdown

_MADE = "This page is made from the program: {}."


def _page(title: str, made_from: str, *parts: str) -> str:
    return "\n\n".join([f"# {title}", _MADE.format(made_from), *(part.strip("\n") for part in parts)]) + "\n"


def _cell(text: object) -> str:
    """Text of a table's cell: no bars and angle brackets of Markdown's own."""
    return str(text).replace("|", "\\|").replace("<", "&lt;")


def _table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    return markdown.table(header, [[_cell(cell) for cell in row] for row in rows])


def _code(text: str) -> str:
    return f"```text\n{text.strip()}\n```"


def subcommands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    found = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    return dict(found[0].choices) if found else {}


def commands() -> str:
    parser = build_parser()
    parsers = subcommands(parser)
    parts = ["What `schedlab COMMAND --help` says of every command.", _code(parser.format_help())]
    for title, group in COMMANDS.items():
        parts.append(f"## {title[0].upper()}{title[1:]}")
        for name in group:
            parts += [f"### schedlab {name}", _code(parsers[name].format_help())]
            for own, below in subcommands(parsers[name]).items():
                parts += [f"#### schedlab {name} {own}", _code(below.format_help())]
    return _page("Commands", "its parser of command lines", *parts)


def metric_list() -> str:
    rows = [
        [f"`{entry['name']}`", entry["title"], entry["unit"], entry["better"] or "neither", entry["meaning"]]
        for entry in metrics.describe()
    ]
    return _page(
        "Metrics",
        "`schedlab-sim describe --metrics`",
        "The name ends in the unit of a record's numbers; `--metric` and `--fail-on` take it. [Cells, shards, records]"
        "(../records.md#metrics) says who gives each its value.",
        _table(["metric", "in words", "unit", "better", "what it measures"], rows),
    )


def _keys(kind: str, asked: Sequence[tuple[dict[str, Any], keys.Table]]) -> list[str]:
    parts = []
    found = keys.known(kind, [(sample, table.at) for sample, table in asked])
    for (_, table), its_keys in zip(asked, found, strict=True):
        parts += [f"## {table.title[0].upper()}{table.title[1:]}", _key_table(its_keys)]
    return parts


def _key_table(its_keys: Iterable[keys.Key]) -> str:
    rows = [[f"`{key.name}`", "yes" if key.must else "", key.expected] for key in its_keys]
    return _table(["key", "must be given", "what is expected"], rows)


def machine_keys() -> str:
    return _page(
        "Keys of machine files",
        "what its parser says of wrong values",
        "What they mean, and the defaults of costs: [machines](../machines.md).",
        *_keys("machines", [(keys.MACHINE, table) for table in keys.MACHINE_TABLES]),
    )


def workload_keys() -> str:
    asked = [(keys.WORKLOAD, table) for table in keys.WORKLOAD_TABLES]
    asked += [(keys.APPLICATION, table) for table in keys.APPLICATION_TABLES]
    rows = [
        [f"`{name}`", own.expected, ", ".join(f"`{key.name}`: {key.expected}" for key in others)]
        for name, (own, *others) in keys.steps().items()
    ]
    return _page(
        "Keys of workload files",
        "what its parser says of wrong values",
        'What they mean: [workloads](../workloads.md). An expression is a text such as `"2 * cpus"`.',
        *_keys("workloads", asked),
        "## `[end]`",
        "One of these:",
        _key_table(keys.ends()),
        "## Steps of a program",
        "Of a step that ends in `_us` there are `_ns`, `_ms` and `_s` as well, but for `max_us`. Where a time is "
        f"expected, `{{ DRAW = … }}` draws it: {', '.join(f'`{draw}`' for draw in keys.draws())}.",
        _table(["step", "what is expected", "beside it"], rows),
    )


def tunables() -> str:
    ours = [name for name in schedulers.known() if name != schedulers.DEFAULT]
    parts = []
    for entry in described.entries(schedulers=ours, build=True)["schedulers"]:
        parts += [f"## {entry['name']}", entry["about"]]
        if entry["tunables"]:
            rows = [[f"`{each['name']}`", _range(each), each["default"], each["about"]] for each in entry["tunables"]]
            parts.append(_table(["tunable", "values", "default", "what it is"], rows))
        if entry["stats"]:
            rows = [[f"`{each['name']}`", each["about"]] for each in entry["stats"]]
            parts.append(_table(["counter", "what it counts"], rows))
    return _page(
        "Tunables",
        "`schedlab-sim describe --build`, which builds every scheduler",
        "A tunable follows the scheduler's name, `bfs:rules=424+rr_interval_us=3000`, or is an option of its program, "
        "`scx_bfs --rr-interval-us 3000`. Counters are what `scx_NAME --stats` prints.",
        *parts,
    )


def _range(tunable: dict[str, Any]) -> str:
    if tunable.get("choices"):
        return ", ".join(map(str, tunable["choices"]))
    if tunable["type"] == "bool":
        return "true, false"
    unit = {"us": "µs", "pct": "%", "hz": "Hz"}.get(tunable["unit"], tunable["unit"])
    return f"{tunable['min']:,} to {tunable['max']:,} {unit}".strip()


def record() -> str:
    words = simulator.command("bfs", "latt", "desktop-4", load=2, seed=1, params={"duration_s": 1})
    made = simulator.record(words)
    rows = [[f"`{key}`", kind, example] for key, kind, example in _flat(made)]
    return _page(
        "What a record holds",
        "`schedlab-sim cell --scheduler bfs --workload latt --load 2 --param duration_s=1 --json`",
        "Every key of the record of one cell, with what stands there. Metrics are those that this workload has; "
        "[the list of all](metrics.md). [Cells, shards, records](../records.md) says what each key means, and what a "
        "real kernel adds.",
        _table(["key", "kind", "here"], rows),
    )


_KINDS = {str: "text", bool: "true or false", int: "integer", float: "number", list: "list", dict: "table"}


def _flat(value: dict[str, Any], above: str = "") -> Iterable[tuple[str, str, str]]:
    for key, each in value.items():
        if isinstance(each, dict) and each:
            yield from _flat(each, f"{above}{key}.")
        else:
            text = str(each)
            yield f"{above}{key}", _KINDS[type(each)], text if len(text) <= 60 else f"{text[:57]}…"


def tables() -> str:
    every = {
        "results": ("a row per cell and metric", results.COLUMNS),
        "groups": ("a row per scheduler and statistic: values with their intervals", summary_tables.GROUP_COLUMNS),
        "comparisons": ("a row per pair of schedulers", summary_tables.COMPARISON_COLUMNS),
        "functions": ("with `--profile`, a row per kernel function", function_rows.COLUMNS),
    }
    parts = []
    for name, (about, columns) in every.items():
        rows = [[f"`{column}`", kind.lower()] for column, kind in columns.items()]
        parts += [f"## {name}.csv, {name}.parquet", f"{about[0].upper()}{about[1:]}.", _table(["column", "type"], rows)]
    return _page(
        "Tables of results",
        "the lists of columns that it writes",
        "What the columns say: [statistics](../statistics.md#files). A percentile is in `groups` and not in `results`, "
        "as percentiles are never averaged.",
        *parts,
    )


PAGES: dict[str, Callable[[], str]] = {
    "reference/commands.md": commands,
    "reference/tunables.md": tunables,
    "reference/workload-keys.md": workload_keys,
    "reference/machine-keys.md": machine_keys,
    "reference/metrics.md": metric_list,
    "reference/record.md": record,
    "reference/tables.md": tables,
}
