# SPDX-License-Identifier: GPL-2.0-or-later
"""scripts/test closes with one line that counts what cargo and pytest said, and fails with them."""

import pytest

from tests.setup.fakes import Checkout

CARGO = """
running 6 tests
test result: {0}. {1} passed; {2} failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s

test result: ok. 4 passed; 0 failed; 0 ignored; 0 measured; 2 filtered out; finished in 0.00s
"""


GUESTS = "==== 20 passed, 1 skipped in 0.50s ===="


def run(
    checkout: Checkout,
    cargo: str,
    cargo_status: int,
    pytest_line: str,
    pytest_status: int,
    guests_status: int = 0,
    cargo_s: float = 0,
) -> tuple[int, str]:
    """The exit status and the closing lines. `pytest_line`: of those that boot no guest; the others are three parts."""
    version = "[ $1 = --version ] && echo cargo 1.96.0 && exit"
    checkout.program("cargo", f"{version}\nsleep {cargo_s}\ncat <<'E'\n{cargo}\nE\nexit {cargo_status}")
    python = checkout.path / ".venv/bin/python"
    python.parent.mkdir(parents=True)
    others = f"echo '{pytest_line}'; exit {pytest_status}"
    python.write_text(
        f"#!/bin/sh\necho 'collected 9 items'\ncase $* in *--ignore=tests/vm\\ *) {others};; "
        "*\\ tests/install) echo '3 passed in 1s'; exit;; esac\n"
        f"echo '{GUESTS}'\nexit {guests_status}\n"
    )
    python.chmod(0o755)
    done = checkout.run("scripts/test")
    return done.returncode, done.stdout.rpartition(GUESTS + "\n")[2]


def test_all_pass(checkout: Checkout) -> None:
    said = run(checkout, CARGO.format("ok", 5, 0), 0, "==== 7 passed, 2 skipped, 1 warning in 0.12s ====", 0)
    assert said == (0, "59 passed, 0 failed, 5 skipped\n")


def test_a_part_that_begins_when_all_others_have_ended_is_shown(checkout: Checkout) -> None:
    line = "==== 7 passed, 2 skipped, 1 warning in 0.12s ===="
    said = run(checkout, CARGO.format("ok", 5, 0), 0, line, 0, cargo_s=2)
    assert said == (0, "59 passed, 0 failed, 5 skipped\n")


def test_a_known_failure_is_counted_apart(checkout: Checkout) -> None:
    said = run(checkout, CARGO.format("ok", 5, 0), 0, "==== 7 passed, 2 xfailed in 0.12s ====", 0)
    assert said == (0, "59 passed, 0 failed, 3 skipped, 2 expected failures\n")


@pytest.mark.parametrize(
    ("cargo", "cargo_status", "pytest_line", "pytest_status", "closing"),
    [
        (
            CARGO.format("FAILED", 4, 1),
            101,
            "7 passed in 0.12s",
            0,
            "failed: cargo\n58 passed, 1 failed, 3 skipped\n",
        ),
        (
            CARGO.format("ok", 5, 0),
            0,
            "2 failed, 5 passed, 1 error in 1s",
            1,
            "failed: pytest\n57 passed, 3 failed, 3 skipped\n",
        ),
        (
            "error: could not compile `sim`",
            101,
            "7 passed in 1s",
            0,
            "failed: cargo\n50 passed, 1 failed, 2 skipped\n",
        ),
        (CARGO.format("ok", 5, 0), 0, "no tests ran in 0.01s", 5, "failed: pytest\n52 passed, 1 failed, 3 skipped\n"),
    ],
)
def test_a_failure_anywhere_fails(
    checkout: Checkout, cargo: str, cargo_status: int, pytest_line: str, pytest_status: int, closing: str
) -> None:
    assert run(checkout, cargo, cargo_status, pytest_line, pytest_status) == (1, closing)


def test_a_failure_among_those_that_boot_guests_fails(checkout: Checkout) -> None:
    said = run(checkout, CARGO.format("ok", 5, 0), 0, "==== 7 passed, 2 skipped in 0.12s ====", 0, guests_status=1)
    assert said == (1, "failed: long guests\n59 passed, 2 failed, 5 skipped\n")


def test_what_failed_is_named_once_more_at_the_end(checkout: Checkout) -> None:
    cargo = "test counts ... FAILED\n" + CARGO.format("FAILED", 4, 1)
    lines = "FAILED tests/test_a.py::test_b - assert 1 == 2\n1 failed, 6 passed in 0.12s"
    status, closing = run(checkout, cargo, 101, lines, 1)
    *named, parts, _ = closing.splitlines()
    assert (status, parts) == (1, "failed: cargo pytest")
    assert named == ["test counts ... FAILED", "FAILED tests/test_a.py::test_b - assert 1 == 2"]
