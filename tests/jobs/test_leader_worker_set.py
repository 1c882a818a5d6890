"""The pods of LeaderWorkerSets: which group of which object each is of, and as what."""

from __future__ import annotations

import pytest

from tests.jobs.walking import merged
from tidegate.jobs.kind import Object
from tidegate.jobs.serving import leader_worker_set
from tidegate.kinds.decode import read
from tidegate.kinds.meta import ObjectMeta
from tidegate.kinds.names import SUSPENDING_PARENT
from tidegate.model.ids import ObjectRef

WORKER_SETS = "leaderworkerset.sigs.k8s.io"


def worker(name: str = "llm-1-2", owner: str = "StatefulSet", **labels: str) -> Object:
    """Return a worker of the second group, unless fields say otherwise."""
    mapping = {"name": "llm", "group_index": "1", "worker_index": "2"} | labels
    return {
        "metadata": {
            "name": name,
            "namespace": "team",
            "labels": {
                f"{WORKER_SETS}/{key.replace('_', '-')}": text for key, text in mapping.items()
            },
            "annotations": {SUSPENDING_PARENT: leader_worker_set.NAME},
            "ownerReferences": [
                {
                    "apiVersion": "apps/v1",
                    "kind": owner,
                    "name": "s",
                    "uid": "s",
                    "controller": True,
                }
            ],
        }
    }


@pytest.mark.parametrize(
    ("obj", "group", "podset"),
    [
        (worker(), 1, "worker"),
        (worker("llm-1", worker_index="0"), 1, "leader"),
        (worker("llm-0-1", group_index="0", worker_index="1"), 0, "worker"),
        (worker("other-1-2"), None, ""),
        (worker("llm-2-1"), None, ""),
        (worker(owner="Job"), None, ""),
        (worker(group_index="first"), None, ""),
        (merged(worker(), {"metadata": {"annotations": None}}), None, ""),
        (merged(worker(), {"metadata": {"ownerReferences": None}}), None, ""),
    ],
)
def test_a_pod_is_of_the_group_that_its_name_and_its_labels_say(
    obj: Object, group: int | None, podset: str
) -> None:
    members = leader_worker_set.KIND.members
    assert members is not None
    sets = [
        ObjectRef(kind=leader_worker_set.NAME, namespace="team", name=f"llm-{at}", uid=f"u2.{at}")
        for at in (0, 1)
    ]
    mine = [index for index, ref in enumerate(sets) if members.is_member(ref, obj)]
    assert mine == ([] if group is None else [group])
    membership = leader_worker_set.membership(read(obj["metadata"], ObjectMeta))
    assert ("" if membership is None else membership.podset) == podset
