"""The documentation's pictures are the page as it is: ``PICTURES=1`` takes them anew."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, expect

from tests.serve.browser.conftest import Open

DOCS = Path(__file__).parents[3] / "docs"
WIDE: dict[str, Any] = {"viewport": {"width": 1200, "height": 800}}
DARK: dict[str, Any] = {**WIDE, "color_scheme": "dark"}
NARROW: dict[str, Any] = {"viewport": {"width": 390, "height": 844}, "device_scale_factor": 2}
PICTURES = (
    ("job", "?view=job&namespace=a&name=huge", WIDE),
    ("job-dark", "?view=job&namespace=a&name=sweep", DARK),
    ("job-narrow", "?view=job&namespace=a&name=huge", NARROW),
    ("queue", "?view=queue&queue=team-a", WIDE),
    ("cohorts", "?view=cohorts&asOf=46", WIDE),
    ("money", "?view=money", WIDE),
    ("trust", "?view=trust", WIDE),
)


@pytest.mark.parametrize("picture", PICTURES, ids=[name for name, _, _ in PICTURES])
async def test_a_picture_is_taken(
    browser: Browser, pages: Open, tmp_path: Path, picture: tuple[str, str, dict[str, Any]]
) -> None:
    name, query, options = picture
    context = await browser.new_context(**options, reduced_motion="reduce")
    page = await context.new_page()
    await page.goto(await pages("local") + query)
    await expect(page.locator("main h2").first).to_be_visible()
    await expect(page.locator("[aria-busy]")).to_have_count(0)
    folder = DOCS / "pictures" if os.environ.get("PICTURES") else tmp_path
    await page.screenshot(path=folder / f"look-{name}.png")
    assert (folder / f"look-{name}.png").stat().st_size > 10_000


def test_the_documentation_shows_them_all() -> None:
    shown = set(re.findall(r"pictures/look-([a-z-]+)\.png", (DOCS / "serve.md").read_text()))
    assert shown == {name for name, _, _ in PICTURES}
    assert all((DOCS / "pictures" / f"look-{name}.png").is_file() for name in shown)
