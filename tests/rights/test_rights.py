"""Both services run as their own accounts on a real API server, and ask for what they may.

The roles are compared with what was asked for, so a right that is never used fails like one that is
missing.
"""

from __future__ import annotations

import pytest

from tests.parts.stage import alongside
from tests.rights.asked import Right, role
from tests.rights.story import Story, account, heartbeat, ingest
from tidegate.kube.client import KubernetesClient
from tidegate.kube.identity import cluster_uid
from tidegate.kube.ownership import ACTUATOR, hold_ownership

pytestmark = pytest.mark.real
IMPLIED = {Right("batch", "jobs/finalizers", "update"), Right("tidegate.dev", "marks", "write")}
"""By the owner reference that blocks a deletion, by the policies: no request is one for it."""


@pytest.mark.usefixtures("admin")
async def test_ingest_asks_for_just_the_rights_of_its_role(real_api: str) -> None:
    async with account(real_api, "tidegate-ingest") as recorded:
        await cluster_uid(recorded)
        session, bus = ingest(recorded)
        async with alongside(session.run()):
            await heartbeat(bus)
    assert recorded.refused == set()
    given = role("tidegate-ingest")
    # A ResourceFlavor of a test beside this one may name a topology.
    assert given <= recorded.asked <= given | role("tidegate-ingest-topology")


async def test_the_actuator_asks_for_just_the_rights_of_its_role(
    real_api: str, admin: KubernetesClient, namespace: str
) -> None:
    async with account(real_api, "tidegate-actuator") as recorded:
        await cluster_uid(recorded)
        async with hold_ownership(recorded, namespace, ACTUATOR):
            pass
        story = Story(admin, recorded, namespace)
        async with alongside(story.actuator().run()):
            await story.play()
    assert recorded.invalid == []
    assert recorded.refused == set()
    assert recorded.asked | IMPLIED == role("tidegate-actuator")


@pytest.mark.usefixtures("admin")
async def test_an_account_without_a_role_may_neither_look_nor_write(real_api: str) -> None:
    events = "/api/v1/namespaces/default/events"
    async with account(real_api, "tidegate-scheduler") as recorded:
        for method, path in (("GET", "/apis/batch/v1/jobs"), ("POST", events)):
            assert (await recorded.request(method, path, body=b"{}")).status == 403
