"""Workloads without a watched job: created directly, or orphaned.

Only a Workload created directly is a job itself. One that was made of a job is finished once
that is gone, and one that Kueue made of a job of a kind that is not enabled waits for its kind: of
both no observation is published, so that neither holds quota.

Source: behaviour.md 8.7, 15.3.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import TypeAlias

from msgspec.structs import replace

from ingest.observe.definitions import identity
from ingest.pods.resource_claims import Claims, Named, claims_by, claims_devices
from tidegate.contracts.observations import JobObserved, ObjectGone, ObjectRefused, Observed
from tidegate.jobs import workload
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

    def take(self, wl: Workload) -> Iterator[ResourceObservation]:
        """Yield a Workload's observation as a job, or its removal."""
        if is_orphan(wl.metadata):
            if wl.metadata.uid in self._published:  # else it was never a job itself
                yield RESOURCE, replace(workload.observe(wl), finished=OWNER_NOT_FOUND)
            return
        owner = unmanaged_owner(wl.metadata, self._is_watched)
        if owner is None:
            yield self.tell(workload.observe(wl))
            return
        yield from self.withdraw(wl.metadata)
        yield (
            RESOURCE,
            ObjectRefused(
                **identity(wl.metadata),
                resource=RESOURCE,
                reason=UNMANAGED_OWNER,
                error=unmanaged_sentence(owner),
            ),
        )

    def tell(self, observed: JobObserved) -> ResourceObservation:
        """Return a Workload's observation, and remember that it was published."""
        self._published.add(observed.uid)
        if claims_devices(observed):
            self._claiming[observed.uid] = observed
        return RESOURCE, self._claims.joined(observed)

    def claimed(self, template: Named) -> Iterator[ResourceObservation]:
        """Yield the Workloads that claim devices by a template."""
        affected = [
            observation
            for observation in self._claiming.values()
            if claims_by(observation, template)
        ]
        yield from map(self.tell, affected)

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


def unmanaged_sentence(owner: OwnerReference) -> str:
    """Return why a Workload is not counted."""
    return (
        f"Its owner {owner.kind} {owner.name} ({owner.api_version}) is of a job kind that is not "
        "enabled: the Workload holds no quota, and Tidegate does not start or stop it. Enable the "
        "kind in integrations.frameworks, or delete the Workload."
    )
