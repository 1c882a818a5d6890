"""The short searches of flat cohorts find whom the general ones find, and hopeless ones nobody."""

from __future__ import annotations

import pytest
from hypothesis import given

from tests.core.test_dozing import SEEDS, Cluster
from tests.parts.drawn import drawn
from tidegate.core.draft import Draft, Workload
from tidegate.core.hopeless import hopeless
from tidegate.core.preemption import search
from tidegate.core.preemption.classic import classic
from tidegate.core.preemption.fair import fair
from tidegate.core.preemption.trial import Target, Trial
from tidegate.core.rooms import Room
from tidegate.core.shapes import first_of
from tidegate.core.tree import free

CPU = 1_000


def _searched(draft: Draft, room: Room, workload: Workload, units: int) -> None:
    (fr,) = room.tree.root.cells
    trial = Trial(draft=draft, room=room, workload=workload, needs=(fr,), amounts={fr: units})
    general = fair if draft.policy.fair_sharing else classic
    expected = general(trial)
    assert _told(search.find(draft, room, workload, (fr,), {fr: units})) == _told(expected)
    cell = room.node.cells[fr]
    if hopeless(draft, room, workload, (cell, units, free(cell))):
        assert not expected


def _told(targets: list[Target]) -> list[tuple[str, str, str]]:
    return [(one.workload.key, one.cluster_queue, one.reason) for one in targets]


@pytest.mark.parametrize("fair", [False, True])
@given(seed=SEEDS)
@drawn(30)
def test_short_searches_find_whom_the_general_ones_find(*, fair: bool, seed: int) -> None:
    cluster = Cluster(seed, fair=fair, watched=lambda _: None)
    for _ in range(25):
        cluster.step()
        for room in cluster.draft.forest.rooms.values():
            tops = [first_of(shape) for shape in room.shapes.values()]
            for top in filter(None, tops):
                _searched(cluster.draft, room, top, cluster.rng.choice((1, 2, 3, 6)) * CPU)
