# SPDX-License-Identifier: GPL-2.0-or-later
"""Holds the published rules in docs/rules and the code that cites them against each other, in both directions.

Every number that is cited stands in docs/rules; every rule there is cited by code, or marked as docs/rules/README.md
says. A citation has one form: "rule" with one number, "rules" with several. What a page's table of tests names exists,
and every test of the files that the table's section names is in the table; what is named as file::test may be in any
file of tests.

check_rules.py [ROOT]    the checkout; the current folder where none is named
"""

import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

RULES = Path("docs/rules")
# Where rules are cited.
FOLDERS = {"schedulers", "include", "crates", "tests", "docs"}
TEXT = {".c", ".h", ".md", ".py", ".rs"}
# What carries rules out; a citation elsewhere only has to name a rule that exists.
CODE_FOLDERS = {"schedulers", "include", "crates"}
CODE = {".c", ".h", ".rs"}

HEADING = re.compile(r"#{2,5} (\d+(?:\.\d+)*) \S")
MARK = re.compile(r"\*(Not expressible|Not in force|For information|Invariant):\*")
SOURCE = re.compile(r"Source:|\*\((?:memory|derived)\b")

# A page's table of tests, the files that its tests are in, and where those are that the table names by a path.
TABLE = "| rules | code | tests | the mistake that they find |"
TESTED_BY = re.compile(r"`(tests/policies/test_\w+\.py)`")
PROGRAMS = Path("tests/policies")
TEST = re.compile(r"^def test_(\w+)\(", re.MULTILINE)
QUOTED = re.compile(r"`([^`]+)`")

# A citation may go over the end of a line, and so over what a comment's next line begins with.
GAP = r"(?:[ \t]+|[ \t]*\n[ \t]*(?:\*(?!/)|//[/!]?|#)?[ \t]*)"
NUMBER = r"\d+(?:\.\d+)+"
WORD = r"(?:and|or|to|with)"
# What means to be a citation, also in a wrong form.
MEANT = re.compile(
    rf"(?<![-\w])(?:[Rr]ules?|[Ss]pec){GAP}\d+(?:\.\d+)*"
    rf"(?:(?:[,;]{GAP}(?:{WORD}{GAP})?|{GAP}{WORD}{GAP}){NUMBER})*(?![\w%])"
)
ONE = re.compile(rf"[Rr]ule {NUMBER}")
SEVERAL = re.compile(rf"[Rr]ules {NUMBER}(?:, {NUMBER})*(?:, | and ){NUMBER}")
FORM = "the form that docs/rules/README.md gives"
# Of three parts or more: with two it might as well be a version or a measure.
BARE = re.compile(r"(?<![\w.])\d+(?:\.\d+){2,}(?![\w.]*\w)")


@dataclass
class Rule:
    where: str
    text: list[str] = field(default_factory=list)

    @property
    def mark(self) -> str:
        found = next((match for line in self.text if (match := MARK.match(line))), None)
        return found[1] if found else ""


def read_rules(root: Path, names: list[str]) -> tuple[dict[str, Rule], list[str]]:
    rules: dict[str, Rule] = {}
    faults = []
    for name in names:
        if Path(name).parent != RULES:
            continue
        rule = None
        for number, line in enumerate((root / name).read_text("utf-8").splitlines(), 1):
            if match := HEADING.match(line):
                where = f"{name}:{number}"
                if match[1] in rules:
                    faults.append(f"{where}: rule {match[1]} stands at {rules[match[1]].where} already")
                rule = rules[match[1]] = Rule(where)
            elif line.startswith("#"):
                rule = None
            elif rule:
                rule.text.append(line)
    return rules, faults


@dataclass
class Citations:
    by_code: dict[str, str] = field(default_factory=dict)  # where each number is cited first
    by_tests: set[str] = field(default_factory=set)
    faults: list[str] = field(default_factory=list)


def line_of(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


def read_citations(name: str, text: str, rules: dict[str, Rule], citations: Citations) -> None:
    path = Path(name)
    is_test = "tests" in path.parts
    is_code = not is_test and path.parts[0] in CODE_FOLDERS and path.suffix in CODE
    cited_at: list[range] = []
    for match in MEANT.finditer(text):
        where = f"{name}:{line_of(text, match.start())}"
        said = re.sub(GAP, " ", match[0])
        cited_at.append(range(match.start(), match.end()))
        if not ONE.fullmatch(said) and not SEVERAL.fullmatch(said):
            citations.faults.append(f"{where}: '{said}' is not in {FORM}")
            continue
        for number in re.findall(NUMBER, said):
            if number not in rules:
                citations.faults.append(f"{where}: cites rule {number}, which is not in {RULES}")
            if is_code:
                citations.by_code.setdefault(number, where)
            if is_test:
                citations.by_tests.add(number)
    if path.parts[0] == "docs":
        return
    for match in BARE.finditer(text):
        if match[0] in rules and not any(match.start() in span for span in cited_at):
            where = f"{name}:{line_of(text, match.start())}"
            citations.faults.append(f"{where}: {match[0]} is the number of a rule; cite it in {FORM}")


def uncited(rules: dict[str, Rule], citations: Citations) -> Iterator[str]:
    chapters = {number.rpartition(".")[0] for number in rules}
    for number, rule in rules.items():
        if number in chapters:
            continue
        if not any(SOURCE.search(line) for line in rule.text) and rule.mark != "For information":
            yield f"{rule.where}: rule {number} has no source"
        code = citations.by_code.get(number)
        if rule.mark == "Invariant":
            if number not in citations.by_tests:
                yield f"{rule.where}: rule {number} is an invariant, and no test cites it"
        elif rule.mark and code:
            yield f"{rule.where}: rule {number} is marked '{rule.mark}', but {code} cites it"
        elif not rule.mark and not code:
            yield f"{rule.where}: rule {number} is cited by no code and not marked"


def words(root: Path, names: list[str], folders: set[str]) -> set[str]:
    """All words of the code there."""
    files = [name for name in names if Path(name).parts[0] in folders and Path(name).suffix in CODE]
    return {word for name in files for word in re.findall(r"\w+", (root / name).read_text("utf-8"))}


def has_test(root: Path, names: list[str], file: str, test: str) -> bool:
    """Has a Python or Rust file of that name, in any folder, the test?"""
    files = [
        name for name in names if Path(name).stem in {file, f"test_{file}"} and Path(name).suffix in {".py", ".rs"}
    ]
    return any(re.search(rf"\b(?:def test_|fn ){test}\(", (root / name).read_text("utf-8")) for name in files)


def untested(
    root: Path, name: str, rules: dict[str, Rule], names: list[str], policies: set[str], code: set[str]
) -> Iterator[str]:
    """What is wrong with a page's table of tests, if it has one.

    `names`: all files. `policies` and `code`: every word of the policies, and of all that carries rules out.
    """
    text = (root / name).read_text("utf-8")
    before, table, after = text.partition(TABLE)
    if not table:
        return
    files = TESTED_BY.findall(before.rpartition("\n## ")[2])
    # A page without scenarios of its own names each test with its file.
    if not all((root / file).is_file() for file in files) or (not files and "::" not in after):
        yield f"{name}: nothing before the table of tests names a file of tests that exists"
        return
    tests = {test: file for file in files for test in TEST.findall((root / file).read_text("utf-8"))}
    named: set[str] = set()
    first = line_of(text, len(before)) + 1
    for number, line in enumerate(after.splitlines()[1:], first):
        if not line.startswith("|"):
            break
        if line.startswith("| ---"):
            continue
        where = f"{name}:{number}"
        cited, functions, tried = line.split("|")[1:4]
        yield from (
            f"{where}: rule {rule} is not in {RULES}" for rule in re.findall(NUMBER, cited) if rule not in rules
        )
        # The simulator's tests have the names of their files, and its code counts beside them.
        kind, known = ("code", code) if "::" in tried else ("policy", policies)
        yield from (
            f"{where}: no {kind} has {function}"
            for function in QUOTED.findall(functions)
            if function.removesuffix("()") not in known
        )
        for test in QUOTED.findall(tried):
            named.add(test)
            file, _, of_file = test.partition("::")
            is_there = (root / PROGRAMS / test).is_file() if "/" in test else test in tests
            if not (has_test(root, names, file, of_file) if of_file else is_there):
                yield f"{where}: there is no test {test}"
    yield from (f"{name}: its table has no row for {test} of {tests[test]}" for test in sorted(tests.keys() - named))


def main(folder: str = ".") -> int:
    root = Path(folder)
    listed = subprocess.run(["git", "-C", folder, "ls-files", "-z"], check=True, stdout=subprocess.PIPE).stdout
    names = [
        name
        for name in listed.decode().split("\0")
        if name and Path(name).parts[0] in FOLDERS and Path(name).suffix in TEXT and (root / name).is_file()
    ]
    rules, faults = read_rules(root, names)
    citations = Citations()
    for name in names:
        read_citations(name, (root / name).read_text("utf-8"), rules, citations)
    faults += [*citations.faults, *uncited(rules, citations)]
    policies = words(root, names, {"schedulers"})
    code = policies | words(root, names, CODE_FOLDERS - {"schedulers"})
    for name in names:
        if Path(name).parent == RULES:
            faults += untested(root, name, rules, names, policies, code)
    print("\n".join(faults), end="\n" if faults else "")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
