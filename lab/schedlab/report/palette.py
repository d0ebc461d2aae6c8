# SPDX-License-Identifier: GPL-2.0-or-later
"""One colour and one shape per scheduler.

The colours are those of Okabe and Ito, which people with any common colour blindness tell apart; shapes carry the
same information for print. Charts are drawn in these exact values, and the page's style replaces them
where the background is dark.
"""

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


def colour(index: int) -> str:
    return SERIES[index % len(SERIES)][0]


def shape(index: int) -> str:
    return SHAPES[index % len(SHAPES)]


def dark_rules() -> str:
    """Style rules that turn a chart drawn for white into one for a dark page."""
    pairs = [*SERIES, INK, SOFT, LINE]
    return "\n".join(
        f'svg [{attribute}="{light}"] {{ {attribute}: {dark}; }}'
        for light, dark in pairs
        for attribute in ("fill", "stroke")
    )
