"""The man pages: troff that says what was meant, and that readers of man pages take."""

from __future__ import annotations

import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from tidegate.cli.main import COMMANDS
from tidegate.cli.manual import escaped, pages
from tidegate.cli.reference import commands
from tidegate.generate.documents import MAN

ROOT = Path(__file__).parents[2]
PAGES = pages()
NASTY = r""".TH \fB 'quoted' "twice" `ticks` --as-of ^ ~ \(aq … ░"""
RENDERERS = (
    ("groff", "-man", "-Tutf8", "-ww", "-P-c", "-rLL=2000n"),
    ("mandoc", "-Tutf8", "-Wwarning", "-Owidth=500"),
)


def renderer() -> tuple[str, ...]:
    """Return the command that is there, or skip and say what is missing."""
    for found in RENDERERS:
        if shutil.which(found[0]):
            return found
    pytest.skip(
        "Neither groff nor mandoc is on the PATH to render the man pages: install one of them "
        "(Debian: apt-get install groff)."
    )


def render(page: str) -> tuple[str, str]:
    done = subprocess.run(renderer(), input=page, capture_output=True, text=True, check=True)
    return done.stdout, done.stderr


def test_there_is_a_page_of_the_command_line_and_of_every_command() -> None:
    names = {f"tidegate-{one.path.replace(' ', '-')}.1" for one in commands()}
    assert set(PAGES) == {"tidegate.1", *names}
    assert {f"tidegate-{one.name}.1" for one in COMMANDS} <= set(PAGES)


def test_no_character_of_a_text_is_an_order_to_troff() -> None:
    assert escaped(".TH") == r"\&.TH"
    assert escaped("'br") == r"\(aqbr"
    assert escaped(r"a\b --c") == r"a\eb \-\-c"
    assert escaped("…") == r"\[u2026]"


def test_a_text_is_rendered_as_it_was_written() -> None:
    said, warned = render(f'.TH T 1 "" "t" "T"\n.SH TEXT\n.nf\n{escaped(NASTY)}\n.fi\n')
    assert warned == ""
    assert NASTY in said


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_rendered_without_a_warning(name: str) -> None:
    said, warned = render(PAGES[name])
    assert warned == ""
    assert name.removesuffix(".1").upper() in said


def test_the_wheel_puts_the_pages_where_man_looks() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    shared = project["tool"]["uv"]["build-backend"]["data"]["data"]
    assert f"{shared}/share/man/man1" == MAN
