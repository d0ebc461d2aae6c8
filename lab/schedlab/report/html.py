# SPDX-License-Identifier: GPL-2.0-only
"""Building HTML without forgetting to escape."""

from html import escape as _escape


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def escape(value: object) -> Markup:
    return value if isinstance(value, Markup) else Markup(_escape(str(value)))


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
    """The first column names the row."""
    head = element("thead", element("tr", *[element("th", cell, scope="col") for cell in header]))
    body = element(
        "tbody",
        *[element("tr", element("th", row[0], scope="row"), *[_cell(c) for c in row[1:]]) for row in rows],
    )
    title = element("caption", caption) if caption else Markup("")
    return element("div", element("table", title, head, body, **attributes), class_="scroll")


def _cell(content: object) -> Markup:
    if isinstance(content, Markup) and content.startswith("<td"):
        return content
    return element("td", content)
