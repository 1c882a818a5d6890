"""What a worker's Kueue writes anew means the same; what an edit says does not."""

from __future__ import annotations

from typing import Any

import pytest

from dispatcher.adapters import copies
from dispatcher.adapters.equivalence import is_equivalent
from tests.dispatcher.test_copies import workload

Object = dict[str, Any]


def podset(*containers: Object, **template: object) -> Object:
    """Return a podset whose template says no more than is given."""
    spec = {"restartPolicy": "Never", "containers": list(containers)}
    return {"name": "main", "count": 1, "template": {"spec": spec, **template}}


AS_SUBMITTED = podset(
    {"name": "c", "image": "i", "resources": {"requests": {"cpu": 0.5, "memory": "1024Mi"}}},
    {"name": "d", "image": "i", "tty": False, "env": [{"name": "EMPTY", "value": ""}]},
)
AS_KUEUE_WRITES = podset(
    {"name": "c", "image": "i", "resources": {"requests": {"cpu": "500m", "memory": "1Gi"}}},
    {"name": "d", "image": "i", "resources": {}, "env": [{"name": "EMPTY"}]},
    metadata={"creationTimestamp": None},
)


def test_a_copy_that_kueue_wrote_anew_does_not_differ() -> None:
    local = workload(podSets=[AS_SUBMITTED], priority=0)
    remote = workload(podSets=[AS_KUEUE_WRITES], priority=0, active=True)
    assert not copies.differs(local, remote)
    raised = workload(podSets=[AS_SUBMITTED], priority=7)
    patch = copies.priority_patch(raised, remote)
    assert patch == {"spec": {"priority": 7, "priorityClassRef": None}}


@pytest.mark.parametrize(
    ("mine", "other"),
    [
        ({"requests": {"cpu": "500m"}}, {"requests": {"cpu": "0.6"}}),
        ({"requests": {"cpu": "0"}}, {"requests": {}}),
        ({"requests": {"cpu": "x"}}, {"requests": {"cpu": "y"}}),
        ({"args": ["500m"]}, {"args": ["0.5"]}),
        ({"args": ["a", ""]}, {"args": ["a"]}),
        ({"image": "i"}, {}),
        ({"active": False}, {"active": True}),
        ({"emptyDir": {"sizeLimit": "1Gi"}}, {"emptyDir": {"sizeLimit": "1Mi"}}),
    ],
)
def test_an_edit_differs(mine: Object, other: Object) -> None:
    assert not is_equivalent(mine, other)
    assert is_equivalent(mine, mine)


def test_a_quantity_is_the_same_in_each_of_its_forms() -> None:
    for field in ("sizeLimit", "divisor"):
        assert is_equivalent({field: "1Gi"}, {field: "1024Mi"})
    for field in ("requests", "limits", "overhead"):
        assert is_equivalent({field: {"cpu": 2}}, {field: {"cpu": "2"}})
        assert is_equivalent({field: [1]}, {field: [1]})
