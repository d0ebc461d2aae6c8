# SPDX-License-Identifier: GPL-2.0-or-later
from pathlib import Path

import pytest

from tests.setup import fakes


@pytest.fixture
def checkout(tmp_path: Path) -> fakes.Checkout:
    return fakes.checkout(tmp_path)
