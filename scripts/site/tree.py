# SPDX-License-Identifier: GPL-2.0-or-later
"""Which files of the checkout are pages of the site, and where a link between two of them leads there.

A page links as the checkout's own pages do, relative to where its file lies. Those in docs/ keep their places; what
lies elsewhere is taken in under an address of its own, and a file that is no page is copied under files/, so that every
link that works in the checkout works in the site.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# Pages outside of docs/, by their addresses.
_ELSEWHERE = {
    "index.md": "README.md",
    "contributing.md": "CONTRIBUTING.md",
    "changelog.md": "CHANGELOG.md",
    "lab.md": "lab/README.md",
    "vm.md": "lab/schedlab/vm/README.md",
    "loader.md": "crates/loader/README.md",
}
_COPIES = "files/"

# What a page shows as code is an example, not a link.
_CODE = re.compile(r"^( *)(```+).*?^\1\2`*[ ]*$|(?<!`)(`+)(?!`)(?:(?!\n\n).)+?(?<!`)\3(?!`)", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"(\]\(\s*<?)([^()\s>]+)")
_ELSEWHERE_LINK = re.compile(r"[a-z][a-z+.-]*:|#", re.IGNORECASE)


def pages() -> dict[str, str]:
    """Address in the site: path in the checkout, of every page that is a file outside of docs/."""
    schedulers = {
        f"schedulers/{path.parent.name}.md": path.relative_to(ROOT).as_posix()
        for path in sorted(ROOT.glob("schedulers/*/README.md"))
    }
    return _ELSEWHERE | schedulers


def path_of(address: str) -> str:
    """The file behind a page's address."""
    return pages().get(address, f"docs/{address}")


def address_of(path: str) -> str:
    """Where a file of the checkout is in the site."""
    for address, page in pages().items():
        if page == path:
            return address
    return path.removeprefix("docs/") if path.startswith("docs/") else _COPIES + path


def _links(text: str) -> Iterator[re.Match[str]]:
    blank = _CODE.sub(lambda code: re.sub(r"[^\n]", " ", code[0]), text)
    return (link for link in _LINK.finditer(blank) if not _ELSEWHERE_LINK.match(link[2]))


def _target(link: str, path: str) -> tuple[str, str]:
    file, mark, heading = link.partition("#")
    return os.path.normpath(os.path.join(os.path.dirname(path), file)), mark + heading


def copies(text: str, path: str) -> set[str]:
    """The files that a page links to, or shows, and that are neither pages nor in docs/."""
    targets = {_target(link[2], path)[0] for link in _links(text)}
    return {target for target in targets if address_of(target).startswith(_COPIES) and (ROOT / target).is_file()}


def relinked(text: str, path: str) -> str:
    """A page's text with its links as they are in the site."""
    parts, at = [], 0
    folder = os.path.dirname(address_of(path))
    for link in _links(text):
        target, heading = _target(link[2], path)
        parts += [text[at : link.start(2)], os.path.relpath(address_of(target), folder or "."), heading]
        at = link.end(2)
    return "".join([*parts, text[at:]])
