# SPDX-License-Identifier: GPL-2.0-or-later
"""What a policy is called that is named by its path."""

from pathlib import Path

import pytest

from schedlab.catalogue import schedulers


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("scx_mine.bpf.c", "mine"),
        ("mine.bpf.o", "mine"),
        ("scx_mine/src/bpf/main.bpf.c", "mine"),
        ("src/bpf/main.bpf.c", "main"),
    ],
)
def test_a_policy_is_named_after_its_file_or_its_schedulers_folder(tmp_path: Path, path: str, name: str):
    file = tmp_path / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("", encoding="utf-8")
    assert schedulers.find(str(file)).name == name
