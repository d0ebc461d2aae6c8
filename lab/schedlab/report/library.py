# SPDX-License-Identifier: GPL-2.0-or-later
"""The charts' JavaScript: Vega, Vega-Lite and Vega-Embed as they come in the vl-convert package."""

import vl_convert

from schedlab import cache


def script() -> str:
    """Bundling takes seconds, so the bundle is kept by the package's version."""
    path = cache.root() / "charts" / f"vega-{vl_convert.__version__}.js"
    try:
        return path.read_text(encoding="utf-8")
    except OSError:
        pass
    text = vl_convert.javascript_bundle()
    if "</script" in text.lower():
        raise ValueError("the charts' JavaScript would end the element that holds it")
    try:
        cache.write(path, text)
    except Exception:  # a cache that cannot be written costs time, not the report
        return text
    return text
