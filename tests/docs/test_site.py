# SPDX-License-Identifier: GPL-2.0-or-later
"""The site is built without a warning, every link in it leads somewhere, and it asks no network for anything."""

from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
import tree
from markdown_it import MarkdownIt

from schedlab.catalogue import metrics, schedulers
from schedlab.cli.commands import COMMANDS
from tests.docs.blocks import ROOT
from tests.docs.build import build

# Of elements that a browser fetches by itself, the attribute with the address.
FETCHED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src", "object": "data"}


@dataclass
class Read(HTMLParser):
    """Of a page of the site: its anchors, its links, what it fetches, and how many there are of some elements."""

    anchors: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    fetched: list[str] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    depth: int = 0

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = dict(attributes)
        self.anchors |= {given[key] for key in ("id", "name") if given.get(key)}
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])
        elif (address := given.get(FETCHED.get(tag, ""))) and given.get("rel") != "canonical":
            self.fetched.append(address)
        if tag == "article":
            self.depth += 1
        elif self.depth:
            self.counts[tag] = self.counts.get(tag, 0) + 1

    def handle_endtag(self, tag: str) -> None:
        self.depth -= tag == "article"


@pytest.fixture(scope="module")
def read(site: Path) -> dict[Path, Read]:
    found = {}
    for path in sorted(site.rglob("*.html")):
        found[path] = Read()
        found[path].feed(path.read_text(encoding="utf-8"))
    return found


def test_every_link_leads_to_a_file_and_every_anchor_to_a_heading(site: Path, read: dict[Path, Read]) -> None:
    lost = []
    for path, page in read.items():
        if path.name == "404.html":
            continue  # A server shows it at any address.
        for link in [*page.links, *page.fetched]:
            parts = urlsplit(link)
            if parts.scheme:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            there = target.is_file() and target.is_relative_to(site.resolve())
            if there and parts.fragment and target in read:
                there = unquote(parts.fragment) in read[target].anchors
            if not there:
                lost.append(f"{path.relative_to(site)}: {link}")
    assert not lost, "\n".join(lost)


def test_it_fetches_nothing_from_the_network(site: Path, read: dict[Path, Read]) -> None:
    asked = [f"{path.relative_to(site)}: {address}" for path, page in read.items() for address in page.fetched]
    assert len(asked) > len(read)
    assert not [line for line in asked if urlsplit(line.partition(": ")[2]).netloc]
    for style in site.rglob("*.css"):
        text = style.read_text(encoding="utf-8")
        assert "url(http" not in text
        assert "url(//" not in text
        assert "@import" not in text


SHOWN = {"table": "table_open", "li": "list_item_open", "pre": "fence"}


def test_it_shows_what_commonmark_makes_of_a_page(read: dict[Path, Read], site: Path) -> None:
    """Two readers of Markdown: where lists, tables or code are laid out for one of them alone, the counts differ."""
    parser = MarkdownIt("commonmark").enable("table")
    wrong = []
    for path, page in read.items():
        address = path.relative_to(site).with_suffix(".md").as_posix().replace("rules/index", "rules/README")
        file = ROOT / tree.path_of(address)
        if not file.is_file():
            continue  # 404, and what is made from the program
        tokens = [token.type for token in parser.parse(file.read_text(encoding="utf-8"))]
        for tag, kind in SHOWN.items():
            expected = tokens.count(kind) + (tokens.count("code_block") if tag == "pre" else 0)
            if page.counts.get(tag, 0) != expected:
                wrong.append(f"{file.relative_to(ROOT)}: {page.counts.get(tag, 0)} <{tag}>, {expected} in the page")
    assert not wrong, "\n".join(wrong)


def test_the_reference_has_what_the_program_has(site: Path) -> None:
    def text(name: str) -> str:
        return (site / "reference" / f"{name}.html").read_text(encoding="utf-8")

    for group in COMMANDS.values():
        for name in group:
            assert f">schedlab {name}<" in text("commands")
    for name in ("setup", "exec", "shell"):
        assert f">schedlab vm {name}<" in text("commands")
    for metric in metrics.describe():
        assert f"<code>{metric['name']}</code>" in text("metrics")
    for name in schedulers.known():
        assert name == schedulers.DEFAULT or f'id="{name}"' in text("tunables")
    for key in ("hz", "sockets", "switch_ns", "nohz_full"):
        assert f"<code>{key}</code>" in text("machine-keys")
    for key in ("loads", "footprint_kib", "promises", "migrate_disable", "run_us", "max_us", "memory_mib"):
        assert f"<code>{key}</code>" in text("workload-keys")
    for key in ("provenance.tier", "cell.digests.engine", "trace_hash"):
        assert f"<code>{key}</code>" in text("record")
    for column in ("p_adjusted", "noise_floor_pct", "repetition"):
        assert f"<code>{column}</code>" in text("tables")


@pytest.mark.parametrize(
    ("page", "nav", "complaint"),
    [
        ("# A\n\n[b](b.md)\n", "a.md", "contains a link 'b.md', but the target is not found"),
        ("# A\n\n[b](#b)\n", "a.md", "contains a link '#b', but there is no such anchor"),
        ("# A\n", "a.md, b.md", "A reference to 'b.md' is included in the 'nav' configuration, which is not found"),
        ("# A\n", "index.md", 'exist in the docs directory, but are not included in the "nav" configuration'),
    ],
)
def test_a_page_that_leads_nowhere_stops_the_build(tmp_path: Path, page: str, nav: str, complaint: str) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/index.md").write_text("# I\n")
    (tmp_path / "docs/a.md").write_text(page)
    (tmp_path / "mkdocs.yml").write_text(
        f"INHERIT: {ROOT}/mkdocs.yml\ndocs_dir: docs\nhooks: []\nnav: [index.md, {nav}]\n"
    )
    done = build(tmp_path / "site", "--config-file", str(tmp_path / "mkdocs.yml"))
    assert done.returncode == 1
    assert complaint in done.stdout + done.stderr
