# SPDX-License-Identifier: GPL-2.0-or-later
"""What can be planted: universalmutator's rules over the lines of a file that hold code."""

import contextlib
import importlib
import io
import re
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.mutants.mutant import Mutant

HERE = Path(__file__).resolve().parent

# Lines that decide nothing, or of which a mistake is no mistake of the algorithm: what a policy says of itself, what it
# counts for pages, the types of maps, and the heads of functions.
_C_LEFT_OUT = re.compile(
    r"^\s*#\s*(?!define \w+ )"
    r"|\b(?:TUNABLE|STAT|STAT_INC|STAT_ADD|SEC|SCX_OPS_DEFINE|BPF_STRUCT_OPS\w*|_Static_assert|__uint|__type)\("
    r"|^static\b.*\(|^\s*struct \w+ \{"
)
_PYTHON_LEFT_OUT = re.compile(r"^\s*(?:import|from|def|class|raise|@)\b|^\s*@|^[A-Z_]+ = re\.")


def mutants(root: Path, file: str) -> list[Mutant]:
    """All of a file, in the order of its lines."""
    is_python = file.endswith(".py")
    text = (root / file).read_text("utf-8")
    code = dict(_python_code(text) if is_python else _c_code(text))
    left_out = _PYTHON_LEFT_OUT if is_python else _C_LEFT_OUT
    rules = str(HERE / ("python.rules" if is_python else "c.rules"))
    mutate = importlib.import_module("universalmutator.mutator").mutants_regexp
    seen: Counter[str] = Counter()
    found = []
    for number, whole in enumerate(text.splitlines(), 1):
        was = whole.strip()
        nth, seen[was] = seen[was], seen[was] + 1
        line = code.get(number, "").rstrip()
        if not line or left_out.search(line):
            continue
        # A line at a time: the package takes what looks like the start of another language's comment for one.
        with contextlib.redirect_stdout(io.StringIO()):
            planted = mutate([line + "\n"], ruleFiles=[rules], ignorePatterns=[])
        for _, becomes, *_ in planted:
            found.append(Mutant(file, was, becomes.strip(), nth))
    return list(dict.fromkeys(found))


def _c_code(text: str) -> Iterator[tuple[int, str]]:
    """Lines without comments; those of a macro's body and of a string among them are left out."""
    blank = re.sub(r"/\*.*?\*/|//[^\n]*", lambda match: re.sub(r"[^\n]", " ", match[0]), text, flags=re.DOTALL)
    for number, line in enumerate(blank.splitlines(), 1):
        if '"' not in line:
            yield number, line


def _python_code(text: str) -> Iterator[tuple[int, str]]:
    """Lines without comments and without strings of more than one line."""
    lines = text.splitlines()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        first, last = token.start[0], token.end[0]
        if token.type == tokenize.COMMENT:
            lines[first - 1] = lines[first - 1][: token.start[1]]
        alone = token.type == tokenize.STRING and lines[first - 1].strip() == token.string
        if token.type == tokenize.STRING and (last > first or alone):
            lines[first - 1 : last] = [""] * (last - first + 1)
    return iter(enumerate(lines, 1))
