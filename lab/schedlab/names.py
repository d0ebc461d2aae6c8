# SPDX-License-Identifier: GPL-2.0-or-later
"""Unknown names are answered with the nearest known ones."""

import difflib
from collections.abc import Iterable

from schedlab.errors import InputError


def unknown(kind: str, name: str, known: Iterable[str]) -> InputError:
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=2, cutoff=0.5)
    # Two swapped or missing letters in a three-letter name fall under any ratio worth having.
    near = near or [k for k in names if sorted(k) == sorted(name)]
    hint = f"; did you mean {' or '.join(near)}?" if near else ""
    listing = ", ".join(names) if names else "none"
    separator = "" if hint.endswith("?") else ";"
    return InputError(f"unknown {kind} '{name}'{hint}{separator} known: {listing}")
