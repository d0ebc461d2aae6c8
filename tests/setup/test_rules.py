# SPDX-License-Identifier: GPL-2.0-or-later
"""scripts/check_rules.py finds what is wrong between docs/rules and those who cite it."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

RULES = """# Scheduler

## 9 Rules

### 9.1 Slice

The slice is 6 ms.

Source: 0.232.

### 9.2 Picks

#### 9.2.1 First

The first is taken.

Source: *(memory)*.

#### 9.2.2 Last

*Not expressible:* nobody knows who is last.

Source: 0.232.

### 9.3 Shares

*Invariant:* of {rule} 9.1 *(derived)*.

## 9.10 History

*For information:* it was long.
"""
# Put together here, so that this file cites nothing itself.
RULE, OTHER_RULES, SPEC = ("".join(parts) for parts in (("ru", "le"), ("ru", "les"), ("sp", "ec")))
CODE = f"/* {OTHER_RULES} 9.1\n * and 9.2.1 */\nvoid first(void);\n"
TABLE = """
## Tests of the binding

The tests are in `tests/policies/test_a_rules.py`.

| rules | code | tests | the mistake that they find |
| --- | --- | --- | --- |
| 9.1, 9.2.1 | `first()` | `takes_the_first`, `a/pick.c` | the last is taken |
"""
IN_FORM = "is not in the form that docs/rules/README.md gives"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A repository in which rules and citations agree."""
    for name, text in {
        "docs/rules/scheduler.md": RULES.format(rule=RULE),
        "schedulers/a/a.h": CODE,
        "schedulers/a/README.md": f"| {RULE} 9.2.2 | not expressible; 9.1.1 is a version, 9.10 a measure |\n",
        "crates/a/src/lib.rs": f"//! {RULE.capitalize()} 9.1, with --{OTHER_RULES} 7.2 and {OTHER_RULES}=424.\n",
        "tests/test_a.py": f'"""{RULE} 9.3"""\n',
        "published/notes.md": f"{RULE} 9.9\n",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    return tmp_path


@pytest.fixture
def tested(tree: Path) -> Path:
    """The same with a table of tests."""
    (tree / "tests/policies/a").mkdir(parents=True)
    (tree / "tests/policies/test_a_rules.py").write_text("def test_takes_the_first(): ...\n")
    (tree / "tests/policies/a/pick.c").write_text("")
    page = tree / "docs/rules/scheduler.md"
    page.write_text(page.read_text() + TABLE)
    return tree


def faults(tree: Path) -> list[str]:
    subprocess.run(["git", "-C", tree, "add", "."], check=True)
    command = [sys.executable, str(ROOT / "scripts/check_rules.py"), str(tree)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == (1 if done.stdout else 0), done.stderr
    return done.stdout.splitlines()


def replace(tree: Path, name: str, old: str, new: str) -> None:
    text = (tree / name).read_text()
    assert old in text
    (tree / name).write_text(text.replace(old, new))


def test_a_tree_that_agrees_passes(tree: Path) -> None:
    assert faults(tree) == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("schedulers/a/b.h", f"/* {RULE} 9.4 */\n"),
        ("include/b.h", f"/* {OTHER_RULES} 9.1 and 9.4 */\n"),
        ("crates/a/src/b.rs", f"// {OTHER_RULES} 9.1, 9.4\n"),
        ("tests/b.py", f"# {RULE} 9.4\n"),
        ("schedulers/b/README.md", f"| {RULE} 9.4 |\n"),
        ("docs/b.md", f"By {RULE} 9.4.\n"),
    ],
)
def test_a_citation_of_no_rule_is_found(tree: Path, name: str, text: str) -> None:
    (tree / name).parent.mkdir(exist_ok=True)
    (tree / name).write_text(text)
    assert faults(tree) == [f"{name}:1: cites {RULE} 9.4, which is not in docs/rules"]


def test_a_citation_over_the_end_of_a_line_is_read(tree: Path) -> None:
    (tree / "schedulers/a/b.h").write_text(f"/*\n * For {OTHER_RULES} 9.1,\n * 9.2.1 and\n * 9.4.\n */\n")
    assert faults(tree) == [f"schedulers/a/b.h:2: cites {RULE} 9.4, which is not in docs/rules"]


@pytest.mark.parametrize(
    "said",
    [
        f"{RULE} 4",
        f"{RULE} 9.1 and 9.2.1",
        f"{RULE} 9.1, 9.2.1",
        f"{OTHER_RULES} 9.1",
        f"{OTHER_RULES} 9.1 to 9.3",
        f"{OTHER_RULES} 9.1 and 9.2.1 and 9.3",
        f"{OTHER_RULES} 9.1, and 9.3",
        f"{OTHER_RULES.capitalize()} 7.2",
        f"{SPEC} 9.1",
    ],
)
def test_another_form_of_citation_is_found(tree: Path, said: str) -> None:
    (tree / "schedulers/a/b.h").write_text(f"\n/* As {said}. */\n")
    assert faults(tree) == [f"schedulers/a/b.h:2: '{said}' {IN_FORM}"]


def test_a_bare_number_of_a_rule_is_found(tree: Path) -> None:
    (tree / "schedulers/a/b.h").write_text("/* Taken (9.2.1). */\n")
    wanted = "schedulers/a/b.h:1: 9.2.1 is the number of a rule; cite it in the form that docs/rules/README.md gives"
    assert faults(tree) == [wanted]


def test_a_rule_that_nobody_cites_is_found(tree: Path) -> None:
    replace(tree, "schedulers/a/a.h", CODE, f"/* {RULE} 9.1 */\n")
    (tree / "tests/test_b.py").write_text(f"# {RULE} 9.2.1\n")
    assert faults(tree) == [f"docs/rules/scheduler.md:13: {RULE} 9.2.1 is cited by no code and not marked"]


def test_a_chapter_is_not_a_citation_of_its_rules(tree: Path) -> None:
    replace(tree, "schedulers/a/a.h", CODE, f"/* {OTHER_RULES} 9.1 and 9.2 */\n")
    assert faults(tree) == [f"docs/rules/scheduler.md:13: {RULE} 9.2.1 is cited by no code and not marked"]


@pytest.mark.parametrize("mark", ["Not expressible", "Not in force", "For information"])
def test_a_mark_takes_the_place_of_a_citation(tree: Path, mark: str) -> None:
    replace(tree, "docs/rules/scheduler.md", "Not expressible", mark)
    assert faults(tree) == []


@pytest.mark.parametrize("mark", ["Not expressible", "Not in force", "For information"])
def test_a_mark_on_a_rule_that_code_cites_is_found(tree: Path, mark: str) -> None:
    replace(tree, "docs/rules/scheduler.md", "Not expressible", mark)
    (tree / "schedulers/a/b.h").write_text(f"/* {RULE} 9.2.2 */\n")
    wanted = f"docs/rules/scheduler.md:19: {RULE} 9.2.2 is marked '{mark}', but schedulers/a/b.h:1 cites it"
    assert faults(tree) == [wanted]


def test_a_mark_in_part_leaves_the_rule_to_be_cited(tree: Path) -> None:
    replace(tree, "docs/rules/scheduler.md", "*Not expressible:*", "*Not expressible in part:*")
    assert faults(tree) == [f"docs/rules/scheduler.md:19: {RULE} 9.2.2 is cited by no code and not marked"]


def test_an_invariant_that_no_test_cites_is_found(tree: Path) -> None:
    (tree / "tests/test_a.py").unlink()
    (tree / "schedulers/a/b.h").write_text(f"/* {RULE} 9.3 */\n")
    assert faults(tree) == [f"docs/rules/scheduler.md:25: {RULE} 9.3 is an invariant, and no test cites it"]


def test_a_rule_without_a_source_is_found(tree: Path) -> None:
    replace(tree, "docs/rules/scheduler.md", "The slice is 6 ms.\n\nSource: 0.232.", "The slice is 6 ms.")
    assert faults(tree) == [f"docs/rules/scheduler.md:5: {RULE} 9.1 has no source"]


def test_a_number_that_stands_twice_is_found(tree: Path) -> None:
    (tree / "docs/rules/scheduler.md").write_text((tree / "docs/rules/scheduler.md").read_text() + "\n## 9.10 Again\n")
    wanted = f"docs/rules/scheduler.md:33: {RULE} 9.10 stands at docs/rules/scheduler.md:29 already"
    assert wanted in faults(tree)


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("| 9.1, 9.2.1 |", "| 9.1, 9.9 |", f"{RULE} 9.9 is not in docs/rules"),
        ("`first()`", "`second()`", "no policy has second()"),
        ("`takes_the_first`, ", "`takes_the_first`, `takes_none`, ", "there is no test takes_none"),
        ("`a/pick.c`", "`a/picks.c`", "there is no test a/picks.c"),
    ],
)
def test_a_table_of_tests_names_what_exists(tested: Path, old: str, new: str, fault: str) -> None:
    replace(tested, "docs/rules/scheduler.md", old, new)
    row = (tested / "docs/rules/scheduler.md").read_text().splitlines().index("| --- | --- | --- | --- |") + 2
    assert faults(tested) == [f"docs/rules/scheduler.md:{row}: {fault}"]


@pytest.mark.parametrize(
    ("code", "test", "found"),
    [
        ("lent", "guard::lends", []),
        ("lent", "a_rules::takes_the_first", []),
        ("kept", "guard::lends", ["no code has kept()"]),
        ("lent", "guard::keeps", ["there is no test guard::keeps"]),
        ("lent", "a::lends", ["there is no test a::lends"]),
    ],
)
def test_a_table_may_name_a_test_with_its_file(tested: Path, code: str, test: str, found: list[str]) -> None:
    (tested / "crates/a/src/guard.rs").write_text("fn lent() {}\nfn lends() {}\n")
    page = tested / "docs/rules/scheduler.md"
    page.write_text(page.read_text() + f"| 9.1 | `{code}()` | `{test}` | nothing is lent |\n")
    row = len(page.read_text().splitlines())
    assert faults(tested) == [f"docs/rules/scheduler.md:{row}: {fault}" for fault in found]


def test_a_page_may_name_each_test_with_its_file(tested: Path) -> None:
    page = "docs/rules/scheduler.md"
    replace(tested, page, "The tests are in `tests/policies/test_a_rules.py`.\n\n", "")
    replace(tested, page, "`takes_the_first`", "`a_rules::takes_the_first`")
    assert faults(tested) == []


def test_every_scenario_is_in_the_table(tested: Path) -> None:
    replace(tested, "tests/policies/test_a_rules.py", "...", "...\ndef test_more(): ...")
    assert faults(tested) == [
        "docs/rules/scheduler.md: its table has no row for more of tests/policies/test_a_rules.py"
    ]


def test_a_table_may_be_of_several_files(tested: Path) -> None:
    files = "`tests/policies/test_a_rules.py` and `tests/policies/test_a_modern.py`"
    replace(tested, "docs/rules/scheduler.md", "`tests/policies/test_a_rules.py`", files)
    missing = "nothing before the table of tests names a file of tests that exists"
    assert faults(tested) == [f"docs/rules/scheduler.md: {missing}"]
    (tested / "tests/policies/test_a_modern.py").write_text("def test_more(): ...\n")
    no_row = "its table has no row for more of tests/policies/test_a_modern.py"
    assert faults(tested) == [f"docs/rules/scheduler.md: {no_row}"]
    replace(tested, "docs/rules/scheduler.md", "`takes_the_first`, ", "`takes_the_first`, `more`, ")
    assert faults(tested) == []


def test_a_table_without_a_file_of_tests_is_found(tested: Path) -> None:
    (tested / "tests/policies/test_a_rules.py").unlink()
    fault = "nothing before the table of tests names a file of tests that exists"
    assert faults(tested) == [f"docs/rules/scheduler.md: {fault}"]


def test_a_tree_with_a_table_passes(tested: Path) -> None:
    assert faults(tested) == []
