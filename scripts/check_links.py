# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks the links of every tracked Markdown file: a file that is named is there, and so is a heading that is named.

Addresses on the network are not looked at.

check_links.py [ROOT]    the checkout; the current folder where none is named
"""

import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from urllib.parse import unquote

BLOCK = re.compile(r"^( *)(```+).*?^\1\2`*[ ]*$", re.DOTALL | re.MULTILINE)
SPAN = re.compile(r"(?<!`)(`+)(?!`)(?:(?!\n\n).)+?(?<!`)\1(?!`)", re.DOTALL)
LINK = re.compile(r"\]\(\s*<?([^()\s>]+)>?[^()]*\)")
HEADING = re.compile(r"^#{1,6}\s+(.+?)\s*#*$", re.MULTILINE)
ELSEWHERE = re.compile(r"[a-z][a-z+.-]*:", re.IGNORECASE)


def blank(match: re.Match[str]) -> str:
    """As many empty lines as there were, so that those below keep their numbers."""
    return "\n" * match[0].count("\n")


def anchor(heading: str) -> str:
    """What GitHub and GitLab make of a heading: lower case, no punctuation, hyphens for spaces."""
    text = re.sub(r"!?\[([^]]*)\]\([^)]*\)", r"\1", heading)
    return re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")


@cache
def anchors(path: Path) -> frozenset[str]:
    """Those of a file's headings; one that comes again is numbered."""
    found: set[str] = set()
    for heading in HEADING.findall(BLOCK.sub("", path.read_text("utf-8"))):
        name = numbered = anchor(heading)
        again = 0
        while numbered in found:
            again += 1
            numbered = f"{name}-{again}"
        found.add(numbered)
    return frozenset(found)


def faults(root: Path, name: str) -> Iterator[str]:
    page = root / name
    # What a page shows as code is an example, not a link.
    text = SPAN.sub(blank, BLOCK.sub(blank, page.read_text("utf-8")))
    for match in LINK.finditer(text):
        link = match[1]
        if ELSEWHERE.match(link):
            continue
        number = text.count("\n", 0, match.start()) + 1
        file, _, heading = unquote(link).partition("#")
        target = page.parent / file if file else page
        if not target.exists():
            yield f"{name}:{number}: links to {link}, and there is no such file"
        elif heading and (target.suffix != ".md" or heading not in anchors(target)):
            yield f"{name}:{number}: links to {link}, and there is no such heading"


def main(folder: str = ".") -> int:
    root = Path(folder)
    command = ["git", "-C", folder, "ls-files", "-z", "--", "*.md"]
    listed = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout.decode()
    names = [name for name in listed.split("\0") if name and (root / name).is_file()]
    found = [fault for name in names for fault in faults(root, name)]
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
