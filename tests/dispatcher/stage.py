"""A dispatcher over embedded API servers: its manager's, one worker's, and one of all others.

What the scheduler decides is said by the test; nothing but the dispatcher acts.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from random import Random
from typing import Any

from prometheus_client import CollectorRegistry

from dispatcher.collect import OrphanCollector
from dispatcher.copy_reconciler import CopyReconciler
from dispatcher.manager.credentials import Credentials
from dispatcher.manager.manager_cluster import ManagerCluster
from dispatcher.metrics import Metrics
from dispatcher.publish import Publisher
from dispatcher.session import Session
from dispatcher.workers.fleet import Fleet
from tests.multikueue.sites import SECRETS, secret
from tests.multikueue.world import WORKLOADS, job
from tests.parts.stage import JOBS, KUEUE, Stage, kueue
from tidegate.contracts.codec import encode
from tidegate.contracts.decision_kinds.clusters import ClusterChosen, ClustersNominated
from tidegate.contracts.decisions import DecisionEvent
from tidegate.contracts.entry import Published
from tidegate.contracts.facts import FactEvent
from tidegate.jobs.registry import job_kind
from tidegate.kinds.times import rfc3339
from tidegate.kube.ports import KubernetesApi
from tidegate.model.ids import ObjectRef

Object = dict[str, Any]
WORKER = "own"
"""The cluster that has a server of its own; all others have one together."""


class Feed:
    """EVENTS as the test says it."""

    def __init__(self) -> None:
        self.entries, self._news = list[Published](), asyncio.Event()

    def say(self, event: FactEvent | DecisionEvent) -> None:
        seq = len(self.entries) + 1
        self.entries.append(Published(ledger_id="l", seq=seq, subject="", payload=encode(event)))
        self._news.set()

    async def newest(self) -> tuple[str, int]:
        return "l", len(self.entries)

    async def follow(self, after: int | None = None) -> AsyncIterator[Published]:
        at = after or 0
        while True:
            while at < len(self.entries):
                at += 1
                yield self.entries[at - 1]
            self._news.clear()
            await self._news.wait()


class Dispatch:
    """The dispatcher and what it stands on; made inside a running loop."""

    def __init__(self) -> None:
        self.manager, self.worker, self.feed = Stage(), Stage(), Feed()
        self.others = Stage().api  # of all clusters but WORKER
        self.manager.make("/api/v1/namespaces", {"metadata": {"name": "tidegate-system"}})
        self.metrics = Metrics(CollectorRegistry())
        bus, random = self.manager.bus, Random(1)
        port, api = bus.observation_publisher(), self.manager.embedded
        self.publisher = Publisher(port, cluster="m", session="d", random=random)
        now_us, kinds = self.manager.now_us, [job_kind("batch/job")]
        self.session = Session(
            self.feed,
            port,
            bus.lease("dispatcher-0", holder="d", ttl_s=10),
            lease_s=10.0,
            publisher=self.publisher,
            carrier=CopyReconciler(
                home=api,
                origin="here",
                dispatched=self.metrics.count_copy,
                now=lambda: rfc3339(now_us()),
            ),
            metrics=self.metrics,
            random=random,
        )
        self.session.connect(
            lambda changed: ManagerCluster(api, "tidegate-system", random, now_us, changed),
            lambda home, report: Fleet(
                home, self.publisher, kinds, "here", now_us, report, self._client
            ),
            lambda home, fleet, targets: OrphanCollector(home, fleet, targets, 60.0),
        )

    @asynccontextmanager
    async def _client(self, credentials: Credentials) -> AsyncGenerator[KubernetesApi]:
        server: str = credentials.document["clusters"][0]["cluster"]["server"]
        yield self.worker.api if server.startswith(f"https://{WORKER}.") else self.others

    def make_cluster(self, name: str) -> None:
        self.manager.make(SECRETS, secret(name, f"https://{name}.example:6443"))
        source = {"kubeConfig": {"location": name, "locationType": "Secret"}}
        made = kueue("MultiKueueCluster", name, clusterSource=source)
        self.manager.make(f"{KUEUE}/multikueueclusters", made)

    def make_check(self, name: str, *clusters: str) -> None:
        config = kueue("MultiKueueConfig", name, clusters=list(clusters))
        self.manager.make(f"{KUEUE}/multikueueconfigs", config)
        named = {"apiGroup": "kueue.x-k8s.io", "kind": "MultiKueueConfig", "name": name}
        controller = "kueue.x-k8s.io/multikueue"
        check = kueue("AdmissionCheck", name, controllerName=controller, parameters=named)
        self.manager.make(f"{KUEUE}/admissionchecks", check)

    def make_queue(self, name: str, *checks: str) -> None:
        """Make a ClusterQueue with a LocalQueue of its name."""
        spec: Object = {"namespaceSelector": {}}
        if checks:
            spec["admissionChecksStrategy"] = {"admissionChecks": [{"name": c} for c in checks]}
        self.manager.make(f"{KUEUE}/clusterqueues", kueue("ClusterQueue", name, **spec))
        local = kueue("LocalQueue", name, clusterQueue=name)
        self.manager.make(f"{KUEUE}/namespaces/default/localqueues", local)

    def send(self, name: str, cluster: str, queue: str = "q") -> None:
        """Have a Job and its Workload sent to a cluster, as if it was nominated and chosen."""
        made = self.manager.make(JOBS, job(name, 30))
        template = made["spec"]["template"]
        podset = {"name": "main", "count": 1, "template": template}
        workload = kueue("Workload", name, podSets=[podset], queueName=queue)
        made_workload = self.manager.make(WORKLOADS, workload)
        fields: Object = {
            "at_us": 1,
            "workload": f"default/{name}",
            "uid": made_workload["metadata"]["uid"],
            "cluster_queue": queue,
            "job": ObjectRef(
                kind="batch/job", namespace="default", name=name, uid=made["metadata"]["uid"]
            ),
        }
        self.feed.say(ClustersNominated(clusters=(cluster,), **fields))
        self.feed.say(ClusterChosen(cluster=cluster, makes_copy=True, **fields))
