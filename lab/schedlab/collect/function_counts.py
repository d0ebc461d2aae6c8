# SPDX-License-Identifier: GPL-2.0-or-later
"""functions/ of a results directory: the instructions of a stretch of some cells by kernel function, or why none."""

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from schedlab import atomic, foreign
from schedlab.errors import InputError, LabError

if TYPE_CHECKING:
    from schedlab.vm.counted import Stretch
    from schedlab.vm.symbols import Symbols

FORMAT = 1
USER_SPACE = "(user space)"
_SWITCH = "__switch_to"
_FOLDER = "functions"


@dataclass(frozen=True)
class FunctionCounts:
    whole: bool  # all of the run, and not a stretch of it
    instructions: dict[str, int]  # by function
    calls: dict[str, int]  # those that were entered at their beginning

    @property
    def switches(self) -> int:
        return self.calls.get(_SWITCH, 0)

    @property
    def total(self) -> int:
        return sum(self.instructions.values())


def of_stretch(stretch: "Stretch", symbols: "Symbols") -> FunctionCounts:
    from schedlab.vm.counted import USER

    spent: Counter[str] = Counter()
    calls: Counter[str] = Counter()
    for address, count in stretch.counts.items():
        if address < USER:
            spent[USER_SPACE] += count
            continue
        start, name = symbols.at(address)
        spent[name] += count
        if address == start:
            calls[name] += count
    return FunctionCounts(stretch.whole, dict(spent), dict(calls))


def keep(directory: Path, cell_id: str, found: FunctionCounts | str) -> None:
    """A text: why there are none."""
    data: dict[str, Any] = {"format": FORMAT}
    if isinstance(found, str):
        data["fault"] = found
    else:
        functions = sorted(found.instructions.items(), key=lambda pair: (-pair[1], pair[0]))
        data |= {"whole": found.whole, "functions": [[n, count, found.calls.get(n, 0)] for n, count in functions]}
    atomic.write_into(_path(directory, cell_id), json.dumps(data, ensure_ascii=False) + "\n")


def read(directory: Path, cell_id: str) -> FunctionCounts:
    """Raises LabError with the reason where there are none."""
    path = _path(directory, cell_id)
    try:
        data = foreign.parse(path.read_bytes())
        foreign.need_format(path, data["format"], FORMAT)
        if "fault" in data:
            raise LabError(foreign.printable(str(data["fault"])))
        rows = [(foreign.one_line(str(name)), int(count), int(calls)) for name, count, calls in data["functions"]]
        whole = bool(data["whole"])
    except FileNotFoundError as error:
        raise LabError("its instructions were not counted") from error
    except (OSError, ValueError, KeyError, TypeError, OverflowError) as error:
        raise InputError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error!r}") from error
    return FunctionCounts(whole, {n: count for n, count, _ in rows}, {n: calls for n, _, calls in rows if calls})


def is_there(directory: Path, cell_id: str) -> bool:
    """Raises NewerFormat: what a newer schedlab counted is not counted anew."""
    try:
        read(directory, cell_id)
    except foreign.NewerFormat:
        raise
    except LabError:
        return False
    return True


def any_there(directory: Path) -> bool:
    return (directory / _FOLDER).is_dir()


def _path(directory: Path, cell_id: str) -> Path:
    return directory / _FOLDER / f"{cell_id}.json"
