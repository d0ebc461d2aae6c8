# SPDX-License-Identifier: GPL-2.0-or-later
"""The commands that a reader may copy from a page work: they are run, or their options are those of the program.

commands.toml says which commands are run, and why the others are not.
"""

import contextlib
import io
import json
import os
import re
import select
import shlex
import shutil
import signal
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from schedlab.cli.program import _split, build_parser
from tests.docs import blocks
from tests.docs.blocks import ROOT, Command

TABLE = tomllib.loads((Path(__file__).with_name("commands.toml")).read_text(encoding="utf-8"))
PARSER = build_parser()
RUN: dict[str, dict[str, Any]] = {entry["line"]: entry for entry in TABLE["run"]}
COMMANDS = blocks.all_commands()
LANGUAGES = {"sh", "console", "text", "toml", "json", "yaml", "c", "python"}
# What follows is another program with its options.
STARTS_OTHERS = "scripts/ci"
# Of a command that hangs; on a busy machine those that do not may take a minute.
LIMIT_S = 600


def one_space(text: str) -> str:
    return re.sub(r"\s+", " ", text)


def reason(text: str) -> str | None:
    return next((entry["why"] for entry in TABLE["not_run"] if re.search(entry["what"], text)), None)


def ids(commands: list[Command]) -> list[str]:
    return [command.place for command in commands]


def test_every_block_says_what_it_is() -> None:
    """One without a language would be neither run nor read."""
    wrong = [f"{block.place}: '{block.language}'" for block in blocks.all_blocks() if block.language not in LANGUAGES]
    assert not wrong, f"expected one of {', '.join(sorted(LANGUAGES))} behind the fence: {wrong}"


def test_every_command_is_run_or_has_a_reason() -> None:
    lost = [f"{each.place}: {each.text}" for each in COMMANDS if each.text not in RUN and not reason(each.text)]
    assert not lost, "not in tests/docs/commands.toml:\n" + "\n".join(lost)


def test_no_entry_is_left_over() -> None:
    shown = {command.text for command in COMMANDS}
    assert set(RUN) <= shown
    not_run = [text for text in shown if text not in RUN]
    for entry in TABLE["not_run"]:
        assert any(re.search(entry["what"], text) for text in not_run), entry["what"]
        assert entry["why"]


def test_tests_that_are_named_in_reasons_are_there() -> None:
    for entry in TABLE["not_run"]:
        for name in re.findall(r"(?:lab/)?tests/[\w/]+(?:\.py)?", entry["why"]):
            assert (ROOT / name).exists(), f"{entry['what']}: {name}"


@pytest.mark.parametrize("command", COMMANDS, ids=ids(COMMANDS))
def test_its_options_are_those_of_the_program(command: Command) -> None:
    for words in blocks.simple(command.text):
        refused = complaint(words)
        assert not refused, f"{command.place}: {command.text}: {refused}"


def complaint(words: list[str]) -> str:
    """What the program has against a command line; nothing where it takes it."""
    program, *rest = words
    if program.endswith("schedlab"):
        return parsed(rest)
    if program == "make":
        targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
        return "".join(f"no target {word} in Makefile" for word in rest if word not in targets)
    # A program of others has options of its own.
    if "/" not in program or program.startswith(("/", "~")) or program == STARTS_OTHERS or "NAME" in program:
        return ""
    file = ROOT / program
    if not file.is_file():
        return f"{program} is not there"
    own = rest[: rest.index("--crates")] if "--crates" in rest else rest  # What follows is for cargo-mutants.
    options = [word.partition("=")[0] for word in own if word.startswith("--") and word != "--help"]
    # A script, a module or a command of the program has a help of its own.
    below = {"python": 2 if rest[:1] == ["-m"] else 1, "schedlab-sim": 1, "schedlab-host": 1}
    told = help_of(str(file), *rest[: below.get(file.name, 0)]) if options else ""
    return ", ".join(f"no option {option}" for option in options if option not in told)


def parsed(words: list[str]) -> str:
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
            if words:
                PARSER.parse_args(*_split(words))
    except SystemExit as end:
        return said.getvalue().strip() if end.code else ""
    return ""


@cache
def help_of(*words: str) -> str:
    return subprocess.run([*words, "--help"], capture_output=True, text=True, check=True, cwd=ROOT).stdout


def test_what_it_has_against_a_command() -> None:
    assert complaint(["./schedlab", "compare", "bfs,cfs", "--lod", "1"]).startswith("schedlab: unrecognized arguments")
    assert complaint(["schedlab", "campare"]).startswith("schedlab: unknown command 'campare'")
    assert complaint(["make", "tests"]) == "no target tests in Makefile"
    assert complaint([".venv/bin/python", "bench/rivals.py", "--cpus", "1", "--no-rum"]) == "no option --no-rum"
    assert complaint(["scripts/mutant", "--only", "lab"]) == "scripts/mutant is not there"
    assert complaint(["target/release/schedlab-sim", "check", "x", "--rodate", "y"]) == "no option --rodate"


# Where a path of the checkout stands in a command, it is there; what a command writes need not be.
_TREE_PATH = re.compile(r"^(target/release|build/bin|tests|workloads|schedulers|studies|bench|scripts)/")


@pytest.mark.parametrize("command", COMMANDS, ids=ids(COMMANDS))
def test_paths_of_the_checkout_are_there(command: Command) -> None:
    for words in blocks.simple(command.text):
        for before, word in zip(["", *words], words, strict=False):
            if _TREE_PATH.match(word) and before not in ("-o", "--output") and "NAME" not in word:
                assert (ROOT / word).exists(), f"{command.place}: {word} is not there"


def options_of(words: list[str]) -> set[str]:
    """Those of the command that the words name, and of all that it has below it."""
    parsers = [PARSER]
    found: set[str] = set()
    while parsers:
        parser = parsers.pop()
        for action in parser._actions:
            found |= set(action.option_strings)
            if isinstance(action.choices, dict):
                named = [action.choices[word] for word in words if word in action.choices]
                parsers += named or ([] if parser is PARSER else list(action.choices.values()))
    return found


def inline() -> Iterator[tuple[str, list[str]]]:
    """Command lines within sentences and tables: `schedlab compare --json`."""
    for page in blocks.pages():
        if page == "CHANGELOG.md":
            continue  # It tells of options that there were.
        for line, span in blocks.spans((ROOT / page).read_text(encoding="utf-8")):
            text = span.removeprefix("sudo ")
            if re.match(r"(\./)?schedlab [a-z]", text):
                with contextlib.suppress(ValueError):
                    yield f"{page}:{line}", shlex.split(text)[1:]


INLINE = list(inline())


def test_commands_within_sentences_exist_with_their_options() -> None:
    assert len(INLINE) > 50
    commands = next(action.choices for action in PARSER._actions if isinstance(action.choices, dict))
    wrong = []
    for place, words in INLINE:
        own = words[: words.index("--")] if "--" in words else words
        known = options_of(own)
        if own[0] not in commands:
            wrong.append(f"{place}: schedlab {own[0]}: no such command")
        wrong += [
            f"{place}: schedlab {' '.join(own)}: no option {word}"
            for word in (word.partition("=")[0] for word in own[1:])
            if re.match(r"--?[a-z]", word) and word not in known
        ]
    assert not wrong, "\n".join(wrong)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder like a checkout after `make build`, in which commands may write, with the files that readers bring."""
    place = tmp_path_factory.mktemp("reader")
    for name in ("schedlab", "schedulers", "workloads", "machines", "studies", "published", "tests", "target", "build"):
        (place / name).symlink_to(ROOT / name)
    shutil.copytree(ROOT / "results/hunt/o1/case", place / "results/hunt/o1/case")
    (place / "my").mkdir()
    # One has the tunables that the page shows, the others, as those of scx, a constant.
    with_tunables, with_constant = policies()
    (place / "mine.bpf.c").write_text(with_tunables, encoding="utf-8")
    for name in ("scx_mine.bpf.c", "my/scx_mine.bpf.c"):
        (place / name).write_text(with_constant, encoding="utf-8")
    subprocess.run(
        [ROOT / "target/release/schedlab-sim", "object", "scx_mine.bpf.c", "my/mine.bpf.o"], cwd=place, check=True
    )
    dump = ROOT / "lab/tests/snapshots/dumps/forgotten.txt"
    (place / "dump.txt").write_bytes(dump.read_bytes())
    (place / "mywork.toml").write_text(
        (ROOT / "workloads/pipe.toml").read_text(encoding="utf-8").replace('"pipe"', '"mywork"', 1), encoding="utf-8"
    )
    return place


def policies() -> tuple[str, str]:
    """The policy of docs/policies.md, with the tunables that the same page shows, and with a constant."""
    page = "docs/policies.md"
    found = blocks.blocks(page, (ROOT / page).read_text(encoding="utf-8"))
    whole, tunables = ("\n".join(block.lines) for block in found if block.language == "c")
    head = "#include <scx.h>\n"
    return tuple(
        whole.replace(head, f"{head}\n{more}\n", 1) for more in (tunables, "const volatile u64 slice_ns = 20000000;")
    )


RUNS = [command for command in {command.text: command for command in COMMANDS}.values() if command.text in RUN]


class Warm:
    """The process of warm.py, asked for one command after the other."""

    def __init__(self) -> None:
        self.process = self.started()

    def started(self) -> subprocess.Popen[str]:
        environment = {**os.environ, "COLUMNS": "80", "OPENBLAS_NUM_THREADS": "1"}
        return subprocess.Popen(
            [sys.executable, Path(__file__).with_name("warm.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
            start_new_session=True,  # so that the command under way ends with it
        )

    def end(self) -> None:
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def run(self, words: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
        assert self.process.stdin
        assert self.process.stdout
        files = [folder / name for name in (".printed", ".complained")]
        request = {"words": words, "folder": str(folder), "files": [str(file) for file in files]}
        print(json.dumps(request), file=self.process.stdin, flush=True)
        if not select.select([self.process.stdout], [], [], LIMIT_S)[0]:
            self.end()
            self.process = self.started()
            pytest.fail(f"not over after {LIMIT_S} s: schedlab {shlex.join(words)}")
        status = int(self.process.stdout.readline())
        return subprocess.CompletedProcess(words, status, *(file.read_text(encoding="utf-8") for file in files))


@pytest.fixture(scope="module")
def warm() -> Iterator[Warm]:
    process = Warm()
    yield process
    process.end()


def run(text: str, folder: Path, warm: Warm) -> subprocess.CompletedProcess[str]:
    line = f"{text} {RUN[text].get('add', '')}".strip()
    program, *words = shlex.split(line)
    if program.endswith("schedlab") and words:
        return warm.run(words, folder)
    return subprocess.run(
        ["bash", "-c", line], cwd=folder, capture_output=True, text=True, check=False, timeout=LIMIT_S
    )


@pytest.mark.parametrize("command", RUNS, ids=ids(RUNS))
def test_it_runs(command: Command, folder: Path, warm: Warm) -> None:
    entry = RUN[command.text]
    if "after" in entry and not (folder / "saved").exists():
        run(entry["after"], folder, warm)
    done = run(command.text, folder, warm)
    wanted = entry.get("status", 0)
    wanted = wanted if isinstance(wanted, list) else [wanted]
    said = f"{command.place}: {command.text} {entry.get('add', '')}: status {done.returncode}\n"
    said += done.stdout + done.stderr
    assert done.returncode in wanted, said
    assert "Traceback" not in done.stderr, said
    if command.printed:
        assert in_order(command.printed, done.stdout), f"{command.place}: the page shows otherwise:\n{done.stdout}"


def in_order(shown: tuple[str, ...], printed: str) -> bool:
    """Whether the lines are those shown, where a line of three dots stands for any number of them."""
    pattern = "".join("(?:.*\n)*?" if line.strip() == "…" else re.escape(line.rstrip()) + "[ ]*\n" for line in shown)
    return re.fullmatch(pattern, printed) is not None


def test_a_session_is_compared_line_by_line() -> None:
    assert in_order(("a", "…", "d"), "a\nb\nc\nd\n")
    assert in_order(("a", "…"), "a\n")
    assert not in_order(("a", "d"), "a\nb\nd\n")
    assert not in_order(("a", "…", "e"), "a\nb\nd\n")
