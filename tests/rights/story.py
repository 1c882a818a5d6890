"""A life of one job on a real API server, with an actuator that runs as its own account."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from http import HTTPStatus
from random import Random
from typing import Any

import msgspec
from prometheus_client import CollectorRegistry

from actuator.calls import Calls
from actuator.metrics import Metrics as ActuatorMetrics
from actuator.ordering.apply import Applier
from actuator.ordering.consume import Consumer
from actuator.ordering.consume import Session as ActuatorSession
from actuator.ordering.reports import Reporter
from actuator.project import Projector
from actuator.workqueue import Rate
from ingest.metrics import Metrics as IngestMetrics
from ingest.publish import Publisher
from ingest.resources import watched
from ingest.session import Session as IngestSession
from ingest.sync import SyncDependencies
from ingest.watch import Pace
from tests.bus.memory.all_ports import MemoryBus
from tests.parts.history import History
from tests.parts.stage import Object, job, kueue
from tests.rights.asked import Recorded
from tidegate.contracts.codec import decode_observation
from tidegate.contracts.decisions import (
    ClusterQueueReadinessChanged,
    PodSetStart,
    QuotaReleased,
    QuotaReserved,
    StartOrdered,
    StopOrdered,
    VariantCreated,
    VariantDeleted,
    WorkloadAdmitted,
    WorkloadDeactivated,
    WorkloadEvicted,
    WorkloadExpired,
    WorkloadPreempted,
    WorkloadRequeued,
)
from tidegate.contracts.entry import Position
from tidegate.contracts.fact_kinds.definitions import (
    ClusterQueueDefined,
    CohortDefined,
    LocalQueueDefined,
    PolicyConfigured,
)
from tidegate.contracts.facts import (
    PodsReadyReported,
    WorkloadFinished,
    WorkloadRemoved,
    WorkloadSubmitted,
)
from tidegate.contracts.observations import Heartbeat
from tidegate.jobs.batch.placing import unbind_step
from tidegate.jobs.job_metadata import workload_key
from tidegate.jobs.kind import Patch
from tidegate.jobs.registry import JOB_KINDS
from tidegate.kube.client import KubernetesClient, connect
from tidegate.kube.credentials import Access
from tidegate.kube.ports import JSON, MERGE_PATCH, KubernetesApi
from tidegate.model.ids import ObjectRef
from tidegate.model.podset import PodSetAssignment
from tidegate.model.policy import Policy
from tidegate.model.quota import ClusterQueueSpec, CohortSpec, LocalQueueSpec

KUEUE = "/apis/kueue.x-k8s.io/v1beta2"
DEADLINE_S = 60
AT_US = 1_772_352_000_000_000
NODES = {"type": "spot"}
FAIR = Policy(fair_sharing=("LessThanInitialShare",))


@asynccontextmanager
async def account(kubeconfig: str, name: str) -> AsyncGenerator[Recorded]:
    """Connect as a service account of Tidegate's."""
    user = f"system:serviceaccount:tidegate-system:{name}"
    async with connect(Access(kubeconfig=kubeconfig, impersonate=user)) as api:
        yield Recorded(api)


def ingest(
    api: KubernetesApi, names: tuple[str, ...] = ("batch/job", "workload")
) -> tuple[IngestSession, MemoryBus]:
    """Return an ingest of these job kinds, and the bus that it tells."""
    kinds = [JOB_KINDS[name] for name in names]
    bus, random, metrics = MemoryBus(), Random(1), IngestMetrics(CollectorRegistry())
    port = bus.observation_publisher()
    publisher = Publisher(port, cluster="local", session="s1", random=random, metrics=metrics)
    deps = SyncDependencies(api, publisher, Pace(), random, metrics)
    return IngestSession(watched(kinds), deps, port), bus


async def heartbeat(bus: MemoryBus) -> None:
    """Wait until every watch is open."""
    at = Position()
    async with asyncio.timeout(DEADLINE_S):
        while True:
            for message in await bus.observation_reader().pull(at, count_max=1_000, wait_s=1):
                at = message.at
                if isinstance(decode_observation(message.payload), Heartbeat):
                    return


class Story:
    """One job from its submission until it is deleted."""

    def __init__(self, admin: KubernetesClient, api: Recorded, namespace: str) -> None:
        self._admin, self._api, self._namespace = admin, api, namespace
        self._bus = MemoryBus()
        self._history = History(self._bus)
        self._jobs = f"/apis/batch/v1/namespaces/{namespace}/jobs"
        self._job = f"{self._jobs}/train"
        self._queue = f"cq-{namespace}"

    def actuator(self) -> ActuatorSession:
        """Return an actuator that also projects."""
        random, metrics = Random(1), ActuatorMetrics(CollectorRegistry())
        reporter = Reporter(
            self._bus.observation_publisher(),
            cluster="local",
            session="a1",
            random=random,
            metrics=metrics,
        )
        calls = Calls(self._api, metrics)
        shows = Projector(calls, random, metrics, Rate(writes_per_s=1_000))
        applier = Applier(
            calls,
            reporter,
            random,
            metrics,
            status_patcher=shows.with_order_status,
            keeps_pods=shows.keeps_pods,
        )
        consumer = Consumer(self._bus.event_feed(), applier, shows, random)
        return ActuatorSession(consumer, self._bus.lease("a", holder="a1"), 10, 4)

    async def play(self) -> None:
        """Submit, start, stop, deactivate, remove and delete a job; wait for each."""
        made = await self._make()
        uid = made["metadata"]["uid"]
        ref = ObjectRef(kind="batch/job", namespace=self._namespace, name="train", uid=uid)
        key = workload_key("Job", "batch", self._namespace, "train", uid)
        shown = f"{KUEUE}/namespaces/{self._namespace}/workloads/{key.partition('/')[2]}"
        await self._admit(ref, key)
        await self._until(self._job, lambda obj: not obj["spec"]["suspend"])
        await self._until(shown, lambda obj: "Admitted" in str(obj.get("status")))
        await self._until(f"{KUEUE}/cohorts/{self._queue}", lambda obj: "status" in obj)
        await self._try_beside(ref, key)
        await self._history.write(PodsReadyReported(at_us=AT_US, workload=key, ready=True))
        await self._until(shown, lambda obj: "Started" in str(obj["status"]))
        await self._help_its_controller(made)
        await self._stop(ref, key)
        template = made["spec"]["template"]
        await self._until(self._job, lambda obj: obj["spec"]["template"] == template)
        await self._admit_again(key)
        await self._until(shown, lambda obj: "Previously: e" in str(obj["status"]))
        await self._deactivate(key)
        await self._until(shown, lambda obj: not obj["spec"]["active"])
        await self._history.write(WorkloadFinished(at_us=AT_US, workload=key, message="done"))
        await self._until(shown, lambda obj: "Finished" in str(obj["status"]))
        await self._history.write(WorkloadRemoved(at_us=AT_US, workload=key, uid=uid))
        await self._until_gone(shown)
        await self._history.write(WorkloadExpired(at_us=AT_US, workload=key, job=ref))
        await self._until_gone(self._job)

    async def _try_beside(self, ref: ObjectRef, key: str) -> None:
        """Let a variant of the job's Workload come and go."""
        about: Any = {"at_us": AT_US, "workload": f"{key}-spot", "uid": f"{ref.uid}/spot"}
        asked = WorkloadSubmitted(
            **about, job=ref, queue="main", variant_of=key, allowed_flavors=("spot",)
        )
        family: Any = {"parent": key, "flavor": "spot"}
        await self._history.write(VariantCreated(**about, **family, submission=asked))
        shown = f"{KUEUE}/namespaces/{self._namespace}/workloads/{key.partition('/')[2]}-spot"
        await self._until(shown, lambda obj: "ownerReferences" in obj["metadata"])
        await self._history.write(VariantDeleted(**about, **family, last=True))
        await self._until_gone(shown)

    async def _help_its_controller(self, made: Object) -> None:
        """Send what a stop sends where the Job's controller is slow; none is slow here."""
        slow = {"spec": {"suspend": True}, "status": {"startTime": "2026-03-01T08:00:00Z"}}
        step = unbind_step(slow)
        assert isinstance(step, Patch)
        body = {**step.body, "metadata": {"uid": made["metadata"]["uid"]}}
        answer = await self._api.request(
            "PATCH",
            f"{self._job}/{step.subresource}",
            body=msgspec.json.encode(body),
            content_type=MERGE_PATCH,
        )
        assert answer.status == HTTPStatus.OK, answer.body

    async def _stop(self, ref: ObjectRef, key: str) -> None:
        await self._history.write(
            WorkloadPreempted(at_us=AT_US, workload=key, by="x", reason="InClusterQueue"),
            WorkloadEvicted(at_us=AT_US, workload=key, reason="Preempted", message="e"),
            StopOrdered(at_us=AT_US, workload=key, job=ref),
        )

    async def _admit_again(self, key: str) -> None:
        queue, assigned = self._queue, PodSetAssignment(name="main", count=1)
        await self._history.write(
            QuotaReleased(at_us=AT_US, workload=key),
            WorkloadRequeued(at_us=AT_US, workload=key, reason="Preempted", attempts=1),
            QuotaReserved(at_us=AT_US, workload=key, cluster_queue=queue, assignment=(assigned,)),
            WorkloadAdmitted(at_us=AT_US, workload=key, cluster_queue=queue),
        )

    async def _deactivate(self, key: str) -> None:
        await self._history.write(
            QuotaReleased(at_us=AT_US, workload=key),
            WorkloadDeactivated(at_us=AT_US, workload=key, reason="RequeuingLimitExceeded"),
        )

    async def _make(self) -> Object:
        queues, name = f"{KUEUE}/clusterqueues", self._queue
        await self._create(f"{KUEUE}/cohorts", kueue("Cohort", name))
        fields: Object = {"cohortName": name, "namespaceSelector": {}}
        await self._create(queues, kueue("ClusterQueue", name, **fields))
        local = kueue("LocalQueue", "main", clusterQueue=name)
        await self._create(f"{KUEUE}/namespaces/{self._namespace}/localqueues", local)
        # No Job controller feels responsible, so the Job does not end by itself.
        made = job(managedBy="example.com/absent")
        made["metadata"]["namespace"] = self._namespace
        return await self._create(self._jobs, made)

    async def _admit(self, ref: ObjectRef, key: str) -> None:
        queue = self._queue
        assigned = PodSetAssignment(name="main", count=1)
        start = PodSetStart(name="main", count=1, node_selector=NODES)
        local = LocalQueueSpec(cluster_queue=queue)
        await self._history.write(
            PolicyConfigured(at_us=AT_US, name="policy", policy=FAIR),
            CohortDefined(at_us=AT_US, name=queue, spec=CohortSpec()),
            ClusterQueueDefined(at_us=AT_US, name=queue, spec=ClusterQueueSpec(cohort=queue)),
            ClusterQueueReadinessChanged(
                at_us=AT_US, cluster_queue=queue, active=True, reason="Ready"
            ),
            LocalQueueDefined(at_us=AT_US, namespace=self._namespace, name="main", spec=local),
            WorkloadSubmitted(at_us=AT_US, workload=key, uid=ref.uid, job=ref, queue="main"),
            QuotaReserved(at_us=AT_US, workload=key, cluster_queue=queue, assignment=(assigned,)),
            WorkloadAdmitted(at_us=AT_US, workload=key, cluster_queue=queue),
            StartOrdered(at_us=AT_US, workload=key, job=ref, podsets=(start,)),
        )

    async def _until(self, path: str, holds: Callable[[Object], bool]) -> None:
        async with asyncio.timeout(DEADLINE_S):
            while (fields := await self._read(path)) is None or not holds(fields):
                await asyncio.sleep(0.1)

    async def _until_gone(self, path: str) -> None:
        async with asyncio.timeout(DEADLINE_S):
            while await self._read(path) is not None:
                await asyncio.sleep(0.1)

    async def _read(self, path: str) -> Object | None:
        answer = await self._admin.request("GET", path)
        return None if answer.status == 404 else msgspec.json.decode(answer.body)

    async def _create(self, path: str, obj: Object) -> Object:
        return await self._send("POST", path, obj, JSON)

    async def _patch(self, path: str, patch: Object) -> Object:
        return await self._send("PATCH", path, patch, MERGE_PATCH)

    async def _send(self, method: str, path: str, obj: Object, content: str) -> Object:
        body = msgspec.json.encode(obj)
        answer = await self._admin.request(method, path, body=body, content_type=content)
        assert answer.status < 300, answer.body
        made: Object = msgspec.json.decode(answer.body)
        return made
