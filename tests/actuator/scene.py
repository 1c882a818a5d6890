"""One or two actuators on a stage, and decisions made by hand for them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random

from prometheus_client import CollectorRegistry

from actuator.calls import Calls
from actuator.copies.copier import Copier
from actuator.copies.copy_statuses import CopyStatuses
from actuator.events import FanOut, Read, Subscriber, unfiltered
from actuator.kueue_metrics import KueueMetrics
from actuator.metrics import Metrics
from actuator.ordering.apply import Applier
from actuator.ordering.consume import Consumer, Session
from actuator.ordering.reports import Reporter
from actuator.project import Projector
from actuator.workqueue import Rate
from apiserver.controllers.controller_manager import ControllerManager
from tests.parts.history import LEDGER, History
from tests.parts.interposed import Interposed
from tests.parts.stage import JOBS, Object, Stage, job
from tidegate.contracts.decisions import PodSetStart, StartOrdered, StopOrdered
from tidegate.contracts.facts import Event, WatchesExpected
from tidegate.model.ids import ObjectRef

__all__ = ["LEDGER"]
LISTED = WatchesExpected(at_us=0, resources=())
"""Nothing is left to be listed: what the ledger has may be shown."""


class Scene(Stage):
    """Jobs, and the orders that a scheduler would give."""

    def __init__(self, *, with_crds: bool = False, events_max: int = 500_000) -> None:
        super().__init__(with_crds=with_crds, events_max=events_max)
        self.controller_manager = ControllerManager(self.embedded)
        self.controller_manager.add_node("node-0")
        self._history = History(self.bus)

    def actuator(  # noqa: PLR0913 - what differs by test
        self,
        name: str = "a1",
        api: Interposed | None = None,
        *,
        lease: str = "actuator-0",
        projects: bool = False,
        registry: CollectorRegistry | None = None,
        as_read: Read = unfiltered,
        partition: int = 0,
        now_us: Callable[[], int] = lambda: 0,
    ) -> Session:
        registry = registry or CollectorRegistry()
        random, metrics = Random(3), Metrics(registry, KueueMetrics(registry, now_us))
        reporter = Reporter(
            self.bus.observation_publisher(),
            cluster="local",
            session=name,
            random=random,
            metrics=metrics,
        )
        calls = Calls(api or self.api, metrics)
        applier = Applier(calls, reporter, random, metrics)
        shows: Subscriber = FanOut()
        if projects:
            shows = projector = Projector(calls, random, metrics, Rate(), partition=partition)
            applier = replace(
                applier,
                status_patcher=projector.with_order_status,
                keeps_pods=projector.keeps_pods,
                say=projector.say,
            )
            metrics.kueue.read_model = lambda: projector.read_model
        shows = FanOut(metrics.kueue, shows, CopyStatuses(calls, random, metrics))
        consumer = Consumer(self.bus.event_feed(), applier, shows, random, as_read)
        bodies = self.bus.bodies()
        consumer.copier = Copier(calls, bodies, reporter, random, metrics, "hub", busy_s=5.0)
        held = self.bus.lease(lease, holder=name, ttl_s=10)
        return Session(consumer, held, lease_s=10, workers=4)

    async def write(self, *events: Event) -> int:
        """Append events to EVENTS as a ledger would; return the last seq."""
        return await self._history.write(*events)

    def job(self, name: str = "train") -> Object:
        return self.read(f"{JOBS}/{name}")

    def running_job(self) -> Object:
        """Make a Job that runs for a long time."""
        made = job()
        made["spec"]["template"]["metadata"] = {"annotations": {"simulate/seconds": "100000"}}
        return self.make(JOBS, made)

    def decision(self, name: str = "train") -> str:
        return str(
            self.job(name)["metadata"].get("annotations", {}).get("tidegate.dev/decision", "")
        )

    def patches(self) -> int:
        return sum(method == "PATCH" for method, _ in self.api.requests)


def ref(obj: Object) -> ObjectRef:
    meta = obj["metadata"]
    return ObjectRef(
        kind="batch/job", namespace=meta["namespace"], name=meta["name"], uid=meta["uid"]
    )


def start(
    obj: Object, *, node_selector: dict[str, str] | None = None, generation: int = 1
) -> StartOrdered:
    return StartOrdered(
        at_us=1,
        workload=f"default/job-{obj['metadata']['name']}",
        job=ref(obj),
        generation=generation,
        podsets=(PodSetStart(name="main", count=1, node_selector=node_selector or {}),),
    )


def stop(obj: Object) -> StopOrdered:
    return StopOrdered(
        at_us=2, workload=f"default/job-{obj['metadata']['name']}", job=ref(obj), reason="x"
    )
