# SPDX-License-Identifier: GPL-2.0-or-later
"""The form of SARIF 2.1.0, of the objects that occur here: what each must have, what it may have, and of which type."""

import json
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

# By object: properties with the type of each, those that must be there first. A list has one type of elements.
_REQUIRED: dict[str, dict[str, Any]] = {
    "log": {"version": str, "runs": ["run"]},
    "run": {"tool": "tool"},
    "tool": {"driver": "component"},
    "component": {"name": str},
    "rule": {"id": str},
    "text": {"text": str},
    "configuration": {},
    "invocation": {"executionSuccessful": bool},
    "notification": {"message": "message"},
    "result": {"message": "message"},
    "message": {"text": str},
    "location": {},
    "physical": {"artifactLocation": "artifact"},
    "artifact": {},
    "region": {"startLine": int},
}
_OPTIONAL: dict[str, dict[str, Any]] = {
    "log": {"$schema": str},
    "run": {"invocations": ["invocation"], "results": ["result"], "columnKind": str},
    "component": {"version": str, "rules": ["rule"]},
    "rule": {
        "name": str,
        "shortDescription": "text",
        "fullDescription": "text",
        "help": "text",
        "defaultConfiguration": "configuration",
    },
    "text": {"markdown": str},
    "configuration": {"level": str},
    "invocation": {"exitCode": int, "toolExecutionNotifications": ["notification"]},
    "notification": {"level": str},
    "result": {"ruleId": str, "ruleIndex": int, "level": str, "locations": ["location"], "properties": dict},
    "location": {"physicalLocation": "physical"},
    "physical": {"region": "region"},
    "artifact": {"uri": str},
}
_LEVELS = {"none", "note", "warning", "error"}


def read(path: Path) -> dict[str, Any]:
    """The one run of a log, held to the form."""
    log = json.loads(path.read_text(encoding="utf-8"))
    _check(log, "log", "log")
    assert log["version"] == "2.1.0"
    assert urlsplit(log["$schema"]).path.endswith("/sarif-schema-2.1.0.json")
    (run,) = log["runs"]
    assert run["columnKind"] in {"utf16CodeUnits", "unicodeCodePoints"}
    rules = run["tool"]["driver"]["rules"]
    ids = [rule["id"] for rule in rules]
    assert len(ids) == len(set(ids))
    # A missing list would say that nobody looked.
    for result in run["results"]:
        assert ids[result["ruleIndex"]] == result["ruleId"]
        (location,) = result["locations"]
        place = location["physicalLocation"]
        assert place["region"]["startLine"] >= 1
        uri = urlsplit(place["artifactLocation"]["uri"])
        assert uri.scheme in ("", "file")
        assert uri.path
    return run


def _check(value: Any, kind: Any, where: str) -> None:
    if isinstance(kind, list):
        assert isinstance(value, list), where
        for at, each in enumerate(value):
            _check(each, kind[0], f"{where}[{at}]")
    elif isinstance(kind, type):
        assert type(value) is kind, f"{where}: {value!r}"
    else:
        assert type(value) is dict, where
        required, optional = _REQUIRED[kind], _OPTIONAL.get(kind, {})
        assert required.keys() <= value.keys() <= required.keys() | optional.keys(), f"{where}: {sorted(value)}"
        for name, each in value.items():
            _check(each, (required | optional)[name], f"{where}.{name}")
        assert value.get("level", "none") in _LEVELS, where
