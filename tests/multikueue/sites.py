"""Clusters in one process, each with an API server, a bus, a ledger and the three services.

One of them is the manager: it has a dispatcher that reaches the others by their names.
"""

from __future__ import annotations

import asyncio
from base64 import b64encode
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from random import Random
from typing import Any
from weakref import finalize

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
from apiserver.controllers.controller_manager import ControllerManager
from dispatcher.adapters.jobs import EDITED
from dispatcher.collect import OrphanCollector
from dispatcher.copy_reconciler import CopyReconciler
from dispatcher.informer import Informer
from dispatcher.manager.credentials import Credentials
from dispatcher.manager.manager_cluster import ManagerCluster
from dispatcher.metrics import Metrics
from dispatcher.publish import Publisher as Teller
from dispatcher.session import Session as Dispatcher
from dispatcher.workers.fleet import Fleet
from ingest.jobs.scope import Scope
from ingest.metrics import Metrics as IngestMetrics
from ingest.pods.grace_periods import GraceRule
from ingest.publish import Publisher
from ingest.resources import watched
from ingest.session import Session as IngestSession
from ingest.sync import SyncDependencies as IngestMeans
from ingest.watch import Pace as IngestPace
from scheduler.dependencies import Dependencies, Pace
from scheduler.health import Status
from scheduler.term import schedule
from store.access.engine import open_engine
from store.ledger import SqlLedger
from tests.parts.migrated import migrate
from tests.parts.stage import KUEUE, Stage, kueue
from tests.scheduler.stage import in_place
from tidegate.jobs.registry import job_kind
from tidegate.kinds.times import rfc3339
from tidegate.kube.ports import KubernetesApi
from tidegate.model.policy import Policy
from tidegate.service.config.access_providers import AccessProvider
from tidegate.service.holder import LeaseHolder

Object = dict[str, Any]
KINDS = ("batch/job", "pod", "pod-group", "workload")
NAMESPACE, QUEUE, CHECK = "default", "main", "far"
SECRETS = "/api/v1/namespaces/tidegate-system/secrets"
PATIENCE_S = 900.0


class Site:
    """One cluster; made inside a running loop."""

    def __init__(self, name: str, policy: Policy) -> None:
        self.name, self.policy = name, policy
        self.kinds: tuple[str, ...] = KINDS
        self.stage = Stage()
        self.controller_manager = ControllerManager(self.stage.embedded)
        self.controller_manager.add_node(f"node-{name}")
        self.engine = open_engine("sqlite://")
        migrate(self.engine)
        finalize(self, self.engine.dispose)  # some tests run only a part of the site
        self._lives = 0

    def fill(self, cpu: str, *, checks: tuple[str, ...] = ()) -> None:
        """Make a queue of so much CPU; ``checks`` are those of the ClusterQueue."""
        quota = {"name": "cpu", "nominalQuota": cpu}
        group = {"coveredResources": ["cpu"], "flavors": [{"name": "any", "resources": [quota]}]}
        spec: Object = {"namespaceSelector": {}, "resourceGroups": [group]}
        if checks:
            named = [{"name": text} for text in checks]
            spec["admissionChecksStrategy"] = {"admissionChecks": named}
        self.stage.make(f"{KUEUE}/resourceflavors", kueue("ResourceFlavor", "any"))
        self.stage.make(f"{KUEUE}/clusterqueues", kueue("ClusterQueue", QUEUE, **spec))
        local = kueue("LocalQueue", QUEUE, clusterQueue=QUEUE)
        local["metadata"]["namespace"] = NAMESPACE
        self.stage.make(f"{KUEUE}/namespaces/{NAMESPACE}/localqueues", local)

    async def run(self) -> None:
        """Be a cluster with its services."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.controller_manager.run())
            for work in (self.schedule(), self.ingest(), self.actuate()):
                tasks.create_task(work)

    async def schedule(self) -> None:
        """Decide; a scheduler that is ended and begins again goes on from the ledger."""
        deps = Dependencies(
            observation_reader=self.stage.bus.observation_reader(),
            event_publisher=self.stage.bus.event_publisher(),
            ledger=SqlLedger(self.engine, clock_us=self.stage.bus.now_us),
            run_sync=in_place,
            status=Status(CollectorRegistry()),
            cluster=self.name,
            holder=LeaseHolder(self._life("scheduler")),
            new_ledger_id=lambda: f"ledger-{self.name}",
            policy=self.policy,
            pace=Pace(),
        )
        await schedule(deps, asyncio.Event(), Random(1))

    async def ingest(self) -> None:
        """Tell what is there."""
        port, metrics = self.stage.bus.observation_publisher(), IngestMetrics(CollectorRegistry())
        publisher = Publisher(
            port,
            cluster=self.name,
            session=self._life("ingest"),
            random=Random(1),
            metrics=metrics,
        )
        deps = IngestMeans(self.stage.embedded, publisher, IngestPace(), Random(1), metrics)
        kinds, scope = [job_kind(kind) for kind in self.kinds], Scope(elastic=True)
        await IngestSession(
            watched(kinds, scope, grace=GraceRule(self.stage.bus.now_us)), deps, port
        ).run()

    async def actuate(self) -> None:
        """Carry out what is decided."""
        bus, metrics = self.stage.bus, ActuatorMetrics(CollectorRegistry())
        session = self._life("actuator")
        reporter = Reporter(
            bus.observation_publisher(),
            cluster=self.name,
            session=session,
            random=Random(1),
            metrics=metrics,
        )
        calls = Calls(self.stage.embedded, metrics)
        shows = Projector(calls, Random(1), metrics, Rate(writes_per_s=50.0))
        applier = Applier(
            calls,
            reporter,
            Random(1),
            metrics,
            status_patcher=shows.with_order_status,
            keeps_pods=shows.keeps_pods,
        )
        consumer = Consumer(bus.event_feed(), applier, shows, Random(1))
        lease = bus.lease("actuator-0", holder=session, ttl_s=10)
        await ActuatorSession(consumer, lease, 10.0, 4).run()

    def _life(self, service: str) -> str:
        self._lives += 1
        return f"{service}-{self._lives}"

    def items(self, path: str) -> list[Object]:
        """Return what is in a collection."""
        documents: list[Object] = self.stage.read(path)["items"]
        return documents


class Manager(Site):
    """The cluster whose ledger decides for the others."""

    def __init__(self, policy: Policy, workers: dict[str, Site]) -> None:
        super().__init__("manager", policy)
        self.workers = workers
        self.providers: tuple[AccessProvider, ...] | None = None  # for ClusterProfiles
        self.counted = CollectorRegistry()  # of the dispatcher that began last
        self.fill("8", checks=(CHECK,))
        self.stage.make("/api/v1/namespaces", {"metadata": {"name": "tidegate-system"}})
        for name in workers:
            self.stage.make(SECRETS, secret(name, f"https://{name}.example:6443"))
            source = {"kubeConfig": {"location": name, "locationType": "Secret"}}
            document = kueue("MultiKueueCluster", name, clusterSource=source)
            self.stage.make(f"{KUEUE}/multikueueclusters", document)
        config = kueue("MultiKueueConfig", "all", clusters=list(workers))
        self.stage.make(f"{KUEUE}/multikueueconfigs", config)
        named = {"apiGroup": "kueue.x-k8s.io", "kind": "MultiKueueConfig", "name": "all"}
        check = kueue(
            "AdmissionCheck",
            CHECK,
            controllerName="kueue.x-k8s.io/multikueue",
            parameters=named,
        )
        self.stage.make(f"{KUEUE}/admissionchecks", check)

    async def dispatch(self) -> None:
        """Send workloads to the other clusters."""
        bus, session = self.stage.bus, self._life("dispatcher")
        api, now_us = self.stage.embedded, bus.now_us
        self.counted = CollectorRegistry()
        metrics = Metrics(self.counted)
        teller = Teller(
            bus.observation_publisher(), cluster=self.name, session=session, random=Random(1)
        )
        made = Dispatcher(
            bus.event_feed(),
            bus.observation_publisher(),
            bus.lease("dispatcher-0", holder=session, ttl_s=10),
            lease_s=10.0,
            publisher=teller,
            carrier=CopyReconciler(
                home=api,
                origin="here",
                dispatched=metrics.count_copy,
                now=lambda: rfc3339(now_us()),
            ),
            metrics=metrics,
            random=Random(1),
        )
        kinds = [job_kind(kind) for kind in self.kinds if kind not in ("pod-group", "workload")]
        made.connect(
            lambda changed: ManagerCluster(
                api, "tidegate-system", Random(1), now_us, changed, self.providers
            ),
            lambda home, seen: Fleet(home, teller, kinds, "here", now_us, seen, self._client),
            lambda home, fleet, targets: OrphanCollector(home, fleet, targets, 60.0),
            lambda note: [
                Informer(api, kind.path(), note) for kind in kinds if kind.name in EDITED
            ],
        )
        await made.run()

    @asynccontextmanager
    async def _client(self, credentials: Credentials) -> AsyncGenerator[KubernetesApi]:
        server: str = credentials.document["clusters"][0]["cluster"]["server"]
        name = server.removeprefix("https://").partition(".")[0]
        yield self.workers[name].stage.api


def secret(name: str, server: str) -> Object:
    """Return a Secret with the kubeconfig of a cluster."""
    document = {
        "clusters": [{"name": "c", "cluster": {"server": server}}],
        "users": [{"name": "u", "user": {"token": "t"}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }
    data = b64encode(msgspec.json.encode(document)).decode()
    meta = {"name": name, "namespace": "tidegate-system"}
    return {"metadata": meta, "data": {"kubeconfig": data}}


async def until(holds: Callable[[], object], what: str, patience_s: float = PATIENCE_S) -> None:
    """Wait until something holds; the clock is virtual."""
    try:
        async with asyncio.timeout(patience_s):
            while not holds():
                await asyncio.sleep(0.1)
    except TimeoutError:
        raise AssertionError(f"never: {what}") from None
