# SPDX-License-Identifier: GPL-2.0-or-later
"""Identity of cells: the same in Python and in Rust."""

import hashlib
from pathlib import Path

from schedlab.campaign.cells import canonical, cell_id, file_digest, sources_digest

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


def test_a_scheduler_digest_covers_headers_and_policies_in_name_order(tmp_path: Path) -> None:
    files = {"b.h": b"two", "a.bpf.c": b"one", "README.md": b"not hashed", "notes.c": b"not hashed"}
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    expected = hashlib.sha256(b"a.bpf.c\0one" + b"b.h\0two").hexdigest()[:16]
    assert sources_digest(tmp_path) == expected


def test_a_scheduler_digest_covers_what_it_includes_from_other_folders(tmp_path: Path) -> None:
    files = {
        "mine/scx_mine.bpf.c": b'#include <scx.h>\n#include "../shared/a.h"\n',
        "shared/a.h": b'#include "types.h"\n# include "./b.h"\n',
        "shared/b.h": b'#include "../mine/../shared/a.h"\n',
        "shared/other.h": b"",
    }
    for name, data in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(data)
    names = {"../shared/a.h": "shared/a.h", "../shared/b.h": "shared/b.h", "scx_mine.bpf.c": "mine/scx_mine.bpf.c"}
    expected = hashlib.sha256(b"".join(name.encode() + b"\0" + files[path] for name, path in names.items()))
    assert sources_digest(tmp_path / "mine") == expected.hexdigest()[:16]


def test_a_file_digest_is_the_head_of_its_sha_256(tmp_path: Path) -> None:
    path = tmp_path / "w.toml"
    path.write_bytes(b"abc")
    assert file_digest(path) == "ba7816bf8f01cfea"
