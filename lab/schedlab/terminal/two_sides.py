# SPDX-License-Identifier: GPL-2.0-or-later
"""Two runs' decisions: the first that differs with what came before it in two columns, and a count of the rest."""

from collections import Counter

from rich.console import Console
from rich.table import Table

from schedlab.decisions.difference import Comparison, Difference
from schedlab.decisions.habits import habits
from schedlab.decisions.moments import IDLE, Forked, Moment, Queued, Side, Switch, Woken
from schedlab.decisions.turns import Turn
from schedlab.decisions.waiting import Waiting, before

# More waiting tasks, and moments between two decisions, are counted.
_MOST_WAITING = 12
_MOST_MOMENTS = 16
_AFTER = 2


def show(comparison: Comparison, kinds: Counter[str], nth: int, around: int, console: Console) -> None:
    """The difference `nth`, counted from 1, with so many decisions `around` it; all that differ, by `kinds`."""
    if comparison.differences:
        shown = comparison.differences[nth - 1]
        which = "The first decision that differs" if nth == 1 else f"Difference {nth}; the first comes"
        console.print(f"{which} after {comparison.agreed()} that agree; on CPU {shown.cpu}:\n")
        _one(comparison, shown, console)
        _around(comparison, shown, around, console)
    _rest(comparison, kinds, console)
    _habits(comparison, console)


def _one(comparison: Comparison, shown: Difference, console: Console) -> None:
    sides = comparison.left, comparison.right
    switches = shown.switches()
    states = [dict(before(side.moments, {at}))[at] for side, at in zip(sides, switches, strict=True)]
    table = _table("", *(side.name for side in sides))
    turns = shown.left, shown.right
    times = [side.moments[at].at_ns for side, at in zip(sides, switches, strict=True)]
    if shown.of_picks:
        table.add_row("picked", *(turn.task for turn in turns))
    else:
        table.add_row("it was", *(f"{turn.task}, which {_how(turn)}" for turn in turns))
        table.add_row("then came", *(turn.followed_by for turn in turns))
    table.add_row("at", *(_ms(at_ns) for at_ns in times))
    table.add_row("after", *(_last_wakeup(side, at) for side, at in zip(sides, switches, strict=True)))
    for number, task in enumerate(_waiting(*states)):
        places = (_place(task, *each) for each in zip(sides, states, times, strict=True))
        table.add_row("" if number else "waiting", *places)
    console.print(table)
    more = len(set(states[0].waits) | set(states[1].waits)) - _MOST_WAITING
    if more > 0:
        console.print(f"and {more} more that wait")
    shift = (times[0] - times[1]) / 1e6
    console.print(f"{sides[0].name} is {abs(shift):.3f} ms {'later' if shift > 0 else 'earlier'} there\n")


def _how(turn: Turn) -> str:
    return "was preempted" if turn.left == "preempted" else turn.left


def _last_wakeup(side: Side, at: int) -> str:
    for moment in reversed(side.moments[:at]):
        if isinstance(moment, Woken | Forked):
            ago = (side.moments[at].at_ns - moment.at_ns) / 1e3
            return f"{_text(moment)}, {ago:.1f} us before"
    return "no wake-up"


def _waiting(left: Waiting, right: Waiting) -> list[str]:
    """In the order in which the left's began to wait, then the right's others."""

    def order(task: str) -> tuple[int, int]:
        where = 0 if task in left.waits else 1
        return where, (left, right)[where].waits[task].order

    return sorted(left.waits.keys() | right.waits.keys(), key=order)[:_MOST_WAITING]


def _place(task: str, side: Side, state: Waiting, now_ns: int) -> str:
    if task in state.waits:
        wait = state.waits[task]
        queued = state.queued.get(task)
        ahead = state.ahead(task)
        key = "" if queued is None else f", queue {queued.queue}" + ("" if ahead is None else f" key +{ahead:,}")
        return f"{task}: {wait.after} {(now_ns - wait.since_ns) / 1e3:,.1f} us ago{key}"
    if task in state.running:
        return f"{task}: runs on CPU {state.running[task]}"
    if task in state.ended:
        return f"{task}: has ended"
    # Of outside tasks the simulator has none, and of the kernel's not all are seen.
    return f"{task}: sleeps" if task in side.cell else ""


def _around(comparison: Comparison, shown: Difference, around: int, console: Console) -> None:
    """Blocks of moments that begin with a decision of the CPU, side by side."""
    table = _table(*(side.name for side in (comparison.left, comparison.right)))
    for offset in range(-min(around, *shown.numbers), _AFTER + 1):
        blocks = [
            _block(side, rows[shown.cpu], number + offset)
            for side, rows, number in zip(
                (comparison.left, comparison.right), comparison.turns, shown.numbers, strict=True
            )
        ]
        style = "bold" if offset == (not shown.of_picks) else ""
        for line in range(max(map(len, blocks))):
            table.add_row(*(block[line] if line < len(block) else "" for block in blocks), style="" if line else style)
    console.print(table)
    console.print()


def _block(side: Side, row: list[Turn], number: int) -> list[str]:
    if number >= len(row):
        return []
    begin = 0 if number == 0 else row[number].picked
    end = row[number + 1].picked if number + 1 < len(row) else row[number].over
    moments = side.moments[begin : None if end is None else end + (number + 1 == len(row))]
    lines = [f"{_ms(moment.at_ns):>13} {_text(moment)}" for moment in moments]
    more = len(lines) - _MOST_MOMENTS
    # What led to the next decision stands at the end.
    return [lines[0], f"{'…':>13} {more} more", *lines[more + 1 :]] if more > 1 else lines


def _rest(comparison: Comparison, kinds: Counter[str], console: Console) -> None:
    console.print(f"{comparison.same} decisions agree in all, {len(comparison.differences)} times the two differ:")
    table = _table("times", "what")
    for what, count in kinds.most_common():
        table.add_row(str(count), what)
    if kinds:
        console.print(table)
    for side, rows, alone in zip((comparison.left, comparison.right), comparison.turns, comparison.alone, strict=True):
        every = [turn for row in rows.values() for turn in row]
        left = Counter(turn.left for turn in every)
        ends = ", ".join(f"{count} {how}" for how, count in sorted(left.items()))
        outside = sum(bool(turn.interrupted_by) for turn in every)
        console.print(
            f"{side.name}: {len(every)} decisions ({ends}); {alone} have no counterpart, "
            f"in {outside} an outside task ran in between",
            highlight=False,
        )


def _habits(comparison: Comparison, console: Console) -> None:
    sides = comparison.left, comparison.right
    left, right = (habits(side) for side in sides)
    table = _table("in general", *(side.name for side in sides))
    table.add_row("tasks of the cell that are woken while one runs", str(left.wakeups), str(right.wakeups))
    table.add_row("  and take its CPU", *(_share(each.preempting, each.wakeups) for each in (left, right)))
    table.add_row("picks of one of several that wait", str(left.choices), str(right.choices))
    table.add_row("  of who has waited longest", *(_share(each.of_first, each.choices) for each in (left, right)))
    table.add_row("  of who has waited shortest", *(_share(each.of_last, each.choices) for each in (left, right)))
    console.print()
    console.print(table)


def _share(part: int, whole: int) -> str:
    return f"{part} ({part / whole:.0%})" if whole else "–"


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", show_header=any(columns))
    for column in columns:
        table.add_column(column, overflow="fold", justify="right" if column == "times" else "left")
    return table


def _ms(at_ns: int) -> str:
    return f"{at_ns / 1e6:.3f} ms"


def _text(moment: Moment) -> str:
    match moment:
        case Switch():
            left = "" if moment.prev == IDLE else f" ({moment.left})"
            return f"CPU {moment.cpu}: {moment.prev}{left} -> {moment.next}"
        case Woken():
            by = "an interrupt of " if moment.interrupt else ""
            return f"{moment.task} woken by {by}{moment.waker}"
        case Forked():
            return f"{moment.task} forked by {moment.parent}"
        case Queued():
            key = "" if moment.key is None else f" key {moment.key}"
            return f"{moment.task} into queue {moment.queue}{key} slice {moment.slice_ns / 1e6:g} ms"
