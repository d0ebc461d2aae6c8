# SPDX-License-Identifier: GPL-2.0-or-later
"""Progress with an estimate; where nobody watches, nothing is drawn."""

from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn


class CellProgress:
    def __init__(self, console: Console, title: str, total: int, done: int) -> None:
        self._bar = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=None),
            MofNCompleteColumn(),
            TextColumn("cells"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(compact=True),
            console=console,
            disable=not console.is_terminal,
            transient=True,
        )
        # Cells that had a record already say nothing about how fast the others run.
        self._task = self._bar.add_task(title, total=total - done)

    def __enter__(self) -> "CellProgress":
        self._bar.start()
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._bar.stop()

    def advance(self) -> None:
        self._bar.advance(self._task)

    def say(self, message: str) -> None:
        self._bar.console.print(message, markup=False, highlight=False, soft_wrap=True)
