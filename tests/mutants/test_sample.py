# SPDX-License-Identifier: GPL-2.0-or-later
"""A fixed sample of planted mistakes: each must still be found by the test that found it.

CONTRIBUTING.md says what to do where a line of the sample is gone.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.mutants import judge, mutant, pytest_run, sample, tree
from tests.policies.schedules import simulator

ENTRIES = json.loads(sample.FILE.read_text("utf-8"))

pytestmark = pytest.mark.skipif(not simulator(), reason="schedlab-sim is not built")


@pytest.fixture(scope="module")
def root() -> Iterator[Path]:
    with tree.scratch() as copied:
        yield copied


@pytest.mark.parametrize("entry", ENTRIES, ids=[f"{entry['file']}-{n}" for n, entry in enumerate(ENTRIES)])
def test_is_still_found(entry: dict, root: Path) -> None:
    planted = mutant.of(entry)
    assert planted.line(root), f"{planted.file} has no line {planted.was!r} any more: see CONTRIBUTING.md"
    with tree.planted(root, planted):
        said = pytest_run.run(root, [entry["test"].split("::")[0]], [(entry["test"], judge.MORE_S)])
    assert any(line.get("begins") == entry["test"] for line in said), f"there is no test {entry['test']} any more"
    assert pytest_run.failed(said), f"nothing finds {planted.was!r} as {planted.becomes!r}"
