# SPDX-License-Identifier: GPL-2.0-or-later
"""What comes back of a hand is believed as far as it is what was asked for; each cell counts once."""

import gzip
import json
import resource
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from schedlab.campaign.matrix import Campaign, campaign
from schedlab.campaign.request import request
from schedlab.collect.store import Store
from schedlab.errors import InputError, PlaceError
from schedlab.foreign import NewerFormat
from schedlab.places import hands as module
from schedlab.places import slurm
from schedlab.places.carried import Carried
from schedlab.places.hands import Came, Hand, Hands, cut


class World:
    def __init__(self, planned: Campaign, folder: Path) -> None:
        self.planned = planned
        self.store = Store(folder)
        self.store.create()
        self.done: list[tuple[str, str]] = []
        self.said: list[str] = []
        places = {
            "schedulers": {"bfs": "schedulers/bfs.bpf.o"},
            "workloads": {"latt": "workloads/latt.toml"},
            "machines": {"desktop-4": "machines/desktop-4.toml"},
        }
        self.hands = Hands(
            planned, self.store, Carried(b"", places), lambda *one: self.done.append(one), self.said.append
        )
        self.hand = Hand(planned.cells)

    def kept(self) -> list[str]:
        """A cell as often as it has a record."""
        found = [path.stem for path in self.store.cells.glob("*.json")]
        for path in (self.store.directory / "packs").glob("*.gz"):
            found += [json.loads(line)["id"] for line in gzip.decompress(path.read_bytes()).splitlines()[1:]]
        return sorted(found)


@pytest.fixture
def world(checkout: Path) -> World:
    asked = request("bfs", workload_names="latt", repetitions=3)
    return World(campaign(asked, checkout / "bin" / "schedlab-sim"), checkout / "out")


@pytest.fixture
def sent(world: World, fake_record: Callable) -> list[dict[str, Any]]:
    return [fake_record(cell.id, cell.data) for cell in world.planned.cells]


def came(sent: list[Any], status: int = 0, said: str = "", torn: str = "") -> Came:
    text = "".join(f"{one if isinstance(one, str) else json.dumps(one)}\n" for one in sent) + torn
    return Came(gzip.compress(text.encode()), status, said)


def ids(hand: Hand) -> list[str]:
    return [cell.id for cell in hand.cells]


def test_a_hand_becomes_a_pack(world: World, sent: list[dict[str, Any]]) -> None:
    assert world.hands.came(world.hand, came(sent)) == []
    assert world.hands.finish() == 0
    assert world.kept() == sorted(ids(world.hand))
    assert len(list((world.store.directory / "packs").iterdir())) == 1
    assert sorted(world.done) == sorted((cell_id, "ok") for cell_id in ids(world.hand))
    later = Store(world.store.directory).load(ids(world.hand))[0]
    assert later == world.store.load(ids(world.hand))[0]


def test_a_hand_that_ran_twice_counts_once(world: World, sent: list[dict[str, Any]]) -> None:
    assert world.hands.came(Hand(world.planned.cells[:2]), came(sent[:2])) == []
    assert world.hands.came(world.hand, came(sent[2:])) == []
    assert world.hands.came(world.hand, came([])) == []
    assert world.kept() == sorted(ids(world.hand))
    assert len(world.done) == len(sent)
    # Records of cells that have one already are not wanted a second time.
    assert world.hands.came(world.hand, came(sent)) == []
    assert world.kept() == sorted(ids(world.hand))
    assert len(world.done) == len(sent)


def test_what_is_missing_is_handed_out_again_and_given_up_in_the_end(world: World, sent: list[dict[str, Any]]) -> None:
    whole = json.dumps(sent[3])
    (again,) = world.hands.came(world.hand, came(sent[:3], -9, torn=whole[:40]))
    assert ids(again) == ids(world.hand)[3:]
    assert world.kept() == sorted(ids(world.hand)[:3])
    assert world.said == [
        "3 cells of a hand have no record: the runner was ended by signal 9; they are handed out again"
    ]
    (again,) = world.hands.lost(again, "its node\nis gone\x1b[2J")
    assert world.said[1].startswith("3 cells of a hand have no record: its node is gone")
    assert "\x1b" not in world.said[1]
    for _ in range(module.RETRIES - 2):
        (again,) = world.hands.came(again, came([], 1, "first\nlast\n\n"))
    assert world.hands.came(again, came([], 1, "first\nlast\n\n")) == []
    with pytest.raises(PlaceError) as error:
        world.hands.finish()
    assert str(error.value) == (
        "3 cells have no record: last (tried 4 times); finished cells are kept, and the same command resumes"
    )


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (lambda record: record | {"id": "beef" * 5}, "nobody waits for it"),
        (lambda record: record | {"cell": record["cell"] | {"seed": 77}}, "its hash is not the record's id"),
        (lambda record: record | {"metrics": {"elapsed_s": "1"}}, "key 'metrics.elapsed_s'"),
        (lambda record: record | {"format": 2}, "key 'format': expected 1, got 2"),
        (lambda record: record | {"provenance": record["provenance"] | {"place": "host"}}, "expected sim"),
        (lambda record: '{"id": NaN}', "NaN is no number"),
        (lambda record: "[" * 100_000, "too deep"),
        (lambda record: "[]", "nobody waits for it"),
    ],
)
def test_a_record_that_is_none_ends_its_hand(
    world: World, sent: list[dict[str, Any]], wrong: Callable[[dict], Any], why: str
) -> None:
    (again,) = world.hands.came(world.hand, came([sent[0], wrong(sent[1]), *sent[2:]]))
    assert ids(again) == ids(world.hand)[1:]
    assert world.kept() == [sent[0]["id"]]
    assert why in world.said[0]


def test_what_is_no_archive_ends_its_hand(world: World, sent: list[dict[str, Any]]) -> None:
    (again,) = world.hands.came(world.hand, Came(came(sent).records[:-50], 0, ""))
    assert set(ids(again)).isdisjoint(world.kept())
    assert len(ids(again)) + len(world.kept()) == len(sent)


def test_a_failed_cell_has_a_file_of_its_own_and_the_command_of_this_machine(
    world: World, sent: list[dict[str, Any]], checkout: Path
) -> None:
    command = (
        "schedlab-sim cell --scheduler schedulers/bfs.bpf.o:rules=424 --workload workloads/latt.toml --load 1 "
        "--machine machines/desktop-4.toml --seed 1"
    )
    sent[0] |= {"status": "failed", "reason": f"it broke; reproduce: {command}"}
    assert world.hands.came(world.hand, came(sent, 1)) == []
    assert world.hands.finish() == 1
    assert (sent[0]["id"], "failed") in world.done
    kept = json.loads(world.store.path(sent[0]["id"]).read_text())
    assert kept["reason"] == (
        f"it broke; reproduce: schedlab-sim cell --scheduler {checkout}/schedulers/bfs:rules=424 "
        f"--workload {checkout}/workloads/latt.toml --load 1 --machine {checkout}/machines/desktop-4.toml --seed 1"
    )
    left = Store(world.store.directory).prepare(ids(world.hand), pytest.fail)
    assert left == set(ids(world.hand)[1:])
    assert world.kept() == sorted(left)


@pytest.mark.parametrize(
    ("count", "slots", "sizes"),
    [
        (10_000, 2, [1000] * 10),
        (1000, 2, [125] * 8),
        (600, 2, [100] * 6),
        (150, 2, [75, 75]),
        (3, 8, [1, 1, 1]),
        (1_000_000, 200, [1000] * 1000),
        (40_000, 100, [100] * 400),
        (0, 4, []),
    ],
)
def test_hands_are_large_unless_slots_would_be_idle(world: World, count: int, slots: int, sizes: list[int]) -> None:
    cells = (world.planned.cells * (count // 6 + 1))[:count]
    assert [len(hand) for hand in cut(cells, slots)] == sizes


def test_a_disk_that_is_full_here_is_a_line_and_the_hand_can_come_again(
    world: World, sent: list[dict[str, Any]]
) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    # The kernel refuses files beyond this size as it refuses them on a full disk.
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))
    try:
        with pytest.raises(InputError, match=r"packs/\w+\.jsonl\.gz: no space left to write it; free some and run"):
            world.hands.came(world.hand, came(sent))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert world.done == []
    assert list((world.store.directory / "packs").iterdir()) == []
    assert world.hands.came(world.hand, came(sent)) == []
    assert world.kept() == sorted(ids(world.hand))


def test_jobs_that_a_newer_schedlab_noted_are_left_to_it(tmp_path: Path) -> None:
    path = tmp_path / "jobs.json"
    path.write_text('{"format": 2, "arrays": []}')
    with pytest.raises(NewerFormat, match=r"jobs\.json: its format is 2, and this schedlab knows 1: update schedlab"):
        slurm._noted(path)
    # Damage is no reason to run nothing.
    for text in ("", "[]", "[" * 100_000, '{"format": 0}'):
        path.write_text(text)
        assert slurm._noted(path).get("jobs") is None
