# SPDX-License-Identifier: GPL-2.0-or-later
"""Where links of the site lead, and how the program is asked for the keys of its files."""

import keys
import pytest
import tree


@pytest.mark.parametrize(
    ("path", "link", "there"),
    [
        ("README.md", "docs/choose.md#how-it-decides", "choose.md#how-it-decides"),
        ("README.md", "schedulers/bfs/README.md", "schedulers/bfs.md"),
        ("README.md", "results/readme/picture.svg", "files/results/readme/picture.svg"),
        ("docs/rules/bfs.md", "../../schedulers/bfs/README.md", "../schedulers/bfs.md"),
        ("docs/choose.md", "report.md", "report.md"),
        ("schedulers/bfs/README.md", "../../docs/rules/bfs.md#b", "../rules/bfs.md#b"),
        ("docs/choose.md", "#here", "#here"),
        ("docs/choose.md", "https://example.org/a.md", "https://example.org/a.md"),
    ],
)
def test_a_link_of_the_checkout_is_one_of_the_site(path: str, link: str, there: str) -> None:
    assert tree.relinked(f"a [b]({link}), c", path) == f"a [b]({there}), c"


def test_what_is_code_is_no_link() -> None:
    text = "`[a](b.md)`\n\n```text\n[a](b.md)\n```\n\n[a](../README.md)\n"
    assert tree.relinked(text, "docs/x.md") == text.replace("../README.md", "index.md")


def test_a_file_that_is_no_page_is_copied_where_it_is_there() -> None:
    text = "[a](../bench/rivals.toml), [b](choose.md), [c](../bench/no-such.toml), [d](../README.md)"
    assert tree.copies(text, "docs/x.md") == {"bench/rivals.toml"}


def test_keys_are_those_that_the_parser_knows() -> None:
    (found,) = keys.known("machines", [(keys.MACHINE, ("topology",))])
    assert {key.name: (key.must, key.expected) for key in found} == {
        **dict.fromkeys(
            ["sockets", "llcs_per_socket", "cores_per_llc", "threads_per_core"], (True, "an integer from 1 to 1024")
        ),
        "numbering": (False, '"adjacent" or "split"'),
        "capacities": (False, "a list, each an integer from 1 to 1024"),
    }


def test_a_sample_that_the_program_refuses_is_named() -> None:
    with pytest.raises(ValueError, match=r"the sample for \('topology',\) is refused: .*hz: expected an integer"):
        keys.known("machines", [(keys.MACHINE | {"hz": 0}, ("topology",))])


def test_a_step_without_a_sample_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a new action cannot be missing in the reference."""
    monkeypatch.setattr(keys, "STEPS", [step for step in keys.STEPS if "yield" not in step and "fill" not in step])
    with pytest.raises(ValueError, match="no sample of the step fill, yield"):
        keys.steps()


def test_an_end_without_a_sample_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys, "ENDS", keys.ENDS[:2])
    with pytest.raises(ValueError, match=r"no sample of each key of \[end\]: after_s, after_ms, task"):
        keys.ends()
