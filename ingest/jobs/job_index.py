"""The other objects that a job's observation needs: its Workload, its namespace, its owners.

What its user overrides of a queued job stands on its Workload: ``spec.active``, and whether
another controller has reserved quota for it. Its namespace's labels decide whether it is managed,
and so do its owners. The cache is rebuilt by every list.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

import msgspec

from ingest.jobs.namespaces import Namespaces
from ingest.jobs.overrides import (
    NONE,
    Overrides,
    Variants,
    is_additional_slice,
    is_variant,
    overrides_of,
    with_overrides,
)
from ingest.jobs.ownership import DirectWorkloads, PrebuiltWorkloads, ResourceObservation
from ingest.jobs.scope import Lineage, QueuedJob, Scope, is_listed, is_pending_group, reference_of
from ingest.pods.referred_objects import Claims, Named, Referred
from tidegate.contracts.observations import JobObserved
from tidegate.jobs import workload
from tidegate.jobs.job_metadata import stray_job, unmanaged_job
from tidegate.jobs.kind import JobKind, Object
from tidegate.kinds import names
from tidegate.kinds.kueue_api.workloads.workload import Workload
from tidegate.kinds.meta import ObjectMeta
from tidegate.kinds.observed import Namespace


class JobIndex:
    """Managed jobs by their uid, with the objects that they depend on; grows with their number."""

    def __init__(
        self, kinds: Sequence[JobKind[Any]], scope: Scope, claims: Claims | None = None
    ) -> None:
        self._scope = scope
        self._claims = Claims({}) if claims is None else claims
        self.namespaces = Namespaces(scope)
        self._lineage = Lineage(kinds)
        self._overrides = dict[str, Overrides]()  # by the job's uid
        self._about = dict[str, str]()  # a Workload's uid to its job's
        self._jobs = dict[str, QueuedJob]()  # by uid
        self._groups = dict[str, str]()  # a Workload's key to the uid of the group it stands for
        self._prebuilt = PrebuiltWorkloads()
        self._due = dict[str, None]()  # uids of jobs below one that changed, not observed since
        self.referred = Referred()
        self._variants = Variants()
        self._direct = any(kind.name == workload.NAME for kind in kinds)
        self._alone = DirectWorkloads(self._lineage.is_watched, self._claims)

    def job_uid_of(self, wl: Workload) -> str:
        """Return the uid of the job that a Workload belongs to; empty: it was created directly.

        A group of pods is called by the key of its Workload, which has its name.
        """
        meta = wl.metadata
        if workload.is_of_pod_group(meta):
            return f"{meta.namespace}/{meta.name}"
        owner = meta.controller()
        if owner is None:
            return self._job_of_orphan(meta)
        if owner.kind == "Workload":  # that one is a variant of it
            return ""
        return owner.uid if self._lineage.is_watched(owner) else ""

    def _job_of_orphan(self, meta: ObjectMeta) -> str:
        """Return the existing job of a Workload whose owner reference was removed."""
        job = self._jobs.get(meta.labels.get(names.JOB_UID, ""))
        own = f"{meta.namespace}/{meta.name}"
        return "" if job is None or job.alone.workload != own else job.meta.uid

    def has_queue(self, kind: JobKind[Any], meta: ObjectMeta) -> bool:
        """Return whether an object has a queue name, in any namespace and with any owner."""
        return self._scope.has_queue(meta) and kind.may_manage(meta)

    def put_group_job(self, job: QueuedJob, *, workload: str) -> Iterator[ResourceObservation]:
        """Remember a job of several objects, and yield its full observation."""
        self._jobs[job.meta.uid] = job
        self._groups[workload] = job.meta.uid
        yield from self._changes([job.meta.uid])

    def parent(self, kind: JobKind[Any], meta: ObjectMeta) -> Iterator[ResourceObservation]:
        """Remember an object that is several jobs; yield what it owns if that changes for it."""
        asks = self.has_queue(kind, meta)
        yield from self._dependents(self._lineage.add(kind, meta, asks=asks, waits=False))

    def forget_parent(self, uid: str) -> None:
        """Forget an object that was several jobs."""
        self._lineage.forget(uid)

    def remove_group_job(self, uid: str, *, workload: str) -> Iterator[ResourceObservation]:
        """Forget a job of several objects; yield the next job that owns the Workload it named."""
        self._groups.pop(workload, None)
        self._remove_job(workload)
        self._remove(uid)
        yield from self._next_claimant(self._prebuilt.claim(uid, None))

    def job(self, kind: JobKind[Any], obj: Any) -> Iterator[ResourceObservation]:  # noqa: ANN401 - of the kind's own type
        """Remember a job that asks to be managed; yield it, and what it owns if that changes."""
        meta: ObjectMeta = obj.metadata
        self._jobs.pop(meta.uid, None)
        asks = self.has_queue(kind, meta) and not kind.is_skipped(obj)
        waits = True  # if it is unreadable
        try:
            job = self._job_observation(kind, obj) if asks else self._child_without_queue(kind, obj)
            waits = job is None or job.alone.state.suspended
        finally:
            below = list(self._lineage.add(kind, meta, asks=asks, waits=waits))
        if job is not None:
            self._jobs[meta.uid] = job
            yield from self._changes([meta.uid])
        else:
            yield kind.resource, unmanaged_job(kind, meta)
            yield from self._next_claimant(self._prebuilt.claim(meta.uid, None))
        yield from self._dependents(below)

    def _dependents(self, uids: Iterable[str]) -> Iterator[ResourceObservation]:
        """Yield what an object owns; of several changes at once the last one counts."""
        below = dict.fromkeys(uids)
        self._due |= below
        for uid in below:
            if uid in self._due:
                del self._due[uid]
                yield from self._changes([uid])

    def malformed_job(
        self, kind: JobKind[Any], meta: ObjectMeta, obj: Object, why: str
    ) -> JobObserved | None:
        """Return the observation of a malformed job; None: it is not managed."""
        asks = self.has_queue(kind, meta) and self.namespaces.manages(meta.namespace)
        if not asks or self._lineage.is_child(kind, meta):
            return None
        return stray_job(kind, meta, obj, "Unreadable", why)

    def _child_without_queue(self, kind: JobKind[Any], obj: Any) -> QueuedJob | None:  # noqa: ANN401 - as above
        """Return an object that does not ask, but may be the child of one that does."""
        meta: ObjectMeta = obj.metadata
        if not kind.owns_jobs or not self._lineage.owner_uid(meta):
            return None
        state = kind.status_of(meta, msgspec.to_builtins(obj))
        alone = msgspec.structs.replace(unmanaged_job(kind, meta), state=state)
        return QueuedJob(kind=kind, meta=meta, alone=alone, asks=False)

    def _job_observation(self, kind: JobKind[Any], obj: Any) -> QueuedJob:  # noqa: ANN401 - as above
        alone = self.referred.observe(kind, obj)
        self._scope.check_elastic(alone, obj.metadata)
        return QueuedJob(kind=kind, meta=obj.metadata, alone=alone)

    def namespace(self, namespace: Namespace) -> Iterator[ResourceObservation]:
        """Remember a namespace's labels, and yield the jobs in it if that changes them."""
        if self.namespaces.add(namespace):
            name = namespace.metadata.name
            yield from self._changes(
                [uid for uid, job in self._jobs.items() if job.meta.namespace == name]
            )

    def put_incomplete(
        self, kind: JobKind[Any], meta: ObjectMeta, alone: JobObserved
    ) -> Iterator[ResourceObservation]:
        """Remember a job as one that waits for what it refers to, and yield it."""
        self._jobs[meta.uid] = QueuedJob(kind=kind, meta=meta, alone=alone)
        yield from self._changes([meta.uid])

    def claimed(self, template: Named) -> Iterator[ResourceObservation]:
        """Yield the jobs that claim devices by a template."""
        for uid in self._claims.claimants(template):
            if uid in self._jobs:  # it may have been deleted since the one before
                yield self._observation_of(self._jobs[uid])
        yield from self._alone.claimed(template)

    def workload(self, wl: Workload) -> Iterator[ResourceObservation]:
        """Remember a Workload, and yield the changed observation: its job's, or its own."""
        if is_variant(wl.metadata):
            yield from self._jobs_with_variants([self._variants.add(wl)])
            return
        key = f"{wl.metadata.namespace}/{wl.metadata.name}"
        had = self._prebuilt.claimants(key)
        job = self._prebuilt.add(wl)
        uid = self.job_uid_of(wl)
        if uid and not self._prebuilt.is_named_by(uid, key) and not is_additional_slice(wl):
            yield from self._set_overrides(uid, overrides_of(wl))
        yield from self._changes(dict.fromkeys((*had, *self._prebuilt.claimants(key))))
        if self._prebuilt.is_named(key) or not self._direct:
            return
        yield from self._alone.withdraw(wl.metadata) if uid else self._alone.observe(wl, job)

    def _jobs_with_variants(self, jobs: Iterable[str]) -> Iterator[ResourceObservation]:
        """Yield the jobs whose variants changed."""
        for name in jobs:
            if (job := self._jobs.get(self._groups.get(name, name))) is not None:
                yield self._observation_of(job)

    def forget(self, uid: str) -> Iterator[ResourceObservation]:
        """Forget a deleted job or Workload; yield the observations of its jobs."""
        self._alone.forget(uid)
        self._remove(uid)
        yield from self._next_claimant(self._prebuilt.claim(uid, None))
        yield from self._changes(self._prebuilt.forget(uid))
        if uid in self._about:
            yield from self._set_overrides(self._about.pop(uid), NONE)
        yield from self._jobs_with_variants([self._variants.forget(uid)])

    def listed_jobs(self, resource: str, present: Collection[str]) -> Iterator[ResourceObservation]:
        """Forget the jobs that a list of the resource no longer has; yield what they claimed."""
        for uid in [uid for uid, job in self._jobs.items() if job.kind.resource == resource]:
            if uid not in present and is_listed(self._jobs[uid]):
                self._remove(uid)
                yield from self._next_claimant(self._prebuilt.claim(uid, None))
        self._lineage.listed(resource, present)

    def listed_workloads(self, present: Collection[str]) -> Iterator[ResourceObservation]:
        """Forget the Workloads that a list no longer has; yield the jobs that this changes."""
        for uid in [uid for uid in self._about if uid not in present]:
            yield from self._set_overrides(self._about.pop(uid), NONE)
        yield from self._jobs_with_variants(self._variants.retain(present))
        yield from self._changes(self._prebuilt.retain(present))

    def present_workloads(self, listed: Collection[str]) -> Iterable[str]:
        """Return the uids of listed Workloads that are jobs themselves, or that a job names."""
        return dict.fromkeys((*self._alone.present(listed), *self._prebuilt.named(listed)))

    def _changes(self, uids: Iterable[str]) -> Iterator[ResourceObservation]:
        """Yield the observations of changed jobs, and of prebuilt Workloads that they released."""
        for uid in list(uids):
            job = self._jobs.get(uid)
            if job is None:  # it may have been deleted since the generator yielded the previous one
                continue
            alone = job.alone if self._is_managed(job) else None
            released = self._prebuilt.claim(job.meta.uid, alone)
            yield self._observation_of(job)
            yield from self._next_claimant(released)

    def _next_claimant(self, key: str) -> Iterator[ResourceObservation]:
        """Yield the next claimant where a job names a Workload no longer."""
        prebuilt = self._prebuilt.observation_of_unclaimed(key)
        if prebuilt is not None and self._direct:
            yield self._alone.publish_once(prebuilt)
        for uid in self._prebuilt.claimants(key):
            if uid in self._jobs:
                yield self._observation_of(self._jobs[uid])

    def _is_managed(self, job: QueuedJob) -> bool:
        if self.namespaces.is_closing(job.meta.namespace) and is_pending_group(job):
            return False
        covered = self.namespaces.manages(job.meta.namespace)
        return job.asks and covered and not self._lineage.is_child(job.kind, job.meta)

    def _remove(self, uid: str) -> None:
        self.referred.forget_job(uid)
        self._claims.forget_job(uid)
        job = self._jobs.pop(uid, None)
        self._lineage.forget(uid, "" if job is None else self._lineage.owner_uid(job.meta))
        self._remove_job(uid)

    def _remove_job(self, job: str) -> None:
        self._about.pop(self._overrides.pop(job, NONE).workload, None)

    def _set_overrides(self, uid: str, over: Overrides) -> Iterator[ResourceObservation]:
        before = self._overrides.get(uid, NONE)
        self._remove_job(uid)
        if over != NONE:
            self._overrides[uid], self._about[over.workload] = over, uid
        job = self._jobs.get(self._groups.get(uid, uid))
        # A Workload's condition Finished is no news of its job; the condition's removal may be.
        opens = over.left_open and not before.left_open
        before = msgspec.structs.replace(before, workload=over.workload, left_open=over.left_open)
        if job is not None and (before != over or (opens and job.alone.finished)):
            yield self._observation_of(job)

    def _observation_of(self, job: QueuedJob) -> ResourceObservation:
        if not self._is_managed(job):
            return job.kind.resource, self._without_workload(job)
        if job.alone.prebuilt:
            return job.kind.resource, self._claims.resolve(self._prebuilt.with_prebuilt(job.alone))
        over = self._overrides.get(reference_of(job), NONE)
        observation = with_overrides(job.alone, over, self._variants.checks(reference_of(job)))
        return job.kind.resource, self._claims.resolve(observation)

    def _without_workload(self, job: QueuedJob) -> JobObserved:
        """Return the observation of a job without a workload: its owner may be pending."""
        observation = unmanaged_job(job.kind, job.meta)
        why = self._lineage.stray_reason(job.kind, job.meta, asks=job.asks)
        if why is None or not self.namespaces.manages(job.meta.namespace):
            return observation
        return msgspec.structs.replace(observation, stray=why, state=job.alone.state)
