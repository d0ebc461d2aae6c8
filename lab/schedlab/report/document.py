# SPDX-License-Identifier: GPL-2.0-or-later
"""The frame of every page: one file that asks for nothing, and whose scripts only add to what is there."""

from pathlib import Path

from schedlab.report import library, palette
from schedlab.report.html import Markup, escape, join

MOST_BYTES = 5_000_000
_HERE = Path(__file__).parent
# What the page asks of the browser: itself, and nothing from anywhere. Vega compiles its expressions.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline' 'unsafe-eval'; img-src data: blob:"


def document(title: str, body: list[Markup], with_charts: bool = True) -> str:
    scripts = [*([library.script()] if with_charts else []), *(_own(name) for name in ("page.js", "schedule.js"))]
    loaded = "\n".join(f"<script>{text}</script>" for text in scripts)
    return (
        "<!doctype html>\n<!-- SPDX-License-Identifier: GPL-2.0-or-later -->\n"
        f'<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<style>\n{_styles()}</style></head>\n<body><main>\n{join(body, chr(10))}\n</main>\n{loaded}</body></html>\n"
    )


def _own(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")


def _styles() -> str:
    text = (_HERE / "style.css").read_text(encoding="utf-8")
    return text + "@media screen and (prefers-color-scheme: dark) {\n" + palette.dark_rules() + "\n}\n"
