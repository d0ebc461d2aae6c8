# SPDX-License-Identifier: GPL-2.0-or-later
"""Findings as SARIF 2.1.0 (OASIS), which code hosts and editors show beside the code."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from schedlab import atomic, version

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


@dataclass(frozen=True)
class Rule:
    id: str
    title: str
    meaning: str
    page: str  # of the documentation, with the heading


@dataclass(frozen=True)
class Found:
    rule: str
    message: str
    file: Path
    line: int | None
    reproduce: str


@dataclass(frozen=True)
class Ending:
    """How the tool itself ended."""

    status: int
    trouble: str  # why it is not all that was asked for; "": it is


def write(path: Path, rules: Sequence[Rule], found: Sequence[Found], ending: Ending) -> None:
    text = json.dumps(document(rules, found, ending), ensure_ascii=False, indent=1)
    atomic.write_into(path, text + "\n")


def document(rules: Sequence[Rule], found: Sequence[Found], ending: Ending) -> dict[str, Any]:
    index = {rule.id: at for at, rule in enumerate(rules)}
    driver = {"name": "schedlab", "version": version.told(), "rules": [_rule(rule) for rule in rules]}
    run = {
        "tool": {"driver": driver},
        "invocations": [_invocation(ending)],
        "columnKind": "utf16CodeUnits",
        "results": [_result(each, index[each.rule]) for each in found],
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(rule: Rule) -> dict[str, Any]:
    page, _, _ = rule.page.partition("#")
    return {
        "id": rule.id,
        "name": "".join(word.capitalize() for word in rule.id.split("-")),
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": rule.meaning},
        "help": {"text": f"{rule.meaning} See {page}.", "markdown": f"{rule.meaning} See [{page}]({rule.page})."},
        "defaultConfiguration": {"level": "error"},
    }


def _invocation(ending: Ending) -> dict[str, Any]:
    made: dict[str, Any] = {"executionSuccessful": not ending.trouble, "exitCode": ending.status}
    if ending.trouble:
        made["toolExecutionNotifications"] = [{"level": "error", "message": {"text": ending.trouble}}]
    return made


def _result(found: Found, rule: int) -> dict[str, Any]:
    place = {
        "artifactLocation": {"uri": _uri(found.file)},
        # Code hosts show nothing without a line: what concerns the whole policy stands at its first.
        "region": {"startLine": found.line or 1},
    }
    return {
        "ruleId": found.rule,
        "ruleIndex": rule,
        "level": "error",
        "message": {"text": f"{found.message}\nreproduce: {found.reproduce}"},
        "locations": [{"physicalLocation": place}],
        "properties": {"reproduce": found.reproduce},
    }


def _uri(file: Path) -> str:
    """Relative to where the command runs, which is the top of what is checked; elsewhere it is absolute."""
    absolute, here = file.absolute(), Path.cwd()
    return quote(str(absolute.relative_to(here))) if absolute.is_relative_to(here) else absolute.as_uri()
