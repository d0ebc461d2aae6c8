# SPDX-License-Identifier: GPL-2.0-or-later
"""Test results as JUnit's XML, which build servers show: suites of cases, each passed or with a reason why not.

Nothing in the file depends on when or where it was written, so it has neither times nor a host name.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from schedlab import atomic

FAILURE, ERROR, SKIPPED = "failure", "error", "skipped"
_COUNTED = {"failures": FAILURE, "errors": ERROR, "skipped": SKIPPED}
# What XML 1.0 has no way to write, such as the colours of a terminal in a log.
_UNWRITABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True)
class Case:
    name: str
    verdict: str = ""  # FAILURE, ERROR, SKIPPED; "": passed
    message: str = ""  # one line: why
    details: str = ""
    output: str = ""  # what is worth reading beside it


@dataclass(frozen=True)
class Suite:
    name: str
    cases: list[Case] = field(default_factory=list)


def write(path: Path, title: str, suites: Iterable[Suite]) -> None:
    atomic.write_into(path, document(title, suites))


def document(title: str, suites: Iterable[Suite]) -> bytes:
    suites = list(suites)
    root = Element("testsuites", name=_text(title), **_counts([case for suite in suites for case in suite.cases]))
    for suite in suites:
        inner = SubElement(root, "testsuite", name=_text(suite.name), **_counts(suite.cases))
        for case in suite.cases:
            _case(inner, suite, case)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="utf-8", xml_declaration=True) + b"\n"


def _case(parent: Element, suite: Suite, case: Case) -> None:
    element = SubElement(parent, "testcase", name=_text(case.name), classname=_text(suite.name))
    if case.verdict:
        told = SubElement(element, case.verdict, message=_text(case.message))
        if case.verdict != SKIPPED:
            told.set("type", case.verdict)
        told.text = _text(case.details) or None
    if case.output:
        SubElement(element, "system-out").text = _text(case.output)


def _counts(cases: list[Case]) -> dict[str, str]:
    counts = {name: sum(case.verdict == verdict for case in cases) for name, verdict in _COUNTED.items()}
    return {name: str(count) for name, count in ({"tests": len(cases)} | counts).items()}


def _text(text: str) -> str:
    return _UNWRITABLE.sub("\N{REPLACEMENT CHARACTER}", text)
