"""Nodes, pods and Topologies are looked at by the rights of one role, and only where it is used."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.e2e.cast import KUEUE, post
from tests.parts.stage import alongside, kueue
from tests.rights.asked import role
from tests.rights.story import account, heartbeat, ingest
from tidegate.kube.client import KubernetesClient

pytestmark = pytest.mark.real
FLAVORS = f"/apis/{KUEUE}/resourceflavors"


@pytest.fixture
async def named(admin: KubernetesClient) -> AsyncIterator[None]:
    """A ResourceFlavor that names a topology."""
    made = kueue("ResourceFlavor", "with-topology", nodeLabels={"a": "b"}, topologyName="t")
    assert (await post(admin, FLAVORS, made)).status == 201
    yield
    await admin.request("DELETE", f"{FLAVORS}/with-topology")


@pytest.mark.usefixtures("named")
async def test_ingest_looks_at_nodes_by_the_rights_of_a_role_of_its_own(real_api: str) -> None:
    async with account(real_api, "tidegate-ingest") as recorded:
        session, bus = ingest(recorded)
        async with alongside(session.run()):
            await heartbeat(bus)
    assert recorded.refused == set()
    besides = role("tidegate-ingest-topology")
    assert besides <= recorded.asked <= besides | role("tidegate-ingest")
