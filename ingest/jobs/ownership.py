"""Workloads that were not made of a job: prebuilt for one, created directly, or orphaned.

Only a Workload created directly is a job itself. One that was made of a job is finished once
that is gone, and one that Kueue made of a job of a kind that is not enabled waits for its kind: of
both no observation is published, so that neither holds quota.

Of several jobs that name the same prebuilt one, it is its owner's, and while it has none, the first
one's; the others wait. Workloads that Tidegate creates for a job are recognized by their name. An
elastic job waits for one that a manager of MultiKueue sent, whatever the job's own labels say.

Source: behaviour.md 8.7, 15.3.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import islice
from typing import TypeAlias

import msgspec
from msgspec.structs import replace

from ingest.definitions import identity
from ingest.pods.referred_objects import Claims, Named, claims_devices
from tidegate.contracts.observations import JobObserved, ObjectGone, ObjectRefused, Observed
from tidegate.jobs import prebuilt, workload
from tidegate.jobs.job_metadata import workload_name
from tidegate.jobs.serving.members import object_uid
from tidegate.jobs.workload import OWNER_NOT_FOUND, is_orphan
from tidegate.kinds import names
from tidegate.kinds.kueue_api.workloads.workload import Workload
from tidegate.kinds.meta import ObjectMeta, OwnerReference
from tidegate.kinds.policies.frameworks import is_known_kind

ResourceObservation: TypeAlias = tuple[str, Observed]
RESOURCE = workload.KIND.resource
UNMANAGED_OWNER = "OwnerNotManaged"
"""The reason of the Event on a Workload whose job's kind is not enabled."""


class DirectWorkloads:
    """The Workloads that were published as jobs themselves in this session."""

    def __init__(self, is_watched: Callable[[OwnerReference], bool], claims: Claims) -> None:
        """``is_watched`` returns whether an owner is of an enabled job kind."""
        self._is_watched, self._claims = is_watched, claims
        self._published = set[str]()  # uids
        self._claiming = dict[str, JobObserved]()  # those whose pods claim devices

    def observe(self, wl: Workload, job: JobObserved | None) -> Iterator[ResourceObservation]:
        """Yield a Workload's observation as a job, or its removal; ``job``: the same, if known."""
        if is_orphan(wl.metadata):
            if wl.metadata.uid in self._published:  # else it was never a job itself
                yield RESOURCE, replace(job or workload.observe(wl), finished=OWNER_NOT_FOUND)
            return
        owner = unmanaged_owner(wl.metadata, self._is_watched)
        if owner is None:
            yield self.publish_once(job or workload.observe(wl))
            return
        yield from self.withdraw(wl.metadata)
        yield (
            RESOURCE,
            ObjectRefused(
                **identity(wl.metadata),
                resource=RESOURCE,
                reason=UNMANAGED_OWNER,
                error=unmanaged_reason(owner),
            ),
        )

    def publish_once(self, observed: JobObserved) -> ResourceObservation:
        """Return a Workload's observation, and remember that it was published."""
        self._published.add(observed.uid)
        if claims_devices(observed):
            self._claiming[observed.uid] = observed
        return RESOURCE, self._claims.resolve(observed)

    def claimed(self, template: Named) -> Iterator[ResourceObservation]:
        """Yield the Workloads that claim devices by a template."""
        for uid in self._claims.claimants(template):
            if uid in self._claiming:  # it may have been deleted since the one before
                yield self.publish_once(self._claiming[uid])

    def withdraw(self, meta: ObjectMeta) -> Iterator[ResourceObservation]:
        """Yield the removal of a Workload, if it was published as a job."""
        if meta.uid in self._published:
            self.forget(meta.uid)
            yield RESOURCE, ObjectGone(**identity(meta), resource=RESOURCE)

    def forget(self, uid: str) -> None:
        """Forget a Workload that is gone."""
        self._published.discard(uid)
        self._claiming.pop(uid, None)

    def present(self, listed: Collection[str]) -> Iterable[str]:
        """Return the uids of a list that are published as jobs: a round removes all others."""
        for uid in self._published.difference(listed):
            self.forget(uid)
        return [uid for uid in listed if uid in self._published]


def unmanaged_owner(
    meta: ObjectMeta, is_watched: Callable[[OwnerReference], bool]
) -> OwnerReference | None:
    """Return the owner of a Workload that was made of it, if that is of no enabled job kind."""
    owners = [
        owner_reference
        for owner_reference in meta.owner_references
        if owner_reference.kind != "Workload"
    ]
    owner = meta.controller() or next(iter(owners), None)
    if owner is None or owner.kind == "Workload" or is_watched(owner):
        return None
    generated = names.JOB_UID in meta.labels or names.IN_USE in meta.finalizers
    return owner if generated or is_known_kind(owner.api_version, owner.kind) else None


def unmanaged_reason(owner: OwnerReference) -> str:
    """Return why a Workload is not counted."""
    return (
        f"Its owner {owner.kind} {owner.name} ({owner.api_version}) is of a job kind that is not "
        "enabled: the Workload holds no quota, and Tidegate does not start or stop it. Enable the "
        "kind in integrations.frameworks, or delete the Workload."
    )


class UserWorkload(msgspec.Struct, frozen=True, kw_only=True):
    """A Workload that no service made."""

    owner: str  # uid of its controller; empty: it has none
    seen: JobObserved  # its observation, if no job names it
    was_owned: bool = False  # its job was deleted: it is no job itself


class PrebuiltWorkloads:
    """All Workloads that jobs may name, and the jobs that name one."""

    def __init__(self) -> None:
        self.listed = False  # the first list of Workloads is complete
        self._made = dict[str, UserWorkload]()  # by key
        self._keys = dict[str, str]()  # by a Workload's uid
        self._claims = dict[str, dict[str, None]]()  # a Workload's key to the jobs that name it
        self._named = dict[str, str]()  # a job's uid to that key

    def add(self, wl: Workload) -> JobObserved | None:
        """Remember a Workload and return its observation; None: it was made of a job."""
        if _is_projected(wl):
            return None
        meta, job = wl.metadata, workload.observe(wl)
        owner = meta.controller()
        key, uid = f"{meta.namespace}/{meta.name}", "" if owner is None else owner.uid
        self._made[key] = UserWorkload(owner=uid, seen=job, was_owned=workload.is_orphan(meta))
        self._keys[meta.uid] = key
        return job

    def forget(self, uid: str) -> list[str]:
        """Forget a Workload that is gone; return the jobs that had it."""
        key = self._keys.pop(uid, "")
        entry = self._made.get(key)
        if entry is None or entry.seen.uid != uid:  # another has its name
            return []
        had = self.claimants(key)
        del self._made[key]
        return had

    def retain(self, present: Collection[str]) -> list[str]:
        """Forget the Workloads that a list no longer has; return the jobs that this changes."""
        before, self.listed = self.listed, True
        gone = [uid for uid in self._keys if uid not in present]
        had = [job for uid in gone for job in self.forget(uid)]
        return had if before else list(self._named)

    def claim(self, uid: str, job: JobObserved | None) -> str:
        """Note which Workload a job names, None: none; return which it named until now."""
        key = prebuilt.prebuilt_key(job) if job is not None and job.prebuilt else ""
        before = self._named.pop(uid, "")
        if key:
            self._named[uid] = key
        if key == before:
            return ""
        if key:
            self._claims.setdefault(key, {})[uid] = None
        others = self._claims.get(before, {})
        others.pop(uid, None)
        if not others:
            self._claims.pop(before, None)
        return before

    def is_named(self, key: str) -> bool:
        """Return whether a job names a Workload."""
        return key in self._claims

    def is_named_by(self, uid: str, key: str) -> bool:
        """Return whether a job names a Workload."""
        return self._named.get(uid) == key

    def claimants(self, key: str) -> list[str]:
        """Return the uids of the jobs that have a Workload: its owner's, else the first's.

        All others that name it wait whatever it becomes, so that they need not be observed again.
        """
        entry, claims = self._made.get(key), self._claims.get(key, {})
        if entry is None:
            return []
        if entry.owner:
            return [uid for uid in claims if object_uid(uid) == entry.owner]
        return list(islice(claims, 1))

    def named(self, listed: Collection[str]) -> Iterator[str]:
        """Yield the uids of listed Workloads that a job names.

        To the scheduler one may be a job itself until that job is heard of, as another session
        has published it: it is not gone.
        """
        return (uid for uid in listed if self._keys.get(uid) in self._claims)

    def observation_of_unclaimed(self, key: str) -> JobObserved | None:
        """Return the observation of a Workload that no job names."""
        entry = self._made.get(key)
        if entry is None or entry.owner or entry.was_owned or key in self._claims:
            return None
        return entry.seen

    def with_prebuilt(self, job: JobObserved) -> JobObserved:
        """Return a job that names a Workload as that asks for it, or waiting for it."""
        if not self.listed:
            return prebuilt.awaiting_observation(job)
        key = prebuilt.prebuilt_key(job)
        entry = self._made.get(key)
        if entry is None:
            return prebuilt.awaiting_workload(job)
        first = next(iter(self._claims.get(key, ())), "")
        is_its = object_uid(job.uid) == entry.owner if entry.owner else job.uid == first
        if not is_its or (job.elastic and not entry.seen.elastic):
            return prebuilt.awaiting_workload(job)
        return prebuilt.merged_with_workload(job, entry.seen)


def _is_projected(wl: Workload) -> bool:
    """Return whether a Workload has the name derived from its owner, or belongs to a pod group."""
    meta = wl.metadata
    made_of_slices = meta.annotations.get(
        names.ELASTIC_JOB
    ) == "true" and not workload.is_multikueue_copy(meta)
    if workload.is_of_pod_group(meta) or made_of_slices:
        return True
    owner = meta.controller()
    if owner is None:
        return False
    group, _, _ = owner.api_version.rpartition("/")
    return meta.name == workload_name(owner.kind, group, owner.name, owner.uid)
