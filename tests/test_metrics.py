# SPDX-License-Identifier: GPL-2.0-or-later
"""The metrics: the language's names, the lab's table and docs/records.md hold the same ones."""

import re
from pathlib import Path

from schedlab import metrics

ROOT = Path(__file__).resolve().parents[1]


def documented() -> dict[str, tuple[str, str]]:
    """Unit and better direction by name; a row may describe several."""
    found = {}
    text = (ROOT / "docs" / "records.md").read_text(encoding="utf-8").partition("\n## Metrics\n")[2]
    for row in re.findall(r"^\|( `.*)\|$", text, re.MULTILINE):
        names, unit, _, better = (column.strip() for column in row.split("|"))
        each = better.split(", ")
        for index, name in enumerate(re.findall(r"`(\w+)`", names)):
            plain = unit.removesuffix(", distribution").removesuffix("count")
            found[name] = (plain, each[index] if len(each) > 1 else better)
    return found


def test_the_page_describes_what_the_lab_knows() -> None:
    assert documented() == {metric.name: (metric.unit, metric.better) for metric in metrics.KNOWN.values()}


def test_the_language_has_the_names_that_the_lab_knows() -> None:
    source = (ROOT / "crates" / "workload" / "src" / "names.rs").read_text(encoding="utf-8")
    assert sorted(re.findall(r'"(\w+)"', source)) == sorted(metrics.KNOWN)
