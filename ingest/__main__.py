"""ingest as a process: settings and wiring; the only file that knows each port's real form."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from ingest.jobs.placed import PlacedJobs
from ingest.jobs.scope import Scope
from ingest.metrics import Metrics
from ingest.pods.grace_periods import GraceRule
from ingest.publish import Publisher
from ingest.resources import watched
from ingest.session import Session, SessionRunner
from ingest.settings import Settings
from ingest.sync import SyncDependencies
from ingest.watched_resource import WatchedResource
from tidegate.bus.jetstream.connection import NatsBus, open_bus
from tidegate.bus.jetstream.keys import CLUSTER
from tidegate.bus.ports import Lease
from tidegate.jobs.registry import register_declared
from tidegate.kube.client import connect
from tidegate.kube.identity import cluster_uid
from tidegate.kube.ports import KubernetesApi
from tidegate.model.gates import gate_enabled
from tidegate.service.bus_ownership import refuse_other_cluster
from tidegate.service.config.configuration import read_configuration
from tidegate.service.holder import lock_holder_file
from tidegate.service.lease import take_over_lease
from tidegate.service.logs import log_refusal
from tidegate.service.running import Service, run_service, until_stopped
from tidegate.service.settings import read_settings

LEASE = "ingest-0"
ABOUT = "Watches Kubernetes and publishes observations for the scheduler; reads Kubernetes only."


async def ingest(service: Service, settings: Settings) -> None:
    """Publish observations until the service is stopped."""
    configured = read_configuration(settings.config)
    register_declared(configured.declared, configured.multikueue_kinds)
    enabled = (*configured.frameworks, *(declaration.name for declaration in configured.declared))
    kinds = settings.kinds(enabled)
    scope = Scope(
        without_queue=configured.policy.manage_jobs_without_queue_name,
        elastic=configured.elastic,
        namespaces=configured.namespaces,
        queue_labels=configured.local_queue_metrics.selector.keys,
    )
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
        placed = PlacedJobs(bus.bodies(), service.random)
        grace = GraceRule(
            fast_release=gate_enabled(configured.policy, "FastQuotaReleaseInPodIntegration")
        )
        resources = watched(kinds, scope, configured.device_classes, placed, grace)
        identity = Identity()
        metrics = Metrics(service.registry)
        begin = partial(
            _new_session, service, settings, resources, placed, api, bus, metrics, identity
        )
        with lock_holder_file(settings.holder_file, service.session) as holder:
            lease = await take_over_lease(partial(_lease, bus, settings), holder)
            standby = SessionRunner(lease, settings.lease_s, begin)
            service.health.add_readiness_check("watches", standby.waits_for)
            service.health.add_readiness_check("bus", bus.fault)
            await until_stopped(service, _publish_unless_foreign(standby, api, bus, identity))


@dataclass(slots=True)
class Identity:
    """The observed cluster: the uid of its Namespace kube-system, once it was read."""

    cluster_uid: str = ""


async def _publish_unless_foreign(
    standby: SessionRunner, api: KubernetesApi, bus: NatsBus, identity: Identity
) -> None:
    """Publish observations, unless the bus belongs to another cluster."""
    claim = partial(bus.register().claim, CLUSTER)
    identity.cluster_uid = await refuse_other_cluster(partial(cluster_uid, api), claim)
    await standby.run()


def _new_session(  # noqa: PLR0913, PLR0917 - the parts of a process
    service: Service,
    settings: Settings,
    resources: Sequence[WatchedResource],
    placed: PlacedJobs,
    api: KubernetesApi,
    bus: NatsBus,
    metrics: Metrics,
    identity: Identity,
    number: int,
) -> Session:
    """Return the process's session of a number; each has a name that no other ever has."""
    port = bus.observation_publisher()
    publisher = Publisher(
        port,
        cluster=settings.cluster,
        session=service.session if number == 1 else f"{service.session}-{number}",
        random=service.random,
        metrics=metrics,
        tracing=service.tracing,
        cluster_uid=identity.cluster_uid,
        placed=placed,
    )
    deps = SyncDependencies(api, publisher, settings.pace(), service.random, metrics)
    return Session(resources, deps, port)


def _lease(bus: NatsBus, settings: Settings, holder: str) -> Lease:
    return bus.lease(LEASE, holder=holder, ttl_s=settings.lease_s)


def main() -> int:
    """Run ingest; return the process's exit code."""
    settings = read_settings(Settings, "python -m ingest", ABOUT, sys.argv[1:], os.environ)
    return run_service("ingest", settings, lambda service: ingest(service, settings))


if __name__ == "__main__":
    sys.exit(main())
