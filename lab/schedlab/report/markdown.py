# SPDX-License-Identifier: GPL-2.0-or-later
"""The parts of a Markdown page that are made from results, between two comments that name them."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from schedlab.errors import InputError


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return "".join(f"| {' | '.join(row)} |\n" for row in (header, ["---"] * len(header), *rows))


def put(page: str, name: str, made: str) -> str:
    """The page with what was made in the place of what is between the comments."""
    begin, end = (f"<!-- {name}: {which} -->\n" for which in ("begin", "end"))
    before, found, rest = page.partition(begin)
    _, found_end, after = rest.partition(end)
    if not found or not found_end:
        raise InputError(f"expected a page with the lines '{begin.strip()}' and '{end.strip()}'")
    return f"{before}{begin}{made}{end}{after}"


def put_into(file: Path, name: str, made: str = "") -> str:
    """The same with the page of `--page FILE`, as text: nothing is written."""
    try:
        return put(file.read_text(encoding="utf-8"), name, made)
    except OSError as error:
        raise InputError(f"--page {file}: {error.strerror}") from error
    except InputError as error:
        raise InputError(f"--page {file}: {error}") from error
