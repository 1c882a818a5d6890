"""What must be known of two objects to observe one: a job, and the Workload that stands for it.

The user's wishes about a job that is queued stand on its Workload: ``spec.active``, and whether
another controller has reserved quota for it. The cache is rebuilt by every list.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any, TypeAlias

import msgspec

from tidegate.contracts.observations import JobObserved
from tidegate.jobs.kind import JobKind
from tidegate.jobs.workload import holds_quota_of_another
from tidegate.kinds.meta import OwnerReference
from tidegate.kinds.workload import Workload

Told: TypeAlias = tuple[str, JobObserved]
"""A resource and what is told under it."""


class Wishes(msgspec.Struct, frozen=True, kw_only=True):
    """What a Workload says about the job that it stands for."""

    workload: str  # its uid
    active: bool = True
    held_quota: bool = False


NONE = Wishes(workload="")


class Joins:
    """Jobs by their uid, and the wishes about them; as large as the managed jobs are many."""

    def __init__(self, kinds: Sequence[JobKind[Any]]) -> None:
        self._kinds = {(kind.group, kind.kind) for kind in kinds}
        self._wishes = dict[str, Wishes]()  # by the job's uid
        self._about = dict[str, str]()  # a Workload's uid to its job's
        self._jobs = dict[str, Told]()  # by the job's uid, as observed alone

    def stands_for(self, found: Workload) -> str:
        """Return the uid of the job that a Workload stands for; empty: it was made directly."""
        owner = found.metadata.controller()
        return owner.uid if owner is not None and self._knows(owner) else ""

    def job(self, resource: str, alone: JobObserved) -> JobObserved:
        """Remember a job, and return it with the wishes about it."""
        if alone.queue:
            self._jobs[alone.uid] = resource, alone
        else:
            self._jobs.pop(alone.uid, None)
        return self._joined(alone)

    def workload(self, found: Workload) -> Iterator[Told]:
        """Remember a Workload, and yield the job that it stands for if that changes it."""
        uid = self.stands_for(found)
        yield from self._wish(
            uid,
            Wishes(
                workload=found.metadata.uid,
                active=found.spec.active,
                held_quota=holds_quota_of_another(found),
            ),
        )

    def forget(self, uid: str) -> Iterator[Told]:
        """Forget a job or a Workload that is gone; yield the job that its wishes were about."""
        self._jobs.pop(uid, None)
        self._drop(uid)
        if uid in self._about:
            yield from self._wish(self._about.pop(uid), NONE)

    def listed_jobs(self, resource: str, present: Collection[str]) -> Iterator[Told]:
        """Forget the jobs that a list of the resource no longer has; nothing follows for others."""
        for uid in [uid for uid, (of, _) in self._jobs.items() if of == resource]:
            if uid not in present:
                self._jobs.pop(uid)
                self._drop(uid)
        yield from ()

    def listed_workloads(self, present: Collection[str]) -> Iterator[Told]:
        """Forget the Workloads that a list no longer has; yield the jobs that this changes."""
        for uid in [uid for uid in self._about if uid not in present]:
            yield from self._wish(self._about.pop(uid), NONE)

    def _drop(self, job: str) -> None:
        self._about.pop(self._wishes.pop(job, NONE).workload, None)

    def _wish(self, uid: str, wishes: Wishes) -> Iterator[Told]:
        before = self._wishes.get(uid, NONE)
        self._drop(uid)
        if wishes != NONE:
            self._wishes[uid], self._about[wishes.workload] = wishes, uid
        told = self._jobs.get(uid)
        same = (before.active, before.held_quota) == (wishes.active, wishes.held_quota)
        if told is not None and not same:
            resource, alone = told
            yield resource, self._joined(alone)

    def _joined(self, alone: JobObserved) -> JobObserved:
        wishes = self._wishes.get(alone.uid, NONE)
        if not alone.queue or (wishes.active and not wishes.held_quota):
            return alone
        return msgspec.structs.replace(alone, active=wishes.active, held_quota=wishes.held_quota)

    def _knows(self, owner: OwnerReference) -> bool:
        group, _, _ = owner.api_version.rpartition("/")
        return (group, owner.kind) in self._kinds
