# SPDX-License-Identifier: GPL-2.0-or-later
"""A folder of results that somebody made to harm whoever reads it: whole, and with something bad in every text."""

import json
from pathlib import Path
from typing import Any

from lab.tests.mutations import HTML
from schedlab.campaign.cells import cell_id

BAD = f"{HTML}</script><svg onload=owned=6>\x1b[2J\x1b]0;title\x07 [/b] [red] 'x\" javascript:owned=7 ../../escaped"
_KINDS = {"place", "role", "id", "better", "unit"}
# What names a workload, a machine, a scheduler or a metric in several places has to be the same in all.
_PLAIN = {"name", "promises", "scheduler", "schedulers", "workload", "machine", "label", "tier"}


def make(out: Path) -> None:
    """Of good results of compare."""
    path = out / "manifest.json"
    manifest = _bad(json.loads(path.read_text()))
    for cell in manifest["cells"]:
        old = out / "cells" / f"{cell['id']}.json"
        record = json.loads(old.read_text())
        old.unlink()
        cell["id"] = cell_id(cell["cell"])
        provenance = {k: v + BAD if isinstance(v, str) and k != "place" else v for k, v in record["provenance"].items()}
        record |= {"id": cell["id"], "cell": cell["cell"], "provenance": provenance, "reason": BAD}
        (out / "cells" / f"{cell['id']}.json").write_text(json.dumps(record))
    # One more has failed, with words of its own.
    last = out / "cells" / f"{manifest['cells'][-1]['id']}.json"
    last.write_text(json.dumps(json.loads(last.read_text()) | {"status": "ejected"}))
    guest = dict.fromkeys(("tier", "kernel", "kernel_arguments", "qemu"), BAD) | {"hashes": {BAD: BAD}}
    (out / "guests.json").write_text(json.dumps([guest, {"tier": 3}, "x"]))
    path.write_text(json.dumps(manifest))


def _bad(value: Any, key: str = "") -> Any:
    if isinstance(value, dict):
        # Names of parameters, of tunables and of what has a digest are anybody's, too.
        free = key in ("params", "tunables")
        return {name + BAD if free else name: _bad(held, name) for name, held in value.items()} | (
            {BAD: BAD} if free else {}
        )
    if isinstance(value, list):
        return [_bad(held, key) for held in value]
    if not isinstance(value, str) or key in _KINDS:
        return value
    if key in ("promises",) or value.endswith(("_us", "_s", "_pct")) or key == "title":
        return value if key != "title" else value + BAD
    return value + BAD
