# SPDX-License-Identifier: GPL-2.0-or-later
"""What MkDocs calls while it builds the site (mkdocs.yml): pages from the whole checkout, and those made from the
program.
"""

import re

import reference
import tree
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for address, path in tree.pages().items():
        files.append(File.generated(config, address, abs_src_path=str(tree.ROOT / path)))
    copied = set()
    for file in files.documentation_pages():
        copied |= tree.copies(file.content_string, tree.path_of(file.src_uri))
    for path in sorted(copied):
        files.append(File.generated(config, tree.address_of(path), abs_src_path=str(tree.ROOT / path)))
    for address, make in reference.PAGES.items():
        files.append(File.generated(config, address, content=make()))
    return files


# The line with the licence; a page's title is looked for in its first line.
_HEAD = re.compile(r"\A<!--.*?-->\n")


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    address = page.file.src_uri
    if address == "index.md":
        page.meta["hide"] = ["navigation"]  # It would name this page alone.
    if address in reference.PAGES:
        return markdown
    return tree.relinked(_HEAD.sub("", markdown), tree.path_of(address))
