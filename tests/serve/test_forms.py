"""Answers have the form that is documented for them, with everything that an event may say."""

from __future__ import annotations

import msgspec

from tidegate.cli.commands.decisions.why_records import story_record
from tidegate.contracts.decision_kinds.placements import LevelTried, PlacementTried
from tidegate.replay.story.why import Line, Story
from tidegate.serve.api.shapes import Why

TRIED = PlacementTried(
    podset="main",
    flavor="gpu",
    topology="racks",
    fits=2,
    of=4,
    excluded={"resource cpu": 3},
    levels=(LevelTried(level="cloud.example/rack", domains=4, pods=((1, 2),)),),
)


def test_a_story_may_say_that_pods_found_no_nodes() -> None:
    line = Line(seq=3, at_us=0, what="WorkloadPending", text="no place", placements=(TRIED,))
    story = Story(workload="a/b", lines=[line])
    why = msgspec.convert(msgspec.to_builtins(story_record(story, {})), Why)
    assert why.lines[0].placements == [TRIED]
