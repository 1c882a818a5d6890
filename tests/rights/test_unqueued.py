"""Telling objects of kinds that are not enabled takes the rights of one role, and no more."""

from __future__ import annotations

import time
from random import Random

import pytest
from prometheus_client import CollectorRegistry

from actuator.calls import Calls
from actuator.metrics import Metrics
from actuator.unqueued import UnqueuedKinds
from tests.e2e.cast import post, until
from tests.parts.stage import alongside, job
from tests.rights.asked import Right, role
from tests.rights.story import account
from tidegate.kinds.policies.disabled import queued_kinds
from tidegate.kube.client import KubernetesClient

pytestmark = pytest.mark.real


async def test_the_role_gives_a_look_at_each_known_kind_and_no_more(
    real_api: str, admin: KubernetesClient, namespace: str
) -> None:
    kinds = queued_kinds(())
    made = job()
    made["metadata"]["namespace"] = namespace
    assert (await post(admin, f"/apis/batch/v1/namespaces/{namespace}/jobs", made)).status == 201
    async with account(real_api, "tidegate-actuator") as recorded:
        calls = Calls(recorded, Metrics(CollectorRegistry()))
        teller = UnqueuedKinds(calls, Random(1), lambda: time.time_ns() // 1_000, kinds)
        teller.set_active(working=True)

        async def all_are_asked_for() -> bool:
            listed = {
                (right.group, right.resource) for right in recorded.asked if right.verb == "list"
            }
            created = Right("", "events", "create") in recorded.asked
            return created and listed == {(kind.group, kind.resource) for kind in kinds}

        async with alongside(teller.run()):
            await until(all_are_asked_for, "each kind is listed and an Event is created")
    assert recorded.refused == set()
    besides = role("tidegate-actuator-unqueued")
    assert recorded.asked <= besides | role("tidegate-actuator")
    assert besides == {
        Right(kind.group, kind.resource, v) for kind in kinds for v in ("list", "watch")
    }
