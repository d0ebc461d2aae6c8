# SPDX-License-Identifier: GPL-2.0-or-later
"""The site, built once for all tests, and the way to its modules, which are no package: they lie where MkDocs finds
them.
"""

import sys
from pathlib import Path

import pytest

from tests.docs.blocks import ROOT
from tests.docs.build import build

sys.path.insert(0, str(ROOT / "scripts/site"))


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = build(folder)
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    assert "WARNING" not in said
    return folder
