# SPDX-License-Identifier: GPL-2.0-or-later
"""Where the instructions of a cell went: the kernel's functions that grew or shrank most against the first column."""

from schedlab.format import function_words
from schedlab.format.function_words import amount, difference, share
from schedlab.report.html import Markup, element, join, table
from schedlab.statistics.functions import RUN, FunctionTable, Spent
from schedlab.statistics.summary import Summary


def section(summary: Summary, workload: str, machine: str) -> Markup:
    """Nothing where no instructions were counted."""
    mine = [one for one in summary.functions if (one.workload, one.machine) == (workload, machine)]
    if not mine:
        return Markup("")
    heading = element("h4", function_words.HEADING.capitalize())
    about = element("p", _about(mine), class_="note")
    parts = [_table(one, spent) for one in mine for spent in one.spent]
    faults = [_fault(one, label, why) for one in mine for label, why in one.faults.items()]
    return join([heading, about, element("div", *parts, class_="tables"), *faults])


def _about(tables: list[FunctionTable]) -> str:
    return (
        "Instructions in runs apart, counted in the exact guest; the functions with the largest differences. Parts and "
        "copies that a compiler made of a function count for it; what one build inlines and the other does not counts "
        f"for another function. Seed {tables[0].seed}."
    )


def _table(of: FunctionTable, spent: Spent) -> Markup:
    rows: list[list[object]] = [
        [
            element("code", one.name),
            _amount(one.before),
            _amount(one.after),
            difference(one.difference),
            share(one.before, spent.total_before),
            share(one.after, spent.total_after),
        ]
        for one in spent.shown
    ]
    whole = spent.total_after - spent.total_before
    rows.append(["all", _amount(spent.total_before), _amount(spent.total_after), difference(whole), "", ""])
    names = [of.reference, spent.label]
    header: list[object] = ["function", *names, "difference", *(f"share: {name}" for name in names)]
    caption = f"Instructions by {of.unit} at load {of.load}; {_counted(of, names)}"
    return table(header, rows, caption, class_="numbers functions")


def _counted(of: FunctionTable, labels: list[str]) -> str:
    """Of how much."""
    if of.unit == RUN:
        return "of whole runs"
    told = (f"{of.counts[label].total:,} with {of.counts[label].switches:,} switches" for label in labels)
    return f"counted: {' and '.join(told)}"


def _amount(value: float) -> Markup:
    return element("data", amount(value), value=repr(value))


def _fault(of: FunctionTable, label: str, why: str) -> Markup:
    return element("p", f"No counts of {label} at load {of.load}: {why}.", class_="note")
