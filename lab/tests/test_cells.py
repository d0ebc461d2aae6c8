# SPDX-License-Identifier: GPL-2.0-or-later
"""Identity of cells: the same in Python and in Rust."""

from pathlib import Path

from schedlab.campaign.cells import canonical, cell_id, engine_digest, file_digest

CELL = {
    "workload": "latt",
    "tunables": {"rules": "424", "ä": '"'},
    "seed": 1,
    "scheduler": "bfs",
    "repetition": 0,
    "place": "sim",
    "params": {"duration_s": "20"},
    "machine": "desktop-4",
    "load": 4,
    "digests": {"workload": "3" * 16, "scheduler": "2" * 16, "machine": "1" * 16, "engine": "0" * 16},
}


def test_the_canonical_form_has_sorted_keys_no_spaces_and_utf_8() -> None:
    assert canonical(CELL).decode() == (
        '{"digests":{"engine":"0000000000000000","machine":"1111111111111111",'
        '"scheduler":"2222222222222222","workload":"3333333333333333"},"load":4,'
        '"machine":"desktop-4","params":{"duration_s":"20"},"place":"sim",'
        '"repetition":0,"scheduler":"bfs","seed":1,'
        '"tunables":{"rules":"424","ä":"\\""},"workload":"latt"}'
    )


def test_the_id_is_the_one_the_rust_side_computes() -> None:
    # The same golden value stands in crates/cell/src/cell.rs.
    assert cell_id(CELL) == "e6ae472a8541d41a6023"


def test_order_of_keys_does_not_matter_and_every_value_does() -> None:
    assert cell_id(dict(reversed(CELL.items()))) == cell_id(CELL)
    for key, value in {"load": 5, "seed": 2, "repetition": 1, "tunables": {}, "machine": "x"}.items():
        assert cell_id(CELL | {key: value}) != cell_id(CELL), key


def test_a_file_digest_is_the_head_of_its_sha_256(tmp_path: Path) -> None:
    path = tmp_path / "w.toml"
    path.write_bytes(b"abc")
    assert file_digest(path) == "ba7816bf8f01cfea"


def test_an_engine_is_known_by_the_note_that_speaks_of_this_very_file(tmp_path: Path) -> None:
    runner = tmp_path / "bin" / "runner"
    note = tmp_path / "share" / "schedlab" / "engine"
    for path in (runner, note):
        path.parent.mkdir(parents=True)
    runner.write_bytes(b"abc")
    abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert engine_digest(runner) == abc[:16]
    note.write_text(f"{abc} 0123456789abcdef\n")
    assert engine_digest(runner) == "0123456789abcdef"
    # It was built again, and the note was not.
    built_again = tmp_path / "bin" / "again"
    built_again.write_bytes(b"abd")
    assert engine_digest(built_again) == file_digest(built_again)
