"""The checks of ``tidegate doctor``; each finding has a fixed code and says what to do."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator

from tidegate.bus.jetstream.inspection import StreamInspection, inspect_streams
from tidegate.bus.retention import EventsRetention
from tidegate.cli.advice import advice
from tidegate.cli.doctor.comparing import REMEDIES, unwatched_workloads
from tidegate.cli.doctor.findings import Finding, abbreviate, ok_finding, wrong_finding
from tidegate.cli.doctor.installation import examine_installation
from tidegate.cli.doctor.partitions import examine_moves, examine_partitions
from tidegate.cli.doctor.services import examine_services
from tidegate.cli.doctor.worker_clusters import examine_workers
from tidegate.cli.instance import Instance, is_running
from tidegate.cli.ledger.reading import Reader
from tidegate.cli.objects.api_client import ApiClient
from tidegate.contracts.entry import Entry
from tidegate.contracts.phases import HOLDING
from tidegate.core.state.state import State
from tidegate.errors import (
    ApiStatusError,
    ApiUnreachableError,
    BusRefusedError,
    BusUnreachableError,
    ChainError,
    ForgedEventsError,
    LostTailError,
    UndecodableError,
)
from tidegate.replay.rebuild import rebuild

CLOCKS_APART_US_MAX = 5_000_000


def examine_ledger(reader: Reader) -> Iterator[Finding]:
    """Read the whole ledger: its chain, its writer, its watches."""
    fields = reader.info()
    try:
        state, entry = reader.start_state()
        state, head = rebuild(reader.entries("verifying", entry.seq), state, entry)
    except (ChainError, UndecodableError) as error:
        yield wrong_finding("ChainBroken", str(error), "restore a backup: docs/operations.md")
        return
    since = f", checked from seq {entry.seq} on (all: tidegate ledger verify)" if entry.seq else ""
    yield ok_finding("ChainIntact", f"{head.seq} events of ledger {state.ledger_id}{since}")
    yield _check_watches(state)
    yield from examine_unwatched(state)
    yield from examine_workers(state)
    yield from examine_moves(reader, state)
    yield from _check_report_rebuild(reader)
    if reader.database is not None and not (reader.alone and reader.partition):
        yield from examine_partitions(state, reader.database, reader.clock_us())
    if fields:
        yield examine_clocks(state, reader.clock_us(), time.time_ns() // 1_000)
        writer = fields["writer"]
        yield (
            ok_finding("WriterLeads", f"{writer} in term {fields['term']}")
            if writer
            else wrong_finding(
                "NoWriter", "no scheduler holds the lease", "start a scheduler, and see its log"
            )
        )


def _check_report_rebuild(reader: Reader) -> Iterator[Finding]:
    """Report whether a migration requires that the reports are rebuilt."""
    if reader.database is None:
        return
    query = "SELECT stale FROM report_state WHERE stale <> '' AND partition = :partition"
    for (stale,) in reader.database.select(query, partition=reader.partition):
        text = f"revision {stale} needs the older rows of the reports to be rebuilt"
        yield wrong_finding(
            "ReportsStale", text, "`tidegate reports rebuild --ledger URL`, as the owner"
        )


def examine_bus(  # noqa: PLR0913 - how NATS is joined
    url: str,
    ledger_id: str,
    head: Entry | None,
    *,
    cluster: str = "local",
    credentials: str = "",
    ca: str = "",
    partition: int = 0,
    end: Callable[[], int] | None = None,
) -> Iterator[Finding]:
    """Look at the streams, and at how far EVENTS got compared with the ledger's head.

    ``end`` reads how far the ledger goes now: a scheduler may have gone on since its head was read.
    """
    try:
        bus_state = asyncio.run(
            inspect_streams(
                url, cluster=cluster, credentials=credentials, ca=ca, partition=partition
            )
        )
    except BusUnreachableError as error:
        to_do = advice(error) or "start NATS, or correct the URL of --bus"
        yield wrong_finding("BusUnreachable", str(error), to_do)
        return
    except BusRefusedError as error:
        yield wrong_finding(
            "BusRefuses", str(error), "grant the user the rights of deploy/nats/accounts.conf"
        )
        return
    yield from _check_streams(bus_state)
    if bus_state.events_retention is not None:
        yield from examine_retention(bus_state.events_retention)
    if head is not None:
        yield from _check_published(bus_state, ledger_id, head.seq, end or (lambda: head.seq))


def _check_streams(bus_state: StreamInspection) -> Iterator[Finding]:
    """Report streams that lack or differ, and a clock of NATS that is not this machine's."""
    restart = "restart the scheduler, which creates and changes streams"
    for name in bus_state.missing:
        yield wrong_finding("StreamMissing", f"stream {name} does not exist", restart)
    for text in bus_state.differing:
        yield wrong_finding("StreamDiffers", text, restart)
    if not bus_state.missing and not bus_state.differing:
        yield ok_finding("StreamsInPlace", "all streams are configured correctly")
    if abs(bus_state.ahead_us) > CLOCKS_APART_US_MAX:
        text = f"NATS' clock is {_clock_difference(bus_state.ahead_us)} this machine's"
        yield wrong_finding(
            "BusClockDiffers", text, "synchronize both with NTP: the ledger's time is that of NATS"
        )


def examine_retention(reach: EventsRetention) -> Iterator[Finding]:
    """Report whether EVENTS holds fewer days than configured, or will."""
    if bytes_wanted := reach.bytes_wanted():
        to_do = f"start the scheduler with TIDEGATE_EVENTS_BYTES={bytes_wanted}, or with fewer days"
        yield wrong_finding("EventsHeldShort", reach.summary(), to_do)


def examine_cluster(api: ApiClient, config: str = "") -> Iterator[Finding]:
    """Compare what was installed with what its configuration takes, and ask the services.

    ``config`` as ``examine_installation`` has it.
    """
    try:
        version = api.request("GET", "/version").get("gitVersion", "of no version")
    except ApiUnreachableError as error:
        to_do = advice(error) or "check --kubeconfig, or run `tidegate cluster up`"
        yield wrong_finding("ApiUnreachable", str(error), to_do)
        return
    except ApiStatusError as error:
        yield wrong_finding("ApiRefuses", str(error), "renew the kubeconfig's credentials")
        return
    yield ok_finding("ApiAnswers", f"Kubernetes {version}")
    yield from examine_installation(api, config)
    yield from examine_services(api)


def examine_clocks(state: State, database_us: int, here_us: int) -> Finding:
    """Compare the clocks of the bus, which is the ledger's, of the database, and of this machine.

    All times are UTC microseconds.
    """
    if state.skew_us:
        text = (
            f"NATS' clock is {_clock_difference(state.skew_us)} the ledger's, which did not follow"
        )
        to_do = (
            "correct the clock of NATS' machine: the ledger then follows it; "
            "if it is right, the ledger had followed it ahead, and its times stay so"
        )
        return wrong_finding("BusClockStepped", text, to_do)
    if abs(database_us - here_us) > CLOCKS_APART_US_MAX:
        text = f"the database's clock is {_clock_difference(database_us - here_us)} this machine's"
        return wrong_finding(
            "ClocksDiffer", text, "synchronize both with NTP: leases use the database's clock"
        )
    return ok_finding("ClocksAgree", "this machine and the database")


def _clock_difference(ahead_us: int) -> str:
    return f"{abs(ahead_us) / 1_000_000:.0f} s {'ahead of' if ahead_us > 0 else 'behind'}"


def examine_instance(instance: Instance) -> Finding:
    """Return whether the instance that was started here runs."""
    if is_running(instance):
        return ok_finding("InstanceRuns", f"pid {instance.pid}")
    return wrong_finding(
        "InstanceStopped", "the instance of `tidegate up` has ended", "`tidegate up`"
    )


def _check_watches(state: State) -> Finding:
    waiting = [
        resource
        for resource in state.expected or ()
        if resource not in state.rounds or not state.rounds[resource].completed
    ]
    if state.expected is None:
        return wrong_finding("WatchesUnknown", "no ingest has published anything", "start ingest")
    if waiting:
        text = f"not listed completely yet: {', '.join(waiting)}"
        return wrong_finding(
            "WatchesIncomplete", text, "see ingest's log: a right or a CRD may be missing"
        )
    return ok_finding("WatchesComplete", f"{len(state.expected)} resources")


def examine_unwatched(state: State) -> Iterator[Finding]:
    """Name the workloads that hold quota though no ingest would report that their jobs end."""
    listed = [
        f"{workload.key} ({workload.resource})"
        for workload in unwatched_workloads(state)
        if workload.phase in HOLDING
    ]
    if listed:
        text = f"these hold quota, but their kinds are not watched: {abbreviate(listed)}"
        yield wrong_finding("JobsNotWatched", text, REMEDIES["NotWatched"])


def _check_published(
    bus_state: StreamInspection, ledger_id: str, head: int, end: Callable[[], int]
) -> Iterator[Finding]:
    if bus_state.witness is not None and bus_state.witness.forged:
        to_do = "change NATS' passwords; docs/operations.md explains how to remove the messages"
        yield wrong_finding("EventsForged", str(ForgedEventsError(bus_state.witness.forged)), to_do)
    if bus_state.witness is None:
        yield wrong_finding(
            "EventsEmpty", "the stream EVENTS is empty", "start the scheduler, which fills it"
        )
    elif bus_state.witness.ledger_id != ledger_id:
        text = f"EVENTS belongs to ledger {bus_state.witness.ledger_id}, not {ledger_id}"
        yield wrong_finding("OtherLedger", text, "pass --ledger and --bus of the same installation")
    elif bus_state.witness.seq > (now := max(head, end())):
        yield wrong_finding(
            "LedgerLostTail",
            str(LostTailError(bus_state.witness.seq, now)),
            "`tidegate ledger recover` (docs/operations.md)",
        )
    elif bus_state.witness.seq < head:
        behind = head - bus_state.witness.seq
        yield wrong_finding(
            "EventsBehind", f"{behind} events are not published", "see the scheduler's log"
        )
    else:
        yield ok_finding(
            "EventsCaughtUp", f"EVENTS and the ledger end at seq {bus_state.witness.seq}"
        )
