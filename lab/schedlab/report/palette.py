# SPDX-License-Identifier: GPL-2.0-or-later
"""One colour and one shape per scheduler.

The colours are those of Okabe and Ito, which people with any common colour blindness tell apart; shapes carry the
same information for print. Charts are drawn in these exact values, and the page's style replaces them
where the background is dark.
"""

from schedlab.report.html import Markup, element

# On white, on near-black.
SERIES = [
    ("#0072b2", "#58b2ee"),
    ("#d55e00", "#ff8c3f"),
    ("#009e73", "#2fc79b"),
    ("#a2568a", "#dc9cc3"),
    ("#9a7400", "#ecb93a"),
    ("#56595c", "#b4b8bc"),
]
SHAPES = ["circle", "square", "triangle-up", "diamond", "cross", "triangle-down"]
INK = ("#1c2024", "#e6e8ea")
SOFT = ("#5a6068", "#a4abb3")
LINE = ("#d4d8dc", "#3a4047")
# What is there beside the things that are compared.
ASIDE = ("#8d949b", "#767e86")


_OUTLINES = {
    "circle": '<circle cx="6" cy="6" r="4.5" fill="{0}"/>',
    "square": '<rect x="2" y="2" width="8" height="8" fill="{0}"/>',
    "triangle-up": '<path d="M6 1.5 11 10.5H1z" fill="{0}"/>',
    "diamond": '<path d="M6 .5 11 6 6 11.5 1 6z" fill="{0}"/>',
    "cross": '<path d="M4 1h4v3h3v4H8v3H4V8H1V4h3z" fill="{0}"/>',
    "triangle-down": '<path d="M6 10.5 11 1.5H1z" fill="{0}"/>',
}


def colour(index: int) -> str:
    return SERIES[index % len(SERIES)][0]


def shape(index: int) -> str:
    return SHAPES[index % len(SHAPES)]


def dark_rules() -> str:
    """Style rules that turn a chart drawn for white into one for a dark page."""
    pairs = [*SERIES, INK, SOFT, LINE, ASIDE]
    return "\n".join(
        f'svg [{attribute}="{light}"] {{ {attribute}: {dark}; }}'
        for light, dark in pairs
        for attribute in ("fill", "stroke")
    )


def legend(labels: list[str], names: dict[str, str] | None = None) -> Markup:
    """`names`: what to say instead of a label."""
    entries = [
        element("span", _boxed(swatch(i)), (names or {}).get(label, label), data_scheduler=label)
        for i, label in enumerate(labels)
    ]
    return element("p", *entries, class_="legend")


def _boxed(drawn: str) -> Markup:
    return Markup(f'<svg viewBox="0 0 12 12" aria-hidden="true">{drawn}</svg>')


def swatch(index: int) -> str:
    """A scheduler's sign, twelve units wide and high."""
    return _OUTLINES[shape(index)].format(colour(index))
