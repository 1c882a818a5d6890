"""The contrasts of the page's colours, in both schemes."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path

import pytest

STYLE = (Path(__file__).parents[3] / "tidegate/serve/page/style.css").read_text()
TEXT_MIN, SHAPE_MIN = 4.5, 3.0  # Source: WCAG 2.2, 1.4.3 and 1.4.11
TEXTS = (
    *product(("ink", "quiet", "link"), ("paper", "card", "soft", "pending-bg")),
    *product(("wrong",), ("paper", "card", "wrong-bg")),
    *(("card", "link"), ("warn", "pending-bg"), ("good", "good-bg")),
)
SHAPES = tuple(product(("used", "lent", "borrowed", "waits", "runs", "stops"), ("free", "card")))


def colours() -> list[dict[str, str]]:
    """Return the colours by their names: of the light scheme, of the dark one."""
    return [
        dict(re.findall(r"--([\w-]+): (#\w{6})", block))
        for block in re.findall(r":root \{(.*?)\}", STYLE, re.DOTALL)
    ]


def luminance(colour: str) -> float:
    """Return the relative luminance of a colour. Source: WCAG 2.2."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(front: str, behind: str) -> float:
    """Return the contrast of two colours, 1 to 21. Source: WCAG 2.2."""
    dark, light = sorted(map(luminance, (front, behind)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_text_and_shapes_stand_out(scheme: int) -> None:
    named = colours()[scheme]
    for pairs, least in ((TEXTS, TEXT_MIN), (SHAPES, SHAPE_MIN)):
        for front, behind in pairs:
            assert contrast(named[front], named[behind]) >= least, (front, behind)


def test_nothing_is_faded() -> None:
    """A faded text has less contrast than its colour."""
    assert re.findall(r"^(.*) \{[^}]*\bopacity: 0\.", STYLE, re.MULTILINE) == [".node b"]
