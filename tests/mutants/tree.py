# SPDX-License-Identifier: GPL-2.0-or-later
"""A copy of the checkout to plant mistakes in: the checkout itself is never touched."""

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.mutants.mutant import Mutant

ROOT = Path(__file__).resolve().parents[2]
# What the tests of policies and of the lab read.
_COPIED = (
    "tests lab docs schedulers include machines workloads profiles studies published results schedlab scripts"
    " pyproject.toml"
).split()


def copy(folder: Path) -> Path:
    """Without what is ignored; the built programs and the Python environment are links."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *_COPIED],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    root = folder / "tree"
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, root / name)
    for name in ("target", ".venv"):
        (root / name).symlink_to(ROOT / name)
    return root


@contextlib.contextmanager
def scratch() -> Iterator[Path]:
    """Gone at the end, also after Ctrl-C."""
    with tempfile.TemporaryDirectory(prefix="schedlab-mutants-") as folder:
        yield copy(Path(folder))


@contextlib.contextmanager
def planted(root: Path, mutant: Mutant) -> Iterator[None]:
    path = root / mutant.file
    before = path.read_bytes()
    try:
        mutant.plant(root)
        yield
    finally:
        path.write_bytes(before)
        # Compiled Python goes by the second and the size of its source, which the next mutant may share.
        shutil.rmtree(path.parent / "__pycache__", ignore_errors=True)
        shutil.rmtree(cache(root), ignore_errors=True)


def cache(root: Path) -> Path:
    return root.parent / "cache"


def environment(root: Path) -> dict[str, str]:
    """Of programs in the copy. What is built of a mistake is kept beside it, and goes with it."""
    # A mistake that leaves a variable unused is to be found by what it does, not by a warning.
    return os.environ | {
        "SCHEDLAB_CACHE": str(cache(root)),
        "CCC_OVERRIDE_OPTIONS": "# x-Werror",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
