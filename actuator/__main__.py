"""The actuator as a process: settings and wiring; only this file knows each port's real form."""

from __future__ import annotations

import os
import sys
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial

from actuator.calls import Calls
from actuator.copies.copier import Copier
from actuator.copies.copy_statuses import CopyStatuses
from actuator.events import FanOut, Subscriber, member_filter, unfiltered
from actuator.installation import Installation
from actuator.kueue_metrics import KueueMetrics
from actuator.metrics import Metrics
from actuator.ordering.apply import Applier
from actuator.ordering.consume import Consumer, Session
from actuator.ordering.pod_events import RecordsEvent, started_event
from actuator.ordering.reports import Reporter, Traces
from actuator.project import Projector
from actuator.provisioning.provisioner import CLEANS_GATE, Provisioner
from actuator.settings import Settings
from actuator.ungating.elastic import ElasticPods
from actuator.ungating.pod_ungater import PodUngater, UngatingRule
from actuator.ungating.serving import ServingPods
from actuator.ungating.topology import TopologyPods
from actuator.unqueued import UnqueuedKinds
from actuator.workqueue import Rate
from tidegate.bus.jetstream.connection import NatsBus, open_bus
from tidegate.bus.jetstream.keys import CLUSTER
from tidegate.bus.ports import Lease
from tidegate.bus.streams import nats_user
from tidegate.contracts.entry import Position, Published
from tidegate.jobs.kind import Patch
from tidegate.jobs.registry import SETS, register_declared
from tidegate.kinds.pods import Pod
from tidegate.kinds.policies.disabled import queued_kinds
from tidegate.kube.client import connect
from tidegate.kube.identity import cluster_uid
from tidegate.kube.ownership import ACTUATOR, Ownership
from tidegate.kube.ports import KubernetesApi
from tidegate.model.gates import gate_enabled
from tidegate.service.bus_ownership import refuse_other_cluster, retry_until_answered
from tidegate.service.clock import utc_now_us
from tidegate.service.config.configuration import Configuration, read_configuration
from tidegate.service.holder import lock_holder_file
from tidegate.service.lease import take_over_lease
from tidegate.service.logs import get_log, log_refusal
from tidegate.service.running import Service, run_service, until_stopped
from tidegate.service.settings import read_settings

ABOUT = "Makes the cluster agree with the scheduler's decisions: starts and stops jobs."


async def actuate(service: Service, settings: Settings) -> None:
    """Carry out decisions until the service is asked to stop."""
    configured = read_configuration(settings.config)
    register_declared(configured.declared, configured.multikueue_kinds)
    async with (
        connect(settings.access()) as api,
        open_bus(
            settings.bus_url(),
            cluster=settings.cluster,
            name=nats_user(service.name, settings.partition),
            credentials=settings.nats_credentials,
            ca=settings.nats_ca,
            partition=settings.partition,
            on_refused=log_refusal,
        ) as bus,
    ):
        consumer = _consumer(service, settings, configured, api, bus)
        service.health.add_readiness_check("bus", bus.fault)
        service.health.add_readiness_check("events", lambda: consumer.unread_history)
        with lock_holder_file(settings.holder_file, service.session) as holder:
            lease = await take_over_lease(partial(_lease, bus, settings), holder)
            session = Session(consumer, lease, settings.lease_s, settings.workers)
            installation = Installation()
            service.health.add_readiness_check("installation", lambda: installation.lacks)
            claim = partial(_cluster_ownership, service, settings, api, bus)
            work = _run_unless_foreign(installation, claim, session, api, bus)
            await until_stopped(service, work, consumer.drain)


async def _run_unless_foreign(
    installation: Installation,
    claim: Callable[[], Awaitable[Ownership]],
    session: Session,
    api: KubernetesApi,
    bus: NatsBus,
) -> None:
    """Carry out decisions, unless they are another cluster's, or another decides for this one."""
    await refuse_other_cluster(partial(cluster_uid, api), partial(bus.register().claim, CLUSTER))
    await installation.run_while_owner(await claim(), session.run)


async def _cluster_ownership(
    service: Service, settings: Settings, api: KubernetesApi, bus: NatsBus
) -> Ownership:
    """Return the hold on this cluster that all processes on one bus share."""
    holder = f"{settings.cluster} on bus {await retry_until_answered(bus.register().created_at)}"
    return Ownership(api, ACTUATOR, holder, service.session)


def _consumer(
    service: Service,
    settings: Settings,
    configured: Configuration,
    api: KubernetesApi,
    bus: NatsBus,
) -> Consumer:
    """Return the consumer of EVENTS, with all its subscribers."""
    metrics = Metrics(service.registry, _kueue_metrics(service, configured))
    reporter = Reporter(
        bus.observation_publisher(),
        cluster=settings.cluster,
        session=service.session,
        random=service.random,
        metrics=metrics,
    )
    calls = Calls(api, metrics)
    traces = Traces(service.tracing)
    rate = Rate(writes_per_s=settings.projections_per_s, urgent=max(settings.workers // 2, 1))
    label_keys = configured.label_keys_to_copy
    projector = Projector(
        calls, service.random, metrics, rate, label_keys, partition=settings.partition
    )
    applier = Applier(calls, reporter, service.random, metrics, traces=traces)
    if settings.project:
        applier = _with_projection(applier, projector)
        metrics.kueue.read_model = lambda: projector.read_model
    cleans = gate_enabled(configured.policy, CLEANS_GATE)
    provisioner = Provisioner(calls, service.random, utc_now_us, cleans=cleans)
    alone = not (settings.hub or settings.partition)  # what one actuator a cluster does
    learners: list[Subscriber] = [metrics.kueue, *([projector] if settings.project else ())]
    learners += [provisioner] if settings.provision and alone else []
    if not settings.partition:
        learners.append(CopyStatuses(calls, service.random, metrics))
        kinds = queued_kinds(configured.frameworks) if settings.project else ()
        learners.append(UnqueuedKinds(calls, service.random, utc_now_us, kinds))
    rules = _ungating_rules(configured, applier.say) if alone else []
    rules += [TopologyPods(lambda: projector.read_model)] if settings.project and alone else []
    learners += [PodUngater(calls, service.random, rule, metrics.kueue) for rule in rules]
    feed = traces.traced(bus.event_feed(forged=partial(_log_forged, metrics), hub=settings.hub))
    as_read = member_filter(settings.cluster) if settings.hub else unfiltered
    consumer = Consumer(feed, applier, FanOut(*learners), service.random, as_read)
    projector.gives_way = consumer.wait_for_orders
    if settings.hub:
        consumer.copier = Copier(
            calls, bus.bodies(), reporter, service.random, metrics, settings.hub
        )
    return consumer


def _with_projection(applier: Applier, projector: Projector) -> Applier:
    """Return an applier that writes a Workload's status and Events as the projection has them."""
    return replace(
        applier,
        status_patcher=projector.with_order_status,
        keeps_pods=projector.keeps_pods,
        say=projector.say,
    )


def _kueue_metrics(service: Service, configured: Configuration) -> KueueMetrics:
    creations = gate_enabled(configured.policy, "MetricForWorkloadCreationLatency")
    return KueueMetrics(service.registry, creations=creations)


def _ungating_rules(configured: Configuration, say: RecordsEvent) -> list[UngatingRule]:
    rules = list[UngatingRule]()
    if configured.elastic:
        rules.append(ElasticPods())
    if any(name in SETS for name in configured.frameworks):
        rules.append(ServingPods(partial(_record_pod_started, say)))
    return rules


def _record_pod_started(say: RecordsEvent, pod: Pod, patch: Patch) -> None:
    """Create the Event that a pod of a StatefulSet or LeaderWorkerSet was started."""
    say(started_event(pod.metadata, patch, utc_now_us()))


def _log_forged(metrics: Metrics, message: Published, at: Position) -> None:
    """Log a message in EVENTS that is ignored, since no ledger wrote it."""
    metrics.forged.inc()
    get_log("events").error("forged event", stream_sequence=at.seq, subject=message.subject)


def _lease(bus: NatsBus, settings: Settings, holder: str) -> Lease:
    return bus.lease(f"actuator-{settings.partition}", holder=holder, ttl_s=settings.lease_s)


def main() -> int:
    """Run the actuator; return the process's exit code."""
    settings = read_settings(Settings, "python -m actuator", ABOUT, sys.argv[1:], os.environ)
    return run_service("actuator", settings, lambda service: actuate(service, settings))


if __name__ == "__main__":
    sys.exit(main())
