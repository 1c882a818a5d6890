"""Every rule of a workload's life, one file each: events in, decisions and what is shown out."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.lifecycle.story import Player, read, rules


@pytest.mark.parametrize("path", rules().values(), ids=rules().keys())
def test_what_follows_is_what_the_file_says(path: Path) -> None:
    rule = read(path)
    player = Player(rule)
    for number, step in enumerate(rule.steps, 1):
        followed = player.play(step)
        expected = {name: getattr(step, name) for name in followed}
        wanted = {name: value for name, value in expected.items() if value is not None}
        fields = {name: followed[name] for name in wanted}
        assert fields == wanted, f"step {number}: {step.do}"


@pytest.mark.parametrize("path", rules().values(), ids=rules().keys())
def test_a_rule_names_its_source_and_expects_something(path: Path) -> None:
    rule = read(path)
    assert rule.source
    assert any(step.decided for step in rule.steps)
    assert any(step.shown for step in rule.steps)
