# SPDX-License-Identifier: GPL-2.0-or-later
"""The protocol that every place keeps."""

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from schedlab.campaign.matrix import Campaign
from schedlab.collect.store import Store

Done = Callable[[str, str], None]  # a cell's id, its status
Say = Callable[[str], None]


class Place(Protocol):
    """Each place is a module of this package with these functions."""

    def engine(self) -> Path:
        """The runner's binary, whose digest a cell has (cells.engine_digest)."""

    def run(self, campaign: Campaign, store: Store, todo: set[str], jobs: int | None, done: Done, say: Say) -> int:
        """Runs the cells of these ids, puts their records into the store, and returns the worst exit status."""
