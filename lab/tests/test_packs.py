# SPDX-License-Identifier: GPL-2.0-or-later
"""Records that came together lie in one file, are found by their cells, and are set aside where they are not whole."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from schedlab.campaign.matrix import PlannedCell, campaign
from schedlab.campaign.request import request
from schedlab.collect import records
from schedlab.collect.store import Store
from schedlab.foreign import NewerFormat


@pytest.fixture
def planned(checkout: Path) -> list[PlannedCell]:
    return campaign(request("bfs", workload_names="latt", repetitions=3), checkout / "bin" / "schedlab-sim").cells


@pytest.fixture
def pack(checkout: Path, planned: list[PlannedCell], fake_record: Callable) -> Path:
    """Of all cells but the last."""
    store = Store(checkout / "out")
    store.create()
    data = {cell.id: fake_record(cell.id, cell.data) for cell in planned[:-1]}
    store.pack({name: (records.parse(each, name), json.dumps(each)) for name, each in data.items()})
    (path,) = (checkout / "out" / "packs").iterdir()
    return path


def test_packed_records_are_found_by_a_later_run(checkout: Path, planned: list[PlannedCell], pack: Path) -> None:
    store, ids = Store(checkout / "out"), [cell.id for cell in planned]
    assert store.prepare(ids, pytest.fail) == set(ids[:-1])
    good, bad = store.load(ids)
    assert (list(good), bad) == (ids[:-1], {})
    assert good[ids[0]].cell == planned[0].data
    assert [store.has(cell_id) for cell_id in ids] == [True] * 5 + [False]
    assert store.source(ids[0]) == pack
    assert list(store.cells.iterdir()) == []


def _cut(data: bytes) -> bytes:
    return data[:-40]


def _text(change: Callable[[str], str]) -> Callable[[bytes], bytes]:
    return lambda data: gzip.compress(change(gzip.decompress(data).decode()).encode())


def _of_second(change: Callable[[str], str]) -> Callable[[bytes], bytes]:
    """Of the second record: the first line names the cells."""

    def changed(text: str) -> str:
        lines = text.splitlines()
        lines[2] = change(lines[2])
        return "\n".join(lines) + "\n"

    return _text(changed)


@pytest.mark.parametrize(
    ("damage", "reason", "good"),
    [
        (_cut, "not a pack: ", 0),
        (lambda data: b"", "not a pack: ", 0),
        (lambda data: b"beef" * 9, "not a pack: ", 0),
        (_text(lambda text: text.replace('"format": 1', '"format": 0', 1)), "key 'format': expected 1, got 0", 0),
        (_text(lambda text: "\n".join(text.splitlines()[:-1]) + "\n"), "not a pack: ", 0),
        (_of_second(lambda line: line[:-9]), "not valid JSON", 4),
        (_of_second(lambda line: line.replace('"seed": ', '"seed": 9')), "its hash is not the record's id", 4),
        (_of_second(lambda line: line.replace('"status": "ok"', '"status": "failed"')), "status failed is none", 4),
    ],
)
def test_a_damaged_pack_is_set_aside_and_what_is_good_in_it_stays(
    checkout: Path, planned: list[PlannedCell], pack: Path, damage: Callable[[bytes], bytes], reason: str, good: int
) -> None:
    before = pack.read_bytes()
    pack.write_bytes(damage(before))
    assert pack.read_bytes() != before
    ids, said = [cell.id for cell in planned], []
    left = Store(checkout / "out").prepare(ids, said.append)
    assert left == (set(ids[:-1]) - {ids[1]} if good else set())
    (line,) = said
    assert line.startswith(f"{pack}: corrupt records (")
    assert reason in line
    assert pack.with_name(pack.name + ".corrupt").exists()
    # Nothing is said of it a second time.
    assert Store(checkout / "out").prepare(ids, pytest.fail) == left


@pytest.mark.parametrize(
    "newer",
    [
        _text(lambda text: text.replace('"format": 1', '"format": 2', 1).replace('"cells"', '"ids"', 1)),
        _of_second(lambda line: line.replace('"format": 1', '"format": 2', 1)),
    ],
)
def test_a_pack_of_a_format_to_come_stays_as_it_is(
    checkout: Path, planned: list[PlannedCell], pack: Path, newer: Callable[[bytes], bytes]
) -> None:
    pack.write_bytes(newer(pack.read_bytes()))
    before = pack.read_bytes()
    with pytest.raises(NewerFormat) as error:
        Store(checkout / "out").prepare([cell.id for cell in planned], pytest.fail)
    assert str(error.value).startswith(f"{pack}: its format is 2, and this schedlab knows 1: update schedlab")
    assert {path: path.read_bytes() for path in pack.parent.iterdir()} == {pack: before}
