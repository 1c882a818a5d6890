"""Whatever a tenant puts into an object, policies are asked about what they read of it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.webhook.test_mutating import POLICIES, answered, asked, job, missing
from tidegate.kinds.names import QUEUE_NAME
from tidegate.webhook.mutating import DEPTH_MAX, VALUES_MAX, bounded_view, mutate

Object = dict[str, Any]


def nested(depth: int) -> Object:
    fields: Object = {}
    for _ in range(depth):
        fields = {"a": fields}
    return fields


def owners(count: int) -> list[Object]:
    return [
        {"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": str(i)} for i in range(count)
    ]


HOSTILE: dict[str, Object] = {
    "many owners": {"metadata": {"ownerReferences": owners(50_000)}},
    "long text": {"spec": {"text": "<" * 1_400_000}},
    "a long list": {"spec": {"template": {"env": [{"name": str(i)} for i in range(40_000)]}}},
    "a large number": {"spec": {"template": {"number": 2**64}}},
    "a small number": {"spec": {"number": -(2**63) - 1}},
    "depth": {"spec": {"template": nested(500)}},
    "many keys": {"spec": {"template": {str(i): i for i in range(60_000)}}},
}


@pytest.mark.parametrize("name", HOSTILE)
async def test_a_queued_job_is_suspended_whatever_else_it_has(name: str) -> None:
    fields = job(**{QUEUE_NAME: "main"})
    for field, more in HOSTILE[name].items():
        fields[field] = {**fields[field], **more}
    patch, failed = await answered(asked("batch/jobs", fields))
    assert {"op": "add", "path": "/spec/suspend", "value": True} in patch
    assert failed == []


def size(value: object) -> int:
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + sum(map(size, parts))


@pytest.mark.parametrize("name", HOSTILE)
def test_what_policies_are_shown_is_bounded(name: str) -> None:
    assert size(bounded_view(HOSTILE[name])) <= VALUES_MAX + 1


def test_what_is_usual_is_shown_as_it_is() -> None:
    manifest = {"metadata": {"labels": {"a": "b"}}, "spec": {"list": [1, [2.5, None], {"c": True}]}}
    assert bounded_view(manifest) == manifest
    assert bounded_view(nested(DEPTH_MAX)) == nested(DEPTH_MAX)


def test_the_controller_is_shown_among_any_number_of_owners() -> None:
    controller = {"controller": True, "kind": "JobSet"}
    obj = {"metadata": {"ownerReferences": [*owners(9_000), controller, *owners(9_000)]}}
    assert bounded_view(obj)["metadata"]["ownerReferences"] == [controller]


async def test_no_secret_of_an_object_is_in_what_is_reported() -> None:
    names = list[str]()
    obj = {"metadata": {"labels": {QUEUE_NAME: "q"}}, "env": [{"value": "secret"}] * 1_000}
    await mutate(POLICIES, asked("batch/jobs", obj), missing, lambda _, why: names.append(why))
    assert names
    assert max(map(len, names)) < 200
    assert "secret" not in "".join(names)
