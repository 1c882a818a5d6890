"""Flame graphs of the services: what they show, and what they keep to themselves."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

from bench.flame import collect_stacks, draw_svg, main

STACKS = [
    "<module> (/somewhere/private/scheduler/__main__.py:1);turn (/somewhere/private/turn.py:7) 30",
    "<module> (/somewhere/private/scheduler/__main__.py:1);turn (turn.py:9);seal (chain.py:2) 10",
    "run (asyncio/runners.py:1);select (selectors.py:468) 500",
]


def test_time_is_added_up_by_function_and_waiting_is_left_out() -> None:
    root = collect_stacks(STACKS)
    assert root.count == 40
    assert {name: box.count for name, box in root.inner.items()} == {
        "turn (private/turn.py)": 30,
        "turn (turn.py)": 10,
    }


def test_a_graph_is_svg_whose_boxes_are_as_wide_as_their_time(tmp_path: Path) -> None:
    (tmp_path / "in.raw").write_text("\n".join(STACKS))
    assert main([str(tmp_path / "in.raw"), str(tmp_path / "out.svg"), "the", "scheduler"]) == 0
    root = ET.fromstring((tmp_path / "out.svg").read_text())  # noqa: S314 - our own file
    widths = [
        float(element.get("width", "0")) for element in root.iter() if element.tag.endswith("rect")
    ]
    assert widths == [749.5, 249.5, 249.5]
    titles = [element.text for element in root.iter() if element.tag.endswith("title")]
    assert titles[0] == "turn (private/turn.py): 75.0 %"


def test_no_path_of_the_machine_is_drawn() -> None:
    assert "somewhere" not in draw_svg(collect_stacks(STACKS), "the scheduler")
