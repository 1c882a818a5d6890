"""On a real API server the partition of a queue changes only to what it was asked to move to."""

from __future__ import annotations

from typing import Any

import pytest

from tests.kinds.cluster import Cluster

pytestmark = pytest.mark.real
PARTITION, MOVE_TO = "tidegate.dev/partition", "tidegate.dev/move-to"
STEPS: tuple[tuple[dict[str, str | None], bool], ...] = (
    ({PARTITION: "2"}, False),
    ({MOVE_TO: "1000"}, False),
    ({PARTITION: "2", MOVE_TO: "2"}, False),  # no move to 2 was requested before
    ({MOVE_TO: "2"}, True),
    ({PARTITION: "3"}, False),
    ({MOVE_TO: "3"}, True),
    ({PARTITION: "3", MOVE_TO: None}, True),
    ({PARTITION: None}, False),
    ({MOVE_TO: "0"}, True),
    ({PARTITION: None, MOVE_TO: None}, True),
)
"""Changes of annotations, one after the other, and whether each is taken."""


@pytest.mark.parametrize(("kind", "name"), [("ClusterQueue", "moves"), ("Cohort", "moves-too")])
async def test_a_partition_is_written_down_once_it_was_asked_for(
    cluster: Cluster, kind: str, name: str
) -> None:
    meta: dict[str, Any] = {"name": name, "annotations": {PARTITION: "1"}}
    manifest = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": kind, "metadata": meta, "spec": {}}
    made = await cluster.create(manifest)
    assert made.status == 201, made.message
    try:
        for change, taken in STEPS:
            answer = await cluster.merge(manifest, {"metadata": {"annotations": change}})
            assert (answer.status == 200) == taken, (change, answer.message)
    finally:
        await cluster.delete(manifest)
