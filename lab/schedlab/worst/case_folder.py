# SPDX-License-Identifier: GPL-2.0-or-later
"""A find as files: workload.toml, machine.toml, and case.toml, which says what is bad about it."""

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from schedlab import atomic, checkout, foreign
from schedlab.catalogue import toml
from schedlab.errors import InputError
from schedlab.search import case_file
from schedlab.worst.scene import Scene, machine_text

NAME = "case.toml"
_WORKLOAD, _MACHINE = "workload", "machine"
_LICENCE = "# SPDX-License-Identifier: GPL-2.0-or-later\n"
_FORMAT = 1
# Of case.toml: which keys there are, and of what kind.
_TEXT, _NUMBER, _WHOLE, _TABLE = str, (int, float), int, dict
_KEYS: dict[str, Any] = {
    "format": _WHOLE,
    "policy": _TEXT,
    "against": _TEXT,
    "metric": _TEXT,
    "guest": _TEXT,
    "value": _NUMBER,
    "base": _NUMBER,
    "times": _NUMBER,
    "ends": _TEXT,
    "found": _TABLE,
    "kernel": _TABLE,
}
_OPTIONAL = {"against", "ends", "found", "kernel"}


@dataclass(frozen=True)
class Saved:
    folder: Path
    policy: str
    against: str  # empty: what shares explain
    metric: str
    guest: str  # as -m names the machine
    value: float
    base: float
    times: float
    ends: str = ""
    found: Mapping[str, Any] = field(default_factory=dict)  # how it was found

    @property
    def workload(self) -> Path:
        return self.folder / f"{_WORKLOAD}.toml"

    @property
    def machine(self) -> Path:
        return self.folder / f"{_MACHINE}.toml"

    @property
    def again(self) -> str:
        return f"{checkout.command()} hunt --replay {self.folder}"


def write(saved: Saved, scene: Scene, said: Iterable[str], kernel: Mapping[str, Any]) -> None:
    """`said`: for the heads of the files. `kernel`: what a guest made of it."""
    saved.folder.mkdir(parents=True, exist_ok=True)
    lines = [*said, "", "It is shown again by:", saved.again]
    atomic.write(saved.workload, case_file.text(scene.case, lines, _WORKLOAD, "schedlab hunt"))
    atomic.write(saved.machine, machine_text(scene.shape, _MACHINE))
    keys = {
        "format": _FORMAT,
        "policy": saved.policy,
        "against": saved.against,
        "metric": saved.metric,
        "guest": saved.guest,
        "value": saved.value,
        "base": saved.base,
        "times": saved.times,
        "ends": saved.ends,
    }
    text = _LICENCE + "".join(f"# {line}".rstrip() + "\n" for line in lines)
    text += "".join(f"{key} = {_written(value)}\n" for key, value in keys.items() if value != "")
    for title, table in (("found", saved.found), ("kernel", kernel)):
        if table:
            text += f"\n[{title}]\n" + "".join(f"{key} = {_written(value)}\n" for key, value in table.items())
    atomic.write(saved.folder / NAME, text)


def _written(value: object) -> str:
    if isinstance(value, float):
        return "inf" if math.isinf(value) else "nan" if math.isnan(value) else f"{value:.6g}"
    return json.dumps(value, ensure_ascii=False)


def read(folder: Path) -> Saved:
    """Raises InputError for whatever is not as it should be."""
    path = folder / NAME
    data = toml.read(path)
    if foreign.is_newer(data.get("format"), _FORMAT):
        raise foreign.newer(path, data["format"], _FORMAT)
    for key in data:
        if key not in _KEYS:
            raise InputError(f"{path}: unknown key '{key}'; known: {', '.join(_KEYS)}")
    for key, kind in _KEYS.items():
        if key not in data and key not in _OPTIONAL:
            raise InputError(f"{path}: key '{key}': expected it, found none")
        if key in data and (not isinstance(data[key], kind) or isinstance(data[key], bool)):
            names = {_TEXT: "a string", _WHOLE: "an integer", _TABLE: "a table"}
            raise InputError(f"{path}: key '{key}': expected {names.get(kind, 'a number')}")
    if data["format"] != _FORMAT:
        raise InputError(f"{path}: key 'format': expected {_FORMAT}, got {data['format']}")
    if not data["times"] > 0:
        raise InputError(f"{path}: key 'times': expected more than 0, got {data['times']}")
    saved = Saved(
        folder,
        data["policy"],
        data.get("against", ""),
        data["metric"],
        data["guest"],
        float(data["value"]),
        float(data["base"]),
        float(data["times"]),
        data.get("ends", ""),
        data.get("found", {}),
    )
    for file in (saved.workload, saved.machine):
        if not file.is_file():
            raise InputError(f"{file}: expected this file beside {NAME}")
    return saved
