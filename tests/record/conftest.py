# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests that record in a guest are skipped, with the reason, where none can be booted."""

import pytest

from schedlab.errors import PlaceError
from schedlab.vm import kernel, qemu


@pytest.fixture(scope="session")
def guest() -> None:
    try:
        qemu.find()
        kernel.resolve()
    except PlaceError as error:
        pytest.skip(f"no guest can be booted: {error}")
