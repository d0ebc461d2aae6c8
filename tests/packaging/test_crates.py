# SPDX-License-Identifier: GPL-2.0-or-later
"""Every crate can be packed as `cargo publish` packs it, with what it takes from elsewhere in the checkout."""

import subprocess
import tarfile
from pathlib import Path

from tests.packaging.conftest import ROOT

CARGO = '. scripts/toolchain.sh && use_toolchain && exec cargo "$@"'


def test_crates_are_packed_with_what_they_include(tmp_path: Path):
    # Compiling each alone, which a dry run does too, takes minutes; CI compiles the same files in the checkout.
    options = ["--workspace", "--no-verify", "--allow-dirty", "--offline", "--quiet", "--target-dir", str(tmp_path)]
    done = subprocess.run(
        ["bash", "-c", CARGO, "cargo", "package", *options], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "no description" not in done.stderr
    packed = {path.name.rpartition("-")[0]: path for path in (tmp_path / "package").glob("*.crate")}
    assert sorted(packed) == sorted(path.parent.name for path in ROOT.glob("crates/*/Cargo.toml"))
    for crate, needed in (
        ("loader", "schedulers/bfs/scx_bfs.bpf.c"),
        ("loader", "include/scx.h"),
        ("policy", "include/vmlinux/kernel.h"),
    ):
        with tarfile.open(packed[crate]) as files:
            (root,) = {name.split("/")[0] for name in files.getnames()}
            member = files.extractfile(f"{root}/{needed}")
            assert member is not None, f"{crate}: {needed}"
            assert member.read() == (ROOT / needed).read_bytes(), f"{crate}: {needed}"
