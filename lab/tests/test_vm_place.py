# SPDX-License-Identifier: GPL-2.0-or-later
"""The virtual machine as a place, with a guest that is played by the fake runner."""

import json
import shutil
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from schedlab import vm
from schedlab.campaign import cells
from schedlab.campaign.matrix import Campaign, campaign
from schedlab.campaign.request import request
from schedlab.collect import manifest
from schedlab.collect.store import Store
from schedlab.errors import InputError, LabError, PlaceError
from schedlab.places import vm as place


class Guests:
    """Stands for schedlab.vm.run: notes what it is given and answers as the guest would."""

    def __init__(self, record: Callable) -> None:
        self.record = record
        self.boots: list[dict[str, Any]] = []
        self.break_after: int | None = None
        self.tear_after: list[int] = []  # a guest each
        self.void: dict[str, int] = {}  # id: how often it is void before it is well
        self.exit_code = 0

    def run(self, command: list[str], files: dict[str, Path], **options: Any) -> SimpleNamespace:
        assert command == ["/bin/sh", "/lab/guest.sh"]
        shards = [json.loads(path.read_text()) for path in sorted(files["/lab/shards"].iterdir())]
        self.boots.append({"files": files, "shards": shards, **options})
        tear_after = self.tear_after.pop(0) if self.tear_after else None
        for number, shard in enumerate(shards):
            if number == tear_after:
                raise vm.EmulatorFault("the guest panicked: QEMU tore a jump label")
            if number == self.break_after:
                raise vm.GuestFailed("the guest panicked: Kernel panic - not syncing")
            (cell,) = shard["cells"]
            cell_id = cell.pop("id")
            record = self.record(cell_id, cell)
            if self.void.get(cell_id, 0) > 0:
                self.void[cell_id] -= 1
                record |= {"status": "void", "reason": "the scheduler was replaced"}
            options["on_line"](json.dumps(record))
        return SimpleNamespace(
            exit_code=self.exit_code,
            tier=options["tier"],
            kernel_release="7.2.12-test",
            kernel_arguments="quiet",
            qemu_version="10.0.0",
            hashes={"kernel": "1", "initramfs": "2", "qemu": "3"},
        )


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch, fake_record: Callable) -> Guests:
    made = Guests(fake_record)
    monkeypatch.setattr(vm, "run", made.run)
    return made


def plan(repetitions: int = 2, tier: str = "exact") -> Campaign:
    asked = request(
        "bfs:rules=424", workload_names="latt", place="vm", machine_names="3", repetitions=repetitions, tier=tier
    )
    return campaign(asked, place.engine())


def go(
    planned: Campaign,
    store: Store,
    done: Callable = lambda *_: None,
    say: Callable = lambda *_: None,
    jobs: int | None = None,
) -> int:
    ids = [cell.id for cell in planned.cells]
    return place.run(planned, store, set(ids) - store.prepare(ids, say), jobs, done, say)


@pytest.fixture
def store(checkout: Path) -> Store:
    made = Store(checkout / "out")
    made.create()
    return made


def test_a_guest_boots_for_every_block_and_its_records_are_kept(world: Guests, store: Store) -> None:
    planned = plan()
    seen = []
    assert go(planned, store, lambda cell_id, status: seen.append((cell_id, status)), jobs=1) == 0
    assert len(world.boots) == 2
    assert seen == [(cell.id, "ok") for cell in planned.cells]
    found, bad = store.load(cell.id for cell in planned.cells)
    assert len(found) == len(planned.cells)
    assert not bad


def test_exact_guests_run_beside_each_other(world: Guests, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    both = threading.Barrier(2, timeout=60)

    def together(*what: Any, **options: Any) -> SimpleNamespace:
        both.wait()
        return world.run(*what, **options)

    monkeypatch.setattr(vm, "run", together)
    assert go(plan(), store, jobs=2) == 0
    assert len(world.boots) == 2


@pytest.mark.parametrize(("tier", "jobs"), [("exact", 1), ("emulated", 2)])
def test_guests_run_one_after_the_other(
    tier: str, jobs: int, world: Guests, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where one is wanted at a time, and where each would take the others' time."""
    running = threading.Lock()

    def alone(*what: Any, **options: Any) -> SimpleNamespace:
        assert running.acquire(blocking=False)
        try:
            time.sleep(0.05)
            return world.run(*what, **options)
        finally:
            running.release()

    monkeypatch.setattr(vm, "run", alone)
    assert go(plan(3, tier), store, jobs=jobs) == 0
    assert len(world.boots) == 3


def test_a_guest_that_breaks_stops_the_others(world: Guests, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    both = threading.Barrier(2, timeout=60)

    def run(*_: Any, stop: threading.Event, **options: Any) -> SimpleNamespace:
        if both.wait() == 0:
            raise vm.GuestFailed("the guest panicked")
        assert stop.wait(60)
        raise vm.GuestStopped("stopped")

    monkeypatch.setattr(vm, "run", run)
    with pytest.raises(LabError, match="the guest panicked"):
        go(plan(), store, jobs=2)


def test_the_guest_gets_what_the_shard_names(world: Guests, store: Store) -> None:
    go(plan(1), store)
    (boot,) = world.boots
    assert (boot["tier"], boot["cpus"]) == ("exact", 3)
    for shard in boot["shards"]:
        for kind in ("schedulers", "workloads"):
            assert shard["files"][kind]
            assert set(shard["files"][kind].values()) <= set(boot["files"])
        assert shard["cells"][0]["place"] == "vm-exact"
    assert boot["files"]["/lab/schedlab-host"] == place.engine()


def test_a_guest_has_the_shape_that_was_asked_for(world: Guests, store: Store) -> None:
    asked = request("bfs", workload_names="latt", place="vm", machine_names="1x2x2", repetitions=1, modelled=True)
    go(campaign(asked, place.engine()), store)
    (boot,) = world.boots
    assert (boot["cpus"], boot["topology"]) == (4, (1, 2, 2))


def test_nothing_boots_where_the_runner_is_older_than_the_scheduler(
    world: Guests, store: Store, checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = checkout / "schedulers" / "bfs"
    (checkout / "schedulers" / "mine").mkdir()
    (checkout / "schedulers" / "mine" / "scx_mine.bpf.c").write_text("// not built yet\n")
    monkeypatch.setenv("FAKE_DIGEST", "0" * 16)
    with pytest.raises(PlaceError, match=f"{folder}: has changed since schedlab-host was built: run 'make build'"):
        go(plan(1), store)
    asked = request("mine", workload_names="latt", place="vm", machine_names="1", repetitions=1)
    with pytest.raises(PlaceError, match="mine is not built into schedlab-host"):
        go(campaign(asked, place.engine()), store)
    assert world.boots == []


def test_a_policy_of_elsewhere_is_built_for_the_guest(world: Guests, store: Store, checkout: Path) -> None:
    (checkout / "elsewhere").mkdir()
    source = checkout / "elsewhere" / "scx_mine.bpf.c"
    source.write_text("// mine\n")
    asked = request(str(source), workload_names="latt", place="vm", machine_names="1", repetitions=1)
    go(campaign(asked, place.engine()), store)
    (boot,) = world.boots
    inside = "/lab/objects/mine.bpf.o"
    assert boot["files"][inside] == store.directory / "objects" / "mine.bpf.o"
    assert boot["files"][inside].read_text() == f"object of {source}"
    assert all(shard["files"]["schedulers"].get("mine", inside) == inside for shard in boot["shards"])
    assert any("mine" in shard["files"]["schedulers"] for shard in boot["shards"])


def test_a_program_runs_in_the_guest_itself_with_its_options(world: Guests, store: Store, checkout: Path) -> None:
    program = checkout / "scx_mine"
    program.write_bytes(b"\x7fELF")
    options = """-m "0,1" --level=a+b"""
    named = f"bfs,{program}:options={options}"
    asked = request(named, workload_names="latt", place="vm", machine_names="1", repetitions=1)
    assert [arm.label for arm in asked.arms] == ["bfs", f"mine:options={options}"]
    go(campaign(asked, place.engine()), store)
    (boot,) = world.boots
    assert boot["files"]["/lab/programs/scx_mine"] == program
    for shard in boot["shards"]:
        assert shard["files"]["schedulers"]["mine"] == "/lab/programs/scx_mine"
        (cell,) = shard["cells"]
        assert cell["tunables"] == ({"options": options} if cell["scheduler"] == "mine" else {})


def test_the_simulator_refuses_the_options_of_a_program(checkout: Path) -> None:
    program = checkout / "scx_mine"
    program.write_bytes(b"\x7fELF")
    with pytest.raises(InputError, match="runs the object in a program and not the program"):
        request(f"{program}:options=-v", workload_names="latt")


def test_what_the_guest_ran_on_is_noted_once(world: Guests, store: Store) -> None:
    go(plan(3), store)
    (noted,) = manifest.read_guests(store)
    assert noted["kernel"] == "7.2.12-test"
    assert noted["hashes"] == {"kernel": "1", "initramfs": "2", "qemu": "3"}


def test_a_guest_that_breaks_loses_no_finished_record_and_names_the_cell(world: Guests, store: Store) -> None:
    planned = plan()
    world.break_after = 4
    with pytest.raises(LabError, match=r"panicked.*it was at .*, latt, load \d, seed 1; the same command resumes"):
        go(planned, store, jobs=1)
    assert len(list(store.cells.glob("*.json"))) == 4
    world.break_after = None
    world.boots.clear()
    assert go(planned, store, jobs=1) == 0
    again = [shard["cells"][0]["repetition"] for shard in world.boots[0]["shards"]]
    # The block goes on where it broke, after warming up and with both ends measured anew: of the four that were
    # done, the warm-up and the first default are not spared.
    assert len(again) == len(planned.blocks[0].cells) - 2
    for role in (cells.WARM_UP, cells.FIRST, cells.LAST):
        assert cells.repetition(role, 0) in again


def test_a_guest_that_the_emulator_broke_is_followed_by_another_which_goes_on(world: Guests, store: Store) -> None:
    planned = plan(1)
    world.tear_after = [4]
    said: list[str] = []
    assert go(planned, store, say=said.append) == 0
    first, second = world.boots
    assert len(second["shards"]) == len(first["shards"]) - 2
    assert len(list(store.cells.glob("*.json"))) == len(planned.cells)
    (line,) = said
    assert "QEMU tore a jump label; it was at " in line
    assert line.endswith("; going on in another guest")


def test_a_second_guest_that_the_emulator_broke_is_the_last(world: Guests, store: Store) -> None:
    world.tear_after = [4, 4]
    with pytest.raises(vm.EmulatorFault, match=r"tore a jump label; it was at .*; the same command resumes"):
        go(plan(1), store)
    assert len(world.boots) == 2


def test_a_finished_campaign_boots_nothing(world: Guests, store: Store) -> None:
    planned = plan()
    go(planned, store)
    world.boots.clear()
    assert go(planned, store) == 0
    assert world.boots == []


def test_void_cells_run_again_and_are_given_up_at_last(world: Guests, store: Store) -> None:
    planned = plan(1)
    measured = [cell for cell in planned.cells if cell.role == cells.MEASURED]
    world.void = {measured[0].id: 1, measured[1].id: 99}
    said: list[str] = []
    go(planned, store, say=said.append)
    found, _ = store.load(cell.id for cell in planned.cells)
    assert found[measured[0].id].status == "ok"
    assert found[measured[1].id].status == "void"
    assert len(world.boots) == 3
    assert said == [
        "2 cells were void (the scheduler was replaced): running them again",
        "1 cells were void (the scheduler was replaced): running them again",
    ]


def test_a_place_that_is_not_available_in_the_guest_is_said_so(world: Guests, store: Store) -> None:
    world.exit_code = 3
    with pytest.raises(PlaceError):
        go(plan(1), store)


def test_lines_that_are_no_awaited_record_are_shown_and_not_kept(
    world: Guests, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def chatty(command: list[str], files: dict[str, Path], **options: Any) -> SimpleNamespace:
        options["on_line"]("hello")
        options["on_line"](
            json.dumps(world.record("0" * 20, {"scheduler": "x", "seed": 1, "workload": "w", "load": 1, "place": "x"}))
        )
        return world.run(command, files, **options)

    monkeypatch.setattr(vm, "run", chatty)
    said: list[str] = []
    planned = plan(1)
    go(planned, store, say=said.append)
    assert len(said) == 2
    assert len(list(store.cells.glob("*.json"))) == len(planned.cells)


def test_the_guest_s_script_prints_every_record_and_passes_the_worst_status_on(checkout: Path) -> None:
    """The script itself, with the fake runner and its paths moved here."""
    lab = checkout / "lab"
    (lab / "shards").mkdir(parents=True)
    shutil.copy(checkout / "bin" / "schedlab-host", lab / "schedlab-host")
    planned = plan(1)
    for number, cell in enumerate(planned.cells):
        (lab / "shards" / f"{number:05}.json").write_text(json.dumps(planned.shard([cell])))
    script = (
        place._SCRIPT.read_text()
        .replace("sleep 5\n", "")
        .replace("/lab/", f"{lab}/")
        .replace("/tmp/records", str(checkout / "records"))
    )

    def sh(**more: str) -> subprocess.CompletedProcess:
        return subprocess.run(
            ["sh", "-c", script], env={"PATH": "/usr/bin:/bin", **more}, capture_output=True, text=True, check=False
        )

    well = sh()
    assert well.returncode == 0, well.stderr
    assert [json.loads(line)["id"] for line in well.stdout.splitlines()] == [cell.id for cell in planned.cells]
    failed = sh(FAKE_FAIL="bfs")
    assert failed.returncode == 1
    assert len(failed.stdout.splitlines()) == len(planned.cells)
    refused = sh(FAKE_STATUS="2", FAKE_MESSAGE="bad key")
    assert refused.returncode == 2
    assert refused.stdout == ""
    assert refused.stderr == "bad key\n"
