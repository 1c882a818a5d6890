"""On the bus each service has an account that may do its own work and nothing of the others'.

That it may do its own is shown by the services that run with it, in test_services.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Iterator

import pytest
from nats.aio.client import Client

from tests.deploy.nats_server import USERS, Served, nats_with_accounts, password
from tidegate.bus.jetstream.connection import open_bus
from tidegate.bus.jetstream.wire.requests import JetStream
from tidegate.bus.streams import StreamOptions, stream_names
from tidegate.errors import BusUnreachableError

pytestmark = pytest.mark.real
OBSERVED = "tidegate.local.observed.jobs%2Ebatch.team-a.j1"
REPORTED = "tidegate.local.observed.actuation.team-a.j1"
REMOTE = "tidegate.local.observed.remotes.team-a.j1"
EVENT = "tidegate.local.event.WorkloadAdmitted.team-a.a.j1"
HANDOVER = "tidegate.local.observed.handovers._.{}"
LEASE = "$KV.tidegate_local_leases.actuator-0"
API = "$JS.API."
OTHERS = "tidegate.other.observed.jobs%2Ebatch.team-a.j1"
FORBIDDEN = "forbidden.subject"
DEADLINE_S = 60
FOLLOWERS = {"actuator", "dispatcher", "reader", "operator"}
MAY = {
    OBSERVED: {"ingest"},
    REPORTED: {"actuator"},
    REMOTE: {"dispatcher"},
    EVENT: {"scheduler"},
    HANDOVER.format(0): {"scheduler"},
    LEASE: {"actuator"},
    "$KV.tidegate_local_leases.ingest-0": {"ingest"},
    "$KV.tidegate_local_leases.probe": {"scheduler"},
    "$KV.tidegate_local_leases.dispatcher-0": {"dispatcher"},
    "tidegate.local.resync": {"scheduler", "operator"},
    "$KV.tidegate_local_register.cluster": {"ingest", "actuator", "scheduler", "dispatcher"},
    "$KV.tidegate_local_register.ledger": {"scheduler", "operator"},
    API + "STREAM.CREATE.tidegate_local_events": {"scheduler"},
    API + "STREAM.CREATE.OTHERS": set[str](),
    API + "STREAM.DELETE.tidegate_local_observations": {"scheduler"},
    API + "STREAM.DELETE.tidegate_local_events": {"scheduler"},
    API + "STREAM.DELETE.tidegate_local_resyncs": {"scheduler"},
    API + "STREAM.DELETE.KV_tidegate_local_leases": {"scheduler"},
    API + "STREAM.DELETE.KV_tidegate_local_register": set[str](),
    "tidegate.local.observed.probes._._": {"scheduler"},
    API + "STREAM.PURGE.tidegate_local_events": set[str](),
    API + "STREAM.PURGE.tidegate_local_observations": {"scheduler"},
    API + "STREAM.MSG.DELETE.tidegate_local_events": set[str](),
    API + "STREAM.RESTORE.tidegate_local_events": set[str](),
    API + "CONSUMER.CREATE.tidegate_local_observations.c": {"scheduler"},
    API + "CONSUMER.CREATE.tidegate_local_events": {"reader"},  # as nats.js asks
    API + "CONSUMER.CREATE.tidegate_local_events.c": FOLLOWERS,
    API + "CONSUMER.CREATE.tidegate_local_resyncs.c": {"ingest", "dispatcher"},
    API + "DIRECT.GET.tidegate_local_events": {"scheduler", *FOLLOWERS},
    API + "DIRECT.GET.tidegate_local_observations": {"scheduler"},
    API + "DIRECT.GET.tidegate_local_resyncs": {"ingest", "dispatcher"},
    f"tidegate.local.body.{64 * 'a'}": {"ingest"},
    API + f"DIRECT.GET.tidegate_local_bodies.tidegate.local.body.{64 * 'a'}": set[str](),
    API + "DIRECT.GET.tidegate_local_bodies": set[str](),
    API + "STREAM.CREATE.tidegate_local_bodies": {"scheduler"},
    API + "STREAM.INFO.tidegate_other_events": set[str](),
    OTHERS: set[str](),
}
"""Which users may publish on a subject; a request to JetStream is one as well."""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server with the accounts, for all tests of the file."""
    with nats_with_accounts(tmp_path_factory.mktemp("nats") / "server", (1, 12)) as result:
        yield result


async def _refused(served: Served, user: str, publishes: list[str], hears: list[str]) -> str:
    """Return what the server said to a user who tries."""
    client, names = Client(), list[str]()

    async def note(error: Exception) -> None:
        names.append(str(error))

    tls = ssl.create_default_context(cafile=str(served.ca))
    await client.connect(served.url(user), tls=tls, error_cb=note, allow_reconnect=False)
    try:
        for subject in publishes:
            await client.publish(subject, b"{}")
        for subject in hears:
            await client.subscribe(subject)
        # Refusals come in order, so with this one all have come.
        await client.publish(FORBIDDEN, b"")
        async with asyncio.timeout(DEADLINE_S):
            while not names or FORBIDDEN not in names[-1]:
                await asyncio.sleep(0.01)
    finally:
        await client.close()
    return "\n".join(names).lower()


@pytest.mark.parametrize("user", USERS)
async def test_a_service_publishes_what_is_its_own_to_publish(served: Served, user: str) -> None:
    text = await _refused(served, user, list(MAY), [])
    refused = {subject for subject in MAY if f'publish to "{subject.lower()}"' in text}
    assert refused == {subject for subject, users in MAY.items() if user not in users}


@pytest.mark.parametrize("user", USERS)
async def test_a_service_hears_only_the_answers_to_itself(served: Served, user: str) -> None:
    own = f"_INBOX_tidegate_local_{'client' if user in {'reader', 'operator'} else user}.>"
    prefixes = [
        f"_INBOX_tidegate_local_{name}.>"
        for name in ("ingest", "scheduler", "actuator", "dispatcher", "client")
    ]
    wanted = [*prefixes, "tidegate.>", ">", "_INBOX.>"]
    text = await _refused(served, user, [], wanted)
    refused = {subject for subject in wanted if f'subscription to "{subject.lower()}"' in text}
    assert refused == set(wanted) - {own}


async def test_a_wrong_password_or_another_authority_gets_no_connection(served: Served) -> None:
    wrong = served.url("ingest").replace(password("ingest"), "guessed")
    for url, ca in ((wrong, str(served.ca)), (served.url("ingest"), "")):
        with pytest.raises(BusUnreachableError):
            async with open_bus(url, cluster="local", name="ingest", ca=ca, patience_s=1):
                pass


PARTED = ("scheduler_1", "actuator_1")
READING = {"reader", "operator"}
MAY_OF_1 = {
    OBSERVED: set[str](),
    REPORTED: {"actuator", "actuator_1"},
    HANDOVER.format(0): {"scheduler"},
    HANDOVER.format(1): {"scheduler_1"},
    EVENT: {"scheduler"},
    EVENT.replace(".event.", ".partition.1.event."): {"scheduler_1"},
    EVENT.replace(".event.", ".partition.12.event."): set[str](),
    LEASE: {"actuator"},
    "$KV.tidegate_local_leases.actuator-1": {"actuator_1"},
    "$KV.tidegate_local_leases.probe": {"scheduler", "scheduler_1"},
    "$KV.tidegate_local_register.ledger": {"scheduler", "operator"},
    "$KV.tidegate_local_register.ledger-1": {"scheduler", "scheduler_1", "operator"},
    API + "STREAM.CREATE.tidegate_local_events_1": {"scheduler_1"},
    API + "STREAM.UPDATE.tidegate_local_events_1": {"scheduler_1"},
    API + "STREAM.UPDATE.tidegate_local_observations": {"scheduler"},
    API + "STREAM.PURGE.tidegate_local_observations": {"scheduler", "scheduler_1"},
    API + "STREAM.DELETE.tidegate_local_events": {"scheduler"},
    API + "CONSUMER.CREATE.tidegate_local_events.c": {"actuator", *READING},
    API + "CONSUMER.CREATE.tidegate_local_events_1.c": {"actuator_1", *READING},
    API + "DIRECT.GET.tidegate_local_events_12": READING,
}


@pytest.mark.parametrize("user", ["scheduler", "actuator", *PARTED, "reader", "operator"])
async def test_of_two_partitions_none_may_do_the_other_s_work(served: Served, user: str) -> None:
    text = await _refused(served, user, list(MAY_OF_1), [])
    refused = {subject for subject in MAY_OF_1 if f'publish to "{subject.lower()}"' in text}
    assert refused == {subject for subject, users in MAY_OF_1.items() if user not in users}


@pytest.mark.parametrize("user", PARTED)
async def test_a_partition_s_service_hears_only_the_answers_to_itself(
    served: Served, user: str
) -> None:
    names = ("ingest", "scheduler", "actuator", "client", *PARTED)
    wanted = [*(f"_INBOX_tidegate_local_{name}.>" for name in names), "tidegate.>", ">"]
    text = await _refused(served, user, [], wanted)
    refused = {subject for subject in wanted if f'subscription to "{subject.lower()}"' in text}
    assert refused == set(wanted) - {f"_INBOX_tidegate_local_{user}.>"}


async def test_another_partition_s_scheduler_changes_no_stream_that_is_one_a_cluster(
    served: Served,
) -> None:
    ca, names, client = str(served.ca), stream_names("local"), Client()
    tls = ssl.create_default_context(cafile=ca)
    async with (
        open_bus(served.url("scheduler"), cluster="local", name="scheduler", ca=ca) as first,
        open_bus(
            served.url("scheduler_1"), cluster="local", name="scheduler_1", ca=ca, partition=1
        ) as second,
    ):
        await first.ensure_streams(StreamOptions(observations_bytes=2**20, events_bytes=2**20))
        await second.ensure_streams(StreamOptions(events_bytes=2**21))
        await second.ensure_streams(StreamOptions(events_bytes=2**22))
    prefix = names.inbox("scheduler")
    await client.connect(served.url("scheduler"), tls=tls, inbox_prefix=prefix.encode())
    kept = [
        await JetStream(client).stream_info(name) for name in (names.observations, names.events)
    ]
    await client.close()
    assert [info.config["max_bytes"] for info in kept if info is not None] == [2**20, 2**20]


async def test_the_scheduler_makes_every_stream_with_its_account(served: Served) -> None:
    url, ca = served.url("scheduler"), str(served.ca)
    async with open_bus(url, cluster="local", name="scheduler", ca=ca) as bus:
        await bus.ensure_streams(StreamOptions())
        await bus.ensure_streams(StreamOptions(events_age_s=3_600))


async def test_the_scheduler_reads_on_with_its_account_after_its_connection_was_lost(
    served: Served,
) -> None:
    ca = str(served.ca)
    async with (
        open_bus(served.url("scheduler"), cluster="local", name="scheduler", ca=ca) as bus,
        open_bus(served.url("ingest"), cluster="local", name="ingest", ca=ca) as other,
    ):
        await bus.ensure_streams(StreamOptions())
        reader, port = bus.observation_reader(), other.observation_publisher()
        at = await reader.start_position()
        for payload in (b"first", b"second"):
            await port.publish(OBSERVED, payload, payload.decode())
            (message,) = await reader.pull(at, count_max=9, wait_s=DEADLINE_S)
            assert message.payload == payload
            at = message.at
            await bus.notify_reconnected()  # it looks whether the stream is still what it read


@pytest.mark.parametrize("user", ["ingest", "dispatcher"])
async def test_resyncs_are_heard_with_its_account_after_a_connection_was_lost(
    served: Served, user: str
) -> None:
    ca = str(served.ca)
    async with (
        open_bus(served.url("scheduler"), cluster="local", name="scheduler", ca=ca) as scheduler,
        open_bus(served.url(user), cluster="local", name=user, ca=ca) as bus,
        asyncio.timeout(DEADLINE_S),
    ):
        await scheduler.ensure_streams(StreamOptions())
        resyncs = bus.observation_publisher().resync_requests()
        heard = asyncio.ensure_future(_heard(resyncs, "first"))
        while not heard.done():  # it begins at the end that it finds
            await scheduler.observation_reader().request_resync("first")
            await asyncio.wait({heard}, timeout=0.5)
        await heard
        await bus.notify_reconnected()  # it looks whether the stream is still what it read
        await scheduler.observation_reader().request_resync("second")
        await _heard(resyncs, "second")


async def _heard(resyncs: AsyncIterator[str], reason: str) -> None:
    while await anext(resyncs) != reason:
        pass
