# SPDX-License-Identifier: GPL-2.0-or-later
"""What agree tells when it is through: its part of the page of --page, the same on the terminal, and its status."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from schedlab import atomic
from schedlab.collect.records import FINISHED
from schedlab.errors import CHECK_FAILED
from schedlab.report import markdown


@dataclass(frozen=True)
class Told:
    """In the part of the page that the mark names, if there is a page."""

    page: Path | None
    mark: str

    @classmethod
    def into(cls, page: str | None, mark: str) -> "Told":
        """Raises InputError where the page has no such part."""
        told = cls(Path(page) if page else None, mark)
        if told.page:
            markdown.put_into(told.page, mark)
        return told

    def tell(self, text: str, directory: Path, files: Sequence[str], troubles: Iterable[Mapping[str, Any]]) -> int:
        """The status: whether every cell came to an end."""
        if self.page:
            atomic.write(self.page, markdown.put_into(self.page, self.mark, text))
        print(text, end="")
        print(f"\ndata: {directory}/ ({', '.join(files)})")
        return CHECK_FAILED if any(one["status"] not in FINISHED for one in troubles) else 0
