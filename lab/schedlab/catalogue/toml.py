# SPDX-License-Identifier: GPL-2.0-or-later
"""Reading the TOML files for their names and titles; the runners check everything else."""

import tomllib
from pathlib import Path
from typing import Any

from schedlab.errors import InputError


def read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not valid TOML: {error}") from error


def text(data: dict[str, Any], key: str, path: Path, default: str | None = None) -> str:
    value = data.get(key, default)
    if not isinstance(value, str):
        raise InputError(f"{path}: key '{key}': expected a string")
    return value


def is_path(name: str) -> bool:
    return "/" in name or name.endswith(".toml")
