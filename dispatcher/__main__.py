"""The dispatcher as a process: settings and wiring; it knows each port's real form."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from functools import partial
from typing import Any

from dispatcher.adapters.jobs import EDITED
from dispatcher.collect import OrphanCollector
from dispatcher.copy_reconciler import CopyReconciler
from dispatcher.informer import Informer
from dispatcher.manager.manager_cluster import ManagerCluster
from dispatcher.metrics import Metrics
from dispatcher.publish import Publisher
from dispatcher.session import Session
from dispatcher.settings import Settings
from dispatcher.workers.fleet import Fleet, client_of
from tidegate.bus.jetstream.connection import NatsBus, open_bus
from tidegate.bus.jetstream.keys import CLUSTER
from tidegate.bus.ports import Lease
from tidegate.jobs.kind import JobKind
from tidegate.jobs.registry import JOB_KINDS, register_declared
from tidegate.kinds.times import rfc3339
from tidegate.kube.client import connect
from tidegate.kube.identity import cluster_uid
from tidegate.kube.ports import KubernetesApi
from tidegate.model.multikueue import MultiKueuePolicy
from tidegate.service.bus_ownership import refuse_other_cluster
from tidegate.service.clock import utc_now_us
from tidegate.service.config.configuration import Configuration, read_configuration
from tidegate.service.holder import lock_holder_file
from tidegate.service.lease import take_over_lease
from tidegate.service.logs import log_refusal
from tidegate.service.running import Service, run_service, until_stopped
from tidegate.service.settings import read_settings

LEASE = "dispatcher-0"
ABOUT = "Sends workloads to worker clusters, as decided, and publishes their state there."


async def dispatch(service: Service, settings: Settings) -> None:
    """Carry out decisions at worker clusters until the service is asked to stop."""
    configured = read_configuration(settings.config)
    register_declared(configured.declared, configured.multikueue_kinds)
    async with (
        connect(settings.access()) as api,
        open_bus(
            settings.bus_url(),
            cluster=settings.cluster,
            name=service.name,
            credentials=settings.nats_credentials,
            ca=settings.nats_ca,
            on_refused=log_refusal,
        ) as bus,
    ):
        service.health.add_readiness_check("bus", bus.fault)
        with lock_holder_file(settings.holder_file, service.session) as holder:
            lease = await take_over_lease(partial(_lease, bus, settings), holder)
            session = _session(service, settings, configured, api, bus, lease)
            service.health.add_readiness_check("events", lambda: session.lag)
            await until_stopped(service, _run_unless_foreign(session, api, bus))


async def _run_unless_foreign(session: Session, api: KubernetesApi, bus: NatsBus) -> None:
    """Run, unless the bus belongs to another cluster."""
    await refuse_other_cluster(partial(cluster_uid, api), partial(bus.register().claim, CLUSTER))
    await session.run()


def _session(  # noqa: PLR0913, PLR0917 - the parts of a process
    service: Service,
    settings: Settings,
    configured: Configuration,
    api: KubernetesApi,
    bus: NatsBus,
    lease: Lease,
) -> Session:
    transport, metrics, port = (
        configured.multikueue,
        Metrics(service.registry),
        bus.observation_publisher(),
    )
    policy = configured.policy.multikueue or MultiKueuePolicy()
    publisher = Publisher(
        port, cluster=settings.cluster, session=service.session, random=service.random
    )

    session = Session(
        bus.event_feed(),
        port,
        lease,
        lease_s=settings.lease_s,
        publisher=publisher,
        carrier=CopyReconciler(
            home=api,
            origin=transport.origin,
            dispatched=metrics.count_copy,
            now=lambda: rfc3339(utc_now_us()),
        ),
        metrics=metrics,
        random=service.random,
    )
    kinds = _kinds(policy.kinds)
    session.connect(
        lambda changed: ManagerCluster(
            api, settings.namespace, service.random, utc_now_us, changed, transport.providers
        ),
        lambda home, report: Fleet(
            home, publisher, kinds, transport.origin, utc_now_us, report, client_of
        ),
        lambda home, fleet, targets: OrphanCollector(home, fleet, targets, transport.gc_interval_s),
        lambda note: [Informer(api, kind.path(), note) for kind in kinds if kind.name in EDITED],
    )
    return session


def _kinds(names: Sequence[str]) -> list[JobKind[Any]]:
    """Return the kinds that may go to a worker cluster, each resource once."""
    return list({JOB_KINDS[name].path(): JOB_KINDS[name] for name in names}.values())


def _lease(bus: NatsBus, settings: Settings, holder: str) -> Lease:
    return bus.lease(LEASE, holder=holder, ttl_s=settings.lease_s)


def main() -> int:
    """Run the dispatcher; return the process's exit code."""
    settings = read_settings(Settings, "python -m dispatcher", ABOUT, sys.argv[1:], os.environ)
    return run_service("dispatcher", settings, lambda service: dispatch(service, settings))


if __name__ == "__main__":
    sys.exit(main())
