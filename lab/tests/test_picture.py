# SPDX-License-Identifier: GPL-2.0-or-later
"""README's picture and table say what the committed results say."""

import re
from pathlib import Path

from schedlab.report import markdown, readme

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "results" / "readme"


def test_readmes_table_is_that_of_the_results() -> None:
    text = (ROOT / "README.md").read_text()
    assert markdown.put(text, readme.MARK, readme.table(readme.read(RESULTS))) == text
    assert "schedlab compare bfs,cfs,default" in text


def test_the_picture_shows_every_value_of_its_measures_and_is_the_same_each_time() -> None:
    rows = readme.read(RESULTS)
    drawn = readme.draw(rows)
    assert drawn == readme.draw(rows)
    committed = (RESULTS / "picture.svg").read_text()
    # Fonts place letters a little differently from machine to machine; lines and points are the results'.
    lines = re.compile(r'<path [^>]*d="M[^"]*"')
    assert len(lines.findall(drawn)) >= len(readme.PANELS) * len(readme.labels(rows))
    assert lines.findall(drawn) == lines.findall(committed)
    assert len(committed) < 150_000
    for label in readme.labels(rows):
        assert f">{label}</text>" in committed
