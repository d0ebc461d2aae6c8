# SPDX-License-Identifier: GPL-2.0-or-later
"""Where the instructions of each cell went: the functions that grew or shrank most, a line each."""

from rich.console import Console
from rich.table import Table
from rich.text import Text

from schedlab.format import function_words
from schedlab.format.function_words import amount, difference, share
from schedlab.format.sentences import machine_name
from schedlab.statistics.functions import FunctionTable, Spent
from schedlab.statistics.summary import Summary

_LINES = 5


def show(summary: Summary, console: Console) -> None:
    for table in summary.functions:
        where = f" on {machine_name(table.machine)}, load {table.load}: {function_words.HEADING}, by {table.unit}"
        if table.spent:
            console.print(Text.assemble((table.workload, "bold"), where))
        for spent in table.spent:
            console.print(_lines(table, spent))
            console.print()


def _lines(table: FunctionTable, spent: Spent) -> Table:
    made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    made.add_column("function", overflow="fold")
    for text in (table.reference, spent.label, "difference", "share"):
        made.add_column(text, justify="right", header_style="bold")
    for one in spent.shown[:_LINES]:
        shares = f"{share(one.before, spent.total_before)} → {share(one.after, spent.total_after)}"
        made.add_row(Text(one.name), amount(one.before), amount(one.after), difference(one.difference), shares)
    whole = spent.total_after - spent.total_before
    made.add_row("all", amount(spent.total_before), amount(spent.total_after), difference(whole), "")
    return made
