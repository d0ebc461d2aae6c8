# SPDX-License-Identifier: GPL-2.0-or-later
"""Which files a C file is made of."""

import re
from pathlib import Path

_INCLUDE = re.compile(r'^#include ["<]([^">]+)[">]', re.MULTILINE)


def closure(file: Path, *folders: Path) -> set[Path]:
    """With the file itself. A header is looked for beside the file, then in the folders; others are not followed."""
    found: set[Path] = set()
    waiting = [file.resolve()]
    while waiting:
        path = waiting.pop()
        if path in found:
            continue
        found.add(path)
        for name in _INCLUDE.findall(path.read_text("utf-8")):
            places = [folder / name for folder in (path.parent, *folders)]
            waiting += [place.resolve() for place in places if place.is_file()][:1]
    return found
