"""The scheduler as a process: settings and wiring; the only file that joins bus and store."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Generator
from contextlib import AbstractAsyncContextManager, contextmanager
from importlib.metadata import version

from msgspec.structs import replace
from prometheus_client import CollectorRegistry

from scheduler.dependencies import Dependencies, Snapshots, in_thread
from scheduler.events_retention import measure_retention
from scheduler.health import Status, Traces
from scheduler.metrics.gauges import BuildInfo, Gauges
from scheduler.settings import Settings, check_partition_policy
from scheduler.term import schedule
from store.access.engine import open_engine
from store.ledger import SqlLedger
from store.schema.migrate import check, upgrade
from store.snapshots import SqlSnapshots
from tidegate.bus.jetstream.connection import NatsBus, open_bus
from tidegate.bus.ports import Ledger
from tidegate.bus.streams import StreamOptions, nats_user
from tidegate.errors import BusUnreachableError
from tidegate.model.policy import Policy
from tidegate.service.backoff import backoff_delays
from tidegate.service.config.configuration import Configuration, read_configuration
from tidegate.service.holder import lock_holder_file
from tidegate.service.logs import get_log, log_refusal
from tidegate.service.running import Service, run_service
from tidegate.service.settings import read_settings

ABOUT = "Schedules workloads: reads observations, writes the ledger, publishes its events."
CACHE_KIB = 4_096
"""Of each connection to SQLite: a turn touches few pages, and the system caches the file, too."""


async def scheduler(service: Service, settings: Settings) -> None:
    """Lead or stand by until the service is asked to stop."""
    configured = read_configuration(settings.config)
    check_partition_policy(settings.partition, configured.policy)
    for warning in configured.warnings:
        get_log("configuration").warning(warning)
    async with (
        _open_bus(service, settings) as bus,
        measure_retention(bus.events_retention, service.registry),
    ):
        await _ensure_streams(bus, settings, service)
        status = Status(service.registry, configured.local_queue_metrics)
        _register_gauges(service.registry, status, configured)
        service.health.add_liveness_check("turns", status.stuck_reason)
        service.health.add_readiness_check("scheduler", status.not_ready_reason)
        service.health.add_readiness_check("bus", bus.fault)
        with (
            _open_ledger(settings) as (ledger, snapshots),
            lock_holder_file(settings.holder_file, service.session) as holder,
        ):
            deps = Dependencies(
                observation_reader=bus.observation_reader(),
                event_publisher=bus.event_publisher(),
                register=bus.register(makes=True),
                ledger=ledger,
                run_sync=in_thread,
                status=status,
                cluster=settings.cluster,
                holder=holder,
                new_ledger_id=lambda: f"{service.random.getrandbits(64):016x}",
                policy=_policy(settings, configured),
                pace=settings.pace(),
                snapshots=snapshots,
                window=settings.window(),
                traces=Traces(service.tracing),
                software=f"tidegate {version('tidegate')}",
                partition=settings.partition,
                publish_handover=bus.publish,
                members={name: bus.observation_reader(name) for name in settings.member_clusters},
            )
            await schedule(deps, service.stopping, service.random)


def _open_bus(service: Service, settings: Settings) -> AbstractAsyncContextManager[NatsBus]:
    return open_bus(
        settings.bus_url(),
        cluster=settings.cluster,
        name=nats_user(service.name, settings.partition),
        credentials=settings.nats_credentials,
        ca=settings.nats_ca,
        partition=settings.partition,
        on_refused=log_refusal,
    )


async def _ensure_streams(bus: NatsBus, settings: Settings, service: Service) -> None:
    """Make the streams, for as long as NATS has no quorum to do so."""
    waits = backoff_delays(service.random, first_s=0.2, most_s=5.0)
    while True:
        try:
            return await bus.ensure_streams(_stream_options(settings), settings.member_clusters)
        except BusUnreachableError as error:
            get_log("bus").warning("the streams cannot be made yet", why=str(error))
            await asyncio.sleep(next(waits))


@contextmanager
def _open_ledger(settings: Settings) -> Generator[tuple[Ledger, Snapshots]]:
    engine = open_engine(settings.ledger, cache_kib=CACHE_KIB)
    try:
        if settings.migrate:
            upgrade(engine)
        check(engine, writes=True)
        number, size = settings.partition, settings.partition_events
        yield SqlLedger(engine, number, partition_events=size), SqlSnapshots(engine, number)
    finally:
        engine.dispose()


def _register_gauges(
    registry: CollectorRegistry, status: Status, configured: Configuration
) -> None:
    status.track_lag(time.time)
    registry.register(
        Gauges(
            lambda: status.leader.state if status.leader else None,
            configured.local_queue_metrics,
            resources=configured.resource_metrics,
        )
    )
    registry.register(BuildInfo(version("tidegate")))


def _policy(settings: Settings, configured: Configuration) -> Policy:
    return replace(
        configured.policy,
        compatibility=settings.compatibility,
        member_clusters=settings.member_clusters,
    )


def _stream_options(settings: Settings) -> StreamOptions:
    return StreamOptions(
        replicas=settings.replicas,
        observations_bytes=settings.observations_bytes,
        events_bytes=settings.events_bytes,
        events_age_s=settings.events_age_s,
    )


def main() -> int:
    """Run the scheduler; return the process's exit code."""
    settings = read_settings(Settings, "python -m scheduler", ABOUT, sys.argv[1:], os.environ)
    return run_service("scheduler", settings, lambda service: scheduler(service, settings))


if __name__ == "__main__":
    sys.exit(main())
