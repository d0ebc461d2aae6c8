# SPDX-License-Identifier: GPL-2.0-or-later
"""The raw data inside the page, plain where small and compressed where large, and a button that saves them."""

import base64
import gzip
from typing import Any

from schedlab.report.figure import json_text
from schedlab.report.html import Markup, element

_MOST_PLAIN_BYTES = 600_000
# Half the time of the highest level for a few per cent more bytes.
_LEVEL = 6


def section(content: dict[str, Any], what: str) -> Markup:
    text = json_text(content)
    note = f"{what} are in this file as JSON, in the element with the id “data”"
    if len(text.encode()) > _MOST_PLAIN_BYTES:
        packed = base64.b64encode(gzip.compress(text.encode(), _LEVEL, mtime=0)).decode()
        script = f'<script type="application/gzip" id="data">{packed}</script>'
        note += " (base64 of gzip)"
    else:
        script = f'<script type="application/json" id="data">{text}</script>'
    save = element("button", "Save as JSON", type="button", id="save", hidden="")
    return element("section", element("h2", "Raw data"), element("p", note + ". ", save), Markup(script), id="raw")
