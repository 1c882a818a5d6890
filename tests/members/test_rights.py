"""On the hub's bus a member's users may do their own cluster's work and nothing of the others'."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import AsyncExitStack
from hashlib import sha256
from pathlib import Path

import pytest
from nats.aio.client import Client

from tests.deploy.nats_server import password
from tests.members.leaves import HUB, MEMBER_USERS, Servers, hub_and_leaves
from tidegate.bus.jetstream.connection import NatsBus, open_bus
from tidegate.bus.streams import StreamOptions

pytestmark = pytest.mark.real
BODY = b'{"kind":"Job"}'
DIGEST = sha256(BODY).hexdigest()
API, FORBIDDEN, DEADLINE_S = "$JS.API.", "forbidden.subject", 60
MAY = {
    "tidegate.east.observed.jobs%2Ebatch.team.j": {"ingest", "leaf"},
    "tidegate.east.observed.actuation.team.j": {"actuator", "leaf"},
    "tidegate.east.observed.probes._._": set[str](),
    "tidegate.west.observed.jobs%2Ebatch.team.j": set[str](),
    "tidegate.local.observed.jobs%2Ebatch.team.j": set[str](),
    "tidegate.local.event.WorkloadAdmitted.cq.team.j": set[str](),
    "tidegate.east.resync": set[str](),
    "$KV.tidegate_east_leases.ingest-0": {"ingest"},
    "$KV.tidegate_east_leases.actuator-0": {"actuator"},
    "$KV.tidegate_local_leases.actuator-0": set[str](),
    "$KV.tidegate_local_register.cluster": set[str](),
    API + "STREAM.PURGE.tidegate_east_observations": set[str](),
    API + "CONSUMER.CREATE.tidegate_east_observations.c": set[str](),
    API + "CONSUMER.CREATE.tidegate_local_events.c": {"actuator"},
    API + "CONSUMER.CREATE.tidegate_local_observations.c": set[str](),
    API + "CONSUMER.CREATE.tidegate_west_resyncs.c": set[str](),
    f"tidegate.east.body.{DIGEST}": {"ingest", "leaf"},
    f"tidegate.west.body.{DIGEST}": set[str](),
    f"tidegate.local.body.{DIGEST}": set[str](),
    API + f"DIRECT.GET.tidegate_west_bodies.tidegate.west.body.{DIGEST}": {"actuator"},
    API + "DIRECT.GET.tidegate_west_bodies": set[str](),
    API + "DIRECT.GET.tidegate_west_observations.tidegate.west.observed.x": set[str](),
    API + "STREAM.PURGE.tidegate_east_bodies": set[str](),
    API + "STREAM.INFO.tidegate_west_bodies": set[str](),
}
"""Which users of east may publish on a subject of the hub's server."""


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    with hub_and_leaves(
        tmp_path_factory.mktemp("nats") / "servers", "east", "west"
    ) as actual_servers:
        yield actual_servers


async def _refused(servers: Servers, user: str) -> str:
    """Return what the hub's server said to a user of east who tries everything."""
    client, names = Client(), list[str]()

    async def note(error: Exception) -> None:
        names.append(str(error).lower())

    known = password(f"east-{user}")
    url = f"nats://tidegate_east_{user}:{known}@127.0.0.1:{servers.ports[HUB]}"
    await client.connect(url, error_cb=note, allow_reconnect=False)
    try:
        for subject in (*MAY, FORBIDDEN):  # refusals come in order, so with the last all have come
            await client.publish(subject, b"{}")
        async with asyncio.timeout(DEADLINE_S):
            while not names or FORBIDDEN not in names[-1]:
                await asyncio.sleep(0.01)
    finally:
        await client.close()
    return "\n".join(names)


@pytest.mark.parametrize("user", MEMBER_USERS)
async def test_a_member_writes_and_reads_what_is_its_own(servers: Servers, user: str) -> None:
    text = await _refused(servers, user)
    refused = {subject for subject in MAY if f'publish to "{subject.lower()}"' in text}
    assert refused == {subject for subject, users in MAY.items() if user not in users}


def test_what_is_shipped_has_each_member_s_name_in_its_place(tmp_path: Path) -> None:
    """A server that starts has read both files, for two members."""
    with hub_and_leaves(tmp_path / "nats", "north", "south") as servers:
        assert set(servers.ports) == {HUB, "north", "south"}


async def test_a_body_crosses_from_any_ingest_to_the_actuator_of_a_member(servers: Servers) -> None:
    async with AsyncExitStack() as stack:

        async def joined(cluster: str, user: str) -> NatsBus:
            url = servers.url(cluster, user)
            return await stack.enter_async_context(open_bus(url, cluster=cluster, name=user))

        await (await joined(HUB, "scheduler")).ensure_streams(StreamOptions(), ("east", "west"))
        for home in ("east", HUB):
            await (await joined(home, "ingest")).bodies().put(DIGEST, BODY)
            for cluster in ("east", "west"):
                bodies = (await joined(cluster, "actuator")).bodies()
                assert await bodies.read(home, DIGEST) == BODY
                assert await bodies.read(home, "0" * 64) is None
            await (await joined(home, "ingest")).bodies().delete(DIGEST)
            assert await (await joined("west", "actuator")).bodies().read(home, DIGEST) is None
