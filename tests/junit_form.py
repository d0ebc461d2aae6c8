# SPDX-License-Identifier: GPL-2.0-or-later
"""The form of JUnit's XML as continuous integration reads it: which elements and attributes, and what they count."""

from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

_COUNTS = {"tests", "failures", "errors", "skipped"}
_OUTCOMES = {"failure": "failures", "error": "errors", "skipped": "skipped"}


def read(path: Path) -> Element:
    """The document, held to the form."""
    root = ElementTree.fromstring(path.read_bytes())
    assert root.tag == "testsuites"
    assert set(root.attrib) == {"name", *_COUNTS}
    assert {suite.tag for suite in root} <= {"testsuite"}
    for suite in root:
        assert set(suite.attrib) == {"name", *_COUNTS}
        for case in suite:
            _case(case)
    for element in (root, *root):
        _count(element)
    return root


def _case(case: Element) -> None:
    assert case.tag == "testcase"
    assert set(case.attrib) == {"name", "classname"}
    tags = [child.tag for child in case]
    outcomes = [tag for tag in tags if tag in _OUTCOMES]
    assert len(outcomes) <= 1
    # The order that strict readers ask for.
    assert tags == outcomes + ["system-out"] * (len(tags) - len(outcomes))
    assert tags.count("system-out") <= 1
    for child in case:
        wanted = {"failure": {"message", "type"}, "error": {"message", "type"}, "skipped": {"message"}}
        assert set(child.attrib) == wanted.get(child.tag, set())
        assert len(child) == 0


def _count(element: Element) -> None:
    cases = list(element.iter("testcase"))
    found = {name: sum(case.find(tag) is not None for case in cases) for tag, name in _OUTCOMES.items()}
    assert {name: int(element.attrib[name]) for name in _COUNTS} == {"tests": len(cases), **found}


def verdicts(root: Element) -> dict[str, str]:
    """By suite and case: how it ended, "" for passed."""
    return {
        f"{suite.attrib['name']}: {case.attrib['name']}": next((c.tag for c in case if c.tag in _OUTCOMES), "")
        for suite in root
        for case in suite
    }
