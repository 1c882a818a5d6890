"""The page of a what-if: whole in itself, and the same each time."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from tests.cli.conftest import Tidegate
from tidegate.cli.figures.plots import BUCKETS, Line, distribution_points, step_points, svg_plot

ARGUMENTS = ("what-if", "config", "--set", "clusterqueue/team-b.cpu=12", "-o", "html")


def test_a_page_holds_all_it_needs_and_is_the_same_each_time(
    tidegate: Tidegate, tmp_path: Path
) -> None:
    file = tmp_path / "page.html"
    assert tidegate(*ARGUMENTS, "--file", str(file)).exit_code == 0
    page = file.read_text()
    assert page == tidegate(*ARGUMENTS).stdout
    assert not re.search(r"https?://|<script|<link|<img|src=", page)
    assert "<code>clusterqueue/team-b.cpu=12</code>" in page
    for side in ("recorded", "unchanged", "changed"):
        assert f"<td>{side}</td>" in page


def test_each_plot_is_svg_with_a_line_for_each_side(tidegate: Tidegate) -> None:
    drawn = re.findall(r"<svg.*?</svg>", tidegate(*ARGUMENTS).stdout)
    assert len(drawn) == 6
    lines = [len(list(ET.fromstring(svg).iter("polyline"))) for svg in drawn]  # noqa: S314 - our own
    assert lines == [6, 3, 3, 6, 3, 3]


def test_a_short_step_function_is_drawn_corner_by_corner() -> None:
    assert step_points([(2, 4), (5, 1)], 0, 10, 0.5) == [
        (0.0, 0.0),
        (2.0, 0.0),
        (2.0, 2.0),
        (5.0, 2.0),
        (5.0, 0.5),
        (10.0, 0.5),
    ]


def test_a_long_one_is_drawn_by_its_means_which_keep_its_area() -> None:
    points = [(at, at % 7) for at in range(5_000)]
    drawn = step_points(points, 0, 5_000, 1.0)
    assert len(drawn) == BUCKETS
    area = sum(value for _, value in drawn) * 5_000 / BUCKETS
    assert area == pytest.approx(sum(value for _, value in points))


def test_shares_rise_from_nothing_to_all() -> None:
    assert distribution_points([3, 1], 1.0) == [
        (0.0, 0.0),
        (1.0, 0.0),
        (1.0, 0.5),
        (3.0, 0.5),
        (3.0, 1.0),
    ]
    assert len(distribution_points(range(10_000), 1.0)) <= 2 * BUCKETS + 2


def test_names_are_escaped() -> None:
    drawn = svg_plot("<a>", [Line("b & c", [(0.0, 1.0)], "#000")], unit="", times=False)
    assert "<a>" not in drawn
    assert "b &amp; c" in drawn
