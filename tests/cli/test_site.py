"""The site of docs/: every page is on it, every link leads somewhere, every command is one."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.test_reference import understand

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)(?:#[^)]*)?\)")
BLOCK = re.compile(r"^```(?:sh|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^(?:\$ )?(tidegate .*)$", re.MULTILINE)
HOLLOW = re.compile(r"[A-Z]{3,}|…|\\$|^tidegate (?:get|describe|edit|patch) ")


def name(path: Path) -> str:
    return str(path.relative_to(DOCS))


def listed(nav: Any) -> set[str]:  # noqa: ANN401 - what YAML holds
    match nav:
        case dict():
            return {page for below in nav.values() for page in listed(below)}
        case list():
            return {page for below in nav for page in listed(below)}
        case _:
            return {str(nav)}


def commands(page: Path) -> list[str]:
    blocks = "".join(BLOCK.findall(page.read_text()))
    return [command for command in COMMAND.findall(blocks) if not HOLLOW.search(command)]


def test_the_site_has_every_page_but_perhaps_a_decision() -> None:
    site = yaml.safe_load((ROOT / "mkdocs.yml").read_text())
    shown, there = listed(site["nav"]), {name(page) for page in PAGES}
    assert shown <= there
    assert {page for page in there - shown if not page.startswith("adr/")} == set()


def test_the_index_leads_to_every_page_but_single_decisions() -> None:
    values = set(LINK.findall((DOCS / "index.md").read_text()))
    wanted = {name(page) for page in PAGES if "adr/" not in name(page)} - {"index.md"}
    assert wanted <= values


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_link_leads_somewhere(page: Path) -> None:
    for target in LINK.findall(page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", [page for page in PAGES if commands(page)], ids=name)
def test_every_command_of_a_page_is_one(page: Path) -> None:
    for command in commands(page):
        words = shlex.split(command, comments=True)
        understand(shlex.join(words))
