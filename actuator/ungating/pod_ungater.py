"""Remove the scheduling gates of as many pods as their Workload was granted, and no more.

Pods of some jobs are made behind a scheduling gate at any time while the job runs. Nothing is
remembered of the ledger: what was granted stands on the objects in the cluster, and which pods run
and wait is listed and watched. What is seen of a pod can only be old in that it waits no more,
which no other controller does. A job is processed when one of its pods or its ledger state has
changed, and while a pod of it is gated.

Source: behaviour.md 13.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from random import Random
from typing import NamedTuple, Protocol, TypeAlias

from actuator.calls import Calls, with_preconditions
from actuator.informer import Informer, Source
from actuator.kueue_metrics import KueueMetrics
from actuator.ungating.pods import has_gate, is_of_group
from actuator.ungating.unknown_jobs import UnknownJobs
from tidegate.contracts.decision_kinds.placements import NodeFailed, TopologyAssigned
from tidegate.contracts.decisions import DecisionEvent, StartOrdered
from tidegate.contracts.entry import Published
from tidegate.contracts.facts import FactEvent
from tidegate.errors import ApiStatusError, ApiUnreachableError, UndecodableError
from tidegate.jobs.kind import Object, Patch
from tidegate.jobs.pods import pod as pods
from tidegate.kinds.decode import read
from tidegate.kinds.pods import Pod
from tidegate.service.logs import get_log

LOOKS_AGAIN_S = 1.0
AT_ONCE = 32
"""How many pods are ungated at the same time, of one job or of many."""
_PODS = "/api/v1/pods"
_TELLING = (StartOrdered, TopologyAssigned, NodeFailed)
"""Decisions after which pods may go that could not before."""
_log = get_log("ungater")
_PASSED = (HTTPStatus.CONFLICT, HTTPStatus.NOT_FOUND)
"""The pod has changed, or is deleted: the watch delivers its state."""


@dataclass(frozen=True, slots=True)
class JobPods:
    """The pods of one job, as they were before anything is asked for."""

    pods: Mapping[str, Pod]  # by name
    waiting: Sequence[str]  # names of those that the rule minds, in order
    sent: Mapping[str, Object] = field(default_factory=dict)
    """Patches with an unknown outcome, by the name of the pod: they may yet be applied."""


class PodRelease(NamedTuple):
    """A pod that may go, the patch that lets it, and the key of the workload that it is of."""

    pod: Pod
    patch: Patch
    workload: str


Released: TypeAlias = Sequence[PodRelease]


class UngatingRule(Protocol):
    """Which pods wait behind a gate, and which of them may go."""

    selector: str  # of a label that they bear
    gate: str

    def is_needed(self) -> bool:
        """Return whether any pod may wait: until then none is watched."""
        ...

    def job_of(self, pod: Pod) -> str:
        """Return the key of pods that are ungated together; empty: the pod belongs to no job."""
        ...

    def is_relevant(self, pod: Pod) -> bool:
        """Return whether anything may have to be done about a pod."""
        ...

    async def ungating_patches(self, calls: Calls, standing: JobPods) -> Released | None:
        """Return the pods that may go, each with the patch that lets it; errors of ``Calls``.

        None: there is no job that the pods could be of.
        """
        ...

    def on_ungated(self, pod: Pod, patch: Patch) -> None:
        """Take notice of a pod that a patch let go."""
        ...


class PodUngater:
    """See ``actuator.events.Subscriber``: an event only queues its job."""

    def __init__(
        self, calls: Calls, random: Random, rule: UngatingRule, kueue: KueueMetrics | None = None
    ) -> None:
        self._kueue = kueue
        self._calls = calls.gated_by(lambda: self._working)
        self._rule = rule
        self._working = False
        self._pods = defaultdict[str, dict[str, Pod]](dict)  # by their job and their own name
        self._sent = defaultdict[str, dict[str, Object]](dict)  # the same; see ``Standing.sent``
        self._due, self._waiting = set[str](), set[str]()  # jobs to look at now, and in a while
        self._strangers, self._unknown = UnknownJobs(), set[str]()  # jobs that no decision is about
        self._unknown_s = 0.0  # the loop's time at which these are looked at again
        self._changed = asyncio.Event()
        self._places = asyncio.Semaphore(AT_ONCE)
        source = Source(
            _PODS,
            Pod,
            self._on_pod,
            self._enqueue_all,
            selected={"labelSelector": rule.selector},
            wanted=lambda pod: bool(rule.job_of(pod)),
            lists_again=True,
        )
        self._mirror = Informer(source, self._calls, random)

    def on_event(self, message: Published, event: FactEvent | DecisionEvent, *, live: bool) -> None:
        """See ``Subscriber.on_event``."""
        del message
        if live and isinstance(event, _TELLING):
            self._strangers.forget(event.workload)
            self._enqueue(({event.workload} & self._pods.keys()) | self._waiting)

    def on_orders_done(self, workload: str) -> None:
        """Take no notice."""

    def reset(self) -> None:
        """Have nothing to forget."""

    def set_active(self, working: bool) -> None:  # noqa: FBT001 - see the protocol
        """See ``Subscriber.set_active``."""
        self._working = working
        self._enqueue_all()

    async def run(self) -> None:
        """Watch pods, and ungate those that their Workloads admit, for ever."""
        while not self._rule.is_needed():
            await self._wait_for_change(LOOKS_AGAIN_S)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._mirror.run())
            tasks.create_task(self._run())

    def _enqueue_all(self) -> None:
        self._enqueue(self._pods.keys())

    def _enqueue(self, jobs: Iterable[str]) -> None:
        self._due |= set(jobs)
        self._changed.set()

    def _on_pod(self, old: Pod | None, new: Pod | None) -> None:
        about = old if new is None else new
        assert about is not None, "something changed"
        job, name = self._rule.job_of(about), about.metadata.name
        before = self._pods[job].get(name)
        if new is None:
            self._forget_pod(job, name)
        elif before is None or before.metadata.version <= new.metadata.version:
            self._pods[job][name] = new
            if before is None or before.metadata.version < new.metadata.version:
                self._sent.get(job, {}).pop(name, None)  # what it was pinned to is past
        self._enqueue((job,))

    def _forget_pod(self, job: str, name: str) -> None:
        for pods_by_job in (self._pods, self._sent):
            pods_by_job[job].pop(name, None)
            if not pods_by_job[job]:
                del pods_by_job[job]
        if job not in self._pods:
            self._strangers.forget(job)

    async def _run(self) -> None:
        while True:
            self._retry_unknown()
            if not self._working:
                self._due.clear()  # becoming active enqueues all
            elif self._mirror.complete:
                due, self._due = sorted(self._due), set()
                async with asyncio.TaskGroup() as tasks:
                    for job in due:
                        tasks.create_task(self._reconcile_job(job))
                if self._due:
                    continue  # meanwhile
            pending = self._waiting or self._unknown
            if not await self._wait_for_change(LOOKS_AGAIN_S if pending else None):
                self._enqueue(self._waiting)

    def _retry_unknown(self) -> None:
        """Look once a second at jobs that were looked for in vain, and not for each decision."""
        now_s = asyncio.get_running_loop().time()
        if now_s >= self._unknown_s:
            self._unknown_s = now_s + LOOKS_AGAIN_S
            self._due |= self._unknown

    async def _wait_for_change(self, seconds: float | None) -> bool:
        """Wait until something has changed, so long at most; return whether it has."""
        self._changed.clear()
        try:
            async with asyncio.timeout(seconds):
                await self._changed.wait()
        except TimeoutError:
            return False
        return True

    async def _reconcile_job(self, job: str) -> None:
        waiting = self._relevant_pods(job)
        if waiting and not self._strangers.is_backing_off(job):
            try:
                await self._note_result(job, waiting)
            except Exception:  # noqa: BLE001 - of one object: the others go on
                _log.exception("pods not let go", job=job)
        waits, unknown = bool(self._relevant_pods(job)), self._strangers.is_backing_off(job)
        for jobs, belongs in (
            (self._waiting, waits and not unknown),
            (self._unknown, waits and unknown),
        ):
            (jobs.add if belongs else jobs.discard)(job)

    def _relevant_pods(self, job: str) -> list[str]:
        standing = self._pods.get(job, {})
        return sorted(name for name, pod in standing.items() if self._rule.is_relevant(pod))

    async def _note_result(self, job: str, waiting: list[str]) -> None:
        standing = JobPods(dict(self._pods[job]), waiting, dict(self._sent.get(job, {})))
        try:
            async with self._places:
                patches = await self._rule.ungating_patches(self._calls, standing)
        except (ApiUnreachableError, ApiStatusError, UndecodableError) as error:
            _log.warning("cannot let pods go", job=job, error=str(error))
            return
        if patches is None:
            self._strangers.note_missing(job)
            return
        self._strangers.forget(job)
        async with asyncio.TaskGroup() as tasks:
            for release in patches:
                tasks.create_task(self._patch_pod(job, release))

    async def _patch_pod(self, job: str, release: PodRelease) -> None:
        pod, patch, workload = release
        meta = pod.metadata
        obj = {"metadata": {"uid": meta.uid, "resourceVersion": meta.resource_version}}
        path = pods.KIND.path(meta.namespace, meta.name)
        where = f"{path}/{patch.subresource}" if patch.subresource else path
        async with self._places:
            again = meta.name in self._sent[job]
            self._sent[job][meta.name] = patch.body
            try:
                patched = read(
                    await self._calls.patch(where, with_preconditions(patch.body, obj)), Pod
                )
            except (ApiStatusError, ApiUnreachableError, UndecodableError) as error:
                status = error.status if isinstance(error, ApiStatusError) else 0
                refused = HTTPStatus.BAD_REQUEST <= status < HTTPStatus.INTERNAL_SERVER_ERROR
                if refused and not again:  # else the one that was sent before may be why
                    self._sent[job].pop(meta.name, None)  # it was not applied
                if status not in _PASSED:
                    _log.warning("cannot let a pod go", pod=path, error=str(error))
            else:
                self._rule.on_ungated(pod, patch)
                self._observe_release(pod, patched, workload)
                if meta.name in self._pods.get(job, {}):
                    self._on_pod(pod, patched)

    def _observe_release(self, before: Pod, after: Pod, workload: str) -> None:
        gate = self._rule.gate
        if self._kueue and has_gate(before, gate) and not has_gate(after, gate):
            self._kueue.observe_gate_removal(gate, workload, of_group=is_of_group(before))
