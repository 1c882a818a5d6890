"""Every rule of a workload's life, one file each: events in, decisions and what is shown out."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

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


@pytest.mark.parametrize(
    ("name", "steps"),
    [("hold-cluster-queue", 4), ("hold-local-queue", 3), ("missing-queues", 4), ("gated", 3)],
)
def test_kueues_rules_say_why_a_workload_is_not_offered_too(name: str, steps: int) -> None:
    """Source: behaviour.md 8.4: Kueue's controller says it, beside the scheduler."""
    rule = read(rules()[name])
    player = Player(replace(rule, policy={**rule.policy, "compatibility": "kueue"}))
    for number, step in enumerate(rule.steps[:steps], 1):
        followed = player.play(step)
        assert (followed["decided"], followed["shown"]) == (step.decided, step.shown), number


@pytest.mark.parametrize("path", rules().values(), ids=rules().keys())
def test_a_rule_names_its_source_and_expects_something(path: Path) -> None:
    rule = read(path)
    assert rule.source
    assert any(step.decided for step in rule.steps)
    assert any(step.shown for step in rule.steps)
