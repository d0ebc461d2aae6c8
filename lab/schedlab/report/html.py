# SPDX-License-Identifier: GPL-2.0-or-later
"""HTML whose text is always escaped."""

import re
from html import escape as _escape

# No line break between a number and its unit, or between two numbers that are compared.
_TOGETHER = re.compile(r"(?<=\d) (?=%|[mµ]?s\b|: [\d−])|(?<=\d :) (?=[\d−])")


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def escape(value: object) -> Markup:
    return value if isinstance(value, Markup) else Markup(_TOGETHER.sub("\N{NO-BREAK SPACE}", _escape(str(value))))


def element(name: str, *children: object, **attributes: object) -> Markup:
    """`class_` stands for class; an attribute that is None is left out."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_escape(str(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Markup(f"<{name}{written}>{join(children)}</{name}>")


def join(children: object, separator: str = "") -> Markup:
    return Markup(separator.join(escape(child) for child in children))  # type: ignore[attr-defined]


def table(header: list[object], rows: list[list[object]], caption: str = "", **attributes: object) -> Markup:
    """The first column names the row. A table of class `stacked` is a list on a phone, each cell with its header."""
    head = element("thead", element("tr", *[element("th", cell, scope="col") for cell in header]))
    body = element(
        "tbody",
        *[element("tr", element("th", row[0], scope="row"), *map(_cell, row[1:], header[1:])) for row in rows],
    )
    title = element("caption", caption) if caption else Markup("")
    # A keyboard, too, has to reach what does not fit beside it.
    return element("div", element("table", title, head, body, **attributes), class_="scroll", tabindex="0")


def _cell(content: object, head: object) -> Markup:
    whole = isinstance(content, Markup) and content.startswith("<td")
    cell = content if whole else element("td", content)
    return Markup(cell.replace("<td", f'<td data-head="{_escape(str(head))}"', 1)) if head else Markup(cell)
