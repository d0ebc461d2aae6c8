# SPDX-License-Identifier: GPL-2.0-or-later
"""Which host of a fleet runs which block, each in a thread that waits for it.

All cells of a block with the same workload and load come from one host: only they are compared with each other. A host
that fails gives its block back, which another one takes; what was finished of it stays where it is whole. The failed
host is tried again after a while, twice as long each time, and then given up.
"""

import threading
from collections import defaultdict
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from schedlab.campaign import cells
from schedlab.campaign.fleet_file import Host
from schedlab.campaign.matrix import Block, Campaign, PlannedCell
from schedlab.catalogue.schedulers import DEFAULT
from schedlab.collect import hosts, records
from schedlab.collect.hosts import Environment, Hosts
from schedlab.collect.records import CorruptRecord, Record
from schedlab.collect.store import Store
from schedlab.errors import LabError, PlaceError
from schedlab.foreign import printable
from schedlab.places import from_afar, real_kernel
from schedlab.places.carried import Carried
from schedlab.places.place import Done, Say
from schedlab.places.ssh_session import Broke, Refused, Session

_ENDS = {cells.WARM_UP, cells.FIRST, cells.LAST}
_LOOK_S = 0.2
# So long may hosts take, all together, to end what they are doing.
_PATIENCE_S = 15.0
# The number that Linux gives a full disk, as Rust writes it, and its words.
_FULL = ("(os error 28)", "No space left on device")


@dataclass(frozen=True)
class _Waiting:
    block: Block
    owners: set[str]  # hosts that have finished cells of it


class SharedOut:
    def __init__(self, campaign: Campaign, store: Store, carried: Carried, done: Done, say: Say) -> None:
        self._campaign = campaign
        fleet = campaign.request.fleet
        assert fleet
        self.fleet = fleet
        self._place = campaign.request.record_place
        self._loads = any(arm.scheduler.name != DEFAULT for arm in campaign.arms)
        self._store = store
        self._carried = carried
        self._done = done
        self._say = say
        self._waiting = [_Waiting(block, self._owners(block)) for block in campaign.blocks if self._lacks(block)]
        self._running = 0
        self._change = threading.Condition()
        self._telling = threading.Lock()  # what is done to the store, and what is told
        self._stopped = False
        self._error: LabError | None = None
        self._why: dict[str, str] = {}  # by the hosts that are out
        self._sessions: dict[str, Session] = {}
        self._begun: dict[str, Environment] = {}  # what hosts were like when their sessions began
        self._status = 0
        self._hosts = Hosts(store)

    def run(self) -> int:
        """Returns the worst status of a cell. Raises PlaceError where no host is left for a block."""
        if not self._waiting:
            return 0
        # Where blocks come one at a time, each has another host.
        turn = self._waiting[0].block.cells[0].data["repetition"] % len(self.fleet.hosts)
        order = self.fleet.hosts[turn:] + self.fleet.hosts[:turn]
        workers = [threading.Thread(target=self._work, args=[host], daemon=True) for host in order]
        for worker in workers:
            worker.start()
        try:
            for worker in workers:
                while worker.is_alive():
                    worker.join(_LOOK_S)
        except BaseException:
            self._stop(workers)
            raise
        if self._error:
            raise self._error
        if self._waiting:
            raise PlaceError(self._nobody_left())
        return self._status

    def _nobody_left(self) -> str:
        if len(self.fleet.hosts) == 1 or len(self._why) == 1:
            ((name, why),) = self._why.items()
            return f"host {name}: {why}"
        count = "1 block" if len(self._waiting) == 1 else f"{len(self._waiting)} blocks"
        each = "; ".join(f"{name}: {why}" for name, why in self._why.items())
        return f"no host is left for {count} ({each}); finished cells are kept, and the same command resumes"

    def _stop(self, workers: list[threading.Thread]) -> None:
        with self._change:
            self._stopped = True
            self._change.notify_all()
        for session in list(self._sessions.values()):
            session.end()
        for worker in workers:
            worker.join(_PATIENCE_S / len(workers))
        for session in list(self._sessions.values()):
            session.kill()

    def _lacks(self, block: Block) -> bool:
        """Whether a cell that counts has no result."""
        there = self._results(block.cells)
        return any(cell.id not in there for cell in block.cells if cell.role not in _ENDS)

    def _results(self, planned: Iterable[PlannedCell]) -> dict[str, Record]:
        """Failed cells, too: this run does not try them again."""
        return self._store.load(cell.id for cell in planned)[0]

    def _work(self, host: Host) -> None:
        failures = 0
        while (block := self._take(host)) is not None:
            try:
                self._run(host, block)
                failures = 0
                self._release(None)
            except LabError as error:
                why = " ".join(str(error).split())
                with self._change:
                    # Its own blocks end as well as they can when somebody else is at fault.
                    if not isinstance(error, Broke | Refused):
                        self._error = self._error or error
                        self._stopped = True
                self._release(block)
                self._end_session(host)
                if isinstance(error, Refused):
                    self._leave(host, why)
                    return
                if self._stopped:
                    return
                failures += 1
                if failures > self.fleet.limits.retries:
                    self._leave(host, f"{why} (tried {failures} times)" if failures > 1 else why)
                    return
                wait_s = self.fleet.limits.backoff_s * 2 ** (failures - 1)
                self._tell(f"host {host.name}: {why}; trying it again in {wait_s:g} s")
                self._rest(wait_s)
            except BaseException as error:
                with self._change:
                    self._error = self._error or LabError(f"host {host.name}: {error!r}")
                    self._stopped = True
                self._release(block)
                self._end_session(host)
                return
        self._end_session(host)

    def _leave(self, host: Host, why: str) -> None:
        with self._change:
            self._why[host.name] = why
            others = [other for other in self.fleet.hosts if other.machine == host.machine]
            left = [other.name for other in others if other.name not in self._why]
            self._change.notify_all()
        if left:
            self._tell(f"host {host.name} is given up: {why}; its cells go to {', '.join(left)}")

    def _rest(self, seconds: float) -> None:
        with self._change:
            self._change.wait_for(lambda: self._stopped or self._over(), seconds)

    def _over(self) -> bool:
        return not self._waiting and not self._running

    def _take(self, host: Host) -> Block | None:
        """A block for it: of those that it began, else of those that nobody did, else any. None: there is no more."""
        with self._change:
            while not self._stopped:
                fitting = [one for one in self._waiting if one.block.machine.name == host.machine]
                if fitting:
                    chosen = min(fitting, key=lambda one: 0 if host.name in one.owners else 2 if one.owners else 1)
                    self._waiting.remove(chosen)
                    self._running += 1
                    return chosen.block
                if not self._running:
                    return None
                # What another host gives back may be for this one.
                self._change.wait(_LOOK_S)
        return None

    def _owners(self, block: Block) -> set[str]:
        found = self._results(cell for cell in block.cells if cell.role not in _ENDS)
        return {_host_of(record) for record in found.values()}

    def _release(self, block: Block | None) -> None:
        with self._change:
            self._running -= 1
            if block:
                with self._telling:
                    owners = self._owners(block)
                self._waiting.append(_Waiting(block, owners))
            self._change.notify_all()

    def _end_session(self, host: Host) -> None:
        session = self._sessions.pop(host.name, None)
        if session:
            session.close()

    def _session(self, host: Host) -> tuple[Session, Environment]:
        """One that has begun, and what the host was like then."""
        there = self._sessions.get(host.name)
        if there:
            return there, self._begun[host.name]
        try:
            session = Session(host, self.fleet.limits, self._carried.files)
        except OSError as error:
            raise Refused(f"ssh cannot be started: {error.strerror}") from error
        self._sessions[host.name] = session
        if self._stopped:
            session.end()
        found = self._begun[host.name] = session.begin()
        if found["cpus"] != host.cpus:
            raise Refused(f"it has {found['cpus']} CPUs online; {self.fleet.path} says cpus = {host.cpus}")
        if found["sched_ext"] == "none" and self._loads:
            raise Refused("its kernel has no sched_ext: only 'default' runs there")
        return session, found

    def _run(self, host: Host, block: Block) -> None:
        with self._telling:
            chosen = self._chosen(host, block)
        if not chosen:
            return
        session, found = self._session(host)
        with self._telling:
            reference = self._hosts.reference(host.name) or found
        _require(hosts.changes(reference, found))
        told: dict[str, Any] = {}

        def run_cells(planned: list[PlannedCell]) -> int:
            return self._run_cells(session, reference, planned, told)

        def say(text: str) -> None:
            self._tell(f"host {host.name}: {text}")

        try:
            status = real_kernel.until_not_void(chosen, self._store, run_cells, say)
        except Broke as error:
            self._note(host, block, reference, told, str(error))
            raise
        self._note(host, block, reference, told, "")
        with self._change:
            self._status = max(self._status, status)

    def _note(self, host: Host, block: Block, reference: Environment, told: dict[str, Any], void: str) -> None:
        """A block that nothing was heard of is none."""
        if "before" not in told:
            return
        first = next((cell for cell in block.cells if cell.role == cells.MEASURED), block.cells[0])
        entry = {
            "machine": block.machine.name,
            "repetition": first.data["repetition"],
            "cells": told["cells"],
            "void": void,
            **{
                when: {key: told[when][key] for key in hosts.PASSING} if when in told else None
                for when in ("before", "after")
            },
        }
        with self._telling:
            self._hosts.note(host.name, host.destination, reference, entry)

    def _chosen(self, host: Host, block: Block) -> list[PlannedCell]:
        """What is left of a block for this host. Cells that would be compared with those of another host run again,
        and so do a block's ends.
        """
        groups: dict[tuple[str, int], list[PlannedCell]] = defaultdict(list)
        for cell in block.cells:
            if cell.role not in _ENDS:
                groups[cell.data["workload"], cell.data["load"]].append(cell)
        left = set()
        for group in groups.values():
            there = self._results(group)
            owners = {_host_of(record) for record in there.values()}
            whole = all(cell.id in there for cell in group) and len(owners) == 1
            for cell in [] if whole else group:
                if cell.id not in there or _host_of(there[cell.id]) != host.name:
                    self._store.drop(cell.id)
                    left.add(cell.id)
        if not left:
            return []
        for cell in block.cells:
            if cell.role in _ENDS:
                self._store.drop(cell.id)
        return [cell for cell in block.cells if cell.id in left or cell.role in _ENDS]

    def _run_cells(
        self, session: Session, reference: Environment, planned: list[PlannedCell], told: dict[str, Any]
    ) -> int:
        waiting = {cell.id: cell for cell in planned}
        host, limit_pct = session.host.name, self.fleet.limits.busy_pct
        status = 0
        told["cells"] = 0

        def begun(before: Environment) -> None:
            told["before"] = before
            _require([*hosts.changes(reference, before), hosts.disturbance(before, None, limit_pct)])

        def keep(data: Any) -> None:
            nonlocal status
            cell_id = data.get("id") if isinstance(data, dict) else None
            if not isinstance(cell_id, str) or cell_id not in waiting:
                raise Broke("it sent a record that nobody waits for")
            with self._telling:
                try:
                    record = from_afar.keep(data, cell_id, self._place, host, self._store)
                except CorruptRecord as error:
                    raise Broke(f"it sent a record that is none: {printable(str(error))}") from error
                if record.status == records.FAILED and any(words in record.reason for words in _FULL):
                    self._store.drop(cell_id)
                    raise Broke(f"its disk is full: {printable(record.reason)}")
                del waiting[cell_id]
                told["cells"] += 1
                if record.status == records.FAILED:
                    status = 1
                self._done(cell_id, record.status)

        shard = self._campaign.shard(planned, self._carried.places)
        before, after = session.run(shard, keep, begun)
        told["after"] = after
        if waiting:
            raise Broke(f"{len(waiting)} cells of its block have no record")
        void = [*hosts.changes(reference, after), hosts.disturbance(before, after, limit_pct)]
        if any(void):
            with self._telling:
                for cell in planned:
                    self._store.drop(cell.id)
        _require(void)
        return status

    def _tell(self, text: str) -> None:
        with self._telling, suppress(ValueError):
            self._say(text)


def _host_of(record: Record) -> str:
    return str(record.provenance.get("host", ""))


def _require(void: Iterable[str]) -> None:
    found = [words for words in void if words]
    if found:
        raise Broke(f"its block is void: {'; '.join(found)}")
