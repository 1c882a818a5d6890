"""Which jobs Tidegate manages: by their queue name, their namespace's labels, and their owners.

Only the topmost managed object of a chain of owners is queued. Owners are followed over controller
references to kinds that are watched, by uid. An owner that was not seen yet may turn out to be
managed, so what it owns is left alone until it is seen.

Source: behaviour.md 15.1.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from tidegate.contracts.observations import JobObserved, Stray
from tidegate.errors import NotSupportedError
from tidegate.jobs.kind import JobKind
from tidegate.kinds import names
from tidegate.kinds.meta import ObjectMeta, OwnerReference
from tidegate.kinds.names import QUEUE_NAME
from tidegate.kinds.policies.forms import NAMESPACES_LEFT_ALONE
from tidegate.model.podset import LabelSelector, selector_matches

NAME_LABEL = "kubernetes.io/metadata.name"
DEPTH_MAX = 10


class QueuedJob(msgspec.Struct, frozen=True, kw_only=True):
    """A job that asks to be managed, as observed alone."""

    kind: JobKind[Any]
    meta: ObjectMeta
    alone: JobObserved
    asks: bool = True  # False: only its owner may be managed


def is_listed(job: QueuedJob) -> bool:
    """Return whether a job is an object of its own, which a list contains."""
    return job.kind.members is None


def reference_of(job: QueuedJob) -> str:
    """Return the key under which a Workload refers to a job; see ``JobIndex.job_uid_of``."""
    return job.meta.uid if is_listed(job) else job.alone.workload


def is_pending_group(job: QueuedJob) -> bool:
    """Return whether a job is a pod group without running pods: it may wait for further pods.

    A namespace that is being deleted is deleted only once it has no pods, and what keeps these
    must not be what goes behind them.
    """
    return job.kind.is_group and job.alone.state.suspended and not job.alone.state.active


class Scope(msgspec.Struct, frozen=True, kw_only=True):
    """The part of the configuration that ingest reads."""

    without_queue: bool = False  # manageJobsWithoutQueueName
    elastic: bool = False  # jobs may be elastic: the actuator may look at their pods
    namespaces: LabelSelector | None = None  # managedJobsNamespaceSelector; None: Kueue's default
    queue_labels: tuple[str, ...] = ()  # keys of labels by which metrics select LocalQueues

    def has_queue(self, meta: ObjectMeta) -> bool:
        """Return whether a job has a queue name, in any namespace."""
        return self.without_queue or bool(meta.labels.get(QUEUE_NAME))

    def manages(self, namespace: str, labels: Mapping[str, str] | None) -> bool:
        """Return whether a namespace's jobs are managed; ``labels``: None until observed."""
        if self.namespaces is None:
            return namespace not in NAMESPACES_LEFT_ALONE
        return labels is not None and selector_matches(
            self.namespaces, {NAME_LABEL: namespace, **labels}
        )

    def check_elastic(self, job: JobObserved, meta: ObjectMeta) -> None:
        """Demand that a job is elastic only where it may be; one that names a Workload was sent.

        Any user may write the label of a job that a manager sent; a job with a forged one waits
        for a Workload that was sent as well (``PrebuiltWorkloads.with_prebuilt``).

        Raises:
            NotSupportedError: elastic jobs are not enabled, or it has a Workload of its owner's.
        """
        if job.elastic and not self.elastic:
            raise NotSupportedError(
                "Elastic jobs are not enabled: open the feature gate ElasticJobsViaWorkloadSlices "
                f"in the configuration, or remove the annotation {names.ELASTIC_JOB}."
            )
        if job.elastic and job.prebuilt and names.MANAGER not in meta.labels:
            raise NotSupportedError(
                f"An elastic job has no {names.PREBUILT_WORKLOAD}: its Workloads are made from it."
            )


class Ancestor(msgspec.Struct, frozen=True, kw_only=True):
    """An object that may own others."""

    resource: str
    owner: str  # uid of its own controller, if that is of a watched kind
    asks: bool  # to be managed
    waits: bool  # it is suspended


UNKNOWN = Ancestor(resource="", owner="", asks=True, waits=True)
"""The placeholder of an owner that was not observed: it may come, or may not exist."""


class Lineage:
    """The watched objects that may own others, by uid, and their dependents."""

    def __init__(self, kinds: Sequence[JobKind[Any]]) -> None:
        self._kinds = {(kind.group, kind.kind) for kind in kinds}
        self._seen = dict[str, Ancestor]()  # by uid
        self._children = dict[str, dict[str, None]]()  # uids by their owner's

    def is_watched(self, owner: OwnerReference) -> bool:
        """Return whether an owner is of a kind that is watched."""
        group, _, _ = owner.api_version.rpartition("/")
        return (group, owner.kind) in self._kinds

    def add(
        self, kind: JobKind[Any], meta: ObjectMeta, *, asks: bool, waits: bool
    ) -> Iterator[str]:
        """Remember an object; yield the uids of those below it if that may change for them."""
        owner = self.owner_uid(meta)
        if owner and (kind.owns_jobs or asks):
            self._children.setdefault(owner, {})[meta.uid] = None
        if not kind.owns_jobs:
            return
        ancestor = Ancestor(resource=kind.resource, owner=owner, asks=asks, waits=asks and waits)
        if self._seen.get(meta.uid) != ancestor:
            self._seen[meta.uid] = ancestor
            yield from self._descendants(meta.uid)

    def is_child(self, kind: JobKind[Any], meta: ObjectMeta) -> bool:
        """Return whether it has a managed ancestor, or one that was not observed yet.

        No controller creates objects of its own kind: such an owner reference does not explain why
        a job should run on the quota of another.
        """
        above = self._managed_ancestor(meta)
        return above is not None and (above == UNKNOWN or above.resource != kind.resource)

    def stray_reason(self, kind: JobKind[Any], meta: ObjectMeta, *, asks: bool) -> Stray | None:
        """Return why an object that is no workload must not run; None: it may.

        Source: behaviour.md 15.1: it is kept suspended while its ancestor is not admitted.
        """
        above = self._managed_ancestor(meta)
        if above is None or (above == UNKNOWN and not asks) or not above.waits:
            return None
        return "OwnerWaits" if above.resource == kind.resource else "OwnerMayWait"

    def _managed_ancestor(self, meta: ObjectMeta) -> Ancestor | None:
        """Return the nearest managed ancestor; UNKNOWN where it was not observed."""
        owner = self.owner_uid(meta)
        for _ in range(DEPTH_MAX):
            if not owner:
                return None
            above = self._seen.get(owner, UNKNOWN)
            if above.asks:
                return above
            owner = above.owner
        return None

    def forget(self, uid: str, owner: str = "") -> None:
        """Forget a deleted object; its dependents are deleted too, or observed again."""
        gone = self._seen.pop(uid, None)
        above = owner if gone is None else gone.owner
        siblings = self._children.get(above)
        if siblings is not None:
            siblings.pop(uid, None)
            if not siblings:
                del self._children[above]

    def listed(self, resource: str, present: Collection[str]) -> None:
        """Forget the objects of a resource that a list no longer has."""
        uids = [uid for uid, ancestor in self._seen.items() if ancestor.resource == resource]
        for uid in uids:
            if uid not in present:
                self.forget(uid)

    def owner_uid(self, meta: ObjectMeta) -> str:
        """Return the uid of its controller, if that is of a watched kind."""
        owner = meta.controller()
        return owner.uid if owner is not None and self.is_watched(owner) else ""

    def _descendants(self, uid: str, depth: int = DEPTH_MAX) -> Iterator[str]:
        for child in list(self._children.get(uid, ())) if depth else ():
            yield child
            yield from self._descendants(child, depth - 1)
