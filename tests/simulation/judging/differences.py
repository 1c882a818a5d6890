"""What may differ for a while, and for how long: the cluster from what was decided, by uid.

Whatever works step by step differs for moments. So nothing here is forbidden but to last: a
difference that is there all the time, while nothing fails, is a promise that is not kept. It is
read from the API server's objects and from the ledger's entries, never from a service.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from tests.simulation.actors.people import finished
from tests.simulation.cluster import HOSTILE, LABELS, QUEUE_LABEL, Cluster, milli
from tests.simulation.judging.ledger_watch import LedgerWatch
from tests.simulation.judging.quotas import LOCALS, QUEUES, fits
from tests.simulation.judging.verdict import demand
from tidegate.contracts.decisions import StartOrdered

Object = dict[str, Any]
Milli = dict[str, int]
"""Milli-CPU by a job's uid."""
LATE_S = 30.0
WORKLOADS = "workloads.kueue.x-k8s.io"


class Differences:
    """Looks at everything once a second."""

    def __init__(
        self, cluster: Cluster, ledger: Callable[[], LedgerWatch], running: Callable[[], Milli]
    ) -> None:
        self._state, self._ledger = cluster.api.registry.state, ledger
        self._running = running
        self._since_s = dict[str, float]()
        self.longest_s = 0.0

    def tick(self, now_s: float, *, calm: bool) -> None:
        """Note what differs now; object to what differs for too long in calm."""
        names = list(self.found()) if calm else []
        self._since_s = {text: self._since_s.get(text, now_s) for text in names}
        for text, since_s in self._since_s.items():
            self.longest_s = max(self.longest_s, now_s - since_s)
            demand(now_s - since_s <= LATE_S, "late", text)

    def found(self) -> Iterator[str]:
        """Yield each difference as a sentence that stays the same while it lasts."""
        jobs = {obj["metadata"]["uid"]: obj for obj in self._state.items("jobs.batch")}
        yield from self._unjustified(jobs)
        yield from self._charged_otherwise(jobs)
        yield from self._unknown(jobs)
        yield from self._not_as_ordered(jobs)
        for resource in ("jobs.batch", QUEUES, LOCALS):
            yield from self._known_later(resource)
        for workload in self._state.items(WORKLOADS):
            yield from self._shown_otherwise(workload)
        for workload in self._state.items(QUEUES):
            yield from self._counted_otherwise(workload)
        yield from fits(self._state, self._ledger())

    def _unjustified(self, jobs: dict[str, Object]) -> Iterator[str]:
        """Yield workloads with quota that no object justifies."""
        for workload, uid in self._ledger().uids.items():
            job = jobs.get(uid.partition("/")[0])
            if job is None and not self._is_made(workload):
                yield f"{workload} holds quota and has no Job"
            elif job is not None and finished(job):
                yield f"{workload} holds quota and its Job is over"

    def _charged_otherwise(self, jobs: dict[str, Object]) -> Iterator[str]:
        """Yield whose charge is not what its object asks for, or less than what its pods take."""
        charged, ledger = self._ledger().charged(), self._ledger()
        for uid, taken in self._running().items():
            job = jobs.get(uid)
            if job is not None and _is_managed(job) and taken > charged.get(uid, 0):
                yield f"{job['metadata']['name']} ({uid}) runs more than it is charged"
        leaving = {ledger.uids[text].partition("/")[0] for text in ledger.evicting}
        for uid in charged.keys() & jobs.keys() - leaving:
            if charged[uid] > _asked_milli(jobs[uid]):
                yield f"{jobs[uid]['metadata']['name']} ({uid}) is charged more than it asks for"

    def _is_made(self, workload: str) -> bool:
        """Tell whether a Workload stands for itself: its owner made it, and no Job yet."""
        return self._state.get(WORKLOADS, *workload.split("/", 1)) is not None

    def _unknown(self, jobs: dict[str, Object]) -> Iterator[str]:
        """Yield jobs that only one of the API server and the ledger knows."""
        known = set(self._ledger().jobs.values())
        for uid in sorted(known - jobs.keys()):
            if uid not in self._ledger().made:
                yield f"{uid} is known and has no Job"
        for uid, job in jobs.items():
            if _is_readable(job) and not finished(job) and uid not in known:
                yield f"{job['metadata']['name']} ({uid}) is not known"

    def _known_later(self, resource: str) -> Iterator[str]:
        """Yield what is known in a version that it does not have yet: etcd was restored."""
        for meta in (obj["metadata"] for obj in self._state.items(resource)):
            known = self._ledger().past.versions.get(meta["uid"], 0)
            if known > int(meta["resourceVersion"]):
                yield f"{meta['name']} ({meta['uid']}) is known in version {known}"

    def _not_as_ordered(self, jobs: dict[str, Object]) -> Iterator[str]:
        for uid, order in self._ledger().newest.items():
            job = jobs.get(uid)
            if job is None or finished(job) or not _is_readable(job):
                continue
            starts = isinstance(order, StartOrdered)
            yield from self._injected_otherwise(uid, job, starts=starts)
            if job["spec"].get("suspend", False) is starts:
                yield f"{order.workload} ({uid}) is not as {type(order).__name__} has it"

    def _injected_otherwise(self, uid: str, job: Object, *, starts: bool) -> Iterator[str]:
        """Yield whose pods would not go to the nodes that it is charged for, or still would."""
        selector = job["spec"]["template"]["spec"].get("nodeSelector") or {}
        watch = self._ledger()
        flavors = [held.flavor for key, held in watch.holding.items() if watch.uids[key] == uid]
        wanted = watch.labels.get(flavors[0], {}) if starts and flavors else {}
        if {name: selector.get(name) for name in LABELS if name in selector} != wanted:
            yield f"{job['metadata']['name']} ({uid}) selects {selector}, for {wanted}"

    def _shown_otherwise(self, obj: Object) -> Iterator[str]:
        """Yield in what a Workload's conditions differ from the ledger's quota."""
        meta, watch = obj["metadata"], self._ledger()
        key = f"{meta['namespace']}/{meta['name']}"
        held = {c["type"]: c["status"] for c in obj.get("status", {}).get("conditions", ())}
        if key in watch.evicting or key not in watch.jobs:
            return
        reserved = held.get("QuotaReserved") == "True" and held.get("Finished") != "True"
        if reserved is not watch.is_shown_with_quota(key):
            yield f"{key} is shown with quota: {reserved}"
        if (held.get("Admitted") == "True") > reserved and held.get("Finished") != "True":
            yield f"{key} is shown as admitted without quota"

    def _counted_otherwise(self, obj: Object) -> Iterator[str]:
        name, status = obj["metadata"]["name"], obj.get("status", {})
        holding = sum(held.queue == name for held in self._ledger().holding.values())
        shown = status.get("reservingWorkloads", 0)
        if shown != holding:
            yield f"ClusterQueue {name} shows {shown} of {holding} that hold quota"


def _asked_milli(job: Object) -> int:
    spec = job["spec"]
    pods = min(spec.get("parallelism", 1), spec.get("completions") or spec.get("parallelism", 1))
    (container,) = spec["template"]["spec"]["containers"]
    return int(pods) * milli(container["resources"]["requests"]["cpu"])


def _is_readable(job: Object) -> bool:
    """Tell whether no user made a Job's annotations unreadable or untrue."""
    return _is_managed(job) and HOSTILE not in job["metadata"].get("annotations", {})


def _is_managed(job: Object) -> bool:
    meta = job["metadata"]
    return QUEUE_LABEL in meta.get("labels", {}) and "deletionTimestamp" not in meta
