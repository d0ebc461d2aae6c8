# SPDX-License-Identifier: GPL-2.0-or-later
"""Claims beside ours, and the score, in the terminal."""

from collections.abc import Iterable

from rich.console import Console
from rich.table import Table
from rich.text import Text

from schedlab.studies import calls
from schedlab.studies.beside import Beside
from schedlab.studies.score import Reproduction, score

_STYLES = {calls.AGREES: "green", calls.CONTRADICTED: "red", calls.NO_CALL: "dim", calls.UNMEASURED: "dim"}


def claims(title: str, reproductions: Iterable[Reproduction], others: list[Beside], console: Console) -> None:
    table = Table(title=title, title_justify="left", box=None, pad_edge=False, header_style="bold")
    for heading in ("claim", "machine", "workload", "level", "metric", "A", "B"):
        table.add_column(heading, overflow="fold")
    for heading in ("published", "ours"):
        table.add_column(heading, justify="right")
    table.add_column("")
    for other in others:
        table.add_column(other.title)
    for reproduction in reproductions:
        claim = reproduction.claim
        if claim.points == 0:
            continue
        level = claim.level.partition(" (")[0].partition(",")[0]
        published = percent(claim.pct_a_over_b) if claim.pct_a_over_b is not None else _winner(reproduction)
        ours = percent(reproduction.pct) if reproduction.pct is not None else "–"
        texts = (claim.id, claim.machine, claim.workload, level, claim.metric, claim.a, claim.b)
        said = calls.outcome(reproduction)
        elsewhere = [other.of(reproduction) for other in others]
        table.add_row(*texts, published, ours, *[Text(word, _STYLES[word]) for word in (said, *elsewhere)])
    console.print(table)
    console.print("percentages: by how much A is better than B (negative: worse)", style="dim", highlight=False)


def scores(rows: Iterable[tuple[str, list[Reproduction]]], others: list[Beside], console: Console) -> None:
    """For each study what was called and is right, here and elsewhere, then the score that takes every sign."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("study")
    for heading in ("claims", "called", "right", "BFS:CFS called", "right", "'BFS wins' right"):
        table.add_column(heading, justify="right")
    for other in others:
        table.add_column(f"{other.title}: called", justify="right")
        table.add_column("right", justify="right")
    for heading in ("agreement", "strong and medium", "ratio error", "not measured"):
        table.add_column(heading, justify="right")
    for name, reproductions in rows:
        found = score(reproductions)
        right, of = found.strong_and_medium
        everything, ours = calls.calls(reproductions), calls.calls(calls.of_bfs_and_cfs(reproductions))
        table.add_row(
            name,
            str(everything.claims),
            *_called(everything),
            *_called(ours),
            _share(calls.guessed(reproductions).share_right),
            *[cell for other in others for cell in _called(other.calls(reproductions))],
            "–" if found.agreement is None else f"{found.agreement:.0%}",
            f"{right} of {of}" if of else "–",
            "–" if found.ratio_error is None else f"{found.ratio_error:.1%}",
            str(found.unmeasured),
        )
    console.print(table)


def _called(found: calls.Calls) -> tuple[str, str]:
    """How many were called, and the share of these that is right."""
    return f"{found.called} ({_share(found.share_called)})" if found.claims else "–", _share(found.share_right)


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.0%}"


def percent(value: float) -> str:
    return f"{value:+.1f} %"


def _winner(reproduction: Reproduction) -> str:
    return {1: "A better", -1: "B better", 0: "equal"}[reproduction.claim.sign]
