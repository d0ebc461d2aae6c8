# SPDX-License-Identifier: GPL-2.0-or-later
"""Hands: cells that go to a cluster and come back together, whichever cluster it is.

What comes back is checked, and packed by the hand. Only here it goes into the store, by one process, and only for cells
that lack it: whatever runs twice there counts once. What is missing of a hand is handed out again, some times.
"""

import gzip
import importlib
import io
import json
import math
import re
import shlex
from collections.abc import Iterable
from dataclasses import dataclass, field

from schedlab import atomic, foreign
from schedlab.campaign.matrix import Campaign, PlannedCell
from schedlab.collect import records
from schedlab.collect.records import CorruptRecord, Record
from schedlab.collect.store import Store
from schedlab.errors import PlaceError
from schedlab.foreign import printable
from schedlab.places import from_afar
from schedlab.places.carried import Carried
from schedlab.places.place import Done, Say

# What a hand costs, whatever is in it, is then little for each of its cells.
_LEAST = 100
# So much is lost at most with a worker, and so much comes back at once.
_MOST = 1000
# The last hands leave others idle for a part of so many.
_ROUNDS = 4
# So often a hand is handed out again before it is given up.
RETRIES = 3


@dataclass(frozen=True)
class Hand:
    cells: list[PlannedCell] = field(repr=False)
    tries: int = 0

    def __len__(self) -> int:
        return len(self.cells)


@dataclass(frozen=True)
class Came:
    """What comes back of a hand (hand_on_worker.run)."""

    records: bytes
    status: int
    said: str


def need_package(name: str, install: str) -> None:
    """Raises PlaceError where Python does not find it, or what it needs."""
    try:
        importlib.import_module(name)
    except ImportError as error:
        raise PlaceError(f"no Python package {error.name}: install {install} (lab/requirements.txt)") from error


def cut(planned: list[PlannedCell], slots: int) -> list[Hand]:
    """For a cluster on which so many hands run at once. Small ones cost more than they gain, unless slots are idle."""
    size = min(max(_LEAST, math.ceil(len(planned) / (slots * _ROUNDS))), _MOST)
    if size * slots > len(planned):
        size = max(1, math.ceil(len(planned) / slots))
    return [Hand(planned[start : start + size]) for start in range(0, len(planned), size)]


class Hands:
    def __init__(self, campaign: Campaign, store: Store, carried: Carried, done: Done, say: Say) -> None:
        self._campaign = campaign
        self._store = store
        self._carried = carried
        self._done = done
        self._say = say
        self._place = campaign.request.record_place
        self._status = 0
        self._given_up: list[tuple[int, str]] = []

    def shard(self, hand: Hand) -> bytes:
        """As a worker takes it."""
        shard = self._campaign.shard(hand.cells, self._carried.places)
        return gzip.compress(json.dumps(shard, ensure_ascii=False).encode(), compresslevel=1)

    def came(self, hand: Hand, came: Came) -> list[Hand]:
        """Keeps what came back of it, and returns what is to be handed out again."""
        waiting = {cell.id: cell for cell in hand.cells if not self._store.has(cell.id)}
        found: dict[str, tuple[Record, str]] = {}
        why = ""
        try:
            for line in _lines(came.records):
                cell_id, record, text = self._checked(line, waiting)
                if record.status in records.FINISHED:
                    found[cell_id] = record, text
                else:
                    # It runs again with the next command, which takes its file away.
                    atomic.write(self._store.path(cell_id), text + "\n")
                    self._status = 1
                    self._done(cell_id, record.status)
                del waiting[cell_id]
        except (CorruptRecord, ValueError, EOFError, OSError) as error:
            why = f"it sent a record that is none: {printable(str(error))}"
        if found:
            self._store.pack(found)
        for cell_id, (record, _) in found.items():
            self._done(cell_id, record.status)
        return self._again(hand, list(waiting.values()), why or _said(came)) if waiting else []

    def lost(self, hand: Hand, why: str) -> list[Hand]:
        """Nothing came back of it. Returns what is to be handed out again."""
        return self._again(hand, [cell for cell in hand.cells if not self._store.has(cell.id)], why)

    def finish(self) -> int:
        """The worst status of a cell. Raises PlaceError where hands were given up."""
        if self._given_up:
            count, (_, why) = sum(cells for cells, _ in self._given_up), self._given_up[0]
            raise PlaceError(
                f"{count} cells have no record: {why} (tried {RETRIES + 1} times); finished cells are kept, "
                "and the same command resumes"
            )
        return self._status

    def _again(self, hand: Hand, left: list[PlannedCell], why: str) -> list[Hand]:
        if not left:
            return []
        why = " ".join(printable(why).split())
        if hand.tries == RETRIES:
            self._given_up.append((len(left), why))
            return []
        self._say(f"{len(left)} cells of a hand have no record: {why}; they are handed out again")
        return [Hand(left, hand.tries + 1)]

    def _checked(self, line: bytes, waiting: Iterable[str]) -> tuple[str, Record, str]:
        data = foreign.parse(line)
        cell_id = data.get("id") if isinstance(data, dict) else None
        if not isinstance(cell_id, str) or cell_id not in waiting:
            raise CorruptRecord("nobody waits for it")
        record, own = from_afar.checked(data, cell_id, self._place)
        if record.status not in records.FINISHED:
            own["reason"] = self._here(own["reason"])
        return cell_id, record, json.dumps(own, ensure_ascii=False, separators=(",", ":"))

    def _here(self, reason: str) -> str:
        """The command that runs a failed cell again names files as they lie there."""
        files = self._campaign.files()
        for kind, there in self._carried.places.items():
            for name, path in files[kind].items():
                reason = re.sub(
                    rf"(?<= ){re.escape(there[name])}(?=[ :]|$)", shlex.quote(path).replace("\\", r"\\"), reason
                )
        return reason


def _lines(packed: bytes) -> Iterable[bytes]:
    """Raises ValueError where one is longer than a record is. The last may be torn, where the runner broke."""
    with gzip.open(io.BytesIO(packed)) as text:
        while line := text.readline(from_afar.MOST_BYTES):
            if line.endswith(b"\n"):
                yield line
            elif len(line) == from_afar.MOST_BYTES:
                raise ValueError(f"a line is longer than {from_afar.MOST_BYTES >> 20} MiB")


def _said(came: Came) -> str:
    """Why records are missing."""
    last = next((line for line in reversed(came.said.splitlines()) if line.strip()), "")
    if last:
        return last
    return (
        f"the runner was ended by signal {-came.status}" if came.status < 0 else f"status {came.status} of the runner"
    )
